//! Exact replacement of one passage, by somebody who has read it (WSP-10, WSP-11).

use std::fmt;
use std::ops::Range;

use haft_core::Digest;
use memchr::memmem;

use super::known::KnownFile;
use super::nearest::{Nearest, nearest};
use super::{line_count, span};

/// Places named in a receipt or an error.
const MAX_NAMED: usize = 20;

/// What a model wants replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patch<'a> {
    /// The passage, exactly as it stands in the file.
    pub(crate) old: &'a str,
    /// What stands there afterwards.
    pub(crate) new: &'a str,
    /// Every occurrence, not the only one.
    pub(crate) all: bool,
}

/// How careful a patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// If others changed the file since it was read, the patch is refused, whatever they changed; and after a patch on a part
    /// failed, the whole file must be read (WSP-11).
    Strict,
    /// If others changed the file, but not the passage, the patch goes on and the receipt says what else changed.
    Anchored,
}

/// How a passage was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matched {
    /// Byte for byte.
    Exactly,
    /// But for line ends: the file has others than the quotation, and keeps them.
    LineEnds,
}

/// What a patch did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// How many places were replaced.
    pub(crate) replacements: usize,
    /// First and last line of each place in the new version, from 1; the first places alone, where there are many.
    pub(crate) lines: Vec<(usize, usize)>,
    /// How the passage was found.
    pub(crate) matched: Matched,
    /// The version that was patched.
    pub(crate) from: Digest,
    /// The version that came of it.
    pub(crate) to: Digest,
    /// What others had changed since the file was read; none if nothing.
    pub(crate) elsewhere: Option<String>,
}

impl fmt::Display for Receipt {
    /// `1 replacement, line 3, matched exactly`, then what changed elsewhere.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.replacements == 1 { "replacement" } else { "replacements" };
        let matched = match self.matched {
            Matched::Exactly => "matched exactly",
            Matched::LineEnds => "matched but for line ends, which stay as the file has them",
        };
        write!(f, "{} {what}, {}, {matched}.", self.replacements, places(&self.lines, self.replacements))?;
        match &self.elsewhere {
            Some(changes) => write!(
                f,
                " Others changed the file since you read it, not your passage: {changes}. Read those lines before you change them."
            ),
            None => Ok(()),
        }
    }
}

/// `line 3, lines 5-7 …`.
fn places(spans: &[(usize, usize)], count: usize) -> String {
    let named: Vec<String> = spans.iter().map(|(first, last)| span(*first, *last)).collect();
    let more = if count > spans.len() { " …" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// A file after a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patched {
    /// The new version.
    pub(crate) text: String,
    /// What was done.
    pub(crate) receipt: Receipt,
    /// What the patcher knows of the new version.
    pub(crate) known: KnownFile,
}

/// Why nothing was patched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchError {
    /// There is no passage.
    EmptyOld,
    /// The file would be as it was.
    NoChange,
    /// The file was not read.
    NotRead,
    /// Lines of the passage were not read.
    NotReadHere {
        /// The lines that the passage stands in.
        lines: (usize, usize),
        /// The lines that were read.
        read: String,
    },
    /// The whole file must be read first: a patch on a part failed.
    AfterFailure,
    /// The whole file must be read first: places that nobody read would change.
    AllUnread {
        /// The lines that were read.
        read: String,
    },
    /// Others changed the file since it was read.
    Stale {
        /// What they changed.
        changes: String,
        /// Where the passage stands now, if it stands there once.
        stands: Option<(usize, usize)>,
    },
    /// The passage does not stand in the file.
    NotFound(Option<Nearest>),
    /// The passage stands there several times.
    NotUnique {
        /// How often.
        count: usize,
        /// Where first.
        lines: Vec<(usize, usize)>,
    },
}

impl PatchError {
    /// What the model reads: what is wrong with `path`, what it can do. `reader` is the name of the tool that reads files.
    pub(crate) fn message(&self, path: &str, reader: &str, next: NextRead) -> String {
        let read_first = match next {
            NextRead::Passage => format!("Read it with {reader} first."),
            NextRead::Whole => format!("Read the whole file with {reader} before you edit it again."),
        };
        let what = match self {
            Self::EmptyOld => {
                return "`old_string` is empty. Quote the passage that is to be replaced.".to_owned();
            }
            Self::NoChange => {
                return format!(
                    "Nothing was changed: `{path}` would stay as it is. Make `new_string` differ from `old_string`."
                );
            }
            Self::NotRead => format!("you have not read `{path}`. {read_first}"),
            Self::NotReadHere { lines: (first, last), read } => format!(
                "the passage stands in {} of `{path}`, and you have read {read}. {read_first}",
                span(*first, *last)
            ),
            Self::AfterFailure => {
                format!("an edit of `{path}` failed when you had read only a part of it. {read_first}")
            }
            Self::AllUnread { read } => format!(
                "replace_all may change places that you have not seen, and of `{path}` you have read {read}. {read_first}"
            ),
            Self::Stale { changes, stands } => {
                let stands = match stands {
                    Some((first, last)) => format!(" Your passage now stands in {}.", span(*first, *last)),
                    None => String::new(),
                };
                format!("others changed `{path}` since you read it: {changes}.{stands} {read_first}")
            }
            Self::NotFound(near) => {
                let quote = match next {
                    NextRead::Passage => "Quote it exactly, blanks included.".to_owned(),
                    NextRead::Whole => read_first,
                };
                let near = near.as_ref().map_or("Nothing there is like it.".to_owned(), ToString::to_string);
                format!("`old_string` does not stand in `{path}`. {quote} {near}")
            }
            Self::NotUnique { count, lines } => {
                let quote = match next {
                    NextRead::Passage => "Quote more of the surroundings, or set replace_all.".to_owned(),
                    NextRead::Whole => read_first,
                };
                format!("`old_string` stands {count} times in `{path}`: {}. {quote}", places(lines, *count))
            }
        };
        format!("Nothing was changed: {what}")
    }
}

/// What must be read before the next patch of a file can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextRead {
    /// The passage.
    Passage,
    /// The whole file.
    Whole,
}

/// Replaces the passage in `text`, the file as it is now, for somebody who knows `known` of it. The whole file is searched, so
/// that a passage is unique or refused, whatever part of it was read.
///
/// # Errors
/// [`PatchError`]; then nothing is changed, and the caller notes that with [`FileReads::failed`](super::FileReads::failed).
pub(crate) fn patch(
    text: &str,
    known: Option<&KnownFile>,
    wanted: Patch<'_>,
    manner: Manner,
) -> Result<Patched, PatchError> {
    if wanted.old.is_empty() {
        return Err(PatchError::EmptyOld);
    }
    if wanted.old == wanted.new {
        return Err(PatchError::NoChange);
    }
    let known = known.ok_or(PatchError::NotRead)?;
    if known.is_doubtful() {
        return Err(PatchError::AfterFailure);
    }
    if wanted.all && !known.is_whole() {
        return Err(PatchError::AllUnread { read: known.seen() });
    }
    let found = find(text, wanted);
    let changes = known.changes(text);
    if let Some(changes) = &changes {
        let place = (found.count == 1).then(|| found.lines(text, 0));
        let seen = |line: usize| changes.old_line(line).is_some_and(|line| known.has_seen(line));
        let untouched = place.is_some_and(|(first, last)| (first..=last).all(seen));
        let goes_on = match manner {
            Manner::Strict => false,
            // What else has become like the passage was read by nobody.
            Manner::Anchored => untouched && !wanted.all,
        };
        if !goes_on {
            return Err(PatchError::Stale { changes: changes.to_string(), stands: place });
        }
    }
    if found.count == 0 {
        return Err(PatchError::NotFound(nearest(text, wanted.old)));
    }
    if found.count > 1 && !wanted.all {
        let lines = (0..found.places.len()).map(|at| found.lines(text, at)).collect();
        return Err(PatchError::NotUnique { count: found.count, lines });
    }
    if changes.is_none() {
        let (first, last) = found.lines(text, 0);
        if !known.is_whole() && !(first..=last).all(|line| known.has_seen(line)) {
            return Err(PatchError::NotReadHere { lines: (first, last), read: known.seen() });
        }
    }
    let (new_text, spans) = replaced(text, &found);
    if new_text == text {
        return Err(PatchError::NoChange);
    }
    let known = if known.is_whole() && changes.is_none() {
        KnownFile::whole(&new_text)
    } else {
        let total = line_count(text);
        let (first, last) = found.lines(text, 0);
        let new_last = (line_count(&new_text) + last).saturating_sub(total);
        let seen = |line: usize| match &changes {
            Some(changes) => changes.old_line(line).is_some_and(|line| known.has_seen(line)),
            None => known.has_seen(line),
        };
        KnownFile::patched(&new_text, total, (first, last, new_last), seen)
    };
    let receipt = Receipt {
        replacements: found.places.len(),
        lines: spans,
        matched: found.matched,
        from: Digest::of(text.as_bytes()),
        to: known.digest(),
        elsewhere: changes.map(|changes| changes.to_string()),
    };
    Ok(Patched { text: new_text, receipt, known })
}

/// Where a passage stands.
struct Found {
    /// Occurrences that do not overlap, by their first byte.
    places: Vec<usize>,
    /// All occurrences: more than the places, if some overlap.
    count: usize,
    old: String,
    new: String,
    matched: Matched,
}

impl Found {
    fn range(&self, at: usize) -> Range<usize> {
        let start = self.places.get(at).copied().unwrap_or(0);
        start..start + self.old.len()
    }

    /// First and last line that the place takes part in.
    fn lines(&self, text: &str, at: usize) -> (usize, usize) {
        let range = self.range(at);
        let first = 1 + breaks(&text.as_bytes()[..range.start]);
        // The break at its end belongs to its last line.
        let inside = &text.as_bytes()[range.start..range.end.saturating_sub(1).max(range.start)];
        (first, first + breaks(inside))
    }
}

fn find(text: &str, wanted: Patch<'_>) -> Found {
    let exact = found(text, wanted.old.to_owned(), wanted.new.to_owned(), Matched::Exactly);
    if exact.count > 0 {
        return exact;
    }
    // Models write line feeds, whatever the file has.
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (old, new) = if memmem::find(text.as_bytes(), b"\r\n").is_some() {
        (plain(wanted.old).replace('\n', "\r\n"), plain(wanted.new).replace('\n', "\r\n"))
    } else {
        (plain(wanted.old), plain(wanted.new))
    };
    found(text, old, new, Matched::LineEnds)
}

fn found(text: &str, old: String, new: String, matched: Matched) -> Found {
    let finder = memmem::Finder::new(old.as_bytes());
    let places: Vec<usize> = finder.find_iter(text.as_bytes()).collect();
    let mut count = 0;
    let mut from = 0;
    // Occurrences that overlap are several as well: nobody knows which one is meant.
    while let Some(at) = text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
        count += 1;
        from += at + 1;
    }
    Found { places, count, old, new, matched }
}

/// The new text, and where the first places stand in it.
fn replaced(text: &str, found: &Found) -> (String, Vec<(usize, usize)>) {
    let mut new_text = String::with_capacity(text.len());
    let mut spans = Vec::new();
    let (mut line, mut from) = (1, 0);
    let added = breaks(found.new.as_bytes());
    for at in &found.places {
        let kept = text.get(from..*at).unwrap_or_default();
        line += breaks(kept.as_bytes());
        if spans.len() < MAX_NAMED {
            let closing = usize::from(found.new.ends_with('\n'));
            spans.push((line, line + added.saturating_sub(closing)));
        }
        line += added;
        new_text.push_str(kept);
        new_text.push_str(&found.new);
        from = at + found.old.len();
    }
    new_text.push_str(text.get(from..).unwrap_or_default());
    (new_text, spans)
}

fn breaks(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

impl Receipt {
    /// For programs and audit.
    pub(crate) fn structured(&self) -> serde_json::Value {
        let matched = match self.matched {
            Matched::Exactly => "exact",
            Matched::LineEnds => "line_ends",
        };
        serde_json::json!({
            "replacements": self.replacements,
            "lines": self.lines.iter().map(|(first, last)| [first, last]).collect::<Vec<_>>(),
            "matched": matched,
            "from_sha256": self.from.to_string(),
            "to_sha256": self.to.to_string(),
            "changed_elsewhere": self.elsewhere,
        })
    }
}
