//! A question to a person as text: whole, with everything made visible that a terminal would hide.

use std::fmt::Write;

use haft_core::{Question, Scope};

use crate::untrusted::visible;

/// What is printed before the keys are offered.
pub(crate) fn text(question: &Question) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\n? {}", visible(&question.text));
    let _ = writeln!(text, "  {} ({})", visible(&question.title), question.tool_id);
    let arguments = serde_json::to_string_pretty(&question.arguments).unwrap_or_default();
    for line in visible(&arguments).lines() {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  asked by: {}", visible(&question.rule));
    if let Some(deadline) = question.deadline {
        let _ = writeln!(text, "  no answer until {deadline} is a no");
    }
    text
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
    use haft_core::{CallId, ConsentId, Digest, RunId, SessionId, Timestamp, ToolId};

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
            deadline: Some(Timestamp(0)),
        }
    }

    #[test]
    fn a_question_is_shown_whole_and_hides_nothing() {
        insta::assert_snapshot!(text(&question(false)), @r#"

        ? Write `a\u{202e}b`?
          File write (builtin:project.file_write)
          {
            "path": "a\u{202e}b",
            "content": "x\n\u001b[2J"
          }
          asked by: permission of `file_write`: ask
          no answer until 1970-01-01T00:00:00.000Z is a no
        "#);
    }

    #[test]
    fn what_must_be_asked_every_time_offers_no_memory() {
        assert!(keys(&question(false)).contains("for this session: path:/p/a"));
        assert!(!keys(&question(true)).contains("session"));
    }
}
