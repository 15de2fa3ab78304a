//! What a server wants back unchanged, marked with whose it is, so that no other server is ever sent it.

use serde_json::{Map, Value};

/// Wraps the unknown fields of a message of `server`.
pub(crate) fn wrap(server: &str, fields: Map<String, Value>) -> Value {
    Value::Object(Map::from_iter([
        ("server".to_owned(), server.into()),
        ("fields".to_owned(), Value::Object(fields)),
    ]))
}

/// The fields again, if they are of `server`.
pub(crate) fn unwrap<'a>(server: &str, metadata: Option<&'a Value>) -> Option<&'a Map<String, Value>> {
    let metadata = metadata?;
    (metadata.get("server")?.as_str()? == server).then_some(())?;
    metadata.get("fields")?.as_object()
}

/// Adds opaque fields; they never replace what Haft says itself.
pub(crate) fn add_fields(into: &mut Map<String, Value>, fields: Option<&Map<String, Value>>) {
    for (key, value) in fields.into_iter().flatten() {
        match (into.get_mut(key), value) {
            (None, value) => {
                into.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(own)), Value::Object(more)) => add_fields(own, Some(more)),
            (Some(_), _) => {}
        }
    }
}
