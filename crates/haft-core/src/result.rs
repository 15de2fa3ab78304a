//! What a call gave: content for the model, structured data for programs, the rest for people and audit (CONFLICT-05).

use std::borrow::Cow;

use haft_schema::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::artifact::ArtifactVersion;
use crate::error::{ErrorCode, ToolError};
use crate::ids::{CallId, ToolId};
use crate::workspace::WorkspaceVersion;

/// One part of a result's content (CONFLICT-33).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ContentPart {
    /// Text or Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// An image that the store holds.
    Image {
        /// Digest of the stored bytes.
        blob: Digest,
        /// `image/png` …
        media_type: String,
        /// What the image shows, for models without eyes.
        description: String,
    },
}

/// A file that a tool created, changed or deleted, with what undo would need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Which folder the path is relative to: `project:<id>`, `host`.
    pub root: String,
    /// The path inside it.
    pub path: String,
    /// Digest of the stored before-image; none if there was no file.
    pub before: Option<Digest>,
    /// Digest of the new content; none if the file is gone.
    pub after: Option<Digest>,
}

/// Something that a call changed and that the journal must tell together with its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A new version of an artifact; it is stored in the same commit as the record (ART-01).
    Artifact(ArtifactVersion),
    /// A file outside the store.
    File(FileChange),
    /// A new version of a file of the run's workspace; it is stored in the same commit as the record (WSP-15).
    Workspace(WorkspaceVersion),
}

/// What a tool hands back when it did its work.
///
/// ```
/// use haft_core::ToolOutput;
/// use serde_json::json;
/// assert_eq!(ToolOutput::from("done").text(), "done");
/// // A bare map with a boolean `success` is the result itself (REG-13).
/// let output = ToolOutput::from_map(json!({"success": false, "error": "Only SELECT queries allowed"}).as_object().unwrap().clone());
/// assert_eq!(output.unwrap_err().message(), "Only SELECT queries allowed");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// For the model.
    pub content: Vec<ContentPart>,
    /// For programs and audit.
    pub structured: Option<Value>,
    /// Names of stored things that the result speaks of: `artifact:notes@3` …
    pub resource_refs: Vec<String>,
    /// Passes through to the surface (RES-05).
    pub ui: Option<Value>,
    /// For the user interface and audit (RES-01, RES-21).
    pub metadata: Map<String, Value>,
    /// What the call changed.
    pub changes: Vec<Change>,
}

impl ToolOutput {
    /// Text for the model.
    pub fn of_text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentPart::Text { text: text.into() }], ..Self::default() }
    }

    /// A JSON value: compact JSON for the model (text stays text), the value itself for programs (RES-03).
    pub fn of_value(value: Value) -> Self {
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { structured: Some(value), ..Self::of_text(text) }
    }

    /// A bare map: with a boolean `success` it is the result and its other keys the data, else it is the data (REG-13).
    pub fn from_map(mut map: Map<String, Value>) -> Result<Self, ToolError> {
        let Some(Value::Bool(success)) = map.get("success").cloned() else {
            return Ok(Self::of_value(Value::Object(map)));
        };
        if success {
            map.shift_remove("success");
            return Ok(Self::of_value(Value::Object(map)));
        }
        let message = match map.get("error") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "The tool says that it failed and not why.".to_owned(),
        };
        Err(ToolError::failed(message).with_data(Value::Object(map)))
    }

    /// Adds structured data.
    #[must_use]
    pub fn with_structured(mut self, structured: Value) -> Self {
        self.structured = Some(structured);
        self
    }

    /// Adds one entry of metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: Value) -> Self {
        self.metadata.insert(key.to_owned(), value);
        self
    }

    /// Adds a change.
    #[must_use]
    pub fn with_change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// All text parts, one after another.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::of_text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::of_text(text)
    }
}

impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        Self::of_value(value)
    }
}

/// The stored result of a call (RES-06). Every attempt has exactly one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The host's id of the call.
    pub call_id: CallId,
    /// Which tool; none where no tool was known.
    pub tool_id: Option<ToolId>,
    /// The name that the model used.
    pub alias: String,
    /// For the model.
    pub content: Vec<ContentPart>,
    /// For programs and audit.
    pub structured: Option<Value>,
    /// The call failed, was refused, was stopped, or its outcome is unknown.
    pub is_error: bool,
    /// The stable code of the fault.
    pub error_code: Option<ErrorCode>,
    /// Names of stored things.
    pub resource_refs: Vec<String>,
    /// Passes through to the surface.
    pub ui: Option<Value>,
    /// For the user interface and audit.
    pub metadata: Map<String, Value>,
    /// How long the tool ran, in milliseconds.
    pub duration_ms: u64,
    /// An earlier result was given instead of running the tool (CCH-05).
    pub skipped: bool,
}

impl ToolResult {
    /// All text parts, one after another.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }

    /// As [`ToolResult::text`], borrowed where there is one text alone.
    pub fn whole_text(&self) -> Cow<'_, str> {
        match self.content.as_slice() {
            [ContentPart::Text { text }] => Cow::Borrowed(text),
            parts => Cow::Owned(text_of(parts)),
        }
    }

    /// The identity check before effects, audit and transcript (RES-07).
    pub fn belongs_to(&self, call_id: &CallId, tool_id: &ToolId) -> bool {
        self.call_id == *call_id && self.tool_id.as_ref() == Some(tool_id)
    }

    /// A's view: success, data, error, metadata (RES-01).
    pub fn artifactflow_view(&self) -> Value {
        let text = self.text();
        let (data, error) = if self.is_error { (String::new(), Some(text)) } else { (text, None) };
        serde_json::json!({"success": !self.is_error, "data": data, "error": error, "metadata": self.metadata})
    }

    /// B's view: success with data, or error (RES-03).
    pub fn nanoclaw_view(&self) -> Value {
        if self.is_error {
            serde_json::json!({"success": false, "error": self.text()})
        } else {
            let data = self.structured.clone().unwrap_or_else(|| Value::String(self.text()));
            serde_json::json!({"success": true, "data": data})
        }
    }

    /// B's stored record of a call (RES-04): `execution_time` is in seconds.
    pub fn nanoclaw_record(&self, arguments: &Value) -> Value {
        serde_json::json!({
            "id": self.call_id,
            "type": "function",
            "function": {"name": self.alias, "arguments": arguments.to_string()},
            "result": self.nanoclaw_view().to_string(),
            "success": !self.is_error,
            "skipped": self.skipped,
            "execution_time": self.duration_ms as f64 / 1000.0,
        })
    }
}

fn text_of(parts: &[ContentPart]) -> String {
    let mut texts = parts.iter().map(|part| match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Image { description, media_type, .. } => format!("[image, {media_type}: {description}]"),
    });
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, text| {
        all.push('\n');
        all.push_str(&text);
        all
    })
}
