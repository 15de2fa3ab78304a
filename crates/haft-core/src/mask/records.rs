//! Which fields of records and results hold text of people, models and tools. Names, digests and other structure stay as they
//! are, so that what was masked can still be read and verified.

use haft_schema::canonical;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Mask, View, secret_result};
use crate::call::RequestedCall;
use crate::ids::WireId;
use crate::journal::{Payload, PayloadError};
use crate::result::{ContentPart, FileChange, ToolResult};

/// Keys of questions, answers and grants that hold structure and no text.
const STRUCTURE: [&str; 14] = [
    "id",
    "session",
    "run",
    "invocation",
    "call_id",
    "tool_id",
    "tool",
    "digest",
    "policy",
    "kind",
    "consent",
    "shown",
    "question",
    "deadline",
];

impl Mask {
    /// Masks the text of a record before it is stored; true if something was taken out. The digest that a question holds becomes
    /// that of its masked arguments.
    ///
    /// # Errors
    /// [`PayloadError`] if the masked record could not be read again; then it must not be stored.
    pub fn payload(&self, payload: &mut Payload) -> Result<bool, PayloadError> {
        let kind = payload.kind();
        let broken = |error: serde_json::Error| PayloadError {
            kind: kind.to_owned(),
            reason: format!("it cannot be masked: {error}"),
        };
        Ok(match payload {
            Payload::RunStarted(body) => {
                self.some(&mut body.prompt) | self.record(&mut body.surface) | self.some(&mut body.model)
            }
            Payload::ChatImported(body) => {
                self.record(&mut body.source) | self.some(&mut body.user) | self.some(&mut body.character)
            }
            Payload::ModelTurnCompleted(body) => {
                let said = self.record(&mut body.text) | self.record(&mut body.reasoning);
                let raw = self.some(&mut body.raw) | self.opaque(body.provider_metadata.as_mut());
                let of_call = |changed, call: &mut crate::journal::RequestedCallRecord| {
                    self.requested(&mut call.requested) || changed
                };
                body.calls.iter_mut().fold(said | raw, of_call)
            }
            Payload::ContextCompacted(body) => {
                let of_call = |changed, call: &mut crate::journal::CompactedCall| {
                    self.record(&mut call.alias) || changed
                };
                body.calls.iter_mut().fold(self.record(&mut body.text), of_call)
            }
            Payload::ModelRequestFailed(body) => self.record(&mut body.message),
            Payload::ToolCallRequested(body) => {
                self.record(&mut body.alias)
                    | self.some(&mut body.rule)
                    | self.some(&mut body.granted_by)
                    | self.texts(&mut body.repairs)
                    | self.wire_id(&mut body.wire_id)
            }
            Payload::ConsentOpened(question) => {
                let changed = self.fields(question).map_err(broken)?;
                if changed {
                    question.digest = canonical::digest(&question.arguments);
                }
                changed
            }
            Payload::ConsentClosed(body) => self.fields(body).map_err(broken)?,
            Payload::GrantGiven(body) => self.fields(body).map_err(broken)?,
            Payload::ToolCallCompleted(body) => {
                self.record(&mut body.alias) | self.some(&mut body.outside) | self.changes(&mut body.files)
            }
            Payload::ToolCallFailed(body) => {
                self.record(&mut body.alias) | self.some(&mut body.outside) | self.changes(&mut body.files)
            }
            Payload::ModelRequestCreated(body) => self.some(&mut body.note) | self.texts(&mut body.told),
            Payload::AgentTaskCreated(body) => self.record(&mut body.agent) | self.record(&mut body.brief),
            Payload::InvocationEnded(body) => self.some(&mut body.message) | self.some(&mut body.text),
            Payload::RunFailed(body) => self.record(&mut body.message),
            Payload::RunPartialSuccess(body) => self.record(&mut body.warning),
            Payload::RunEnded(body) => self.some(&mut body.message) | self.some(&mut body.text),
            Payload::PayloadRedacted(body) => self.record(&mut body.reason),
            Payload::ContextAssembled(_)
            | Payload::WorldInfoActivated(_)
            | Payload::ToolCallStarted(_)
            | Payload::GrantRevoked(_)
            | Payload::ChatCommitted(_)
            | Payload::DirectOutputCaptured(_)
            | Payload::DriftRecoveryAttempted(_)
            | Payload::PersistPromoted(_)
            | Payload::SessionDeleted(_) => false,
        })
    }

    /// A masked copy of a record before it is stored; none if there is nothing to take out.
    ///
    /// # Errors
    /// As of [`Mask::payload`].
    pub fn masked_payload(&self, payload: &Payload) -> Result<Option<Payload>, PayloadError> {
        let finds = |text: &String| self.finds(text, View::Record);
        let some = |text: &Option<String>| text.as_ref().is_some_and(finds);
        let changes = |files: &[FileChange]| files.iter().any(|file| finds(&file.path));
        // Records that every call writes are looked at before they are copied; names of known tools are the snapshot's.
        let may_hold = match payload {
            Payload::ToolCallRequested(body) => {
                (body.tool_id.is_none() && finds(&body.alias))
                    || some(&body.rule)
                    || some(&body.granted_by)
                    || body.repairs.iter().any(finds)
                    || body.wire_id.as_ref().is_some_and(|id| self.finds(id.as_str(), View::Model))
            }
            Payload::ToolCallCompleted(body) => some(&body.outside) || changes(&body.files),
            Payload::ToolCallFailed(body) => {
                (body.tool_id.is_none() && finds(&body.alias)) || some(&body.outside) || changes(&body.files)
            }
            Payload::ToolCallStarted(_) => false,
            Payload::RunStarted(_)
            | Payload::ChatImported(_)
            | Payload::WorldInfoActivated(_)
            | Payload::ContextAssembled(_)
            | Payload::ContextCompacted(_)
            | Payload::ModelRequestCreated(_)
            | Payload::ModelTurnCompleted(_)
            | Payload::ModelRequestFailed(_)
            | Payload::ConsentOpened(_)
            | Payload::ConsentClosed(_)
            | Payload::GrantGiven(_)
            | Payload::GrantRevoked(_)
            | Payload::AgentTaskCreated(_)
            | Payload::InvocationEnded(_)
            | Payload::ChatCommitted(_)
            | Payload::DirectOutputCaptured(_)
            | Payload::DriftRecoveryAttempted(_)
            | Payload::PersistPromoted(_)
            | Payload::RunFailed(_)
            | Payload::RunPartialSuccess(_)
            | Payload::RunEnded(_)
            | Payload::PayloadRedacted(_)
            | Payload::SessionDeleted(_) => true,
        };
        if !may_hold {
            return Ok(None);
        }
        let mut copy = payload.clone();
        Ok(self.payload(&mut copy)?.then_some(copy))
    }

    /// A masked copy of a result; none if there is nothing to take out.
    pub fn result(&self, result: &ToolResult, view: View) -> Option<ToolResult> {
        let finds = |text: &String| self.finds(text, view);
        // The name of a known tool is the snapshot's.
        let holds = (result.tool_id.is_none() && finds(&result.alias))
            || result.content.iter().any(|part| finds(text_of(part)))
            || result.structured.as_ref().is_some_and(|value| self.finds_in(value, view))
            || result.ui.as_ref().is_some_and(|value| self.finds_in(value, view))
            || result.metadata.iter().any(|(key, value)| finds(key) || self.finds_in(value, view))
            || result.resource_refs.iter().any(finds);
        if !holds {
            return None;
        }
        let mut masked = result.clone();
        self.put(&mut masked.alias, view);
        for part in &mut masked.content {
            match part {
                ContentPart::Text { text } => self.put(text, view),
                ContentPart::Image { description, .. } => self.put(description, view),
            };
        }
        for value in masked.structured.iter_mut().chain(&mut masked.ui) {
            self.value(value, view);
        }
        self.map(&mut masked.metadata, view);
        for reference in &mut masked.resource_refs {
            self.put(reference, view);
        }
        Some(masked)
    }

    fn record(&self, text: &mut String) -> bool {
        self.put(text, View::Record)
    }

    fn some(&self, text: &mut Option<String>) -> bool {
        text.as_mut().is_some_and(|text| self.record(text))
    }

    fn texts(&self, texts: &mut [String]) -> bool {
        texts.iter_mut().map(|text| self.record(text)).filter(|changed| *changed).count() > 0
    }

    /// What a provider wants back unchanged: only what is known for a secret is taken out.
    fn opaque(&self, value: Option<&mut Value>) -> bool {
        value.is_some_and(|value| self.value(value, View::Model))
    }

    fn wire_id(&self, wire_id: &mut Option<WireId>) -> bool {
        let Some(id) = wire_id.as_ref().filter(|_| self.knows_secrets()) else { return false };
        let mut text = id.as_str().to_owned();
        let changed = self.put(&mut text, View::Model);
        if changed {
            *wire_id = Some(WireId::new(text));
        }
        changed
    }

    fn requested(&self, requested: &mut RequestedCall) -> bool {
        match requested {
            RequestedCall::Call { name, arguments, wire_id, provider_metadata, repairs } => {
                self.record(name)
                    | self.map(arguments, View::Record)
                    | self.wire_id(wire_id)
                    | self.opaque(provider_metadata.as_mut())
                    | self.texts(repairs)
            }
            RequestedCall::Malformed { name, reason, raw, wire_id } => {
                self.some(name) | self.record(reason) | self.record(raw) | self.wire_id(wire_id)
            }
        }
    }

    fn changes(&self, files: &mut [FileChange]) -> bool {
        files.iter_mut().map(|file| self.record(&mut file.path)).filter(|changed| *changed).count() > 0
    }

    /// Masks all text of `body` but what stands under the keys of [`STRUCTURE`].
    fn fields<T: Serialize + DeserializeOwned>(&self, body: &mut T) -> Result<bool, serde_json::Error> {
        let mut value = serde_json::to_value(&*body)?;
        let changed = self.below(&mut value, true);
        if changed {
            *body = serde_json::from_value(value)?;
        }
        Ok(changed)
    }

    fn below(&self, value: &mut Value, structured: bool) -> bool {
        match value {
            Value::Object(map) if structured => map.iter_mut().fold(false, |changed, (key, value)| {
                let masked = match key.as_str() {
                    // Arguments are text through and through, whatever their keys are called.
                    "arguments" => self.value(value, View::Record),
                    key if STRUCTURE.contains(&key) && value.is_string() => false,
                    _ => self.below(value, true),
                };
                masked || changed
            }),
            Value::Array(items) => {
                items.iter_mut().map(|item| self.below(item, structured)).filter(|changed| *changed).count()
                    > 0
            }
            other => self.value(other, View::Record),
        }
    }
}

fn text_of(part: &ContentPart) -> &String {
    match part {
        ContentPart::Text { text } => text,
        ContentPart::Image { description, .. } => description,
    }
}

/// What is stored of a result that is a secret as a whole: that there was one, and how long it was.
pub fn without_secret(result: &ToolResult) -> ToolResult {
    let text = secret_result(result.text().chars().count());
    ToolResult {
        content: vec![ContentPart::Text { text }],
        structured: None,
        resource_refs: Vec::new(),
        ui: None,
        metadata: serde_json::Map::new(),
        ..result.clone()
    }
}
