//! What a tool may hand back: text, JSON, a bare map, a whole result, or an error (CONFLICT-24, REG-13).

use haft_core::{ToolError, ToolOutput};
use serde::Serialize;
use serde_json::{Map, Value};

/// A value that a tool may return.
///
/// A JSON object, also one made by [`Json`], is judged as a bare map: one with a boolean `success` is the result itself and its
/// other keys the data, any other is the data of a success (REG-13).
///
/// ```
/// use haft::IntoToolOutput;
/// use haft::serde_json::json;
///
/// assert_eq!("done".into_tool_output()?.text(), "done");
/// assert_eq!(json!({"rows": [1]}).into_tool_output()?.structured, Some(json!({"rows": [1]})));
/// let failed = json!({"success": false, "error": "No such table"}).into_tool_output();
/// assert_eq!(failed.unwrap_err().message(), "No such table");
/// # Ok::<(), haft::ToolError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a tool can return",
    note = "return text, `serde_json::Value`, a map, `haft::ToolOutput`, `haft::Json(any Serialize)`, or a `Result` of one of these \
            with an error that is `Into<haft::ToolError>`"
)]
pub trait IntoToolOutput {
    /// The result of the call.
    ///
    /// # Errors
    /// The tool's failure, for the model to read.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

/// Any value that can be written as JSON, as a tool's result.
///
/// ```
/// use haft::{IntoToolOutput, Json};
/// assert_eq!(Json(vec![1, 2]).into_tool_output()?.text(), "[1,2]");
/// # Ok::<(), haft::ToolError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoToolOutput for String {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::of_text(self))
    }
}

impl IntoToolOutput for &str {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::of_text(self))
    }
}

/// A tool that has nothing to tell says that it is done: an empty result puzzles models.
impl IntoToolOutput for () {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::of_text("Done."))
    }
}

impl IntoToolOutput for Map<String, Value> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        ToolOutput::from_map(self)
    }
}

impl IntoToolOutput for Value {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Object(map) => ToolOutput::from_map(map),
            other => Ok(ToolOutput::of_value(other)),
        }
    }
}

impl<T: Serialize> IntoToolOutput for Json<T> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let value = serde_json::to_value(self.0).map_err(|error| {
            ToolError::failed("The tool did its work, but its result cannot be written as JSON.")
                .with_detail(error.to_string())
        })?;
        value.into_tool_output()
    }
}

impl<T: IntoToolOutput, E: Into<ToolError>> IntoToolOutput for Result<T, E> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        self.map_err(Into::into)?.into_tool_output()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // CONFLICT-24
    #[test]
    fn text_is_lifted_and_a_result_stays_as_it_is() {
        let whole = ToolOutput::of_text("a card").with_metadata("kind", json!("card"));
        assert_eq!("plain".to_owned().into_tool_output(), Ok(ToolOutput::of_text("plain")));
        assert_eq!("plain".into_tool_output(), Ok(ToolOutput::of_text("plain")));
        assert_eq!(whole.clone().into_tool_output(), Ok(whole));
        assert_eq!(().into_tool_output(), Ok(ToolOutput::of_text("Done.")));
        let failed: Result<String, ToolError> = Err(ToolError::failed("no"));
        assert_eq!(failed.into_tool_output(), Err(ToolError::failed("no")));
    }

    // REG-13
    #[test]
    fn a_bare_map_is_a_result_only_with_a_boolean_success() {
        let rows = json!({"rows": [{"id": 1}]});
        let told = json!({"success": true, "rows": [{"id": 1}]}).into_tool_output();
        assert_eq!(told, Ok(ToolOutput::of_value(rows.clone())));
        assert_eq!(rows.clone().into_tool_output(), Ok(ToolOutput::of_value(rows.clone())));
        let word = json!({"success": "yes", "rows": []});
        assert_eq!(word.clone().into_tool_output(), Ok(ToolOutput::of_value(word)));
        let failed = json!({"success": false, "error": "locked", "at": 3}).into_tool_output().unwrap_err();
        assert_eq!(
            (failed.message(), failed.data()),
            ("locked", Some(&json!({"success": false, "error": "locked", "at": 3})))
        );
        #[derive(Serialize)]
        struct Rows {
            rows: Vec<u8>,
        }
        assert_eq!(
            Json(Rows { rows: vec![] }).into_tool_output(),
            Ok(ToolOutput::of_value(json!({"rows": []})))
        );
    }

    #[test]
    fn a_result_that_is_no_json_fails_the_call_and_says_so() {
        let odd = std::collections::BTreeMap::from([(vec![1], 2)]);
        let error = Json(odd).into_tool_output().unwrap_err();
        assert!(error.message().starts_with("The tool did its work"), "{error}");
    }
}
