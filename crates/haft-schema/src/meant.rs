//! Which declared parameter a name that nobody declared was meant to be. It only tells; nothing is renamed by it.

/// Longest name for which another one is looked for, in bytes: what is longer was no slip.
const LONGEST: usize = 64;
/// Letters that may differ at most: added, left out, another one, or two of them swapped.
const MOST_LETTERS: usize = 2;

/// The one of `names` that is spelled nearly as `written`; none where there are several, or none.
///
/// Capitals, `_` and `-` do not count. In three letters one may differ, in six or more two.
pub(crate) fn meant<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > LONGEST {
        return None;
    }
    let letters = letters_of(written);
    let mut near =
        names.into_iter().filter(|name| name.len() <= LONGEST && is_near(&letters, &letters_of(name)));
    near.next().filter(|_| near.next().is_none())
}

fn letters_of(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase).collect()
}

fn is_near(one: &str, other: &str) -> bool {
    let longer = one.chars().count().max(other.chars().count());
    strsim::osa_distance(one, other) <= (longer / 3).min(MOST_LETTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["query", "max_results", "start_line", "id", "url"];

    #[test]
    fn a_slip_is_seen_through() {
        for (written, name) in [
            ("qurey", "query"),
            ("querry", "query"),
            ("Query", "query"),
            ("maxResults", "max_results"),
            ("max-result", "max_results"),
            ("strat_lin", "start_line"),
            ("ur", "url"),
        ] {
            assert_eq!(meant(written, NAMES), Some(name), "{written}");
        }
    }

    #[test]
    fn another_word_is_no_slip() {
        for written in ["", "text", "ip", "end_line", "q", "path", &"query".repeat(20)] {
            assert_eq!(meant(written, NAMES), None, "{written}");
        }
    }

    #[test]
    fn two_that_are_near_are_none() {
        assert_eq!(meant("path3", ["path1", "path2"]), None);
        assert_eq!(meant("path3", ["path1", "other"]), Some("path1"));
    }
}
