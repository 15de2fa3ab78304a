//! The part of YAML that a profile needs, as a tree with lines: tables, lists and scalars of one document.
//!
//! Anchors, aliases, tags and deep nesting are refused, so that a small file cannot grow.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{Entry, FileError, Node, Position, Problem, Value};

/// Deepest nesting of tables and lists.
const DEEPEST: usize = 16;

/// Reads one YAML document; `first_line` is the line of the file on which `text` begins.
pub(crate) fn parse(file: &str, text: &str, first_line: usize) -> Result<Node, FileError> {
    let mut builder = Builder { parser: Parser::new_from_str(text), first_line };
    builder.document().map_err(|problem| FileError { file: file.to_owned(), problems: vec![problem] })
}

struct Builder<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    first_line: usize,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Result<Node, Problem> {
        let mut root = None;
        loop {
            let (event, at) = self.next()?;
            match event {
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                _ if root.is_some() => {
                    return Err(problem(at, "there is more than one document".to_owned()));
                }
                event => root = Some(self.node(event, at, 0)?),
            }
        }
        let empty = Position { line: self.first_line, column: 1 };
        Ok(root.unwrap_or(Node { at: empty, value: Value::Table(Vec::new()) }))
    }

    fn node(&mut self, event: Event<'a>, at: Position, depth: usize) -> Result<Node, Problem> {
        if depth > DEEPEST {
            return Err(problem(at, format!("this is nested deeper than {DEEPEST} levels")));
        }
        let value = match event {
            Event::Scalar(_, _, anchor, tag) if anchor != 0 || tag.is_some() => {
                return Err(problem(at, NO_ANCHORS.to_owned()));
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag)
                if anchor != 0 || tag.is_some() =>
            {
                return Err(problem(at, NO_ANCHORS.to_owned()));
            }
            Event::Alias(_) => return Err(problem(at, NO_ANCHORS.to_owned())),
            Event::Scalar(text, style, _, _) => scalar(&text, style),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, at) = self.next()?;
                    if matches!(event, Event::SequenceEnd) {
                        break Value::List(items);
                    }
                    items.push(self.node(event, at, depth + 1)?);
                }
            }
            Event::MappingStart(..) => Value::Table(self.entries(depth)?),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(problem(at, "a value is missing here".to_owned())),
        };
        Ok(Node { at, value })
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<Entry>, Problem> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(problem(at, "a key must be plain text".to_owned())),
            };
            if entries.iter().any(|entry| entry.key == key) {
                return Err(problem(at, format!("the key `{key}` stands here twice")));
            }
            let (event, value_at) = self.next()?;
            let node = self.node(event, value_at, depth + 1)?;
            entries.push(Entry { key, at, node });
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Position), Problem> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.position(span))),
            Some(Err(error)) => {
                let marker = error.marker();
                let at = Position { line: marker.line() + self.first_line - 1, column: marker.col() + 1 };
                Err(problem(at, format!("this is no YAML: {}", error.info())))
            }
            None => Ok((Event::StreamEnd, Position { line: self.first_line, column: 1 })),
        }
    }

    fn position(&self, span: Span) -> Position {
        Position { line: span.start.line() + self.first_line - 1, column: span.start.col() + 1 }
    }
}

const NO_ANCHORS: &str = "anchors, aliases and tags are not taken in a profile; write the value out";

fn problem(at: Position, text: String) -> Problem {
    Problem { at: Some(at), text, hint: None }
}

/// A scalar by YAML's core schema; what is quoted is text.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Boolean(true),
        "false" | "False" | "FALSE" => return Value::Boolean(false),
        _ => {}
    }
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        && text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(number), _) if is_number => Value::Integer(number),
        (_, Ok(number)) if is_number && number.is_finite() => Value::Float(number),
        _ => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_tables_lists_and_scalars() {
        let root =
            parse("f", "name: mine\ntools:\n  allow: [a, 'b']\n  deny:\n    - c\nn: 5\nr: 0.5\n", 2).unwrap();
        let Value::Table(entries) = root.value else { panic!() };
        assert_eq!(entries[0].node.value, Value::Text("mine".into()));
        assert_eq!(entries[1].at, Position { line: 3, column: 1 });
        assert_eq!(
            (entries[2].node.value.clone(), entries[3].node.value.clone()),
            (Value::Integer(5), Value::Float(0.5))
        );
        assert_eq!(parse("f", "", 1).unwrap().value, Value::Table(vec![]));
    }

    #[test]
    fn what_could_grow_or_hide_is_refused() {
        for (text, part) in [
            ("a: &x 1\nb: *x\n", "anchors"),
            ("a: !!python/object 1\n", "anchors"),
            ("a: 1\na: 2\n", "twice"),
            ("a: [1\n", "no YAML"),
            ("a: 1\n---\nb: 2\n", "more than one"),
            ("? [1]\n: 2\n", "plain text"),
        ] {
            let error = parse("f", text, 1).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let deep = format!("a: {}1{}", "[".repeat(40), "]".repeat(40));
        assert!(parse("f", &deep, 1).is_err());
    }
}
