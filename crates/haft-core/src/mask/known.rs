//! Secrets that are known by value: found as they are, and as JSON writes them inside of strings (`\n`, `\"`, `\u00e9` …), to any
//! depth that occurs.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use super::{Found, MaskError, SHORTEST_SECRET, forms};

/// Shortest line of a longer secret that is a secret by itself.
const SHORTEST_LINE: usize = 16;
/// How often JSON stands inside of JSON's strings at most.
const MOST_LAYERS: usize = 6;
/// Longest escape, in bytes: that of a letter outside of the basic plane.
const LONGEST_ESCAPE: usize = 12;
/// How many backslashes before the end of a run of them a secret may begin: enough for each layer, and little work in a flood.
const LONGEST_RUN: usize = 512;

/// The secrets, ready to be looked for.
#[derive(Clone)]
pub(super) struct Known {
    inner: Arc<Inner>,
}

struct Inner {
    /// Says quickly whether there is anything to look at: one of the values, or the start of an escape that could hide one.
    quick: AhoCorasick,
    /// All places, overlapping ones too.
    all: AhoCorasick,
    /// What each pattern of `all` is.
    values: Vec<String>,
    places: Vec<Arc<str>>,
}

impl Known {
    /// Those of `before` and these; none if no value is long enough.
    pub(super) fn and(
        before: Option<&Self>,
        secrets: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Option<Self>, MaskError> {
        let known = before.iter().flat_map(|before| before.inner.values.iter().zip(&before.inner.places));
        let mut pairs: Vec<(String, String)> =
            known.map(|(value, place)| (value.clone(), place.to_string())).collect();
        for (number, (name, value)) in (1..).zip(secrets) {
            let place = place_of(&name, number);
            for part in parts_of(&value) {
                if part.len() >= SHORTEST_SECRET
                    && !is_ours(part)
                    && !pairs.iter().any(|(one, _)| one == part)
                {
                    pairs.push((part.to_owned(), place.clone()));
                }
            }
        }
        if pairs.is_empty() {
            return Ok(None);
        }
        // A place that holds a secret would tell it.
        let hushed: Vec<Arc<str>> = (1..)
            .zip(&pairs)
            .map(|(number, (_, place))| match pairs.iter().any(|(value, _)| place.contains(value)) {
                true => Arc::from(format!("[secret {number}]")),
                false => Arc::from(place.as_str()),
            })
            .collect();
        let values: Vec<String> = pairs.into_iter().map(|(value, _)| value).collect();
        let escapable = values.iter().any(|value| value.chars().any(may_be_escaped));
        let mut quick: Vec<&str> = values.iter().map(String::as_str).collect();
        quick.push(if escapable { "\\" } else { "\\u" });
        let failed = |error: aho_corasick::BuildError| MaskError(error.to_string());
        let quick =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&quick).map_err(failed)?;
        let all = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&values).map_err(failed)?;
        Ok(Some(Self { inner: Arc::new(Inner { quick, all, values, places: hushed }) }))
    }

    pub(super) fn len(&self) -> usize {
        self.inner.values.len()
    }

    /// The longest end of `text` that one of the secrets could begin with, in bytes.
    pub(super) fn open_end(&self, text: &str) -> usize {
        let of_value = |value: &String| {
            let longest = text.len().min(value.len().saturating_sub(1));
            (1..=longest)
                .rev()
                .find(|length| value.get(..*length).is_some_and(|start| text.ends_with(start)))
                .unwrap_or(0)
        };
        self.inner.values.iter().map(of_value).max().unwrap_or(0)
    }

    /// All places of secrets in `text`, in order; those that overlap are one.
    pub(super) fn find(&self, text: &str) -> Vec<Found> {
        let inner = self.inner.as_ref();
        if !inner.quick.is_match(text) {
            return Vec::new();
        }
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        let mut collect = |text: &str, origin: &dyn Fn(usize) -> usize| {
            for one in inner.all.find_overlapping_iter(text) {
                found.push((origin(one.start())..origin(one.end()), one.pattern().as_usize()));
            }
        };
        collect(text, &|at| at);
        let mut layer = Layer::of(text);
        for _ in 0..MOST_LAYERS {
            let Some(next) = layer.inside() else { break };
            collect(&next.text, &|at| next.origins.get(at).copied().unwrap_or(text.len()));
            layer = next;
        }
        inner.behind_backslashes(text, &mut found);
        if !found.is_empty() {
            let escapes = escapes_of(text);
            found.iter_mut().for_each(|(at, _)| widen(at, &escapes));
        }
        found.sort_by_key(|(at, _)| (at.start, std::cmp::Reverse(at.end)));
        let mut joined: Vec<Found> = Vec::new();
        for (at, pattern) in found {
            match joined.last_mut() {
                Some(last) if at.start < last.at.end => last.at.end = last.at.end.max(at.end),
                _ => {
                    let place = inner.places.get(pattern).map(ToString::to_string).unwrap_or_default();
                    joined.push(Found { at, place });
                }
            }
        }
        joined
    }
}

impl Inner {
    /// Adds the secrets that are written as escapes and begin inside of another escape, as right after a backslash: a reader who
    /// begins before them reads another text.
    fn behind_backslashes(&self, text: &str, found: &mut Vec<(Range<usize>, usize)>) {
        let bytes = text.as_bytes();
        let mut run_end = 0;
        for backslash in memchr::memchr_iter(b'\\', bytes) {
            if backslash >= run_end {
                let run = bytes.iter().skip(backslash).take_while(|byte| **byte == b'\\').count();
                run_end = backslash + run;
            }
            if run_end - backslash > LONGEST_RUN {
                continue;
            }
            let longest = if bytes.get(backslash + 1) == Some(&b'u') { LONGEST_ESCAPE } else { 1 };
            for start in (1..=longest).map(|length| backslash + length) {
                for layers in 1..=MOST_LAYERS {
                    let Some((first, _)) = letter(text, start, layers) else { break };
                    let values = self.values.iter().enumerate().filter(|(_, value)| value.starts_with(first));
                    found.extend(values.filter_map(|(pattern, value)| {
                        end_of(value, text, start, layers).map(|end| (start..end, pattern))
                    }));
                }
            }
        }
    }
}

/// Where `value` ends, if it stands in `text` from `start` on under that many layers of escapes.
fn end_of(value: &str, text: &str, start: usize, layers: usize) -> Option<usize> {
    value.chars().try_fold(start, |at, wanted| {
        let (letter, next) = letter(text, at, layers)?;
        (letter == wanted).then_some(next)
    })
}

/// The escapes of `text`, in order.
fn escapes_of(text: &str) -> Vec<Range<usize>> {
    let (mut escapes, mut at) = (Vec::new(), 0);
    while let Some((_, next)) = letter(text, at, 1) {
        if next > at + 1 && text.as_bytes().get(at) == Some(&b'\\') {
            escapes.push(at..next);
        }
        at = next;
    }
    escapes
}

/// Widens `at` so that it cuts no escape in two: what is left of JSON stays JSON.
fn widen(at: &mut Range<usize>, escapes: &[Range<usize>]) {
    let around = |edge: usize| {
        let escape = escapes.get(escapes.partition_point(|escape| escape.end <= edge));
        escape.filter(|escape| escape.start < edge)
    };
    at.start = around(at.start).map_or(at.start, |escape| escape.start);
    at.end = around(at.end).map_or(at.end, |escape| escape.end);
}

/// What JSON writers may write as an escape, though they need not.
fn may_be_escaped(letter: char) -> bool {
    letter.is_control() || matches!(letter, '"' | '\\' | '/')
}

/// What is said in the place of a secret: its name, where that is a plain word and tells nothing.
fn place_of(name: &str, number: usize) -> String {
    let plain: String = name
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' })
        .collect();
    let place = format!("[secret {plain}]");
    if plain.is_empty() || !forms::find(&place).is_empty() { format!("[secret {number}]") } else { place }
}

/// A value, and where it has several lines or assigns names, the parts that are secrets by themselves.
fn parts_of(value: &str) -> Vec<&str> {
    let whole = value.trim();
    let mut parts = vec![whole];
    let several = whole.contains('\n');
    for line in whole.lines().map(str::trim) {
        if several && line.len() >= SHORTEST_LINE && !line.starts_with("-----") && !line.starts_with('#') {
            parts.push(line);
        }
        if let Some((name, assigned)) = line.split_once(['=', ':'])
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '"' | ' ' | '.'))
        {
            parts.push(assigned.trim().trim_end_matches(',').trim_matches(['"', '\'']));
        }
    }
    parts
}

/// True for what stands in our own places: masking that again would never end.
fn is_ours(value: &str) -> bool {
    ["result", "argument"].iter().any(|what| format!("[secret {what}, 0 characters]").contains(value))
        || forms::KINDS.iter().any(|kind| format!("[masked {kind}, 0 characters]").contains(value))
}

/// A text, and where each of its bytes comes from.
struct Layer {
    text: String,
    origins: Vec<usize>,
}

impl Layer {
    fn of(text: &str) -> Self {
        Self { text: text.to_owned(), origins: (0..text.len()).collect() }
    }

    /// The text with one layer of JSON's escapes undone; none if there are none.
    fn inside(&self) -> Option<Self> {
        self.text.contains('\\').then_some(())?;
        let mut inside = Self { text: String::with_capacity(self.text.len()), origins: Vec::new() };
        let (mut at, mut undone) = (0, false);
        while let Some((meant, next)) = letter(&self.text, at, 1) {
            undone |=
                self.text.get(at..next).is_some_and(|written| written.len() > 1 && written.starts_with('\\'));
            inside.text.push(meant);
            for byte in 0..meant.len_utf8() {
                inside.origins.push(self.origins.get(at + byte.min(next - at - 1)).copied().unwrap_or(at));
            }
            at = next;
        }
        undone.then_some(inside)
    }
}

/// The letter of `text` at `at` under that many layers of JSON's escapes, and where the next one begins; none at the end.
fn letter(text: &str, at: usize, layers: usize) -> Option<(char, usize)> {
    let Some(outer) = layers.checked_sub(1) else {
        let letter = text.get(at..)?.chars().next()?;
        return Some((letter, at + letter.len_utf8()));
    };
    let (first, next) = letter(text, at, outer)?;
    let escaped = (first == '\\').then(|| escape(text, next, outer)).flatten();
    Some(escaped.unwrap_or((first, next)))
}

/// What an escape means whose backslash stands before `at`, and where it ends; none if it is none.
fn escape(text: &str, at: usize, outer: usize) -> Option<(char, usize)> {
    let (kind, next) = letter(text, at, outer)?;
    let simple = match kind {
        '"' => '"',
        '\\' => '\\',
        '/' => '/',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(text, next, outer),
        _ => return None,
    };
    Some((simple, next))
}

/// The same for what stands behind `\u`.
fn unicode(text: &str, at: usize, outer: usize) -> Option<(char, usize)> {
    let unit = |at: usize| {
        (0..4).try_fold((0, at), |(unit, at), _| {
            let (digit, next) = letter(text, at, outer)?;
            Some((unit * 16 + digit.to_digit(16)?, next))
        })
    };
    let (first, next) = unit(at)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((letter, next));
    }
    let second = || {
        let (_, at) = letter(text, next, outer).filter(|(sign, _)| *sign == '\\')?;
        let (_, at) = letter(text, at, outer).filter(|(sign, _)| *sign == 'u')?;
        unit(at).filter(|(second, _)| (0xdc00..0xe000).contains(second))
    };
    let pair = (0xd800..0xdc00).contains(&first).then(second).flatten().and_then(|(second, end)| {
        let letter = char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
        Some((letter, end))
    });
    Some(pair.unwrap_or((char::REPLACEMENT_CHARACTER, next)))
}
