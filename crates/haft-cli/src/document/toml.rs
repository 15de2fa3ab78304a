//! TOML as a tree with lines.

use toml::de::{DeTable, DeValue};

use super::{Entry, FileError, Lines, Node, Problem, Value};

/// Reads a whole TOML document; `file` names it in errors.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, FileError> {
    let lines = Lines::new(text);
    let document = DeTable::parse(text).map_err(|error| FileError {
        file: file.to_owned(),
        problems: vec![Problem {
            at: error.span().map(|span| lines.position(span.start)),
            text: format!("this is no TOML: {}", error.message().replace('\n', ", ")),
            hint: None,
        }],
    })?;
    let mut root = table(&lines, document.get_ref());
    root.at = lines.position(0);
    Ok(root)
}

fn table(lines: &Lines<'_>, table: &DeTable<'_>) -> Node {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            at: lines.position(key.span().start),
            node: node(lines, value.get_ref(), value.span().start),
        })
        .collect();
    entries.sort_by_key(|entry| entry.at);
    let at = entries.first().map_or_else(|| lines.position(0), |entry| entry.at);
    Node { at, value: Value::Table(entries) }
}

fn node(lines: &Lines<'_>, value: &DeValue<'_>, offset: usize) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number of more than 64 bits"), Value::Integer),
        DeValue::Float(number) => {
            number.as_str().parse().map_or(Value::Other("a number out of range"), Value::Float)
        }
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| node(lines, item.get_ref(), item.span().start)).collect())
        }
        DeValue::Table(inner) => return table(lines, inner),
    };
    Node { at: lines.position(offset), value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Position;

    #[test]
    fn values_know_their_lines() {
        let root = parse("f", "a = 1\n[models.x]\nurl = \"é\"\nlist = [true,\n 1.5]\n").unwrap();
        let Value::Table(entries) = root.value else { panic!() };
        assert_eq!(entries[0].node.value, Value::Integer(1));
        let Value::Table(models) = &entries[1].node.value else { panic!() };
        let Value::Table(x) = &models[0].node.value else { panic!() };
        assert_eq!((x[0].key.as_str(), x[0].at), ("url", Position { line: 3, column: 1 }));
        let Value::List(list) = &x[1].node.value else { panic!() };
        assert_eq!(list[1], Node { at: Position { line: 5, column: 2 }, value: Value::Float(1.5) });
    }

    #[test]
    fn broken_text_is_reported_with_its_place() {
        let error = parse("haft.toml", "a = 1\nb = \n").unwrap_err();
        assert_eq!(error.problems[0].at.map(|at| at.line), Some(2));
        assert!(error.to_string().starts_with("haft.toml:2:"), "{error}");
    }
}
