//! Body renderers: how the content of a result is written for the model (CONFLICT-06, RES-08, RES-09).
//!
//! A text dialect wraps a body in its own result form elsewhere; the form of `xml` is A's and lives with that dialect.

use serde::{Deserialize, Serialize};

use crate::result::ToolResult;

/// A profile's choice of renderer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Renderer {
    /// A's `<tool_result>` (RES-02).
    Xml,
    /// B's JSON (RES-03).
    Json,
    /// C's Markdown: the content, with a `## Tool error` heading if it failed (RES-08).
    Markdown,
    /// D's plain text (RES-05).
    Plain,
}

/// The body of `result` in Markdown.
pub fn markdown(result: &ToolResult) -> String {
    if result.is_error { format!("## Tool error\n\n{}", result.text()) } else { result.text() }
}

/// The body of `result` as B's JSON text.
pub fn json(result: &ToolResult) -> String {
    result.nanoclaw_view().to_string()
}

/// The body of `result` as plain text.
pub fn plain(result: &ToolResult) -> String {
    if result.is_error { format!("Error: {}", result.text()) } else { result.text() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;
    use crate::ids::{CallId, ToolId};
    use crate::result::ContentPart;

    fn result(is_error: bool) -> ToolResult {
        ToolResult {
            call_id: CallId::new("c_1"),
            tool_id: Some(ToolId::builtin("data.calculator")),
            alias: "calculator".into(),
            content: vec![ContentPart::Text { text: "42".into() }],
            structured: Some(serde_json::json!({"value": 42, "sha256": "abc"})),
            is_error,
            error_code: is_error.then_some(ErrorCode::TOOL_FAILED),
            resource_refs: vec!["artifact:x@1".into()],
            ui: None,
            metadata: serde_json::Map::new(),
            duration_ms: 3,
            skipped: false,
        }
    }

    // RES-08, RES-09
    #[test]
    fn only_content_reaches_the_model() {
        assert_eq!(markdown(&result(false)), "42");
        assert_eq!(markdown(&result(true)), "## Tool error\n\n42");
        assert_eq!(plain(&result(false)), "42");
    }

    // RES-03, CONFLICT-06
    #[test]
    fn b_reads_success_with_data_or_an_error() {
        assert_eq!(json(&result(true)), r#"{"success":false,"error":"42"}"#);
        assert_eq!(json(&result(false)), r#"{"success":true,"data":{"value":42,"sha256":"abc"}}"#);
    }

    // RES-04
    #[test]
    fn b_stores_one_record_a_call() {
        let record = result(false).nanoclaw_record(&serde_json::json!({"expression": "6*7"}));
        assert_eq!(record["function"]["name"], "calculator");
        assert_eq!(record["function"]["arguments"], r#"{"expression":"6*7"}"#);
        assert_eq!(record["execution_time"], 0.003);
        assert_eq!(record["skipped"], false);
        assert!(record["result"].as_str().is_some_and(|text| text.starts_with(r#"{"success":true"#)));
    }

    // RES-01, CONFLICT-05
    #[test]
    fn a_reads_data_or_an_error() {
        let view = result(true).artifactflow_view();
        assert_eq!(view["success"], false);
        assert_eq!(view["data"], "");
        assert_eq!(view["error"], "42");
    }
}
