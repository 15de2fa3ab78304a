//! What a model searches for, and how well a text fits: one rule for chat, workspace and skills (WSP-16).
//!
//! A query with letters, digits or `_` is a list of words; one without any is searched literally, so that punctuation can be
//! found. Nothing here knows where the texts come from.

use crate::lines::one_line;

/// Longest line of a snippet, in characters.
const MAX_LINE: u64 = 400;
/// Most lines of one snippet.
const MAX_SNIPPET: usize = 24;
/// Occurrences of one word that still count.
const MAX_COUNTED: u32 = 5;

/// A query, ready to be compared with texts. Capitals do not matter.
///
/// ```
/// use haft_core::query::Query;
/// let query = Query::parse("Blue lantern").unwrap();
/// assert!(query.score("the blue lantern") > query.score("a lantern, not blue but red"));
/// assert!(query.score("a lantern") > 0);
/// assert_eq!(query.score("nothing of it"), 0);
/// // Without any letter the query is taken as it stands.
/// assert!(Query::parse("=> ?").unwrap().score("a => b") > 0);
/// assert!(Query::parse("  ").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What to find, in lower case, each once.
    tokens: Vec<String>,
    /// The whole query in lower case, single blanks between its parts.
    phrase: String,
}

/// Lines of a text that fit a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineHit {
    /// How well they fit; larger is better, never 0.
    pub score: u32,
    /// First line of the snippet, from 1.
    pub start_line: usize,
    /// Last line of the snippet.
    pub end_line: usize,
    /// The lines; long ones are cut with `…`.
    pub snippet: String,
}

impl Query {
    /// Reads a query; none if it is blank.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_lowercase();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let parts: Vec<&str> = if lower.chars().any(is_word) {
            lower.split(|c| !is_word(c)).filter(|part| !part.is_empty()).collect()
        } else {
            lower.split_whitespace().collect()
        };
        let mut tokens: Vec<String> = Vec::new();
        for part in parts {
            if !tokens.iter().any(|token| token == part) {
                tokens.push(part.to_owned());
            }
        }
        let phrase = lower.split_whitespace().collect::<Vec<_>>().join(" ");
        (!tokens.is_empty()).then_some(Self { tokens, phrase })
    }

    /// How well `text` fits; 0 if it does not at all. Different words count most, then the query as a phrase, then repetition.
    pub fn score(&self, text: &str) -> u32 {
        self.score_lower(&text.to_lowercase())
    }

    fn score_lower(&self, lower: &str) -> u32 {
        let mut score = 0_u32;
        for token in &self.tokens {
            let found = lower.matches(token.as_str()).take(MAX_COUNTED as usize).count();
            let found = u32::try_from(found).unwrap_or(MAX_COUNTED);
            if found > 0 {
                score = score.saturating_add(9 + found);
            }
        }
        let is_phrase = self.tokens.len() > 1 && lower.contains(&self.phrase);
        if is_phrase { score.saturating_add(10) } else { score }
    }

    /// The places of `text` that fit, each with up to `context` lines around it; places whose lines meet are one.
    pub fn lines(&self, text: &str, context: usize) -> Vec<LineHit> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let lower: Vec<String> = lines.iter().map(|line| line.to_lowercase()).collect();
        let fitting =
            lower.iter().enumerate().filter(|(_, line)| self.tokens.iter().any(|token| line.contains(token)));
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for (at, _) in fitting {
            let (from, to) = (at.saturating_sub(context), at.saturating_add(context).min(lines.len() - 1));
            match spans.last_mut() {
                Some(last) if from <= last.1 && to - last.0 < MAX_SNIPPET => last.1 = to,
                // The snippet before is full; it may show the line already.
                Some(last) if from <= last.1 => {
                    let next = last.1 + 1;
                    if next <= at {
                        spans.push((next, to));
                    }
                }
                Some(_) | None => spans.push((from, to)),
            }
        }
        spans
            .into_iter()
            .map(|(from, to)| LineHit {
                score: self.score_lower(&lower[from..=to].concat()),
                start_line: from + 1,
                end_line: to + 1,
                snippet: lines[from..=to]
                    .iter()
                    .map(|line| one_line(line, MAX_LINE))
                    .collect::<Vec<_>>()
                    .join("\n"),
            })
            .collect()
    }

    /// About `most` characters of `text` around the first place that fits, on one line, with `…` where it is cut.
    ///
    /// ```
    /// use haft_core::query::Query;
    /// let query = Query::parse("door").unwrap();
    /// assert_eq!(query.excerpt("He opened\nthe door and went out into the snow.", 16), "…the door and wen…");
    /// ```
    pub fn excerpt(&self, text: &str, most: usize) -> String {
        let flat: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
        if flat.len() <= most {
            return flat.into_iter().collect();
        }
        // Lower case may have other lengths; the place is found by counting what stands before it.
        let lower: Vec<(usize, char)> = flat
            .iter()
            .enumerate()
            .flat_map(|(at, c)| c.to_lowercase().map(move |lower| (at, lower)))
            .collect();
        let written: String = lower.iter().map(|(_, c)| c).collect();
        let first = self.tokens.iter().filter_map(|token| written.find(token.as_str())).min().unwrap_or(0);
        let before = written.get(..first).map_or(0, |text| text.chars().count());
        let at = lower.get(before).map_or(0, |(at, _)| *at);
        let from = at.saturating_sub(most / 4).min(flat.len() - most);
        let cut: String = flat[from..from + most].iter().collect();
        let (left, right) =
            (if from > 0 { "…" } else { "" }, if from + most < flat.len() { "…" } else { "" });
        format!("{left}{}{right}", cut.trim())
    }
}

/// Puts hits in order: the best first, equal ones by `place`; at most `most` stay.
pub fn rank<T, K: Ord>(hits: &mut Vec<T>, most: usize, score: impl Fn(&T) -> u32, place: impl Fn(&T) -> K) {
    hits.sort_by(|a, b| score(b).cmp(&score(a)).then_with(|| place(a).cmp(&place(b))));
    hits.truncate(most);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // WSP-16
    #[test]
    fn words_are_tokens_and_pure_punctuation_is_taken_literally() {
        let tokens = |text: &str| Query::parse(text).map(|query| query.tokens);
        assert_eq!(
            tokens(" The re_start, the  end! "),
            Some(vec!["the".into(), "re_start".into(), "end".into()])
        );
        assert_eq!(tokens("!? ::"), Some(vec!["!?".into(), "::".into()]));
        assert_eq!(tokens("世界书"), Some(vec!["世界书".into()]));
        // A mixed query keeps its words alone.
        assert_eq!(tokens("x => y"), Some(vec!["x".into(), "y".into()]));
        assert_eq!(tokens(" \n"), None);
        assert_eq!(Query::parse("...").unwrap().score("wait... what"), 10);
    }

    // WSP-16
    #[test]
    fn more_words_beat_a_phrase_and_that_beats_repetition() {
        let query = Query::parse("red fox").unwrap();
        let (both, phrase) = (query.score("fox, red"), query.score("red fox"));
        let (one, often) = (query.score("red"), query.score("red red red red red red red red"));
        assert_eq!((both, phrase, one, often), (20, 30, 10, 14));
    }

    // WSP-05
    #[test]
    fn places_that_meet_are_one_hit_with_its_lines() {
        let text = "a\nfox\nb\nc\nfox fox\nd\ne\nf\ng\nfox";
        let hits = Query::parse("FOX").unwrap().lines(text, 1);
        let rows: Vec<(u32, usize, usize, &str)> =
            hits.iter().map(|hit| (hit.score, hit.start_line, hit.end_line, hit.snippet.as_str())).collect();
        assert_eq!(rows, [(10, 1, 3, "a\nfox\nb"), (11, 4, 6, "c\nfox fox\nd"), (10, 9, 10, "g\nfox")]);
        assert_eq!(Query::parse("fox").unwrap().lines("", 2), []);
    }

    #[test]
    fn the_best_come_first_and_equal_ones_in_their_order() {
        let mut hits = vec![(1, 'c'), (3, 'b'), (3, 'a'), (2, 'd')];
        rank(&mut hits, 3, |hit| hit.0, |hit| hit.1);
        assert_eq!(hits, [(3, 'a'), (3, 'b'), (2, 'd')]);
    }

    proptest! {
        // WSP-05, WSP-16: every line that fits is shown once, and no hit is without one.
        #[test]
        fn each_fitting_line_is_in_one_hit(text in "([abx ]{0,4}\n){0,60}", context in 0_usize..5) {
            let query = Query::parse("x").unwrap();
            let hits = query.lines(&text, context);
            for (index, line) in text.lines().enumerate() {
                let number = index + 1;
                let around = hits.iter().filter(|hit| (hit.start_line..=hit.end_line).contains(&number)).count();
                prop_assert!(around <= 1);
                if line.contains('x') {
                    prop_assert_eq!(around, 1);
                }
            }
            for hit in &hits {
                prop_assert!(hit.score > 0 && hit.snippet.contains('x'));
                prop_assert!(hit.end_line - hit.start_line <= MAX_SNIPPET);
                prop_assert_eq!(hit.snippet.split('\n').count(), hit.end_line - hit.start_line + 1);
            }
        }

        #[test]
        fn an_excerpt_holds_what_was_found(before in "[a-z ]{0,80}", after in "[A-Zİé ]{0,80}", most in 8_usize..40) {
            let query = Query::parse("NEEDLE").unwrap();
            let excerpt = query.excerpt(&format!("{before} needle {after}"), most);
            prop_assert!(excerpt.contains("needle"), "{}", excerpt);
            prop_assert!(excerpt.chars().count() <= most + 2);
        }
    }
}
