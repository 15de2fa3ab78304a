//! The artifact tools.

use haft_core::result::Change;
use haft_core::{ArtifactVersion, ResultCap, Services};
use haft_tools::artifacts;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Invocation, MemoryArtifacts};

fn invocation(read_cap: u64) -> Invocation {
    Invocation::new(artifacts::tools().unwrap(), MemoryArtifacts::services(read_cap))
}

async fn with(id: &str, content: &str) -> Invocation {
    let mut tools = invocation(50_000);
    tools.text("create_artifact", json!({"id": id, "title": "T", "content": content})).await;
    tools
}

// ART-01, RES-21, COE-04
#[tokio::test]
async fn a_new_artifact_is_version_one_with_defaults_filled() {
    let mut tools = invocation(50_000);
    let output = tools
        .call("create_artifact", json!({"id": "plan", "title": "Plan", "content": "a\nb\n"}))
        .await
        .unwrap();
    let version = ArtifactVersion {
        id: "plan".into(),
        version: 1,
        content_type: "text/markdown".into(),
        title: "Plan".into(),
        source: "model".into(),
        content: "a\nb\n".into(),
    };
    assert_eq!(output.text(), "Created artifact `plan`, version 1, 2 lines.");
    assert_eq!(output.structured, Some(json!({"id": "plan", "version": 1})));
    assert_eq!(output.resource_refs, ["artifact:plan@1"]);
    assert_eq!(output.metadata.get("artifact_snapshot"), Some(&version.snapshot()));
    assert_eq!(output.changes, [Change::Artifact(version)]);
}

// ART-01
#[tokio::test]
async fn an_id_is_created_once_and_must_be_an_id() {
    let mut tools = with("plan", "x").await;
    let again = tools.error("create_artifact", json!({"id": "plan", "title": "T", "content": "y"})).await;
    let message =
        "There is an artifact `plan` already, at version 1. Update or rewrite it, or choose another id.";
    assert_eq!(again, ("artifact.exists".into(), message.into()));
    let bad = tools.error("create_artifact", json!({"id": "../x", "title": "T", "content": "y"})).await;
    assert_eq!(bad.0, "artifact.invalid_id");
    assert!(
        tools.text("read_artifact", json!({"id": "plan"})).await.contains("\nx\n"),
        "nothing was changed"
    );
}

// DES-04, COE-05, COE-06, CONFLICT-22
#[tokio::test]
async fn arguments_are_checked_before_the_tool_runs() {
    let mut tools = invocation(50_000);
    let cases = [
        (json!({"id": "a", "content": "x"}), "title"),
        (json!({"id": "a", "title": "T", "content": "x", "colour": "red"}), "colour"),
        (json!({"id": "a", "title": "T", "content": "x", "content_type": "image/png"}), "text/markdown"),
        (json!({"id": ["a"], "title": "T", "content": "x"}), "string"),
    ];
    for (arguments, told) in cases {
        let (code, message) = tools.error("create_artifact", arguments.clone()).await;
        assert_eq!(code, "agent.invalid_arguments", "{arguments}");
        assert!(message.contains(told), "{message}");
    }
    let read = tools.error("read_artifact", json!({"id": "a", "offset": "many"})).await;
    assert_eq!(read.0, "agent.invalid_arguments");
}

// ART-02
#[tokio::test]
async fn an_update_replaces_one_passage_and_says_where_and_how() {
    let mut tools = with("plan", "# Plan\n\u{201c}one\u{201d}\nThe quick brown fox\n").await;
    let exact =
        tools.call("update_artifact", json!({"id": "plan", "old_str": "# Plan", "new_str": "# The plan"}));
    let exact = exact.await.unwrap();
    assert_eq!(exact.text(), "Updated artifact `plan`: version 2, line 1.");
    let structured = json!({"id": "plan", "version": 2, "lines": [1, 1], "found": "exact", "edits": 0});
    assert_eq!(exact.structured, Some(structured));
    let alike =
        tools.text("update_artifact", json!({"id": "plan", "old_str": "\"one\"", "new_str": "two"})).await;
    assert!(alike.starts_with("Updated artifact `plan`: version 3, line 2, found with quotes"), "{alike}");
    let near = tools
        .text("update_artifact", json!({"id": "plan", "old_str": "The quik brown fx", "new_str": "A fox"}))
        .await;
    assert_eq!(
        near,
        "Updated artifact `plan`: version 4, line 3, found by likeness: `old_str` differs from the text by 2 \
         characters. Replaced was:\nThe quick brown fox"
    );
    let read = tools.text("read_artifact", json!({"id": "plan"})).await;
    assert!(read.contains("\n# The plan\ntwo\nA fox\n</artifact_slice>"), "{read}");
    let old = tools.text("read_artifact", json!({"id": "plan", "version": 1, "limit": 1})).await;
    assert_eq!(
        old,
        "<artifact_slice id=\"plan\" version=\"1\" shown_lines=\"1-1\" total_lines=\"3\" has_more=\"true\">\n# Plan\n\
         </artifact_slice>\nUse read_artifact(id='plan', version=1, offset=2, limit=1) to read on."
    );
}

// ART-02
#[tokio::test]
async fn an_update_that_could_mean_two_places_or_none_changes_nothing() {
    let mut tools = with("plan", "one\ntwo\none\n").await;
    let cases = [
        ("one", "x", "artifact.old_str_ambiguous", "near lines 1, 3"),
        ("something else entirely", "x", "artifact.old_str_not_found", "read_artifact(id='plan')"),
        ("", "x", "artifact.empty_old_str", "`old_str` is empty"),
        ("two", "two", "artifact.no_change", "line 2"),
    ];
    for (old, new, code, told) in cases {
        let error =
            tools.error("update_artifact", json!({"id": "plan", "old_str": old, "new_str": new})).await;
        assert_eq!(error.0, code);
        assert!(error.1.contains(told), "{}", error.1);
    }
    let missing = tools.error("update_artifact", json!({"id": "plam", "old_str": "a", "new_str": "b"})).await;
    assert_eq!(missing.1, "There is no artifact `plam`. Did you mean plan?");
    assert!(tools.text("read_artifact", json!({"id": "plan"})).await.contains("version=\"1\""));
}

// ART-03
#[tokio::test]
async fn a_rewrite_keeps_title_and_kind_and_nothing_of_the_text() {
    let mut tools = with("plan", "old").await;
    let output = tools.call("rewrite_artifact", json!({"id": "plan", "content": "new\n"})).await.unwrap();
    assert_eq!(output.text(), "Rewrote artifact `plan`: version 2, 1 line.");
    let [Change::Artifact(version)] = output.changes.as_slice() else { panic!("{:?}", output.changes) };
    assert_eq!((version.version, version.title.as_str(), version.content.as_str()), (2, "T", "new\n"));
    let missing = tools.error("rewrite_artifact", json!({"id": "none", "content": "x"})).await;
    assert_eq!(
        missing,
        ("artifact.not_found".into(), "There is no artifact `none`. There are: plan.".into())
    );
}

// ART-04
#[tokio::test]
async fn reading_pages_by_lines_and_tells_how_to_go_on() {
    let mut tools = with("log", "1\n2\n3\n4\n5").await;
    let middle = tools.text("read_artifact", json!({"id": "log", "offset": 2, "limit": 2})).await;
    assert_eq!(
        middle,
        "<artifact_slice id=\"log\" version=\"1\" shown_lines=\"2-3\" total_lines=\"5\" has_more=\"true\">\n2\n3\n\
         </artifact_slice>\nUse read_artifact(id='log', offset=4, limit=2) to read on."
    );
    let rest = tools.text("read_artifact", json!({"id": "log", "offset": 4})).await;
    assert_eq!(
        rest,
        "<artifact_slice id=\"log\" version=\"1\" shown_lines=\"4-5\" total_lines=\"5\" has_more=\"false\">\n4\n5\n\
         </artifact_slice>"
    );
    assert_eq!(tools.error("read_artifact", json!({"id": "log", "offset": 6})).await.0, "artifact.past_end");
    let version = tools.error("read_artifact", json!({"id": "log", "version": 7})).await;
    assert_eq!(version.1, "`log` has no version 7; its newest is version 1.");
}

// ART-05
#[tokio::test]
async fn without_a_limit_a_hidden_cap_holds() {
    let mut tools = invocation(10);
    let content = "12345678\nabc\nabcdefghijklmnop\nz\n";
    tools.text("create_artifact", json!({"id": "log", "title": "T", "content": content})).await;
    let first = tools.text("read_artifact", json!({"id": "log"})).await;
    assert!(first.contains("shown_lines=\"1-1\" total_lines=\"4\" has_more=\"true\""), "{first}");
    assert!(first.ends_with("Use read_artifact(id='log', offset=2) to read on."), "{first}");
    let cut = tools.text("read_artifact", json!({"id": "log", "offset": 3})).await;
    assert!(cut.contains("\nabcdefghij\n</artifact_slice>"), "{cut}");
    assert!(cut.contains("read_artifact(id='log', offset=3, limit=1) to read it whole"), "{cut}");
    let whole = tools.text("read_artifact", json!({"id": "log", "offset": 3, "limit": 1})).await;
    assert!(whole.contains("\nabcdefghijklmnop\n</artifact_slice>"), "{whole}");
    let limited = tools.text("read_artifact", json!({"id": "log", "limit": 4})).await;
    assert!(limited.contains("has_more=\"false\""), "a limit is the model's own choice: {limited}");
}

// ALI-09
#[tokio::test]
async fn hints_name_tools_by_their_alias_in_the_snapshot() {
    let tools = artifacts::tools().unwrap();
    let reader = tools.iter().find(|tool| tool.declaration().alias() == "read_artifact").unwrap();
    let id = reader.declaration().id().clone();
    let mut tools = Invocation::with_profile(tools.clone(), MemoryArtifacts::services(5), |profile| {
        profile.tools.alias.insert(id, "look".into());
    });
    tools.text("create_artifact", json!({"id": "a", "title": "T", "content": "1\n2\n3\n4\n"})).await;
    assert!(tools.text("look", json!({"id": "a"})).await.ends_with("Use look(id='a', offset=3) to read on."));
    let absent =
        tools.error("update_artifact", json!({"id": "a", "old_str": "nowhere", "new_str": ""})).await;
    assert!(absent.1.contains("look(id='a')"), "{}", absent.1);
}

// REG-09
#[tokio::test]
async fn the_same_tools_see_the_artifacts_of_their_request_alone() {
    let tools = artifacts::tools().unwrap();
    let mut one = Invocation::new(tools.clone(), MemoryArtifacts::services(100));
    let mut other = Invocation::new(tools, MemoryArtifacts::services(100));
    one.text("create_artifact", json!({"id": "a", "title": "T", "content": "mine"})).await;
    assert_eq!(other.error("read_artifact", json!({"id": "a"})).await.0, "artifact.not_found");
    other.text("create_artifact", json!({"id": "a", "title": "T", "content": "theirs"})).await;
    assert!(one.text("read_artifact", json!({"id": "a"})).await.contains("\nmine\n"));
}

// RES-17
#[test]
fn reading_is_never_spilled() {
    let caps: Vec<(String, ResultCap)> = artifacts::tools()
        .unwrap()
        .iter()
        .map(|tool| (tool.declaration().alias(), tool.declaration().facts.result_cap))
        .filter(|(_, cap)| *cap != ResultCap::Profile)
        .collect();
    assert_eq!(caps, [("read_artifact".to_owned(), ResultCap::Unlimited)]);
}

// ART-06
#[tokio::test]
async fn searching_shows_blocks_with_line_numbers_and_context() {
    let mut tools = with("b", "x\nfoo one\ny\nz\nw\nv\nFoo two\nfoo three\n").await;
    tools.text("create_artifact", json!({"id": "a", "title": "T", "content": "only foo"})).await;
    tools.text("create_artifact", json!({"id": "c", "title": "T", "content": "bar"})).await;
    let all = tools.text("grep_artifact", json!({"pattern": "fo+"})).await;
    assert_eq!(all, "a\n1:only foo\n\nb\n2:foo one\n8:foo three");
    let context = tools.text("grep_artifact", json!({"pattern": "foo", "id": "b", "context": 1})).await;
    assert_eq!(context, "b\n1-x\n2:foo one\n3-y\n--\n7-Foo two\n8:foo three");
    let caseless =
        tools.text("grep_artifact", json!({"pattern": "^FOO", "id": "b", "ignore_case": true})).await;
    assert_eq!(caseless, "b\n2:foo one\n7:Foo two\n8:foo three");
    let most =
        tools.text("grep_artifact", json!({"pattern": "foo", "id": "b", "max_count": 1, "context": 1})).await;
    assert_eq!(
        most,
        "b\n1-x\n2:foo one\n3-y\n(the first 1 matching lines; there are more: raise max_count or narrow the pattern)"
    );
    assert_eq!(
        tools.text("grep_artifact", json!({"pattern": "nowhere"})).await,
        "No line of 3 artifacts matches `nowhere`."
    );
}

// ART-06
#[tokio::test]
async fn a_pattern_is_a_regular_expression_unless_it_is_plain() {
    let mut tools = with("a", "f(x)\nfx\n[").await;
    assert_eq!(tools.text("grep_artifact", json!({"pattern": "f(x)"})).await, "a\n2:fx");
    let plain = tools.text("grep_artifact", json!({"pattern": "f(x)", "fixed_strings": true})).await;
    assert_eq!(plain, "a\n1:f(x)");
    let (code, message) = tools.error("grep_artifact", json!({"pattern": "["})).await;
    assert_eq!(code, "artifact.bad_pattern");
    assert!(message.ends_with("Mend it, or set fixed_strings to search for it as plain text."), "{message}");
    let (code, message) = tools.error("grep_artifact", json!({"pattern": "a\nb"})).await;
    assert_eq!(code, "artifact.bad_pattern");
    assert!(message.contains("cannot hold a line break"), "{message}");
    let huge = tools.error("grep_artifact", json!({"pattern": "(a{1000}){1000}"})).await;
    assert_eq!(huge.0, "artifact.bad_pattern");
}

#[tokio::test]
async fn without_artifacts_every_tool_says_so() {
    let mut tools = Invocation::new(artifacts::tools().unwrap(), Services::default());
    let calls = [
        ("create_artifact", json!({"id": "a", "title": "T", "content": ""})),
        ("update_artifact", json!({"id": "a", "old_str": "x", "new_str": ""})),
        ("rewrite_artifact", json!({"id": "a", "content": ""})),
        ("read_artifact", json!({"id": "a"})),
        ("grep_artifact", json!({"pattern": "x"})),
    ];
    for (alias, arguments) in calls {
        assert_eq!(tools.error(alias, arguments).await.0, "artifact.unavailable", "{alias}");
    }
}

/// Reads by following the hints, as a model would.
async fn read_on(tools: &mut Invocation) -> String {
    let mut whole = String::new();
    let mut next = json!({"id": "a"});
    loop {
        let text = tools.text("read_artifact", next.clone()).await;
        let body = text.split_once(">\n").unwrap().1;
        let (body, hint) = body.rsplit_once("</artifact_slice>").unwrap();
        if let Some(cut) = hint.split_once("is cut: ") {
            next = call_in(cut.1);
            let line = tools.text("read_artifact", next.clone()).await;
            whole.push_str(line.split_once(">\n").unwrap().1.rsplit_once("</artifact_slice>").unwrap().0);
            match hint.split_once("whole, then ") {
                Some((_, then)) => next = call_in(then),
                None => return whole,
            }
        } else {
            whole.push_str(body);
            match hint.split_once("Use ") {
                Some((_, hint)) => next = call_in(hint),
                None => return whole,
            }
        }
    }
}

/// The arguments of `…(id='a', offset=3, limit=1) …`.
fn call_in(hint: &str) -> Value {
    let inner = hint.split_once('(').unwrap().1.split_once(')').unwrap().0;
    let pairs = inner.split(", ").map(|pair| pair.split_once('=').unwrap());
    let value =
        |text: &str| text.parse::<u64>().map_or_else(|_| json!(text.trim_matches('\'')), |n| json!(n));
    Value::Object(pairs.map(|(name, text)| (name.to_owned(), value(text))).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // ART-04, ART-05
    #[test]
    fn following_the_hints_reads_the_whole(content in "([a-zé<]{0,9}\n){0,12}[a-z]{1,30}", cap in 1u64..30) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let whole = runtime.block_on(async {
            let mut tools = invocation(cap);
            tools.text("create_artifact", json!({"id": "a", "title": "T", "content": content})).await;
            read_on(&mut tools).await
        });
        prop_assert_eq!(whole, format!("{content}\n"));
    }

    // ART-02
    #[test]
    fn an_update_changes_nothing_outside_of_the_match(content in "[a-c\n ]{5,60}", old in "[a-c\n ]{3,12}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(async {
            let mut tools = invocation(50_000);
            tools.text("create_artifact", json!({"id": "a", "title": "T", "content": content})).await;
            tools.call("update_artifact", json!({"id": "a", "old_str": old, "new_str": "#"})).await
        });
        match result {
            Ok(output) => {
                let [Change::Artifact(version)] = output.changes.as_slice() else { panic!() };
                let (before, after) = version.content.split_once('#').unwrap();
                prop_assert!(content.len() >= before.len() + after.len());
                prop_assert!(content.starts_with(before) && content.ends_with(after));
                let edits = output.structured.unwrap()["edits"].as_u64().unwrap();
                prop_assert!(edits <= 5);
            }
            Err(error) => prop_assert!(error.code().as_str().starts_with("artifact.old_str_"), "{error}"),
        }
    }
}
