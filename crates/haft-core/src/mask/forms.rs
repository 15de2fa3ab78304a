//! Secrets that are known by their form: keys of well-known providers, tokens, private keys, and values that are assigned to
//! names such as `password`.
//!
//! A few short pieces of text are looked for with one automaton; only where one stands, a closer look is taken. Digests, ids and
//! other encoded content must stay as they are, so every form asks for more than a run of letters and digits.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::{Found, masked_place};

/// Names of the forms, as they are said in the place of what is masked.
pub(super) const KINDS: [&str; 9] = [
    API_KEY,
    "GitHub token",
    "AWS key",
    "Slack token",
    "Google key",
    "GitLab token",
    "JWT",
    "private key",
    ASSIGNED,
];
const API_KEY: &str = "API key";
const ASSIGNED: &str = "assigned value";

/// What calls for a closer look.
#[derive(Clone, Copy)]
enum Trigger {
    /// Letters that keys of one provider begin with.
    Prefix(fn(&[u8]) -> Option<usize>, &'static str),
    /// The first line of a private key.
    Block,
    /// A part of a name to which secrets are assigned.
    Name,
}

const TRIGGERS: &[(&str, Trigger)] = &[
    ("sk-", Trigger::Prefix(api_key, API_KEY)),
    ("sk_live_", Trigger::Prefix(|text| run(text, 8, 16, is_word), API_KEY)),
    ("rk_live_", Trigger::Prefix(|text| run(text, 8, 16, is_word), API_KEY)),
    ("npm_", Trigger::Prefix(|text| exactly(text, 4, 36, |b| b.is_ascii_alphanumeric()), API_KEY)),
    ("hf_", Trigger::Prefix(|text| exactly(text, 3, 34, |b| b.is_ascii_alphanumeric()), API_KEY)),
    ("ghp_", Trigger::Prefix(github, "GitHub token")),
    ("gho_", Trigger::Prefix(github, "GitHub token")),
    ("ghu_", Trigger::Prefix(github, "GitHub token")),
    ("ghs_", Trigger::Prefix(github, "GitHub token")),
    ("ghr_", Trigger::Prefix(github, "GitHub token")),
    ("github_pat_", Trigger::Prefix(|text| run(text, 11, 22, is_word), "GitHub token")),
    ("AKIA", Trigger::Prefix(aws, "AWS key")),
    ("ASIA", Trigger::Prefix(aws, "AWS key")),
    ("xox", Trigger::Prefix(slack, "Slack token")),
    ("AIza", Trigger::Prefix(|text| exactly(text, 4, 35, is_url), "Google key")),
    ("glpat-", Trigger::Prefix(|text| run(text, 6, 20, is_url), "GitLab token")),
    ("eyJ", Trigger::Prefix(web_token, "JWT")),
    ("-----BEGIN ", Trigger::Block),
    ("assw", Trigger::Name),
    ("ASSW", Trigger::Name),
    ("assphrase", Trigger::Name),
    ("ASSPHRASE", Trigger::Name),
    ("ecret", Trigger::Name),
    ("ECRET", Trigger::Name),
    ("oken", Trigger::Name),
    ("OKEN", Trigger::Name),
    ("pi_key", Trigger::Name),
    ("pi-key", Trigger::Name),
    ("pikey", Trigger::Name),
    ("pi_Key", Trigger::Name),
    ("pi-Key", Trigger::Name),
    ("piKey", Trigger::Name),
    ("PI_KEY", Trigger::Name),
    ("PI-KEY", Trigger::Name),
    ("PIKEY", Trigger::Name),
    ("PIKey", Trigger::Name),
    ("earer ", Trigger::Name),
];

/// Ends of names to which secrets are assigned, in lower case and without `_` and `-`.
const NAMES: [&str; 8] =
    ["password", "passwd", "passphrase", "token", "secret", "apikey", "secretkey", "secretaccesskey"];

/// None if the automaton cannot be built, which the tests rule out.
static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let patterns = TRIGGERS.iter().map(|(text, _)| text);
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(patterns).ok()
});

/// All that has the form of a secret, in order.
pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let Some(automaton) = AUTOMATON.as_ref() else {
        // Without eyes nothing can be told from a secret.
        return vec![Found { at: 0..text.len(), place: masked_place(ASSIGNED, text) }];
    };
    let bytes = text.as_bytes();
    for one in automaton.find_iter(text) {
        let Some((_, trigger)) = TRIGGERS.get(one.pattern().as_usize()) else { continue };
        let (at, kind) = match trigger {
            Trigger::Prefix(length, kind) => {
                let rest = bytes.get(one.start()..).unwrap_or_default();
                match length(rest).filter(|_| may_begin(bytes, one.start())) {
                    Some(length) => (one.start()..one.start() + length, *kind),
                    None => continue,
                }
            }
            Trigger::Block => match private_key(text, one.start()) {
                Some(end) => (one.start()..end, "private key"),
                None => continue,
            },
            Trigger::Name => match assigned(bytes, one.start()) {
                Some(at) => (at, ASSIGNED),
                None => continue,
            },
        };
        if found.last().is_some_and(|last| at.start < last.at.end) {
            continue;
        }
        let Some(secret) = text.get(at.clone()) else { continue };
        let place = masked_place(kind, secret);
        found.push(Found { at, place });
    }
    found
}

/// True if a part of `text` calls for a closer look.
pub(super) fn has_trigger(text: &str) -> bool {
    AUTOMATON.as_ref().is_none_or(|automaton| automaton.is_match(text))
}

/// Where a private key begins, or may begin, whose end is not there yet.
pub(super) fn open_block(text: &str) -> Option<usize> {
    let at = text.rfind("-----BEGIN ")?;
    let rest = text.get(at + 11..)?;
    let is_open = match rest.split_once("-----") {
        None => rest.len() <= 40,
        Some((label, body)) => {
            let ended = body.split_once("-----END ").is_some_and(|(_, end)| end.contains("-----"));
            label.contains("PRIVATE KEY") && !ended
        }
    };
    is_open.then_some(at)
}

/// True if a key may begin at `at`: not in the middle of a word. The letter of an escape such as `\n` is no part of one. Keys of
/// GitHub and GitLab begin so strangely that they are keys wherever they stand.
fn may_begin(text: &[u8], at: usize) -> bool {
    let strange = |text: &[u8]| text.starts_with(b"gh") || text.starts_with(b"glpat-");
    match text.get(..at).unwrap_or_default() {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] | [.., b'\\', b'u', _, _, _, _] => true,
        [.., byte] if is_word(*byte) => text.get(at..).is_some_and(strange),
        _ => true,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_url(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// How many bytes of `text` from `skip` are of a kind.
fn count(text: &[u8], skip: usize, is: impl Fn(u8) -> bool) -> usize {
    text.iter().skip(skip).take_while(|byte| is(**byte)).count()
}

/// The length of a key with at least `least` bytes of a kind after its first `skip`, a digit or capital among them.
fn run(text: &[u8], skip: usize, least: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    let length = count(text, skip, is);
    let key = text.get(skip..skip + length)?;
    let mixed = key.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    (length >= least && mixed).then_some(skip + length)
}

/// The length of a key with exactly `number` bytes of a kind after its first `skip`.
fn exactly(text: &[u8], skip: usize, number: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    run(text, skip, number, is).filter(|length| *length == skip + number)
}

fn github(text: &[u8]) -> Option<usize> {
    run(text, 4, 20, |byte| byte.is_ascii_alphanumeric())
}

/// `sk-…`: one of its parts is long and has letters and digits, which names of styles and branches have not.
fn api_key(text: &[u8]) -> Option<usize> {
    let length = run(text, 3, 20, is_url)?;
    let parts = text.get(3..length)?.split(|byte| !byte.is_ascii_alphanumeric());
    let long = |part: &[u8]| {
        part.len() >= 16 && part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
    };
    parts.into_iter().any(long).then_some(length)
}

fn aws(text: &[u8]) -> Option<usize> {
    let length = exactly(text, 4, 16, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())?;
    let ends = !text.get(length).copied().is_some_and(is_word);
    (ends && text.get(4..length)?.iter().any(u8::is_ascii_digit)).then_some(length)
}

fn slack(text: &[u8]) -> Option<usize> {
    match text {
        [_, _, _, b'a' | b'b' | b'e' | b'o' | b'p' | b'r' | b's', b'-', ..] => run(text, 5, 10, is_url),
        _ => None,
    }
}

/// Header, claims and signature; the first two are JSON objects.
fn web_token(text: &[u8]) -> Option<usize> {
    let header = count(text, 0, is_url);
    let claims = count(text, header + 1, is_url);
    let signature = count(text, header + claims + 2, is_url);
    let dotted = text.get(header) == Some(&b'.') && text.get(header + claims + 1) == Some(&b'.');
    let object = text.get(header + 1..).is_some_and(|claims| claims.starts_with(b"eyJ"));
    (dotted && object && header >= 12 && claims >= 12 && signature >= 16)
        .then_some(header + claims + signature + 2)
}

/// The end of the private key whose first line begins at `start`; none if no key follows.
fn private_key(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let label = rest.get(11..)?.split_once("-----")?.0;
    if label.len() > 40 || !label.contains("PRIVATE KEY") {
        return None;
    }
    let body = 11 + label.len() + 5;
    let end = match rest.get(body..)?.find("-----END ") {
        Some(at) => {
            let last = rest.get(body + at + 9..)?;
            let tail = last.find("-----").filter(|tail| *tail <= 40).map_or(0, |tail| tail + 5);
            body + at + 9 + tail
        }
        None => {
            let of_body = |byte: &u8| {
                byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=\\:,-".contains(byte)
            };
            body + rest.as_bytes().get(body..)?.iter().take_while(|byte| of_body(byte)).count()
        }
    };
    let letters = rest.as_bytes().get(body..end)?.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    (letters >= 40).then_some(start + end)
}

/// The value that is assigned to the name in which the trigger at `at` stands, if both are those of a secret.
fn assigned(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at - text.get(..at)?.iter().rev().take_while(|byte| is_url(**byte)).count();
    let mut here = at + count(text, at, is_url);
    let name: Vec<u8> =
        text.get(start..here)?.iter().filter(|byte| is_word(**byte) && **byte != b'_').copied().collect();
    let name = String::from_utf8_lossy(&name).to_ascii_lowercase();
    // `Authorization: Bearer …` assigns without a mark.
    if name != "bearer" {
        NAMES.iter().any(|end| name.ends_with(end)).then_some(())?;
        here += count(text, here, |byte| byte == b'\\' || byte == b'"' || byte == b'\'');
        here += count(text, here, |byte| byte == b' ' || byte == b'\t');
        let marks = count(text, here, |byte| byte == b'=' || byte == b':' || byte == b'>');
        (1..=2).contains(&marks).then_some(())?;
        here += marks;
    }
    here += count(text, here, |byte| byte == b' ' || byte == b'\t');
    here += count(text, here, |byte| byte == b'\\' || byte == b'"' || byte == b'\'' || byte == b'`');
    if let Some([b'B' | b'b', b'e', b'a', b'r', b'e', b'r', b' ']) = text.get(here..here + 7) {
        here += 7;
    }
    let length = count(text, here, |byte| is_word(byte) || b"-./+=~!@#$%^*?".contains(&byte));
    let value = text.get(here..here + length)?;
    let whole = match text.get(here + length) {
        None => true,
        Some(byte) => byte.is_ascii_whitespace() || b"\\\"'`,;)}]&<|".contains(byte),
    };
    (whole && is_random(value)).then_some(here..here + length)
}

/// True for what nobody would think up or read out: long, of many kinds of characters, and neither a path, a name in code, a
/// variable nor a UUID.
fn is_random(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let long = value.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0) >= 8
        || has(|byte| b"!@#$%^*?".contains(byte));
    value.len() >= 12
        && value.first() != Some(&b'$')
        && mixed
        && long
        && !is_named(value)
        && !is_uuid(value)
        && entropy(value) >= 3.0
}

/// `module.name2.other`, `https://…`, `./path/file2`: parts that are words.
fn is_named(value: &[u8]) -> bool {
    let separated = value.iter().any(|byte| matches!(byte, b'.' | b'/'));
    let word = |part: &[u8]| {
        let letters =
            part.iter().take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-'));
        part.iter().skip(letters.count()).all(u8::is_ascii_digit)
    };
    separated && value.split(|byte| matches!(byte, b'.' | b'/')).all(word)
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Bits of information a byte, by how often each byte occurs.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = value.len() as f64;
    let bits = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}
