//! References of a schema to its own outermost level, kept where that level is written otherwise.

use serde_json::{Map, Value};

/// What a schema says of itself alone, and definitions, which stay where they are.
const NOT_MOVED: [&str; 6] = ["$defs", "definitions", "$id", "$schema", "$anchor", "$comment"];
/// The name under which the outermost level is kept.
const NAME: &str = "root";

/// `out` is `root` with another outermost level. A reference in it to that level, or through a part of it that is gone, means
/// `root` as it was: that is then kept among the definitions, and the reference leads there.
pub(crate) fn keep_root(root: &Map<String, Value>, out: &mut Map<String, Value>) {
    let gone: Vec<&String> =
        root.iter().filter(|(key, value)| out.get(*key) != Some(*value)).map(|(key, _)| key).collect();
    if gone.is_empty() {
        return;
    }
    let definitions = out.get("$defs").and_then(Value::as_object);
    let is_free = |name: &String| definitions.is_none_or(|known| !known.contains_key(name));
    let numbered = (2_u32..).map(|number| format!("{NAME}{number}"));
    let Some(name) = std::iter::once(NAME.to_owned()).chain(numbered).find(is_free) else { return };
    let target = format!("#/$defs/{name}");
    let mut led = false;
    for value in out.values_mut() {
        led |= lead(value, &gone, &target);
    }
    if !led {
        return;
    }
    let moved = root.iter().filter(|(key, _)| !NOT_MOVED.contains(&key.as_str()));
    let mut kept = Value::Object(moved.map(|(key, value)| (key.clone(), value.clone())).collect());
    lead(&mut kept, &gone, &target);
    if let Value::Object(definitions) = out.entry("$defs").or_insert_with(|| Value::Object(Map::new())) {
        definitions.insert(name, kept);
    }
}

/// Leads the references in `value` to the outermost level to `target`; true if there were any.
fn lead(value: &mut Value, gone: &[&String], target: &str) -> bool {
    match value {
        Value::Object(map) => map.iter_mut().fold(false, |led, (key, value)| {
            let rest =
                value.as_str().filter(|_| key == "$ref").and_then(|reference| reference.strip_prefix('#'));
            let is_gone = |rest: &&str| {
                let part = rest.strip_prefix('/').map(|path| path.split('/').next().unwrap_or_default());
                rest.is_empty() || part.is_some_and(|part| gone.iter().any(|key| *key == part))
            };
            match rest.filter(is_gone).map(|rest| format!("{target}{rest}")) {
                Some(reference) => {
                    *value = Value::String(reference);
                    true
                }
                None => lead(value, gone, target) || led,
            }
        }),
        // Each of them, whatever was led in those before.
        Value::Array(items) => {
            items.iter_mut().map(|item| lead(item, gone, target)).filter(|led| *led).count() > 0
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
