//! The front matter of a `SKILL.md`: keys in YAML between two `---` lines, of which the index shows name and description (SKL-01).

use saphyr_parser::{Event, Parser};

/// Longest description that the index shows, in characters (the open form allows as many).
const MAX_DESCRIPTION: usize = 1_024;
/// Events of YAML that are looked at.
const MAX_EVENTS: usize = 10_000;

/// What the index knows of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Front {
    /// As the skill names itself; the folder's name is what counts.
    pub(super) name: Option<String>,
    /// What it is for and when to use it.
    pub(super) description: Option<String>,
}

/// Reads the beginning of a `SKILL.md`.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn read(text: &str) -> Result<Front, &'static str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return Err("its SKILL.md has no front matter");
    }
    let start = text.find('\n').map_or(text.len(), |at| at + 1);
    let mut end = start;
    for line in lines {
        if line.trim_end() == "---" {
            return keys(&text[start..end]);
        }
        end += line.len();
    }
    Err("the front matter of its SKILL.md does not end")
}

fn keys(yaml: &str) -> Result<Front, &'static str> {
    const NO_YAML: &str = "the front matter of its SKILL.md is no YAML";
    let mut front = Front::default();
    let mut depth = 0_usize;
    let mut key: Option<String> = None;
    let mut parser = Parser::new_from_str(yaml);
    for _ in 0..MAX_EVENTS {
        let event = match parser.next_event() {
            Some(Ok((event, _))) => event,
            Some(Err(_)) => return Err(NO_YAML),
            None => return Ok(front),
        };
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if depth == 1 {
                    key = None;
                }
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
            Event::Scalar(text, ..) if depth == 1 => match key.take() {
                None => key = Some(text.into_owned()),
                Some(key) => {
                    let value = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    let value: String = value.chars().take(MAX_DESCRIPTION).collect();
                    match key.as_str() {
                        "name" => front.name = Some(value),
                        "description" => front.description = Some(value),
                        _ => {}
                    }
                }
            },
            // An alias as a value is no text; as a key it is none that is looked for.
            Event::Alias(_) if depth == 1 => key = if key.is_some() { None } else { Some(String::new()) },
            Event::Scalar(..)
            | Event::Alias(_)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }
    Err(NO_YAML)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // SKL-01
    #[test]
    fn name_and_description_are_read_from_the_open_form() {
        let text = "---\nname: pdf-forms\ndescription: >\n  Fills PDF forms.\n  Use it for forms.\nmetadata:\n  name: other\nallowed-tools: [a, b]\n---\n# Body\ndescription: no\n";
        let expected = Front {
            name: Some("pdf-forms".into()),
            description: Some("Fills PDF forms. Use it for forms.".into()),
        };
        assert_eq!(read(text), Ok(expected));
        assert_eq!(read("---\r\nname: \"a: b\"\r\n---\r\n").unwrap().name.as_deref(), Some("a: b"));
        assert_eq!(read("---\n---\n"), Ok(Front::default()));
        assert_eq!(read("# No front\n"), Err("its SKILL.md has no front matter"));
        assert_eq!(read(""), Err("its SKILL.md has no front matter"));
        assert_eq!(read("---\nname: a\n"), Err("the front matter of its SKILL.md does not end"));
        assert_eq!(read("---\nname: [a\n---\n"), Err("the front matter of its SKILL.md is no YAML"));
        let long = format!("---\ndescription: {}\n---\n", "x".repeat(3_000));
        assert_eq!(read(&long).unwrap().description.unwrap().len(), 1_024);
    }

    proptest! {
        #[test]
        fn foreign_text_is_never_a_panic(text in "(---\n)?[a-z:&*\\[\\]{}\"'>|\n -]{0,60}(\n---\n)?") {
            let _front = read(&text);
        }
    }
}
