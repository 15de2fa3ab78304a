//! The words of servers: errors out of their JSON, and text short enough to be shown.

use haft_schema::json;
use serde_json::Value;

use super::Broken;

/// The error that a server reports inside its answer.
pub(crate) fn reported(error: &Value) -> Broken {
    let number = |name: &str| error.get(name).and_then(Value::as_u64);
    let status = number("status").or_else(|| number("code")).filter(|status| (400..600).contains(status));
    let message = error_message(error).unwrap_or_else(|| shortened(&error.to_string(), 500));
    Broken::Reported { status: status.and_then(|status| u16::try_from(status).ok()), message }
}

/// The words of an error object, or of a text in its place.
pub(crate) fn error_message(error: &Value) -> Option<String> {
    match error {
        Value::String(text) => Some(text.clone()),
        other => ["message", "detail", "error"].into_iter().find_map(|name| match other.get(name)? {
            Value::String(text) => Some(text.clone()),
            inner @ Value::Object(_) => inner.get("message")?.as_str().map(str::to_owned),
            _ => None,
        }),
    }
}

/// What an error's body says: the message in its JSON, the title of a page, or its beginning; at most `most` characters.
pub(super) fn error_words(text: &str, most: usize) -> String {
    if let Some(page) = page(text) {
        return page;
    }
    let words = error_object(text).as_ref().and_then(error_message);
    shortened(words.as_deref().unwrap_or(text), most)
}

/// The error object in the body of an error; Gemini puts it into a list where no stream was asked for.
pub(super) fn error_object(text: &str) -> Option<Value> {
    let mut value = json::read(text, None).ok()?;
    if let Value::Array(items) = value {
        value = items.into_iter().next()?;
    }
    match value.get_mut("error") {
        Some(error) => Some(error.take()),
        None => Some(value),
    }
}

/// Names an HTML page by its title; none if the text is no page.
pub(super) fn page(text: &str) -> Option<String> {
    let lower = text.trim_start().get(..15).unwrap_or(text.trim_start()).to_ascii_lowercase();
    if !["<!doctype html", "<html", "<head", "<body", "<?xml"].iter().any(|mark| lower.starts_with(mark)) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let length = lower.get(start..)?.find("</title>")?;
        text.get(start..start + length)
    });
    Some(match title.map(|title| shortened(title, 100)).filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page (“{title}”)"),
        None => "a web page".to_owned(),
    })
}

/// At most `most` characters of `text`, on one line.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut short = String::new();
    let mut blank = false;
    let mut count = 0;
    for character in text.trim().chars() {
        if character.is_whitespace() || character.is_control() {
            blank = true;
            continue;
        }
        if count + usize::from(blank) >= most {
            short.push('…');
            return short;
        }
        if std::mem::take(&mut blank) {
            short.push(' ');
            count += 1;
        }
        short.push(character);
        count += 1;
    }
    short
}
