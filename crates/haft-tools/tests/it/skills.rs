//! The skill tools over a folder on disk.

use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use haft_core::Services;
use haft_core::skills::{SkillAccess, SkillPolicy};
use haft_tools::skills::{self, SkillFolders};
use serde_json::{Value, json};

use crate::support::Invocation;

/// A folder of skills, with a canary beside it.
struct Skills {
    _folder: tempfile::TempDir,
    root: Dir,
}

struct Folder(Dir);

impl SkillFolders for Folder {
    fn open(&self) -> std::io::Result<Option<Dir>> {
        match self.0.open_dir("skills") {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Skills {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        root.write("canary.txt", "canary lighthouse").unwrap();
        Self { _folder: folder, root }
    }

    fn new() -> Self {
        let skills = Self::empty();
        skills.write("writing/SKILL.md", "---\nname: writing\ndescription: Prose with a steady voice.\n---\n# Writing\nShow, do not tell.\n");
        skills.write("writing/references/places.md", "one\nThe lighthouse stands alone.\nthree\nfour\n");
        skills.write("writing/cover.png", "\u{89}PNG\0");
        skills.write("cards/SKILL.md", "---\ndescription: Cards for the screen.\n---\nCompare, rank.\n");
        skills.write("bare/SKILL.md", "no front matter\n");
        skills.write(".hidden/SKILL.md", "---\nname: hidden\n---\n");
        skills.write("loose.md", "no folder\n");
        skills
    }

    fn write(&self, path: &str, text: &str) {
        let path = format!("skills/{path}");
        let (folder, _) = path.rsplit_once('/').unwrap();
        self.root.create_dir_all(folder).unwrap();
        self.root.write(&path, text).unwrap();
    }

    fn agent(&self, policy: SkillPolicy) -> Invocation {
        let mut services = Services::default();
        services.insert::<dyn SkillFolders>(Arc::new(Folder(self.root.try_clone().unwrap())));
        services.insert::<SkillAccess>(Arc::new(SkillAccess::new(policy)));
        Invocation::new(skills::tools().unwrap(), services)
    }
}

fn policy(visible: &[&str], deny: &[&str]) -> SkillPolicy {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    SkillPolicy { visible: owned(visible), deny: owned(deny), ..SkillPolicy::default() }
}

fn budget(per_call: u64, per_run: u64) -> SkillPolicy {
    SkillPolicy {
        max_read_chars_per_call: per_call,
        max_read_chars_per_run: per_run,
        ..SkillPolicy::default()
    }
}

fn file(name: &str, path: &str) -> Value {
    json!({"name": name, "path": path})
}

// SKL-01
#[tokio::test]
async fn the_index_shows_what_the_profile_shows() {
    let skills = Skills::new();
    let output = skills.agent(SkillPolicy::default()).call("skill_list", json!({})).await.unwrap();
    assert_eq!(
        output.text(),
        "- bare (its SKILL.md has no front matter)\n- cards: Cards for the screen.\n- writing: Prose with a steady voice."
    );
    assert!(!output.text().contains("Show, do not tell"));
    assert_eq!(
        skills.agent(policy(&["writing", "cards"], &["cards"])).text("skill_list", json!({})).await,
        "- writing: Prose with a steady voice."
    );
    assert_eq!(
        skills.agent(policy(&["*"], &["*"])).text("skill_list", json!({})).await,
        "There are no skills."
    );
    assert_eq!(
        Skills::empty().agent(SkillPolicy::default()).text("skill_list", json!({})).await,
        "There are no skills."
    );
}

// SKL-03, SKL-05, CONFLICT-25
#[tokio::test]
async fn a_skill_is_read_by_name_and_its_files_by_path() {
    let skills = Skills::new();
    let mut agent = skills.agent(policy(&["*"], &["cards"]));
    assert_eq!(
        agent.text("skill_read", json!({"name": "writing"})).await,
        "---\nname: writing\ndescription: Prose with a steady voice.\n---\n# Writing\nShow, do not tell.\n"
    );
    let part =
        json!({"name": "writing", "path": "./references//places.md", "start_line": 2, "line_count": 1});
    let output = agent.call("skill_read", part).await.unwrap();
    assert_eq!(
        output.text(),
        "The lighthouse stands alone.\n[line 2 of 4; read on with skill_read(name='writing', path='references/places.md', \
         start_line=3, line_count=1)]"
    );
    assert_eq!(output.resource_refs, ["skill:writing/references/places.md"]);
    let hidden = ("skill.not_found", "There is no skill `cards`. There are: bare, writing.");
    let cases = [
        (file("cards", "SKILL.md"), hidden),
        (
            file("writin", "SKILL.md"),
            ("skill.not_found", "There is no skill `writin`. Did you mean writing?"),
        ),
        (
            file("../canary.txt", "SKILL.md"),
            ("skill.not_found", "There is no skill `../canary.txt`. There are: bare, writing."),
        ),
        (
            file(".hidden", "SKILL.md"),
            ("skill.not_found", "There is no skill `.hidden`. There are: bare, writing."),
        ),
        (
            file("writing", "nothing.md"),
            (
                "skill.file_not_found",
                "The skill `writing` has no file `nothing.md`. Read its SKILL.md to see what it has.",
            ),
        ),
        (
            file("writing", "references"),
            (
                "skill.path_is_directory",
                "`references` is a folder of the skill `writing`. Name a file in it.",
            ),
        ),
        (
            file("writing", "cover.png"),
            (
                "skill.file_not_text",
                "`cover.png` of the skill `writing` is no text in UTF-8 (6 bytes). Leave it.",
            ),
        ),
        (
            file("writing", "../../canary.txt"),
            (
                "skill.path_invalid",
                "`../../canary.txt` goes up with `..`. Write a path inside the skill, such as SKILL.md or references/forms.md.",
            ),
        ),
        (
            file("writing", "/etc/passwd"),
            (
                "skill.path_invalid",
                "`/etc/passwd` is not relative. Write a path inside the skill, such as SKILL.md or references/forms.md.",
            ),
        ),
        (
            json!({"name": "writing", "start_line": 7}),
            (
                "skill.invalid_range",
                "Nothing of `SKILL.md` of the skill `writing` was read: line 7 is past the end: there are 6 lines.",
            ),
        ),
    ];
    for (arguments, (code, message)) in cases {
        let shown = arguments.to_string();
        assert_eq!(
            agent.error("skill_read", arguments).await,
            (code.to_owned(), message.to_owned()),
            "{shown}"
        );
    }
}

// SKL-03
#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_out_of_a_skill() {
    let skills = Skills::new();
    let link = |target: &str, path: &str| skills.root.symlink(target, format!("skills/{path}")).unwrap();
    link("../../canary.txt", "writing/out.md");
    link("../cards/SKILL.md", "writing/other.md");
    link("references/places.md", "writing/inside.md");
    link("loop.md", "writing/loop.md");
    link("../..", "writing/up");
    link("..", "outside");
    let mut agent = skills.agent(SkillPolicy::default());
    for path in ["out.md", "other.md", "up/canary.txt", "loop.md"] {
        assert_eq!(agent.error("skill_read", file("writing", path)).await.0, "skill.path_outside", "{path}");
    }
    assert!(agent.text("skill_read", file("writing", "inside.md")).await.starts_with("one\n"));
    assert_eq!(agent.error("skill_read", file("outside", "canary.txt")).await.0, "skill.not_found");
    let found =
        agent.call("skill_search", json!({"name": "writing", "query": "lighthouse canary"})).await.unwrap();
    assert!(!found.text().contains("canary lighthouse"), "{}", found.text());
    // Five links and a picture.
    assert_eq!(found.structured.unwrap()["skippedFiles"], json!(6));
}

// SKL-02, WSP-16
#[tokio::test]
async fn one_skill_is_searched_and_binaries_are_counted() {
    let skills = Skills::new();
    let mut agent = skills.agent(policy(&["*"], &["cards"]));
    let search = |query: &str| json!({"name": "writing", "query": query, "context_lines": 1});
    let output = agent.call("skill_search", search("LIGHTHOUSE")).await.unwrap();
    assert_eq!(
        output.text(),
        "1 place in the skill `writing` fits `LIGHTHOUSE`.\n\nreferences/places.md, lines 1-3, score 10\none\nThe lighthouse \
         stands alone.\nthree\n\n[1 file was not searched: links, or no text]"
    );
    assert_eq!(output.resource_refs, ["skill:writing/references/places.md#L1-L3"]);
    let nothing =
        agent.text("skill_search", json!({"name": "writing", "query": "whale", "path": "references"})).await;
    assert_eq!(nothing, "Nothing in the skill `writing` fits `whale`.");
    assert_eq!(
        agent.error("skill_search", json!({"name": "cards", "query": "rank"})).await.0,
        "skill.not_found"
    );
    assert_eq!(
        agent.error("skill_search", json!({"name": "writing", "query": "x", "path": "no"})).await.0,
        "skill.file_not_found"
    );
    assert_eq!(
        agent.error("skill_search", json!({"name": "writing", "query": " "})).await.0,
        "skill.empty_query"
    );
    assert_eq!(
        agent.error("skill_search", json!({"name": "writing", "query": "x", "path": "../cards"})).await.0,
        "skill.path_invalid"
    );
}

// SKL-02, SKL-04
#[tokio::test]
async fn what_is_read_and_what_a_search_shows_share_one_budget() {
    let skills = Skills::new();
    skills.write("long/SKILL.md", "0123456789\n0123456789\n0123456789\n0123456789\n");
    let read = |start: u64| json!({"name": "long", "start_line": start});
    let mut agent = skills.agent(budget(25, 60));
    assert_eq!(
        agent.text("skill_read", read(1)).await,
        "0123456789\n0123456789\n[lines 1-2 of 4; read on with skill_read(name='long', start_line=3)]"
    );
    // 38 are left, of which the search shows 32.
    let found = agent
        .text("skill_search", json!({"name": "long", "query": "9", "context_lines": 0, "limit": 4}))
        .await;
    assert!(
        found.starts_with(
            "4 places in the skill `long` fit `9`; 2 are shown, as your limit and budget allow:"
        ),
        "{found}"
    );
    // 18 are left: one line and no more.
    assert_eq!(
        agent.text("skill_read", read(1)).await,
        "0123456789\n[line 1 of 4; read on with skill_read(name='long', start_line=2)]"
    );
    // 7 are left: a part of a line.
    assert_eq!(
        agent.text("skill_read", read(4)).await,
        "0123456\n[line 4 of 4; line 4 is cut after 7 characters, its rest is too long to be shown]"
    );
    let exhausted = (
        "skill.read_budget_exceeded".to_owned(),
        "You have read 60 characters of skills, which is all that this run allows. Go on with what you know."
            .to_owned(),
    );
    assert_eq!(agent.error("skill_read", read(1)).await, exhausted);
    assert_eq!(agent.error("skill_search", json!({"name": "long", "query": "9"})).await, exhausted);
    // The index is no reading of skills.
    assert!(agent.text("skill_list", json!({})).await.contains("- long"));
    let fresh = skills.agent(budget(25, 60)).text("skill_read", read(4)).await;
    assert_eq!(fresh, "0123456789\n[line 4 of 4]");
}
