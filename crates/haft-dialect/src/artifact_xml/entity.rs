//! XML entities: decoded outside of CDATA, once, and only those that XML itself defines.

use std::borrow::Cow;

/// Longest reference that is looked at, in bytes: `&#x0010FFFF;`.
const MAX_REFERENCE: usize = 12;

/// The text with its entities decoded; what is no entity stays.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut plain_from = 0;
    for at in memchr::memchr_iter(b'&', text.as_bytes()) {
        let Some((character, length)) = reference(text.get(at..).unwrap_or_default()) else { continue };
        decoded.push_str(text.get(plain_from..at).unwrap_or_default());
        decoded.push(character);
        plain_from = at + length;
    }
    decoded.push_str(text.get(plain_from..).unwrap_or_default());
    Cow::Owned(decoded)
}

fn reference(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(MAX_REFERENCE).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_once() {
        assert_eq!(decode("a &lt;b&gt; &amp;amp; &#65;&#x1F600;"), "a <b> &amp; A😀");
        assert_eq!(decode("&nbsp; & &; &#; &#xD800; &quot"), "&nbsp; & &; &#; &#xD800; &quot");
        assert!(matches!(decode("plain"), Cow::Borrowed("plain")));
    }
}
