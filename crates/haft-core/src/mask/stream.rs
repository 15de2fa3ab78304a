//! Text that arrives in pieces: what could be the beginning of a secret waits for what follows it.

use super::{Found, Mask, View, forms};

/// Longest text that waits, in bytes; then it is masked as it is.
const MOST_WAITING: usize = 64 << 10;
/// How many words before the last one may belong to it: a name, a mark.
const WORDS_BACK: usize = 3;

/// Masks a stream of text piece by piece.
///
/// ```
/// use haft_core::mask::{Mask, MaskedStream};
/// let mask = Mask::new([("door".to_owned(), "open sesame".to_owned())])?;
/// let mut stream = MaskedStream::default();
/// let shown: Vec<String> = ["Say op", "en ses", "ame now"].iter().map(|piece| stream.push(&mask, piece)).collect();
/// assert_eq!(shown, ["Say ", "", "[secret door] "]);
/// assert_eq!(stream.end(&mask), "now");
/// # Ok::<(), haft_core::mask::MaskError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MaskedStream {
    waiting: String,
}

impl MaskedStream {
    /// Takes the next piece; gives what can be shown by now.
    pub fn push(&mut self, mask: &Mask, piece: &str) -> String {
        self.waiting.push_str(piece);
        let settled = if self.waiting.len() > MOST_WAITING { self.waiting.len() } else { self.settled(mask) };
        let rest = self.waiting.split_off(settled);
        let shown = std::mem::replace(&mut self.waiting, rest);
        mask.text(&shown, View::Record).into_owned()
    }

    /// The stream is over; gives what is left.
    pub fn end(&mut self, mask: &Mask) -> String {
        let shown = std::mem::take(&mut self.waiting);
        mask.text(&shown, View::Record).into_owned()
    }

    /// The stream begins anew; what waits is dropped.
    pub fn restart(&mut self) {
        self.waiting.clear();
    }

    /// Up to where nothing that follows can make a secret of what is here.
    fn settled(&self, mask: &Mask) -> usize {
        let text = self.waiting.as_str();
        let known = mask.known.as_ref().map_or(0, |known| known.open_end(text));
        let last = last_word(text);
        let named = last_with_name(text, last);
        let word = if text.get(named..).is_some_and(forms::has_trigger) { named } else { last };
        let mut settled = word.min(text.len() - known);
        settled = settled.min(forms::open_block(text).unwrap_or(settled));
        // What is a secret already is not cut in two.
        let found = mask.known.as_ref().map(|known| known.find(text)).unwrap_or_default();
        let around = |one: &Found| one.at.start < settled && settled < one.at.end;
        let found = found.into_iter().chain(forms::find(text)).filter(around);
        found.map(|one| one.at.start).min().unwrap_or(settled)
    }
}

/// Where the last word begins. In scripts without blanks every letter is one.
fn last_word(text: &str) -> usize {
    let ends_word = |letter: char| letter.is_whitespace() || !letter.is_ascii();
    text.char_indices()
        .rfind(|(_, letter)| ends_word(*letter))
        .map_or(0, |(at, letter)| at + letter.len_utf8())
}

/// Where the last word begins, with the words before it that may name it: `token =`, `Bearer`.
fn last_with_name(text: &str, last: usize) -> usize {
    let mut start = last;
    for _ in 0..WORDS_BACK {
        let before = text.get(..start).unwrap_or_default().trim_end();
        let word = text.get(start..).unwrap_or_default();
        let begins_with_mark = word.is_empty() || word.starts_with(['=', ':', '>']);
        let named = before.ends_with(['=', ':', '>']) || before.to_ascii_lowercase().ends_with("bearer");
        if before.is_empty() || !(begins_with_mark || named) {
            break;
        }
        start = last_word(before);
    }
    start
}
