//! The end of a call: identity, audit file, changes, spill, end record.
//!
//! The whole result is written to its audit file before the spill is decided (CONFLICT-08): a spill that fails falls back to
//! the whole result, an audit file that fails, fails the run.

use std::borrow::Cow;

use haft_core::artifact::Artifacts;
use haft_core::journal::{ArtifactRef, FileRef, Payload, ToolCallCompleted, ToolCallFailed};
use haft_core::mask::{View, without_secret};
use haft_core::path::{Refused, RepeatedCall};
use haft_core::render::Renderer;
use haft_core::result::{Change, FileChange};
use haft_core::spill::{ReadOn, spill_artifact_id, spill_preview};
use haft_core::workspace::WorkspaceVersion;
use haft_core::{
    ArtifactVersion, CallId, ContentPart, Digest, ErrorClass, StartedCall, ToolError, ToolFacts, ToolId,
    ToolOutput, ToolResult,
};
use serde_json::{Map, Value, json};

use crate::artifacts::RunArtifacts;
use crate::error::EngineError;
use crate::identity::Identity;
use crate::outside::source_of;
use crate::reuse::Trace;
use crate::run::{CallOutcome, Driver};

impl Driver {
    /// The end of a call that ran.
    pub(crate) fn settle_started(
        &mut self,
        started: StartedCall,
        ended: Result<ToolOutput, ToolError>,
        duration_ms: u64,
        trace: Option<Trace>,
    ) -> Result<Box<CallOutcome>, EngineError> {
        let system_failure = match &ended {
            Err(error) if error.class() == ErrorClass::SystemFailure => Some(error.clone()),
            _ => None,
        };
        let (mut result, changes) = result_of(&started, ended, duration_ms);
        tell_of_repairs(&mut result, started.repairs());
        let identity = Identity::new(started.call_id(), Some(started.tool_id()));
        identity.check(&result)?;
        let (artifacts, files, workspace) = split(changes);
        self.session.artifacts.settle(&self.invocation, &artifacts.iter().collect::<Vec<_>>());
        self.shared.publication.wrote(&self.invocation, started.call_id(), &workspace);
        let workspace = self.workspace_files(&workspace);
        let facts = &started.tool().declaration().facts;
        if facts.effect.controls() {
            self.tell_of_commits(Some(started.call_id()))?;
        }
        let stored = if started.is_secret() {
            if !result.is_error && !facts.effect.writes() {
                self.learn_read(result.text())?;
            }
            Some(without_secret(&result))
        } else {
            self.writer.mask.result(&result, View::Record)
        };
        let stored = stored.map(Box::new);
        let file = self.result_file(&identity, stored.as_deref().unwrap_or(&result))?;
        // What was masked does not tell what there was, so it stands in for nothing.
        let trace = trace.filter(|_| stored.is_none());
        self.remember(trace, &file, result.error_code.as_ref());
        let outside = facts.brings_outside().then(|| {
            let source = source_of(started.tool_id(), started.arguments().value());
            self.writer.mask.text(&source, View::Record).into_owned()
        });
        if let Some(source) = &outside {
            self.session.outside.mark(source);
        }
        let call = EndedCall {
            facts,
            arguments: started.arguments().value(),
            reused_from: None,
            file,
            workspace,
            outside,
            secret: started.is_secret(),
            secret_arguments: started.secret_arguments(),
            stored,
        };
        let shown = self.note_end(call, result, artifacts, files)?;
        if let Some(error) = system_failure {
            let (code, message) = (error.code().to_string(), error.message().to_owned());
            return Err(EngineError::System { code, message });
        }
        let (call, arguments) = started.into_parts();
        Ok(Box::new(CallOutcome {
            run: self.writer.run.clone(),
            result: shown,
            wire_id: call.wire_id,
            arguments: arguments.into_value(),
            repairs: call.repairs,
            decision: None,
            granted_by: None,
        }))
    }

    /// The end of a call for which an earlier result stands in: it has a result file and an end of its own, and no start (CCH-05).
    pub(crate) fn settle_repeated(
        &mut self,
        repeated: &RepeatedCall,
    ) -> Result<Box<CallOutcome>, EngineError> {
        let result = repeated.result().clone();
        let identity = Identity::new(&repeated.call().call_id, Some(&repeated.call().tool_id));
        identity.check(&result)?;
        let file = self.result_file(&identity, &result)?;
        let call = EndedCall {
            facts: &repeated.declaration().facts,
            arguments: repeated.arguments().value(),
            reused_from: Some(repeated.repeats()),
            file,
            workspace: Vec::new(),
            outside: None,
            secret: false,
            secret_arguments: &[],
            stored: None,
        };
        let shown = self.note_end(call, result, Vec::new(), Vec::new())?;
        Ok(Box::new(CallOutcome {
            run: self.writer.run.clone(),
            result: shown,
            wire_id: repeated.call().wire_id.clone(),
            arguments: repeated.arguments().value().clone(),
            repairs: repeated.call().repairs.clone(),
            decision: Some((repeated.decision().outcome, repeated.decision().rule.clone())),
            granted_by: repeated.granted_by().map(str::to_owned),
        }))
    }

    /// Notes the end record and gives the result as the model sees it.
    fn note_end(
        &mut self,
        call: EndedCall<'_>,
        result: ToolResult,
        mut versions: Vec<ArtifactVersion>,
        files: Vec<FileChange>,
    ) -> Result<ToolResult, EngineError> {
        let blobs = images(&result.content);
        // The model sees what it was given to work on, but for secrets that nobody gave it.
        let mut shown = match &call.stored {
            Some(_) if !call.secret => self.writer.mask.result(&result, View::Model).unwrap_or(result),
            Some(_) | None => result,
        };
        let spilled_to = if call.secret { None } else { self.spill(call.facts, &mut shown, &mut versions) };
        self.bounds.settle_output(&mut shown);
        let stored = call.stored.as_deref().filter(|_| spilled_to.is_none());
        let view = self.view(stored.unwrap_or(&shown), call.arguments, call.secret_arguments);
        let (call_id, alias) = (shown.call_id.clone(), shown.alias.clone());
        let (duration_ms, skipped) = (shown.duration_ms, shown.skipped);
        let (result_file, reused_from, outside) = (call.file, call.reused_from.cloned(), call.outside);
        let payload = match (&shown.error_code, &shown.tool_id) {
            (None, Some(tool_id)) => Payload::ToolCallCompleted(ToolCallCompleted {
                call_id,
                tool_id: tool_id.clone(),
                alias,
                result_file,
                duration_ms,
                artifacts: versions.iter().map(ArtifactRef::of).collect::<Result<_, _>>()?,
                files,
                blobs,
                spilled_to,
                outside,
                reused_from,
                skipped,
                workspace: call.workspace.clone(),
            }),
            (None, None) => return Err(EngineError::Identity(call_id)),
            (Some(code), tool_id) => Payload::ToolCallFailed(ToolCallFailed {
                call_id,
                tool_id: tool_id.clone(),
                alias,
                error_code: code.clone(),
                result_file,
                duration_ms,
                files,
                outside,
                reused_from,
                skipped,
            }),
        };
        self.writer.note(&payload, view)?;
        versions.into_iter().for_each(|version| self.writer.artifact(version));
        Ok(shown)
    }

    /// The end of an attempt that never started.
    pub(crate) fn settle_refused(&mut self, refused: Refused) -> Result<Box<CallOutcome>, EngineError> {
        self.bounds.note_refusal(&refused);
        let mut result = refused.to_result();
        tell_of_repairs(&mut result, &refused.repairs);
        let stored = self.writer.mask.result(&result, View::Record);
        let identity = Identity::new(&refused.call_id, refused.tool_id.as_ref());
        let file = self.result_file(&identity, stored.as_ref().unwrap_or(&result))?;
        let view = self.view(&result, &refused.arguments, &refused.secret_arguments);
        let payload = ToolCallFailed {
            call_id: refused.call_id.clone(),
            tool_id: refused.tool_id.clone(),
            alias: refused.alias.clone(),
            error_code: refused.code.clone(),
            result_file: file,
            duration_ms: 0,
            files: Vec::new(),
            outside: None,
            reused_from: None,
            skipped: false,
        };
        self.writer.note(&Payload::ToolCallFailed(payload), view)?;
        Ok(Box::new(CallOutcome {
            run: self.writer.run.clone(),
            result,
            wire_id: refused.wire_id,
            arguments: refused.arguments,
            repairs: refused.repairs,
            decision: refused.decision.map(|decision| (decision.outcome, decision.rule)),
            granted_by: None,
        }))
    }

    /// Stores a result for audit, which must be the one that is expected (RES-07).
    fn result_file(&mut self, expected: &Identity, result: &ToolResult) -> Result<FileRef, EngineError> {
        expected.check(result)?;
        let mut bytes = Vec::with_capacity(512);
        serde_json::to_writer(&mut bytes, result).map_err(|error| EngineError::System {
            code: "agent.result_unwritable".to_owned(),
            message: error.to_string(),
        })?;
        Ok(self.writer.file(result.call_id.file_path("tool-results/", ".json"), bytes))
    }

    /// Replaces a long result by a preview and keeps the whole as an artifact. What cannot be kept stays whole (RES-18).
    fn spill(
        &mut self,
        facts: &ToolFacts,
        result: &mut ToolResult,
        versions: &mut Vec<ArtifactVersion>,
    ) -> Option<String> {
        let policy = self.options.profile.spill;
        // What must reach the model verbatim is not replaced (RES-30).
        if result.is_error || facts.no_compress {
            return None;
        }
        // What the renderer will show is what must not flood: B's JSON shows the structured data.
        let text = match (self.options.profile.renderer, &result.structured) {
            (Renderer::Json, Some(data)) if !data.is_string() => Cow::Owned(data.to_string()),
            (Renderer::Json | Renderer::Xml | Renderer::Markdown | Renderer::Plain, _) => result.whole_text(),
        };
        let characters = text.chars().count() as u64;
        if !policy.spills(characters, facts.result_cap) {
            return None;
        }
        let whole = ArtifactVersion {
            id: spill_artifact_id(&result.alias, &result.call_id),
            version: 1,
            content_type: "text/plain".to_owned(),
            title: format!("Result of {}", result.alias),
            source: "tool".to_owned(),
            content: self.writer.mask.text(&text, View::Record).into_owned(),
        };
        let (session, invocation) = (self.session.artifacts.clone(), self.invocation.clone());
        RunArtifacts { session, invocation, read_cap: 0 }.stage(whole.clone()).ok()?;
        self.session.artifacts.settle(&self.invocation, &[&whole]);
        let preview = spill_preview(&whole, policy.preview, self.read_on(result));
        let images = std::mem::take(&mut result.content).into_iter().filter(|part| match part {
            ContentPart::Image { .. } => true,
            ContentPart::Text { .. } => false,
        });
        result.content = std::iter::once(ContentPart::Text { text: preview }).chain(images).collect();
        result.structured = None;
        result.metadata.insert("persisted_artifact_id".to_owned(), json!(whole.id));
        result.metadata.insert("original_size_chars".to_owned(), json!(characters));
        result.resource_refs.push(format!("artifact:{}@1", whole.id));
        let id = whole.id.clone();
        versions.push(whole);
        Some(id)
    }

    /// How the model can read a spilled result with the tools that it has.
    fn read_on<'a>(&'a self, result: &'a ToolResult) -> ReadOn<'a> {
        match self.tools.by_id(&ToolId::builtin("artifact.read")) {
            Some(reader) => ReadOn::Artifact(&reader.binding().alias),
            None if result.tool_id == Some(ToolId::builtin("project.file_read")) => {
                ReadOn::Lines(&result.alias)
            }
            None => ReadOn::UserAlone,
        }
    }

    /// What surfaces show of an ended call; `secret` names the arguments of which nothing but the length is told.
    fn view(&self, result: &ToolResult, arguments: &Value, secret: &[String]) -> Map<String, Value> {
        if !self.options.events.wants_events() {
            return Map::new();
        }
        let masked = (!secret.is_empty()).then(|| self.writer.masked_arguments(arguments, secret)).flatten();
        let view = result_view(result, masked.as_ref().unwrap_or(arguments));
        Map::from_iter([("view".to_owned(), view)])
    }
}

/// What a call that ran and one that an earlier result stands in for have in common at their end.
struct EndedCall<'a> {
    facts: &'a ToolFacts,
    arguments: &'a Value,
    reused_from: Option<&'a CallId>,
    /// The whole result.
    file: FileRef,
    /// What it wrote in the workspace of the run.
    workspace: Vec<FileRef>,
    /// Where content from outside came from that it brought.
    outside: Option<String>,
    /// The result is a secret as a whole.
    secret: bool,
    /// The arguments that are.
    secret_arguments: &'a [String],
    /// The result as it is stored, where something is masked in it.
    stored: Option<Box<ToolResult>>,
}

/// One short line by which the model learns that its call was not written as it should be, and what was made of it.
fn tell_of_repairs(result: &mut ToolResult, repairs: &[String]) {
    if !repairs.is_empty() {
        let text = format!("Note: the call was repaired to be read: {}.", repairs.join(", "));
        result.content.push(ContentPart::Text { text });
    }
}

/// The part of a result that events carry.
pub(crate) fn result_view(result: &ToolResult, arguments: &Value) -> Value {
    json!({
        "arguments": arguments, "content": result.text(), "structured": result.structured,
        "metadata": result.metadata, "ui": result.ui, "resource_refs": result.resource_refs,
    })
}

fn result_of(
    started: &StartedCall,
    ended: Result<ToolOutput, ToolError>,
    duration_ms: u64,
) -> (ToolResult, Vec<Change>) {
    let mut result = ToolResult {
        call_id: started.call_id().clone(),
        tool_id: Some(started.tool_id().clone()),
        alias: started.alias().to_owned(),
        content: Vec::new(),
        structured: None,
        is_error: false,
        error_code: None,
        resource_refs: Vec::new(),
        ui: None,
        metadata: Map::new(),
        duration_ms,
        skipped: false,
    };
    match ended {
        Ok(output) => {
            result.content = output.content;
            result.structured = output.structured;
            result.resource_refs = output.resource_refs;
            result.ui = output.ui;
            result.metadata = output.metadata;
            (result, output.changes)
        }
        Err(error) => {
            result.content = vec![ContentPart::Text { text: error.message().to_owned() }];
            result.structured = error.data().cloned();
            result.is_error = true;
            result.error_code = Some(error.code().clone());
            if let Some(detail) = error.detail() {
                result.metadata.insert("detail".to_owned(), json!(detail));
            }
            (result, Vec::new())
        }
    }
}

/// The blobs that a result shows.
fn images(content: &[ContentPart]) -> Vec<Digest> {
    let blob_of = |part: &ContentPart| match part {
        ContentPart::Image { blob, .. } => Some(*blob),
        ContentPart::Text { .. } => None,
    };
    content.iter().filter_map(blob_of).collect()
}

fn split(changes: Vec<Change>) -> (Vec<ArtifactVersion>, Vec<FileChange>, Vec<WorkspaceVersion>) {
    let mut artifacts = Vec::new();
    let mut files = Vec::new();
    let mut workspace = Vec::new();
    for change in changes {
        match change {
            Change::Artifact(version) => artifacts.push(version),
            Change::File(file) => files.push(file),
            Change::Workspace(version) => workspace.push(version),
        }
    }
    (artifacts, files, workspace)
}
