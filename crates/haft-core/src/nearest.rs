//! Suggestions for names that nobody knows: the nearest of what there is.

/// At most `most` of `names` that look like `wanted`, nearest first. Nothing is suggested that shares little with it.
///
/// ```
/// let names = ["file_read", "file_write", "calculator"];
/// assert_eq!(haft_core::nearest::nearest("file_raed", names, 2), ["file_read"]);
/// ```
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&wanted, &lower);
            let limit = (wanted.chars().count().max(3)) / 3;
            let part = wanted.len() >= 3 && (lower.contains(&wanted) || wanted.contains(&lower));
            (distance <= limit || part).then_some((distance, name))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(most).map(|(_, name)| name).collect()
}
