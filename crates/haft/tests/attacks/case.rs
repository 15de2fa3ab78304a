//! The cases as they stand in `tests/attacks/*.toml` at the root of the repository, read into plain values.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use haft_core::facts::Permission;
use haft_core::policy::Rule;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One attack, or one harmless thing that looks like one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Unique among all files.
    pub(crate) id: String,
    /// What is tried, in a sentence.
    pub(crate) title: String,
    /// Who was hurt by it: an advisory, an issue, a number of the list of complaints.
    #[serde(default)]
    pub(crate) source: Option<String>,
    /// What was there before.
    #[serde(default)]
    pub(crate) setup: Setup,
    /// What is done, in order.
    pub(crate) steps: Vec<Step>,
    /// What must never happen in any of it.
    #[serde(default)]
    pub(crate) never: Never,
}

/// Rules, yeses and files before the first step.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Setup {
    /// Rules of the user, with the keys of `haft.toml`.
    pub(crate) rules: Vec<Map<String, Value>>,
    /// Rules of the profile.
    pub(crate) profile_rules: Vec<Map<String, Value>>,
    /// Rules of the platform.
    pub(crate) platform_rules: Vec<Map<String, Value>>,
    /// `policy.default`.
    pub(crate) default: Option<Permission>,
    /// `tools.permission` by alias.
    pub(crate) permission: BTreeMap<String, Permission>,
    /// `tools.deny` by alias.
    pub(crate) deny: Vec<String>,
    /// `tools.alias`: a new name by an old one.
    pub(crate) alias: BTreeMap<String, String>,
    /// Yeses as `--allow` writes them.
    pub(crate) grants: Vec<String>,
    /// `unattended.allow`, each as `--allow` writes it and perhaps ` xN` for N calls.
    pub(crate) unattended: Vec<String>,
    /// `--yes`.
    pub(crate) yes: bool,
    /// Nobody is there.
    pub(crate) nobody: bool,
    /// Files by their paths below the ground of the case: `project/…`, `home/…`, `tmp/…`, `elsewhere/…`.
    pub(crate) files: BTreeMap<String, String>,
    /// Symbolic links, and what they hold.
    pub(crate) links: BTreeMap<String, String>,
    /// Hard links, and the files that they are.
    pub(crate) hard_links: BTreeMap<String, String>,
    /// What commands and addresses give back.
    pub(crate) output: BTreeMap<String, String>,
    /// Secrets that are masked, by name.
    pub(crate) secrets: BTreeMap<String, String>,
    /// Calls run side by side.
    pub(crate) parallel: bool,
    /// Earlier results stand in: `batch`, `history`, `cache`, `side_effects`.
    pub(crate) reuse: Vec<String>,
    /// Most calls.
    pub(crate) calls: Option<u32>,
    /// Most calls of single tools, by alias.
    pub(crate) calls_of: BTreeMap<String, u32>,
    /// Most bytes of results.
    pub(crate) output_bytes: Option<u64>,
    /// Refusals of one wish that end a run.
    pub(crate) same_denials: Option<u32>,
    /// `approval.mode: off`.
    pub(crate) approval_off: bool,
    /// Agents that can be called, with the tools that they have, by alias.
    pub(crate) agents: BTreeMap<String, Vec<String>>,
}

/// One step: exactly one of the first group of keys says what is done.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// Command lines, each a call of the shell; one batch.
    pub(crate) shell: Vec<String>,
    /// Calls as `[alias, arguments]`; one batch.
    pub(crate) calls: Vec<(String, Value)>,
    /// Answers of a model in a text dialect, turn by turn; one run.
    pub(crate) says: Vec<String>,
    /// The dialect of `says`.
    pub(crate) dialect: Option<String>,
    /// All live yeses are taken back: `here`, or `elsewhere` by another process.
    pub(crate) revoke: Option<String>,
    /// The session is closed and opened by another process.
    pub(crate) reopen: bool,
    /// A yes to the question that was put last, long after it ended.
    pub(crate) late_yes: bool,
    /// Seconds that pass.
    pub(crate) wait_s: u64,
    /// Files that somebody changes meanwhile.
    pub(crate) files: BTreeMap<String, String>,
    /// Links that somebody puts in the place of what was there.
    pub(crate) links: BTreeMap<String, String>,

    /// What the person does with each question of the step, in order; `no` where nothing is left. See `person.rs`.
    pub(crate) answers: Vec<String>,
    /// What becomes of each call, in order.
    pub(crate) expect: Vec<Verdict>,
}

/// What becomes of a call, from lax to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// It went through without a person.
    Allowed,
    /// A person was asked.
    Asked,
    /// It was refused without a question.
    Refused,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Refused => "refused",
        })
    }
}

/// What must not happen, whatever was answered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Never {
    /// Texts that stand in no call that reached a tool.
    pub(crate) ran: Vec<String>,
    /// Files and folders that are at the end as they were at the beginning.
    pub(crate) changed: Vec<String>,
    /// Texts that stand in no result that a model read.
    pub(crate) shown: Vec<String>,
    /// Texts that stand nowhere in the journal and its files.
    pub(crate) stored: Vec<String>,
    /// More calls than these reach a tool.
    pub(crate) more_runs_than: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// All cases, with the name of their file as their kind.
pub(crate) fn all(folder: &Path) -> Vec<(String, Case)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let kind = path.file_stem().unwrap().to_str().unwrap().to_owned();
        file.case.into_iter().map(move |case| (kind.clone(), case))
    };
    files.into_iter().flat_map(read).collect()
}

/// A rule with the keys of `haft.toml`.
pub(crate) fn rule(keys: &Map<String, Value>, file: &str, line: usize) -> Rule {
    let mut keys = keys.clone();
    let test = match (keys.remove("equals"), keys.remove("glob")) {
        (Some(equals), _) => Some(json!({"equals": equals})),
        (None, Some(glob)) => Some(json!({"glob": glob})),
        (None, None) => None,
    };
    if let Some(pointer) = keys.remove("pointer") {
        keys.insert("value".into(), json!({"pointer": pointer, "test": test}));
    }
    keys.entry("tool").or_insert_with(|| "*".into());
    keys.insert("place".into(), json!({"file": file, "line": line, "column": 1}));
    let known = serde_json::from_value::<Rule>(keys.clone().into());
    let rule = known.unwrap_or_else(|error| panic!("{keys:?} is no rule: {error}"));
    // What a rule does not know, it must not pass over.
    let written = serde_json::to_value(&rule).unwrap();
    for key in keys.keys() {
        assert!(written.get(key).is_some(), "`{key}` is no key of a rule");
    }
    rule
}
