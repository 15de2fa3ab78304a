//! Where a passage that was not found nearly stands, and in which line the two first differ (complaint 27).
//!
//! Only for errors: nothing is ever replaced by likeness.

use std::fmt;

use haft_core::lines::one_line;

/// Largest file that is looked through, in bytes and in lines.
const MAX_BYTES: usize = 1 << 20;
const MAX_LINES: usize = 20_000;
/// Lines of the passage by which places are looked for.
const MAX_PROBES: usize = 4;
/// Lines of the passage that are compared at a place.
const MAX_COMPARED: usize = 60;
/// Characters of a line that are compared.
const MAX_CHARACTERS: usize = 300;
/// Lines that are shown.
const MAX_SHOWN: usize = 8;
/// Longest line that is shown, in characters.
const MAX_SHOWN_LINE: u64 = 160;
/// How alike a place must be, in percent.
const LEAST: u32 = 50;

/// The place that is most like a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nearest {
    first_line: usize,
    last_line: usize,
    /// The first line that differs, as the file has it; none if the passage goes on past the file's end.
    differs: Option<(usize, String)>,
    quoted: String,
    shown: Vec<(usize, String)>,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = super::span(self.first_line, self.last_line);
        match &self.differs {
            Some((line, found)) => writeln!(
                f,
                "The nearest place is {place}. Line {line} is the first that differs: the file has {found:?}, you quoted {:?}.",
                self.quoted
            )?,
            None => {
                writeln!(f, "The nearest place is {place}, where the file ends before your quotation does.")?;
            }
        }
        let rows: Vec<String> = self.shown.iter().map(|(line, text)| format!("{line} | {text}")).collect();
        f.write_str(&rows.join("\n"))
    }
}

/// The place of `text` that is most like `passage`; none if nothing is much like it.
pub(super) fn nearest(text: &str, passage: &str) -> Option<Nearest> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = passage.lines().collect();
    if lines.is_empty() || lines.len() > MAX_LINES || wanted.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let mut best: Option<(u32, usize)> = None;
    for start in starts(&lines, &wanted) {
        let alike = likeness(&lines[start..], &wanted);
        if best.is_none_or(|(most, at)| alike > most || (alike == most && start < at)) {
            best = Some((alike, start));
        }
    }
    let (_, start) = best.filter(|(alike, _)| *alike >= LEAST)?;
    let end = (start + wanted.len()).min(lines.len());
    let found = &lines[start..end];
    let inside = |at: usize, line: &str| {
        // A passage may begin and end in the middle of a line.
        let (first, last) = (at == 0, at + 1 == wanted.len());
        match (first, last) {
            (true, true) => line.contains(wanted[at]),
            (true, false) => line.ends_with(wanted[at]),
            (false, true) => line.starts_with(wanted[at]),
            (false, false) => line == wanted[at],
        }
    };
    let differing = found.iter().enumerate().find(|(at, line)| !inside(*at, line)).map(|(at, _)| at);
    let at = differing.unwrap_or(found.len());
    Some(Nearest {
        first_line: start + 1,
        last_line: end,
        differs: found.get(at).map(|line| (start + at + 1, one_line(line, MAX_SHOWN_LINE))),
        quoted: one_line(wanted.get(at).copied().unwrap_or(""), MAX_SHOWN_LINE),
        shown: found
            .iter()
            .enumerate()
            .skip(at.saturating_sub(2).min(found.len().saturating_sub(MAX_SHOWN)))
            .take(MAX_SHOWN)
            .map(|(at, line)| (start + at + 1, one_line(line, MAX_SHOWN_LINE)))
            .collect(),
    })
}

/// Places where the passage may begin: there the file has a line that is most like one of its longest lines.
fn starts(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let mut probes: Vec<usize> = (0..wanted.len().min(MAX_COMPARED)).collect();
    probes.sort_by_key(|at| std::cmp::Reverse(wanted[*at].trim().len()));
    let mut starts = Vec::new();
    for probe in probes.into_iter().take(MAX_PROBES) {
        let pairs = Pairs::of(wanted[probe]);
        let mut rows: Vec<(u32, usize)> =
            lines.iter().enumerate().map(|(at, line)| (alike(&pairs, wanted[probe], line), at)).collect();
        rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        starts.extend(rows.iter().take(3).map(|(_, at)| at.saturating_sub(probe)));
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// How alike the passage and the lines from here on are, in percent.
fn likeness(lines: &[&str], wanted: &[&str]) -> u32 {
    let compared = wanted.len().min(MAX_COMPARED);
    let sum: u32 = wanted
        .iter()
        .take(compared)
        .zip(lines)
        .map(|(wanted, line)| alike(&Pairs::of(wanted), wanted, line))
        .sum();
    sum / u32::try_from(compared.max(1)).unwrap_or(u32::MAX)
}

/// The pairs of neighbouring characters of a line without its outer blanks, sorted.
struct Pairs(Vec<(char, char)>);

impl Pairs {
    fn of(line: &str) -> Self {
        let line = line.trim();
        let mut pairs: Vec<(char, char)> =
            line.chars().take(MAX_CHARACTERS).zip(line.chars().take(MAX_CHARACTERS).skip(1)).collect();
        pairs.sort_unstable();
        Self(pairs)
    }
}

/// How alike two lines are, in percent: equal ones 100, else the share of common pairs.
fn alike(pairs: &Pairs, wanted: &str, line: &str) -> u32 {
    if wanted == line {
        return 100;
    }
    if wanted.trim() == line.trim() {
        return 98;
    }
    let other = Pairs::of(line);
    let (mut a, mut b, mut common) = (pairs.0.iter().peekable(), other.0.iter().peekable(), 0_usize);
    while let (Some(one), Some(two)) = (a.peek(), b.peek()) {
        match one.cmp(two) {
            std::cmp::Ordering::Less => a.next(),
            std::cmp::Ordering::Greater => b.next(),
            std::cmp::Ordering::Equal => {
                common += 1;
                a.next();
                b.next()
            }
        };
    }
    let all = pairs.0.len() + other.0.len();
    let percent = (200 * common).checked_div(all).unwrap_or(0);
    u32::try_from(percent).unwrap_or(0).min(97)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "def area(r):\n    pi = 3.14\n    return pi * r * r\n\ndef edge(r):\n    return 2 * 3.14 * r\n";

    // Complaint 27 (openai/codex#35361)
    #[test]
    fn the_first_differing_line_is_named_and_the_place_is_shown() {
        let near = nearest(FILE, "def area(r):\n    pi = 3.14\n  return pi * r * r\n").unwrap();
        assert_eq!(
            near.to_string(),
            "The nearest place is lines 1-3. Line 3 is the first that differs: the file has \"    return pi * r * r\", you \
             quoted \"  return pi * r * r\".\n1 | def area(r):\n2 |     pi = 3.14\n3 |     return pi * r * r"
        );
        let near = nearest(FILE, "retrun 2 * 3.14").unwrap();
        assert_eq!((near.first_line, near.differs), (6, Some((6, "    return 2 * 3.14 * r".to_owned()))));
        let past = nearest(FILE, "def edge(r):\n    return 2 * 3.14 * r\nend").unwrap();
        assert_eq!(
            past.to_string(),
            "The nearest place is lines 5-6, where the file ends before your quotation does.\n5 | def edge(r):\n6 |     return 2 * 3.14 * r"
        );
    }

    #[test]
    fn nothing_is_named_where_nothing_is_alike() {
        assert_eq!(nearest(FILE, "SELECT name FROM users"), None);
        assert_eq!(nearest(FILE, "\n \n"), None);
        assert_eq!(nearest("", "x"), None);
    }
}
