//! Words of the options, and suggestions for those that nobody knows.

use syn::{Error, LitStr};

/// The word that is meant by `literal`, with what it stands for. The error lists all of them.
pub(crate) fn choose<T: Copy>(option: &str, literal: &LitStr, words: &[(&str, T)]) -> Result<T, Error> {
    let wanted = literal.value();
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == wanted) {
        return Ok(*meaning);
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(Error::new(literal.span(), format!("`{wanted}` is no {option}; {}", hint(&wanted, &names))))
}

/// What to write instead: the nearest of `names`, else all of them.
pub(crate) fn hint(wanted: &str, names: &[&str]) -> String {
    let near = names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&wanted.to_lowercase(), name), name))
        .filter(|(distance, _)| *distance <= wanted.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance);
    match near {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("there are {}", listed(names)),
    }
}

/// The names in backticks, with commas.
fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
