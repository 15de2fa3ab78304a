//! A question to a person as text: whole, with everything made visible that a terminal would hide.

use haft_core::{Question, Scope, Timestamp};
use serde_json::Value;

use crate::output::counted;
use crate::terminal::fold::fold;
use crate::untrusted::{visible, visible_line};

/// What is printed before the keys are offered. `now` turns the deadline into minutes, `columns` is the terminal's width.
pub(crate) fn text(question: &Question, now: Timestamp, columns: usize) -> String {
    let mut text = String::new();
    match &question.arguments {
        Value::Object(map) => {
            for (key, value) in map {
                push_argument(&mut text, key, value, columns);
            }
        }
        other => fold(&mut text, &visible(&other.to_string()), ["  ", "  | ", CONTINUED], columns),
    }
    let (title, rule) = (visible_line(&question.title), visible_line(&question.rule));
    let mut about = format!("({title}, {}; {rule}", question.tool_id);
    if let Some(deadline) = question.deadline {
        let seconds = deadline.since(now).div_ceil(1000);
        let wait = if seconds > 90 {
            format!("{} minutes", seconds.div_ceil(60))
        } else {
            counted(usize::try_from(seconds).unwrap_or(usize::MAX), "second")
        };
        about.push_str(&format!("; no answer within {wait} is a no"));
    }
    fold(&mut text, &format!("{about})"), ["  ", "   ", "   "], columns);
    text
}

/// The question itself.
pub(crate) fn headline(question: &Question, columns: usize) -> String {
    let mut text = String::new();
    fold(&mut text, &visible(&question.text), ["? ", "  | ", CONTINUED], columns);
    text
}

/// What a line begins with that only goes on because the terminal is narrow.
const CONTINUED: &str = "    … ";

/// One argument: on its line, or as a block that no value can look like another key from within.
fn push_argument(text: &mut String, key: &str, value: &Value, columns: usize) {
    let key = visible_line(key);
    let shown = match value {
        Value::String(value) => value.clone(),
        other => other.to_string(),
    };
    let shown = visible(&shown);
    if shown.contains('\n') {
        text.push_str(&format!("  {key}:\n"));
        fold(text, &shown, ["    | ", "    | ", CONTINUED], columns);
    } else {
        fold(text, &shown, [&format!("  {key}: "), "", CONTINUED], columns);
    }
}

/// The keys, one a line, and last the prompt without a line end.
pub(crate) fn keys(question: &Question, columns: usize) -> String {
    let mut text = "  [y] yes, once\n".to_owned();
    let scope = remembered(question);
    if let Some(scope) = scope {
        let covered = format!("yes, for this session: {}", visible_line(&covered(scope, &question.alias)));
        fold(&mut text, &covered, ["  [s] ", "      ", "      "], columns);
    }
    text.push_str("  [n] no\n  [e] no, and say why\n");
    text.push_str(if scope.is_some() { "  y, s, n or e: " } else { "  y, n or e: " });
    text
}

/// What a scope covers, in words.
fn covered(scope: &Scope, alias: &str) -> String {
    match scope {
        Scope::Tool => format!("whatever `{alias}` is asked to do"),
        Scope::Path(path) => format!("`{alias}` for everything in {path}"),
        Scope::File(path) => format!("`{alias}` for the file {path}"),
        Scope::Host(host) => format!("`{alias}` for the host {host}"),
        Scope::Command(shape) => format!("commands like `{shape}`"),
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
            invocation: None,
            call_id: CallId::new("c_1"),
            tool_id: ToolId::builtin("project.file_write"),
            alias: "file_write".into(),
            title: "File write".into(),
            source: "builtin".into(),
            effect: "changes something".into(),
            text: "Write `a\u{202e}b`?".into(),
            arguments: serde_json::json!({"path": "a\u{202e}b", "content": "x\n\u{1b}[2J"}),
            digest: Digest::of(b""),
            folder: Some("/p".into()),
            policy: None,
            examples: Vec::new(),
            reason: None,
            scopes: vec![Scope::Path("/p/a".into()), Scope::Tool],
            every_time,
            rule: "permission of `file_write`: ask".into(),
            deadline: Some(Timestamp(301_000)),
        }
    }

    #[test]
    fn a_question_is_shown_whole_and_hides_nothing() {
        assert_eq!(headline(&question(false), 80), "? Write `a\\u{202e}b`?\n");
        insta::assert_snapshot!(text(&question(false), Timestamp(1_000), 79), @r#"
          path: a\u{202e}b
          content:
            | x
            | \u{1b}[2J
          (File write, builtin:project.file_write; permission of `file_write`: ask; no 
           answer within 5 minutes is a no)
        "#);
    }

    #[test]
    fn the_keys_say_what_a_yes_covers() {
        insta::assert_snapshot!(keys(&question(false), 39), @r"
          [y] yes, once
          [s] yes, for this session: 
              `file_write` for everything in 
              /p/a
          [n] no
          [e] no, and say why
          y, s, n or e:
        ");
        assert!(!keys(&question(true), 79).contains("session"));
    }
}
