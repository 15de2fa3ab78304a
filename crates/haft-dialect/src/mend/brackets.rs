//! Closing brackets that are missing. Strings are copied as they are.

use haft_schema::json::MAX_DEPTH;

use super::string_length;
use crate::scan::is_blank;

/// The text with its missing closing brackets added, if brackets are all that is missing. Without proof that the text is whole (`is_whole`),
/// only those may be missing that stand round a closed object.
pub(crate) fn closed(text: &str, is_whole: bool) -> Option<String> {
    let mut open: Vec<char> = Vec::new();
    let mut out = String::with_capacity(text.len() + 8);
    let mut deepest = 0_usize;
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '{', '[', '(', '}', ']', ')']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let character = from.chars().next()?;
        let mut length = 1;
        match character {
            '"' | '\'' => length = string_length(from, character)?,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '(' => open.push(')'),
            closer if open.last() == Some(&closer) => drop(open.pop()),
            // A bracket further inside is missing; only that of the call, if nothing else proves that the text is whole.
            closer if is_whole && open.contains(&closer) || ends_list(closer, &open, &out) => {
                while let Some(missing) = open.pop().filter(|missing| *missing != closer) {
                    out.push(missing);
                }
            }
            _ => return None,
        }
        let (taken, behind) = from.split_at_checked(length)?;
        out.push_str(taken);
        rest = behind;
        deepest = deepest.max(open.len());
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    out.push_str(rest);
    let end = out.trim_end_matches(is_blank).len();
    if open.is_empty() && out == text {
        return None;
    }
    if !is_whole {
        // Behind the object of arguments nothing but the brackets of the call and of its list may be missing.
        let calls = open.iter().filter(|bracket| **bracket == '}').count();
        let ends = out.get(..end)?.trim_end_matches(']').trim_end_matches(is_blank).ends_with(['}', '"']);
        if !ends || calls > 1 || open.len() > 2 || deepest <= open.len() {
            return None;
        }
    }
    out.truncate(end);
    if out.ends_with(',') {
        out.pop();
    }
    out.extend(open.into_iter().rev());
    Some(out)
}

/// The offsets behind the closing brackets of a text, each with the number of brackets that are still open there, up to a string without end.
pub(crate) fn ends(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut depth = 0_usize;
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let found = at + rest.find(['"', '\'', '{', '[', '}', ']'])?;
            let from = text.get(found..)?;
            match from.chars().next()? {
                '{' | '[' => {
                    depth += 1;
                    at = found + 1;
                }
                '}' | ']' => {
                    depth = depth.checked_sub(1)?;
                    at = found + 1;
                    return Some((at, depth));
                }
                quote => at = found + string_length(from, quote)?,
            }
        }
    })
}

/// Whether a bracket ends a list of calls in which the last call, whose arguments are closed, lacks its own.
fn ends_list(bracket: char, open: &[char], before: &str) -> bool {
    bracket == ']' && open == [']', '}'] && before.trim_end_matches(is_blank).ends_with('}')
}
