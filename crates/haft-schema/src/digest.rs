//! SHA-256 digests as values: compared, ordered, printed and stored as 64 lower-case hex digits.
//! It must not know what the bytes mean; that is said where a digest is kept.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest of some bytes.
///
/// ```
/// use haft_schema::Digest;
///
/// let digest = Digest::of(b"abc");
/// assert_eq!(digest.hex_prefix(12), "ba7816bf8f01");
/// assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The text does not have 64 characters.
    #[error("a digest has 64 hexadecimal digits, this text has {found} bytes")]
    Length {
        /// Bytes found.
        found: usize,
    },
    /// A character is not one of `0-9a-f`.
    #[error("a digest is written with the digits 0-9 and a-f only; byte {position} is another character")]
    Digit {
        /// Byte offset of the first wrong character.
        position: usize,
    },
}

/// The two hex digits of each byte.
const PAIRS: [[u8; 2]; 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [HEX[byte >> 4], HEX[byte & 15]];
        byte += 1;
    }
    pairs
};

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest from its 32 raw bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first `digits` hex digits (at most 64), for short ids such as RES-14's 12 digits.
    pub fn hex_prefix(&self, digits: usize) -> String {
        let hex = self.hex();
        let prefix = hex.get(..digits).unwrap_or(&hex);
        std::str::from_utf8(prefix).unwrap_or_default().to_owned()
    }

    /// All 64 hex digits, as ASCII bytes.
    pub fn hex(&self) -> [u8; 64] {
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = PAIRS[usize::from(byte)];
        }
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.hex();
        formatter.pad(std::str::from_utf8(&hex).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        if text.len() != 64 {
            return Err(DigestError::Length { found: text.len() });
        }
        let mut bytes = [0; 32];
        for (index, (byte, pair)) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)).enumerate() {
            let high = nibble(pair[0]).ok_or(DigestError::Digit { position: 2 * index })?;
            let low = nibble(pair[1]).ok_or(DigestError::Digit { position: 2 * index + 1 })?;
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hex = self.hex();
        serializer.serialize_str(std::str::from_utf8(&hex).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_known_digest() {
        let digest = Digest::of(b"");
        let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), hex);
        assert_eq!(hex.parse(), Ok(digest));
        assert_eq!(serde_json::to_string(&digest).unwrap(), format!("\"{hex}\""));
        assert_eq!(serde_json::from_str::<Digest>(&format!("\"{hex}\"")).unwrap(), digest);
        assert_eq!(digest.hex_prefix(16), "e3b0c44298fc1c14");
        assert_eq!(digest.hex_prefix(900), hex);
        assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
    }

    #[test]
    fn refuses_what_is_not_a_digest() {
        assert_eq!("abc".parse::<Digest>(), Err(DigestError::Length { found: 3 }));
        let upper = "E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(upper.parse::<Digest>(), Err(DigestError::Digit { position: 0 }));
        let wide = "é3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85";
        assert_eq!(wide.parse::<Digest>(), Err(DigestError::Digit { position: 0 }));
    }
}
