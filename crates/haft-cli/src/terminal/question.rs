//! A question to a person as text: whole, with everything made visible that a terminal would hide.

use haft_core::{Question, Scope, Timestamp};
use serde_json::Value;

use crate::output::counted;
use crate::untrusted::{visible, visible_line};

/// What is printed before the keys are offered. `now` turns the deadline into minutes.
pub(crate) fn text(question: &Question, now: Timestamp) -> String {
    let mut text = format!("\n? {}\n", visible(&question.text));
    match &question.arguments {
        Value::Object(map) => {
            for (key, value) in map {
                push_argument(&mut text, key, value);
            }
        }
        other => text.push_str(&format!("  {}\n", visible(&other.to_string()))),
    }
    let rule = visible(&question.rule);
    text.push_str(&format!("  ({}, {}; {rule}", visible(&question.title), question.tool_id));
    if let Some(deadline) = question.deadline {
        let seconds = deadline.since(now).div_ceil(1000);
        let wait = if seconds > 90 {
            format!("{} minutes", seconds.div_ceil(60))
        } else {
            counted(usize::try_from(seconds).unwrap_or(usize::MAX), "second")
        };
        text.push_str(&format!("; no answer within {wait} is a no"));
    }
    text.push_str(")\n");
    text
}

/// One argument: on its line, or as a block that no value can look like another key from within.
fn push_argument(text: &mut String, key: &str, value: &Value) {
    let key = visible_line(key);
    let shown = match value {
        Value::String(value) => value.clone(),
        other => other.to_string(),
    };
    if shown.contains('\n') {
        text.push_str(&format!("  {key}:\n"));
        for line in visible(&shown).split('\n') {
            text.push_str(&format!("    | {line}\n"));
        }
    } else {
        text.push_str(&format!("  {key}: {}\n", visible(&shown)));
    }
}

/// The keys, in one line.
pub(crate) fn keys(question: &Question) -> String {
    match remembered(question) {
        Some(scope) => format!(
            "  [y] yes, once   [s] yes, for this session: {}   [n] no   [e] no, and say why: ",
            visible(&scope.to_string())
        ),
        None => "  [y] yes, once   [n] no   [e] no, and say why: ".to_owned(),
    }
}

/// What a yes for the session would cover: the narrowest scope; none where each call is asked.
pub(crate) fn remembered(question: &Question) -> Option<&Scope> {
    if question.every_time { None } else { question.scopes.first() }
}

#[cfg(test)]
mod tests {
    use haft_core::{CallId, ConsentId, Digest, RunId, SessionId, ToolId};

    use super::*;

    fn question(every_time: bool) -> Question {
        Question {
            id: ConsentId::new("q_1"),
            session: SessionId::new("s_1"),
            run: RunId::new("r_1"),
            call_id: CallId::new("c_1"),
            tool_id: ToolId::builtin("project.file_write"),
            alias: "file_write".into(),
            title: "File write".into(),
            text: "Write `a\u{202e}b`?".into(),
            arguments: serde_json::json!({"path": "a\u{202e}b", "content": "x\n\u{1b}[2J"}),
            digest: Digest::of(b""),
            scopes: vec![Scope::Path("/p/a".into()), Scope::Tool],
            every_time,
            rule: "permission of `file_write`: ask".into(),
            deadline: Some(Timestamp(301_000)),
        }
    }

    #[test]
    fn a_question_is_shown_whole_and_hides_nothing() {
        insta::assert_snapshot!(text(&question(false), Timestamp(1_000)), @r#"

        ? Write `a\u{202e}b`?
          path: a\u{202e}b
          content:
            | x
            | \u{1b}[2J
          (File write, builtin:project.file_write; permission of `file_write`: ask; no answer within 5 minutes is a no)
        "#);
    }

    #[test]
    fn what_must_be_asked_every_time_offers_no_memory() {
        assert!(keys(&question(false)).contains("for this session: path:/p/a"));
        assert!(!keys(&question(true)).contains("session"));
    }
}
