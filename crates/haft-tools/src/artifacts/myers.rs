//! Edit distances of a pattern against all places of a text at once: Myers' bit-parallel method in Hyyrö's form for patterns
//! of any length. One step handles 64 characters of the pattern for one character of the text.
//!
//! It must not know what the texts mean, nor bound the work: callers ask [`Pattern::steps`] first.

use std::collections::HashMap;

const WORD: usize = 64;

/// A pattern prepared for searching.
pub(super) struct Pattern {
    length: usize,
    words: usize,
    /// Which bits of each word are set for a character of the pattern.
    masks: HashMap<char, Vec<u64>>,
    none: Vec<u64>,
}

/// Where a match may begin in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Anywhere: the distance at an end is that of the best beginning.
    Anywhere,
    /// At the first character alone.
    First,
}

impl Pattern {
    pub(super) fn new(characters: impl Iterator<Item = char>) -> Self {
        let characters: Vec<char> = characters.collect();
        let words = characters.len().div_ceil(WORD).max(1);
        let mut masks: HashMap<char, Vec<u64>> = HashMap::new();
        for (at, character) in characters.iter().enumerate() {
            let mask = masks.entry(*character).or_insert_with(|| vec![0; words]);
            if let Some(word) = mask.get_mut(at / WORD) {
                *word |= 1 << (at % WORD);
            }
        }
        Self { length: characters.len(), words, masks, none: vec![0; words] }
    }

    /// Steps that a search of `characters` takes.
    pub(super) fn steps(&self, characters: usize) -> usize {
        self.words.saturating_mul(characters)
    }

    /// Tells `visit` of every end in `text` (number of characters before it, from 1) the least edit distance between the
    /// pattern and a part of the text that ends there.
    pub(super) fn distances(
        &self,
        text: impl Iterator<Item = char>,
        start: Start,
        mut visit: impl FnMut(usize, usize),
    ) {
        let first_in = match start {
            Start::Anywhere => 0,
            Start::First => 1,
        };
        let last_bit = 1u64 << (self.length.saturating_sub(1) % WORD);
        let mut columns = vec![(u64::MAX, 0u64); self.words];
        let mut distance = self.length;
        for (at, character) in text.enumerate() {
            let masks = self.masks.get(&character).unwrap_or(&self.none);
            let mut carry: i8 = first_in;
            let last = self.words - 1;
            for (word, (column, mask)) in columns.iter_mut().zip(masks).enumerate() {
                let high = if word == last { last_bit } else { 1 << (WORD - 1) };
                carry = step(column, *mask, carry, high);
            }
            distance = distance.saturating_add_signed(isize::from(carry));
            visit(at + 1, distance);
        }
    }
}

/// One word of one column: `carry` is the horizontal difference that comes in from the word below; what goes out at the bit
/// `high` comes back.
fn step((up, down): &mut (u64, u64), mask: u64, carry: i8, high: u64) -> i8 {
    let vertical = mask | *down;
    let mask = if carry < 0 { mask | 1 } else { mask };
    let horizontal = ((mask & *up).wrapping_add(*up) ^ *up) | mask;
    let mut plus = *down | !(horizontal | *up);
    let mut minus = *up & horizontal;
    let out = if plus & high != 0 {
        1
    } else if minus & high != 0 {
        -1
    } else {
        0
    };
    plus <<= 1;
    minus <<= 1;
    if carry > 0 {
        plus |= 1;
    } else if carry < 0 {
        minus |= 1;
    }
    *up = minus | !(vertical | plus);
    *down = plus & vertical;
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The textbook table.
    fn slow(pattern: &[char], text: &[char], start: Start) -> Vec<usize> {
        let mut column: Vec<usize> = (0..=pattern.len()).collect();
        let mut ends = Vec::new();
        for (at, character) in text.iter().enumerate() {
            let mut diagonal = column[0];
            column[0] = if start == Start::First { at + 1 } else { 0 };
            for (row, wanted) in pattern.iter().enumerate() {
                let here = column[row + 1];
                let swapped = diagonal + usize::from(wanted != character);
                column[row + 1] = swapped.min(here + 1).min(column[row] + 1);
                diagonal = here;
            }
            ends.push(column[pattern.len()]);
        }
        ends
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_the_table(pattern in "[abc]{1,150}", text in "[abcd]{0,200}", first in any::<bool>()) {
            let start = if first { Start::First } else { Start::Anywhere };
            let mut found = Vec::new();
            Pattern::new(pattern.chars()).distances(text.chars(), start, |_, distance| found.push(distance));
            let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(found, slow(&pattern, &text, start));
        }
    }
}
