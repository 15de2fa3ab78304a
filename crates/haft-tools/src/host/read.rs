//! `file_read`: the text of a file of the machine (FIL-04, APR-14).

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::ResultCap;
use haft_core::path::PreparedArguments;
use haft_core::slice::slice_lines;
use haft_core::{
    BoxFuture, Effect, ErrorCode, Scope, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::path::HostPath;
use super::{asked, blocking, family, folder, host, looks};
use crate::arguments::arguments;

/// Largest file that is read whole, in bytes: the source's 1 MB.
const MAX_WHOLE: u64 = 1_000_000;
/// Longest output, in characters, before the mark that it is cut (RES-28).
const MAX_SHOWN: usize = 8_000;
/// As much of a file as its first lines can need: a character takes at most four bytes, and one is more than is shown.
const MAX_BEGINNING: u64 = 4 * (MAX_SHOWN as u64 + 1);

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    max_lines: Option<u64>,
}

pub(super) struct FileRead {
    declaration: ToolDeclaration,
}

impl FileRead {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Absolute path of the file, or one that starts with `~/`"},
                "max_lines": {"type": "integer", "minimum": 1, "description": "Read only that many lines, from the first"},
            },
            "required": ["path"],
        });
        let description = "Read a text file of this machine. A file over 1 MB is read only with max_lines; at most 8000 \
            characters are shown. Binary files are refused.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("host.file_read"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_read");
            facts.idempotent = true;
            facts.no_compress = true;
            facts.fast_path = true;
            // It cuts its own output, and what it read may be a secret: that is never spilled (CONFLICT-29).
            facts.result_cap = ResultCap::Unlimited;
            facts.example = json!({"path": "~/config.yaml", "max_lines": 100}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

// The path may lead over links, so its text does not say what a call touches: the default of `touches` holds.
impl Tool for FileRead {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let (places, path) = asked(arguments, environment)?;
        let Some(path) = path else { return Ok(Ask::default()) };
        if !path.is_secret(places) {
            return Ok(looks("Read the file", &path, Scope::File(path.to_string())));
        }
        let question = format!("Read the secret `{path}` and show it to the model?");
        let scopes = vec![Scope::File(path.to_string())];
        Ok(Ask { question: Some(question), scopes, exact: true, secret: true, ..Ask::default() })
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(read(call, context))
    }
}

async fn read(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let host = host(context)?;
    let path = HostPath::parse(wanted.path, host.places()).map_err(|error| error.to_tool_error())?;
    let lines = wanted.max_lines.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX));
    blocking(move || {
        let most = if lines.is_some() { MAX_BEGINNING } else { MAX_WHOLE + 1 };
        let (bytes, length) = folder::look(host.as_ref(), &path)?.read(host.as_ref(), &path, most)?;
        if lines.is_none() && length > MAX_WHOLE {
            return Err(ToolError::new(
                ErrorCode::new("host.too_large"),
                format!(
                    "`{path}` is larger than 1 MB. Read its beginning with max_lines, such as max_lines=100."
                ),
            ));
        }
        let text = decoded(&bytes, length, &path)?;
        Ok(ToolOutput::of_text(shown(text, lines, bytes.len() as u64 == most)))
    })
    .await
}

/// The bytes as text; a character that the end of the beginning cut is left out.
fn decoded<'a>(bytes: &'a [u8], length: u64, path: &HostPath) -> Result<&'a str, ToolError> {
    let not_text = |why: &str| {
        let message = format!("`{path}` is {why} ({length} bytes) and cannot be read as text.");
        ToolError::new(ErrorCode::new("host.file_not_text"), message)
    };
    if bytes.contains(&0) {
        return Err(not_text("binary data"));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && (bytes.len() as u64) < length => {
            let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).map_err(|_| not_text("not UTF-8"))?
        }
        Err(_) => return Err(not_text("not UTF-8")),
    };
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// At most `lines` lines and [`MAX_SHOWN`] characters, with a mark for either cut (CONFLICT-07). `more` says that the file goes
/// on after `text`.
fn shown(text: &str, lines: Option<usize>, more: bool) -> String {
    let slice = slice_lines(text, 1, lines, u64::MAX).text;
    if let Some((end, _)) = slice.char_indices().nth(MAX_SHOWN) {
        let kept = slice.get(..end).unwrap_or_default();
        let of = match lines {
            None => format!(" of {}", text.chars().count()),
            Some(_) => String::new(),
        };
        return format!(
            "{kept}\n[cut: the first {MAX_SHOWN}{of} characters are shown, as many as this tool shows]"
        );
    }
    if slice.len() < text.len() || more {
        let end = if slice.ends_with('\n') { "" } else { "\n" };
        let count = match slice.split_inclusive('\n').count() {
            1 => "1 line is".to_owned(),
            more => format!("{more} lines are"),
        };
        return format!("{slice}{end}[the first {count} shown; the file goes on]");
    }
    slice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // FIL-04, RES-28, CONFLICT-07
    #[test]
    fn both_cuts_are_marked_and_count_characters() {
        let exact = "ä".repeat(MAX_SHOWN);
        assert_eq!(shown(&exact, None, false), exact);
        let over = format!("{exact}ö");
        let cut = "\n[cut: the first 8000 of 8001 characters are shown, as many as this tool shows]";
        assert_eq!(shown(&over, None, false), format!("{exact}{cut}"));
        let cut = "\n[cut: the first 8000 characters are shown, as many as this tool shows]";
        assert_eq!(shown(&over, Some(1), false), format!("{exact}{cut}"));
        assert_eq!(shown("a\nb\nc", Some(2), false), "a\nb\n[the first 2 lines are shown; the file goes on]");
        assert_eq!(shown("a\nb\n", Some(1), false), "a\n[the first 1 line is shown; the file goes on]");
        assert_eq!(shown("a\nb\n", Some(2), false), "a\nb\n");
        assert_eq!(shown("", None, false), "");
    }

    #[test]
    fn a_beginning_may_end_within_a_character_and_a_file_may_not() {
        let path = HostPath::absolute("/x").unwrap();
        let cut = &"aä".as_bytes()[..2];
        assert_eq!(decoded(cut, 3, &path).unwrap(), "a");
        assert_eq!(decoded(cut, 2, &path).unwrap_err().code().as_str(), "host.file_not_text");
        assert_eq!(decoded(b"a\0", 2, &path).unwrap_err().code().as_str(), "host.file_not_text");
        assert_eq!(decoded("\u{feff}a".as_bytes(), 4, &path).unwrap(), "a");
    }
}
