//! Which lines differ between two versions of a file, told apart by one number a line.
//!
//! Lines that stand once in both versions hold the two together, in their longest common order; what lies between them is
//! compared again, a few times over. That may call more lines changed than a smallest difference would, never fewer.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::{lines, span};

/// How often what lies between common lines is compared again.
const MAX_DEPTH: usize = 8;
/// Places named in words.
const MAX_NAMED: usize = 5;

/// One number for each line of `text`, its line break included.
pub(super) fn marks(text: &str) -> Vec<u64> {
    let mark = |line: &str| {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        hasher.finish()
    };
    text.split_inclusive('\n').map(mark).collect()
}

/// Lines that gave way to others, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Region {
    old: Range<usize>,
    new: Range<usize>,
}

/// The difference between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Nobody remembers the lines of the older version; any may have changed.
    Unknown,
    /// In order, and not touching each other.
    Known(Regions),
}

/// The places where two versions differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Regions(Vec<Region>);

impl Changes {
    /// What became of `old`, given as marks.
    pub(super) fn between(old: &[u64], new: &[u64]) -> Self {
        let mut regions = Vec::new();
        compare(old, new, (0, 0), MAX_DEPTH, &mut regions);
        Self::Known(Regions(regions))
    }

    /// Where line `new` (from 1) of the newer version stood in the older; none if it is changed or added.
    pub(super) fn old_line(&self, new: usize) -> Option<usize> {
        let Self::Known(regions) = self else { return None };
        let at = new.checked_sub(1)?;
        let mut shifted = at;
        for region in &regions.0 {
            if region.new.contains(&at) {
                return None;
            }
            if region.new.start > at {
                break;
            }
            shifted = at - region.new.end + region.old.end;
        }
        Some(shifted + 1)
    }
}

impl fmt::Display for Changes {
    /// In the line numbers of the newer version: `lines 3-4 changed, 2 lines were added after line 9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Known(Regions(regions)) = self else {
            return f.write_str("any line may differ");
        };
        let mut named: Vec<String> = regions.iter().take(MAX_NAMED).map(said).collect();
        if let Some(more) = regions.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            named.push(format!("and {more} places more"));
        }
        f.write_str(&named.join(", "))
    }
}

fn said(region: &Region) -> String {
    let were = |count: usize| if count == 1 { "was" } else { "were" };
    let (gone, come) = (region.old.len(), region.new.len());
    let place = |verb: &str, count: usize| {
        let whole = format!("{} {} {verb}", lines(count), were(count));
        if region.new.start == 0 {
            format!("{whole} at the beginning")
        } else {
            format!("{whole} after line {}", region.new.start)
        }
    };
    match (gone, come) {
        (_, 0) => place("removed", gone),
        (0, _) => place("added", come),
        _ => format!("{} changed", span(region.new.start + 1, region.new.end)),
    }
}

/// Compares two stretches that begin at the lines `at` of their versions.
fn compare(old: &[u64], new: &[u64], at: (usize, usize), depth: usize, regions: &mut Vec<Region>) {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - after], &new[..new.len() - after]);
    let at = (at.0 + before, at.1 + before);
    if old.is_empty() && new.is_empty() {
        return;
    }
    let anchors = if depth == 0 { Vec::new() } else { anchors(old, new) };
    if anchors.is_empty() {
        regions.push(Region { old: at.0..at.0 + old.len(), new: at.1..at.1 + new.len() });
        return;
    }
    let mut from = (0, 0);
    for (a, b) in anchors.into_iter().chain([(old.len(), new.len())]) {
        compare(&old[from.0..a], &new[from.1..b], (at.0 + from.0, at.1 + from.1), depth - 1, regions);
        from = (a + 1, b + 1);
    }
}

/// Lines that stand once in both, in their longest order that both have.
fn anchors(old: &[u64], new: &[u64]) -> Vec<(usize, usize)> {
    let once = |marks: &[u64]| {
        let mut places: HashMap<u64, Option<usize>> = HashMap::new();
        for (at, mark) in marks.iter().enumerate() {
            places.entry(*mark).and_modify(|place| *place = None).or_insert(Some(at));
        }
        places
    };
    let (in_old, in_new) = (once(old), once(new));
    let common: Vec<(usize, usize)> = old
        .iter()
        .enumerate()
        .filter_map(|(at, mark)| {
            in_old.get(mark).copied().flatten()?;
            Some((at, in_new.get(mark).copied().flatten()?))
        })
        .collect();
    longest_rise(&common)
}

/// The longest part of `pairs`, which rise in their first place, that rises in its second too.
fn longest_rise(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // `tails[n]` ends the rise of n + 1 pairs with the smallest end; `before` links each pair to the one before it.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (_, place)) in pairs.iter().enumerate() {
        let length = tails.partition_point(|tail| pairs[*tail].1 < *place);
        before.push(length.checked_sub(1).map(|shorter| tails[shorter]));
        if length == tails.len() { tails.push(index) } else { tails[length] = index }
    }
    let mut rise: Vec<(usize, usize)> = std::iter::successors(tails.last().copied(), |index| before[*index])
        .map(|index| pairs[index])
        .collect();
    rise.reverse();
    rise
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes(old: &str, new: &str) -> Changes {
        let lines = |text: &str| marks(&text.replace(' ', "\n"));
        Changes::between(&lines(old), &lines(new))
    }

    // Complaint 24: a stale file is told by what changed in it.
    #[test]
    fn changes_are_named_in_the_lines_of_the_newer_version() {
        assert_eq!(changes("a b c d ", "a B c d ").to_string(), "line 2 changed");
        assert_eq!(
            changes("a b c d ", "a B X c d e f ").to_string(),
            "lines 2-3 changed, 2 lines were added after line 5"
        );
        assert_eq!(changes("a b c d ", "a d ").to_string(), "2 lines were removed after line 1");
        assert_eq!(changes("a b ", "x a b ").to_string(), "1 line was added at the beginning");
        assert_eq!(changes("a b ", "b ").to_string(), "1 line was removed at the beginning");
        assert_eq!(changes("a b ", "a b "), Changes::Known(Regions::default()));
        assert_eq!(Changes::Unknown.to_string(), "any line may differ");
        let many = changes("0 1 2 3 4 5 6 7 8 9 a b c d e f ", "x 1 x 3 x 5 x 7 x 9 x b x d x f ");
        assert_eq!(
            many.to_string(),
            "line 1 changed, line 3 changed, line 5 changed, line 7 changed, line 9 changed, and 3 places more"
        );
    }

    #[test]
    fn lines_keep_their_places_around_a_change() {
        let moved = changes("a b c d e ", "x a b D e ");
        let places: Vec<Option<usize>> = (1..=5).map(|line| moved.old_line(line)).collect();
        assert_eq!(places, [None, Some(1), Some(2), None, Some(5)]);
        assert_eq!(moved.old_line(0), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn a_line_that_kept_its_place_is_the_same_line(old in "([a-e] ){0,14}", new in "([a-e] ){0,14}") {
            let changes = changes(&old, &new);
            let (old, new): (Vec<&str>, Vec<&str>) = (old.split_terminator(' ').collect(), new.split_terminator(' ').collect());
            let kept: Vec<(usize, usize)> =
                (1..=new.len()).filter_map(|line| Some((changes.old_line(line)?, line))).collect();
            for (before, after) in &kept {
                prop_assert_eq!(old[before - 1], new[after - 1]);
            }
            prop_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let Changes::Known(Regions(regions)) = changes else { panic!("both are known") };
            prop_assert_eq!(kept.len() + regions.iter().map(|region| region.new.len()).sum::<usize>(), new.len());
            prop_assert_eq!(regions.is_empty(), old == new);
        }
    }
}
