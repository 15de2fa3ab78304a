//! The public complaint about denials that are got round: what was refused is refused by its goal, not by its spelling.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "tests share helpers")]

#[path = "policy/world.rs"]
mod world;

use haft_core::facts::Permission::{Allow, Deny};
use haft_core::policy::{Outcome, Rule};
use haft_core::streak::{CallEnd, LoopLimits, NoProgress, Streaks};
use haft_core::{Profile, Scope};
use serde_json::json;
use world::{decide, id, profile, rule};

/// A shell that is allowed, and a folder that nobody may touch.
fn guarded() -> Profile {
    let deny = Rule { path: Some("data".into()), ..rule(1, "*", Deny) };
    let mut profile = profile(vec![deny], vec![]);
    profile.tools.permission.insert(id("builtin:sh.run"), Allow);
    profile
}

#[test]
fn complaint_32_a_denied_folder_is_denied_to_every_program_and_tool() {
    let profile = guarded();
    let run = |text: &str| decide(&profile, "sh_run", json!({"command": text})).outcome;
    for text in [
        "rm -rf data",
        "unlink data/a",
        "find data -delete",
        "git clean -fdx data",
        "mv data /tmp",
        "rsync -a --delete /tmp/empty/ ./data",
        "truncate -s 0 data/a",
        ": > data/a",
        "cd data && rm *",
        "ls data | xargs rm",
        "bash -c 'rm data/a'",
        "echo 'rm -r data' | sh",
        "cd $HOME/demo && rm -rf da*",
    ] {
        assert_eq!(run(text), Outcome::Deny, "{text}");
    }
    for (alias, key) in [("f_read", "path"), ("f_write", "file_path"), ("foreign_read", "path")] {
        for path in ["data/a", "./x/../data/a", "/home/you/demo/data", "DATA/a"] {
            assert_eq!(decide(&profile, alias, json!({key: path})).outcome, Outcome::Deny, "{alias} {path}");
        }
    }
    // Nobody can tell what code does: a person looks at it.
    for text in ["python3 -c 'shutil.rmtree(\"da\" + \"ta\")'", "perl -e 'unlink <d*/*>'", "node -e 'x()'"] {
        assert_eq!(run(text), Outcome::Ask, "{text}");
    }
    assert_eq!(run("ls notes"), Outcome::Allow);
}

#[test]
fn complaint_32_a_refused_goal_counts_whichever_tool_tries_it() {
    let goal = || CallEnd::Denied { goal: Scope::File("/p/data/a".into()) };
    let mut streaks = Streaks::new(LoopLimits::default());
    assert_eq!(streaks.batch([("file_delete", goal())]), None);
    // Other work in between makes a refused wish no better.
    assert_eq!(streaks.batch([("file_write", CallEnd::Done { writes: true })]), None);
    assert_eq!(streaks.batch([("file_write", goal())]), None);
    let ended = streaks.batch([("shell", goal())]);
    assert!(matches!(ended, Some(NoProgress::SameDenial { times: 3, .. })), "{ended:?}");
    let mut others = Streaks::new(LoopLimits::default());
    for file in ["/p/a", "/p/b", "/p/c"] {
        let goal = Scope::File(file.into());
        assert_eq!(others.batch([("file_delete", CallEnd::Denied { goal })]), None, "other wishes");
    }
}
