//! Paths into a JSON value: `users[0].name`, `$.users[-1]`, `["a key"]`, or a JSON Pointer (RFC 6901) such as `/users/0`.

use haft_schema::json::Literal;

/// The value at `path`, or what is there instead, for the model.
pub(super) fn find<'a, 'text>(value: &'a Literal<'text>, path: &str) -> Result<&'a Literal<'text>, String> {
    let steps = if path.starts_with('/') { pointer(path) } else { dotted(path)? };
    let mut here = value;
    let mut walked = String::new();
    for step in steps {
        let place = if walked.is_empty() { "the whole".to_owned() } else { format!("`{walked}`") };
        here = go(here, &step)
            .ok_or_else(|| format!("There is nothing at `{path}`: {place} {}.", offers(here)))?;
        if !walked.is_empty() {
            walked.push('.');
        }
        walked.push_str(&step);
    }
    Ok(here)
}

/// One step: a name of an object, a place of an array (from 0; from the end, if negative).
fn go<'a, 'text>(value: &'a Literal<'text>, step: &str) -> Option<&'a Literal<'text>> {
    match value {
        Literal::Object(entries) => entries.iter().find(|(name, _)| name == step).map(|(_, value)| value),
        Literal::Array(items) => {
            let place: i64 = step.parse().ok()?;
            let from_end = usize::try_from(place.unsigned_abs()).ok()?;
            let at = if place < 0 { items.len().checked_sub(from_end)? } else { from_end };
            items.get(at)
        }
        Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::String(_) => None,
    }
}

fn offers(value: &Literal<'_>) -> String {
    match value {
        Literal::Object(entries) if entries.is_empty() => "is an empty object".to_owned(),
        Literal::Object(entries) => {
            let names: Vec<&str> = entries.iter().take(20).map(|(name, _)| name.as_ref()).collect();
            let more = if entries.len() > names.len() { " …" } else { "" };
            format!("has the keys {}{more}", names.join(", "))
        }
        Literal::Array(items) => format!("is an array of {} items", items.len()),
        Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::String(_) => {
            "is neither an object nor an array".to_owned()
        }
    }
}

fn pointer(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

fn dotted(path: &str) -> Result<Vec<String>, String> {
    let mut steps = Vec::new();
    let mut rest = path.trim();
    rest = rest.strip_prefix('$').unwrap_or(rest);
    rest = rest.strip_prefix('.').unwrap_or(rest);
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let quote = inside.chars().next().filter(|c| matches!(c, '"' | '\''));
            let (token, after) = match quote {
                Some(quote) => {
                    let end = format!("{quote}]");
                    inside[1..].split_once(end.as_str())
                }
                None => inside.split_once(']'),
            }
            .ok_or_else(|| format!("`{path}` is no path: a `[` is not closed."))?;
            steps.push(token.trim().to_owned());
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (token, after) = rest.split_at(end);
            if token.is_empty() {
                return Err(format!("`{path}` is no path: a name is missing."));
            }
            steps.push(token.to_owned());
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('.') {
            if after.is_empty() {
                return Err(format!("`{path}` is no path: it ends with a point."));
            }
            rest = after;
        }
    }
    Ok(steps)
}
