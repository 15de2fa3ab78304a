//! What a model wrote, made safe and unambiguous for the evaluator: limits, full-width signs, functions of several arguments.
//!
//! The evaluator reads a comma between digits as a mark of thousands also inside `f(1,2)`, and what follows `//` or `#` in
//! its own way. Whatever could so be read wrongly is rewritten or refused here, never guessed.

use std::cmp::Ordering;

/// Longest expression, in characters.
const MAX_CHARACTERS: usize = 500;
/// Deepest nesting of parentheses.
const MAX_NESTING: usize = 64;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The expression breaks a limit or is ambiguous.
    #[error("{0}")]
    Refused(String),
    /// The evaluator said so.
    #[error("{0}.")]
    Failed(String),
    /// It took too long.
    #[error("it takes too long. Split it, or use smaller numbers.")]
    TooSlow,
    /// The call was stopped.
    #[error("it was stopped.")]
    Stopped,
}

fn refused<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Refused(why.into()))
}

/// Checks the limits and writes common signs in the evaluator's way.
pub(super) fn guard(text: &str) -> Result<String, Fault> {
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        return refused(format!("it is longer than {MAX_CHARACTERS} characters. Split it."));
    }
    let plain: String = text.chars().map(plain).collect();
    let plain = plain.trim().trim_end_matches(['=', '?', ' ']).replace("math.", "").replace('√', "sqrt ");
    if plain.is_empty() {
        return refused("there is nothing to calculate.");
    }
    if plain.contains("//") {
        return refused("`//` is not known here; write floor(a / b).");
    }
    if let Some(sign) = plain.chars().find(|c| matches!(c, '#' | '@' | '"' | '\\' | '\0'..='\u{8}')) {
        return refused(format!("`{}` has no meaning in arithmetic.", sign.escape_debug()));
    }
    let mut open = Vec::new();
    for character in plain.chars() {
        match character {
            '(' | '[' | '{' => open.push(character),
            ')' | ']' | '}' => match (open.pop(), character) {
                (Some('('), ')') | (Some('['), ']') | (Some('{'), '}') => {}
                _ => return refused(format!("a `{character}` closes nothing.")),
            },
            _ => {}
        }
        if open.len() > MAX_NESTING {
            return refused(format!("parentheses are nested deeper than {MAX_NESTING} levels. Split it."));
        }
    }
    match open.pop() {
        Some(left) => refused(format!("a `{left}` is not closed.")),
        None => Ok(plain),
    }
}

/// The plain form of a sign that models and keyboards write in other ways.
fn plain(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xff01 + u32::from('!')).unwrap_or(character)
        }
        '×' | '·' | '⋅' | '∗' => '*',
        '÷' | '∕' => '/',
        '−' | '–' | '—' | '‐' | '‑' => '-',
        '\u{3000}' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\t' | '\n' | '\r' => ' ',
        '、' => ',',
        other => other,
    }
}

/// Writes functions of several arguments with operators. `compare` says which of two expressions is greater.
pub(super) fn rewrite(
    text: &str,
    compare: &mut dyn FnMut(&str, &str) -> Result<Ordering, Fault>,
) -> Result<String, Fault> {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, name, inside, after)) = next_call(rest) {
        written.push_str(checked(before)?);
        let parts = split(inside);
        let mut arguments = Vec::with_capacity(parts.len());
        for part in &parts {
            if part.trim().is_empty() && parts.len() > 1 {
                return refused(format!("an argument of {name} is empty."));
            }
            arguments.push(rewrite(part, compare)?);
        }
        written.push_str(&expand(name, &arguments, inside, compare)?);
        rest = after;
    }
    written.push_str(checked(rest)?);
    Ok(written)
}

/// One parenthesis with the name before it, in terms of the evaluator.
fn expand(
    name: &str,
    arguments: &[String],
    inside: &str,
    compare: &mut dyn FnMut(&str, &str) -> Result<Ordering, Fault>,
) -> Result<String, Fault> {
    match (name.to_ascii_lowercase().as_str(), arguments) {
        ("min", [first, more @ ..]) => extreme(first, more, Ordering::Less, compare),
        ("max", [first, more @ ..]) => extreme(first, more, Ordering::Greater, compare),
        ("sum", several) => {
            Ok(format!("({})", several.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join("+")))
        }
        ("pow", [base, exponent]) => Ok(format!("(({base})^({exponent}))")),
        ("round", [number, places]) => Ok(format!("(round(({number})*10^({places}))/10^({places}))")),
        (_, [one]) => Ok(format!("{name}({one})")),
        // Without a name, a comma can only be a mark of thousands.
        ("", _) => Ok(format!("({})", checked(inside)?)),
        _ => refused(format!("{name} does not take {} arguments here.", arguments.len())),
    }
}

fn extreme(
    first: &str,
    more: &[String],
    wanted: Ordering,
    compare: &mut dyn FnMut(&str, &str) -> Result<Ordering, Fault>,
) -> Result<String, Fault> {
    let mut best = first;
    for one in more {
        if compare(one, best)? == wanted {
            best = one;
        }
    }
    Ok(format!("({best})"))
}

/// The first parenthesis of `text`: what stands before it and its name, the name, what is inside, what comes after.
fn next_call(text: &str) -> Option<(&str, &str, &str, &str)> {
    let open = text.find('(')?;
    let (head, tail) = text.split_at(open);
    let trimmed = head.trim_end();
    let name_start = trimmed
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphanumeric() || *c == '_')
        .last()
        .map_or(trimmed.len(), |(at, _)| at);
    let name = &trimmed[name_start..];
    // `2(3+4)` is a product, not a call.
    let named = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let (before, name) = if named { (&head[..name_start], name) } else { (head, "") };
    let mut depth = 0usize;
    for (at, character) in tail.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some((before, name, &tail[1..at], &tail[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits at the commas that stand in no parenthesis.
fn split(inside: &str) -> Vec<&str> {
    let mut depth = 0usize;
    inside
        .split(|c: char| {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .collect()
}

/// The text itself, if each comma in it marks thousands: `1,234,567`.
fn checked(text: &str) -> Result<&str, Fault> {
    let bytes = text.as_bytes();
    let digits_after = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    for (at, _) in text.match_indices(',') {
        let before = bytes.iter().take(at).rev().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=3).contains(&before) || digits_after(at + 1) != 3 {
            return refused(
                "a comma separates arguments or thousands (1,234); this one does neither. Write decimals with a point.",
            );
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Result<String, Fault> {
        let number = |text: &str| text.trim().trim_matches(['(', ')']).parse::<f64>().unwrap_or(0.0);
        rewrite(&guard(text)?, &mut |one, other| Ok(number(one).total_cmp(&number(other))))
    }

    // DAT-01
    #[test]
    fn functions_of_several_arguments_become_operators() {
        let cases = [
            ("max(1, 3, 2)", "( 3)"),
            ("min(4,max(1,2))", "((2))"),
            ("sum(1,2) * 2(3+4)", "((1)+(2)) * 2(3+4)"),
            ("round(2.5, 1)", "(round((2.5)*10^( 1))/10^( 1))"),
            ("Pow(2,3)", "((2)^(3))"),
            ("（１＋２）×３＝", "(1+2)*3"),
            ("1,234,567 + (1,234)", "1,234,567 + (1,234)"),
            ("math.sqrt(4)", "sqrt(4)"),
        ];
        for (text, expected) in cases {
            assert_eq!(rewritten(text).as_deref(), Ok(expected), "{text}");
        }
    }

    // DAT-01
    #[test]
    fn what_could_be_read_wrongly_is_refused() {
        for text in [
            "",
            " = ",
            "gcd(4,6)",
            "mean(1,2)",
            "(1,2)",
            "1,5 + 1",
            "1,2345",
            "7 // 2",
            "5 # 6",
            "(((",
            ")",
            "(]",
            "max(1,)",
            "round(1,2,3)",
            "\"abc\"",
        ] {
            assert!(matches!(rewritten(text), Err(Fault::Refused(_))), "{text}: {:?}", rewritten(text));
        }
        assert!(guard(&"1".repeat(501)).is_err());
        assert!(guard(&format!("{}1{}", "(".repeat(64), ")".repeat(64))).is_ok());
        assert!(guard(&format!("{}1{}", "(".repeat(65), ")".repeat(65))).is_err());
    }
}
