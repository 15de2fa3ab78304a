//! Texts in files: reading and writing them in an encoding, and telling text from binary data.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use haft_core::{ErrorCode, ToolError};

use super::path::ProjectPath;

/// The encoding that a model named; the spellings of Python and of the web.
pub(super) fn named(label: &str) -> Result<&'static Encoding, ToolError> {
    let plain = label.trim().to_ascii_lowercase();
    let candidates = [
        plain.clone(),
        plain.replace('_', "-"),
        plain.replace(['_', '-'], ""),
        plain.trim_end_matches("-sig").to_owned(),
    ];
    candidates.iter().find_map(|label| Encoding::for_label(label.as_bytes())).ok_or_else(|| {
        ToolError::new(
            ErrorCode::new("project.unknown_encoding"),
            format!("`{label}` is no encoding known here. Use utf-8, utf-16, latin1, gbk, big5, shift_jis or another common one."),
        )
    })
}

/// The text of `bytes`, without a byte order mark.
pub(super) fn decode(
    bytes: &[u8],
    encoding: &'static Encoding,
    path: &ProjectPath,
) -> Result<String, ToolError> {
    let wide = encoding == UTF_16LE || encoding == UTF_16BE;
    let not_text = |why: String| Err(ToolError::new(ErrorCode::new("project.file_not_text"), why));
    if !wide && bytes.contains(&0) {
        return not_text(format!(
            "`{path}` is binary data ({} bytes) and cannot be read as text.",
            bytes.len()
        ));
    }
    // A mark of the wide encodings says which of the two it is.
    let encoding = match Encoding::for_bom(bytes) {
        Some((marked, _)) if wide => marked,
        Some(_) | None => encoding,
    };
    let (text, malformed) = encoding.decode_with_bom_removal(bytes);
    if malformed {
        return not_text(format!(
            "`{path}` is not text in {}. If it is text, name its encoding, such as latin1, gbk or utf-16.",
            encoding.name()
        ));
    }
    Ok(text.into_owned())
}

/// The bytes of `text`. A character that the encoding lacks is an error, never replaced.
pub(super) fn encode(text: &str, encoding: &'static Encoding) -> Result<Vec<u8>, ToolError> {
    if encoding == UTF_8 {
        return Ok(text.as_bytes().to_vec());
    }
    if encoding == UTF_16LE {
        return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    }
    if encoding == UTF_16BE {
        return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    let (bytes, _, lacking) = encoding.encode(text);
    if lacking {
        return Err(ToolError::new(
            ErrorCode::new("project.cannot_encode"),
            format!("Nothing was written: {} lacks a character of the content. Use utf-8.", encoding.name()),
        ));
    }
    Ok(bytes.into_owned())
}
