//! A question to a person as text: whole, with everything made visible that a terminal would hide.

use haft_core::consent::Examples;
use haft_core::{Question, Scope, Timestamp};
use serde_json::Value;

use crate::output::counted;
use crate::terminal::fold::fold;
use crate::untrusted::{visible, visible_line};

/// What is printed before the keys are offered, whole. `now` turns the deadline into minutes, `columns` is the terminal's width.
pub(crate) fn text(question: &Question, now: Timestamp, columns: usize) -> String {
    let mut text = String::new();
    let head = "The arguments, in the model's words, with what it left out filled in:";
    fold(&mut text, head, ["  ", "  ", "  "], columns);
    match &question.arguments {
        Value::Object(map) => {
            for (key, value) in map {
                push_argument(&mut text, key, value, columns);
            }
        }
        other => fold(&mut text, &visible(&other.to_string()), ["  ", "  | ", CONTINUED], columns),
    }
    let (title, rule) = (visible_line(&question.title), visible_line(&question.rule));
    let mut about = format!("({title}, {}", question.tool_id);
    if !question.effect.is_empty() {
        about.push_str(&format!(", {}", question.effect));
    }
    about.push_str(&format!("; {rule}"));
    if let Some(reason) = &question.reason {
        about.push_str(&format!(", because {}", visible_line(reason)));
    }
    if let Some(folder) = &question.folder {
        about.push_str(&format!("; in {}", visible_line(folder)));
    }
    let bytes = haft_schema::canonical::to_bytes(&question.arguments).len();
    about.push_str(&format!("; {}, sha256 {}", counted(bytes, "byte"), question.digest.hex_prefix(12)));
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
    let offered = offered(question);
    match offered.as_slice() {
        [] => {}
        [(scope, examples)] => {
            let covered = visible_line(&covered(scope, &question.alias));
            let line = format!("yes, for this session: {covered}");
            fold(&mut text, &line, ["  [s] ", "      ", "      "], columns);
            push_examples(&mut text, *examples, columns);
            text.push_str("  [r] the same, for this run alone\n  [u] the same, up to a time\n");
        }
        _ => {
            let line = format!("yes, for this session: to one of {} parts, which come next", offered.len());
            fold(&mut text, &line, ["  [s] ", "      ", "      "], columns);
            text.push_str("  [r] the same, for this run alone\n  [u] the same, up to a time\n");
        }
    }
    text.push_str("  [n] no\n  [e] no, and say why\n");
    text.push_str(if offered.is_empty() { "  y, n or e: " } else { "  y, s, r, u, n or e: " });
    text
}

/// The keys of the top, as they are pressed.
pub(crate) fn offered_keys(question: &Question) -> &'static [char] {
    if offered(question).is_empty() { &['y', 'n', 'e'] } else { &['y', 's', 'r', 'u', 'n', 'e'] }
}

/// The parts that a yes may cover, each with what it would allow and what not, and last the prompt without a line end.
pub(crate) fn parts(question: &Question, for_what: &str, columns: usize) -> String {
    let mut text = String::new();
    fold(&mut text, &format!("A yes for {for_what} may cover:"), ["  ", "  ", "  "], columns);
    let offered = offered(question);
    for (number, (scope, examples)) in (1..).zip(&offered) {
        let covered = visible_line(&covered(scope, &question.alias));
        fold(&mut text, &covered, [&format!("  [{number}] "), "      ", "      "], columns);
        push_examples(&mut text, *examples, columns);
    }
    text.push_str("  [b] back\n");
    let numbers: Vec<String> = (1..=offered.len()).map(|number| number.to_string()).collect();
    text.push_str(&format!("  {} or b: ", numbers.join(", ")));
    text
}

fn push_examples(text: &mut String, examples: Option<&Examples>, columns: usize) {
    let Some(examples) = examples else { return };
    for allowed in &examples.allows {
        let line = format!("allows {}", visible_line(allowed));
        fold(text, &line, ["        ", "        ", "        "], columns);
    }
    if let Some(refused) = &examples.refuses {
        let line = format!("not    {}", visible_line(refused));
        fold(text, &line, ["        ", "        ", "        "], columns);
    }
}

/// What is asked for after `u`; the line that is typed comes behind it.
pub(crate) const HOW_LONG: &str = "  for how long (30m, 2h, 1d), or nothing to go back: ";

/// The length of time that `text` names, in milliseconds: a whole number of minutes, hours or days, at most 366 days.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    const LONGEST: u64 = 366 * 24 * 60;
    let text = text.trim();
    let unit = text.chars().next_back()?;
    let minutes = match unit.to_ascii_lowercase() {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        _ => return None,
    };
    let number = text.strip_suffix(unit)?.trim_end();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let minutes = is_number.then(|| number.parse::<u64>().ok()).flatten()?.checked_mul(minutes)?;
    (1..=LONGEST).contains(&minutes).then_some(minutes * 60_000)
}

/// What a yes may cover beside the call, narrowest first; nothing where each call is asked.
pub(crate) fn offered(question: &Question) -> Vec<(&Scope, Option<&Examples>)> {
    if question.every_time {
        return Vec::new();
    }
    let examples = question.examples.iter().map(Some).chain(std::iter::repeat(None));
    question.scopes.iter().zip(examples).collect()
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
            examples: vec![
                Examples::of(&Scope::Path("/p/a".into()), &[Scope::File("/p/a/b.md".into())], "file_write"),
                Examples::of(&Scope::Tool, &[], "file_write"),
            ],
            reason: Some("people read it".into()),
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
          The arguments, in the model's words, with what it left out filled in:
          path: a\u{202e}b
          content:
            | x
            | \u{1b}[2J
          (File write, builtin:project.file_write, changes something; permission of 
           `file_write`: ask, because people read it; in /p; 41 bytes, sha256 
           e3b0c44298fc; no answer within 5 minutes is a no)
        "#);
    }

    #[test]
    fn the_keys_say_what_a_yes_covers() {
        insta::assert_snapshot!(keys(&question(false), 39), @r#"
          [y] yes, once
          [s] yes, for this session: to one of 
              2 parts, which come next
          [r] the same, for this run alone
          [u] the same, up to a time
          [n] no
          [e] no, and say why
          y, s, r, u, n or e:
        "#);
        let one = Question { scopes: vec![Scope::Path("/p/a".into())], ..question(false) };
        insta::assert_snapshot!(keys(&one, 39), @r#"
          [y] yes, once
          [s] yes, for this session: 
              `file_write` for everything in 
              /p/a
                allows /p/a/b.md
                allows /p/a/other.md
                not    /p/a-old/b.md
          [r] the same, for this run alone
          [u] the same, up to a time
          [n] no
          [e] no, and say why
          y, s, r, u, n or e:
        "#);
        assert!(!keys(&question(true), 79).contains("session"));
        assert_eq!(offered_keys(&question(true)), ['y', 'n', 'e']);
    }

    // Lifetime `until`
    #[test]
    fn a_length_of_time_is_minutes_hours_or_days() {
        let cases = [
            ("30m", Some(1_800_000)),
            (" 2h ", Some(7_200_000)),
            ("2 H", Some(7_200_000)),
            ("1d", Some(86_400_000)),
            ("366d", Some(31_622_400_000)),
        ];
        for (text, expected) in cases {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
        for text in
            ["", "h", "0m", "2", "2s", "-1h", "+1h", "1.5h", "367d", "99999999999999999999d", "2hé", "é"]
        {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    // Pains 1, 2: what a yes would reach is shown before it is given.
    #[test]
    fn the_parts_are_shown_with_what_they_allow_and_what_not() {
        insta::assert_snapshot!(parts(&question(false), "this session", 60), @r#"
          A yes for this session may cover:
          [1] `file_write` for everything in /p/a
                allows /p/a/b.md
                allows /p/a/other.md
                not    /p/a-old/b.md
          [2] whatever `file_write` is asked to do
                allows `file_write` with whatever arguments, now and 
                later
                not    any other tool
          [b] back
          1, 2 or b:
        "#);
    }
}
