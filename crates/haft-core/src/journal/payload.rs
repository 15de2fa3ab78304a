//! What records say. One variant a kind; C's names where C has them (JRN-01, EVT-05, CONFLICT-23).
//!
//! Payloads are stored for good: a field may be added with a default, none may be renamed or change its meaning.
//! Large things stand in files beside the record, which names them by digest (RES-10). The fields of records that are written
//! for every call stand in the order of their names, which is the order in which they are stored.

use haft_schema::{Digest, canonical};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent_run::{
    ChatCommitted, DirectOutputCaptured, DriftRecoveryAttempted, PersistPromoted, RunFailed,
    RunPartialSuccess,
};
use super::compaction::ContextCompacted;
use super::input::{ChatImported, WorldInfoActivated};
use crate::artifact::ArtifactVersion;
use crate::call::RequestedCall;
use crate::consent::{Closing, Question};
use crate::error::ErrorCode;
use crate::exit::Role;
use crate::grant::Grant;
use crate::ids::{
    CallId, ConsentId, GrantId, InvocationId, ProjectId, RunId, SessionId, TaskId, ToolId, WireId,
};
use crate::ports::{FinishReason, Timestamp, Usage};
use crate::result::FileChange;
use crate::turn::ToolTurnContract;
use crate::workspace::WorkspaceRoots;

/// A file of the run workspace that a record speaks of, committed with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Its length in bytes.
    pub bytes: u64,
    /// Path in the run workspace, such as `tool-args/call_….json`.
    pub path: String,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
}

/// An artifact version that a record speaks of, committed with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// The artifact's id.
    pub id: String,
    /// SHA-256 of the canonical JSON of the whole version: its title, type and source as well as its text.
    pub sha256: Digest,
    /// The version.
    pub version: u32,
}

impl ArtifactRef {
    /// What a record says of `version`.
    ///
    /// ```
    /// use haft_core::ArtifactVersion;
    /// use haft_core::journal::ArtifactRef;
    /// let mut version = ArtifactVersion {
    ///     id: "plan".into(), version: 2, content_type: "text/markdown".into(), title: "Plan".into(),
    ///     source: "model".into(), content: "one\n".into(),
    /// };
    /// let before = ArtifactRef::of(&version)?;
    /// version.title.push('.');
    /// let after = ArtifactRef::of(&version)?;
    /// assert_eq!((&before.id, before.version), (&after.id, after.version));
    /// assert_ne!(before.sha256, after.sha256);
    /// # Ok::<(), haft_core::journal::PayloadError>(())
    /// ```
    pub fn of(version: &ArtifactVersion) -> Result<Self, PayloadError> {
        let sha256 = version.digest().map_err(|error| PayloadError {
            kind: "tool_call_completed".to_owned(),
            reason: format!("artifact {}@{}: {error}", version.id, version.version),
        })?;
        Ok(Self { id: version.id.clone(), version: version.version, sha256 })
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It did what it should.
    Completed,
    /// Something was kept, something failed.
    PartialSuccess,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

macro_rules! payloads {
    ($($(#[$meta:meta])* $name:ident($body:ty) = $kind:literal;)*) => {
        /// The content of one record.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Payload {
            $($(#[$meta])* $name($body),)*
        }

        impl Payload {
            /// All kinds, in the order of a run.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The stored name of the kind.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $kind,)* }
            }

            /// The canonical bytes that are stored and hashed.
            pub fn to_bytes(&self) -> Result<Vec<u8>, PayloadError> {
                match self {
                    $(Self::$name(body) => canonical::serialize(body),)*
                }
                .map_err(|error| PayloadError { kind: self.kind().to_owned(), reason: error.to_string() })
            }

            /// Reads the payload of a record of `kind`.
            pub fn read(kind: &str, bytes: &[u8]) -> Result<Self, PayloadError> {
                let fail = |reason: String| PayloadError { kind: kind.to_owned(), reason };
                match kind {
                    $($kind => serde_json::from_slice(bytes).map(Self::$name).map_err(|error| fail(error.to_string())),)*
                    _ => Err(fail("this kind is not known; a newer Haft may have written it".to_owned())),
                }
            }
        }
    };
}

payloads! {
    /// A run begins.
    RunStarted(RunStarted) = "run_started";
    /// An invocation's tools are frozen and its first request is put together (TRN-04).
    ContextAssembled(ContextAssembled) = "context_assembled";
    /// A chat of another program is the beginning of the session (CHT-01).
    ChatImported(ChatImported) = "chat_imported";
    /// The world info of the run is found out (WLD-02).
    WorldInfoActivated(WorldInfoActivated) = "world_info_activated";
    /// Older messages were summed up for want of room (PRV-04).
    ContextCompacted(ContextCompacted) = "context_compacted";
    /// A model is asked.
    ModelRequestCreated(ModelRequestCreated) = "model_request_created";
    /// A model answered.
    ModelTurnCompleted(ModelTurnCompleted) = "model_turn_completed";
    /// A model request failed for good.
    ModelRequestFailed(ModelRequestFailed) = "model_request_failed";
    /// A call was asked for.
    ToolCallRequested(ToolCallRequested) = "tool_call_requested";
    /// A question was put to a person.
    ConsentOpened(Question) = "consent_opened";
    /// A question ended.
    ConsentClosed(ConsentClosed) = "consent_closed";
    /// A person said yes, to one call or to those that the grant covers.
    GrantGiven(GrantGiven) = "grant_given";
    /// A grant was taken back.
    GrantRevoked(GrantRevoked) = "grant_revoked";
    /// The intent is committed: the tool may run.
    ToolCallStarted(ToolCallStarted) = "tool_call_started";
    /// The call did its work.
    ToolCallCompleted(ToolCallCompleted) = "tool_call_completed";
    /// The call failed, was refused, was stopped, or its outcome is unknown.
    ToolCallFailed(ToolCallFailed) = "tool_call_failed";
    /// An agent of the run is given work: its invocation begins (DEL-07, DEL-09).
    AgentTaskCreated(AgentTaskCreated) = "agent_task_created";
    /// An invocation that is not the root is over.
    InvocationEnded(InvocationEnded) = "invocation_ended";
    /// A text went into the conversation (WSP-13, EXE-18).
    ChatCommitted(ChatCommitted) = "chat_committed";
    /// An answer without a call was kept as a file (EXE-13).
    DirectOutputCaptured(DirectOutputCaptured) = "direct_output_captured";
    /// The model was reminded of how its work ends (EXE-14).
    DriftRecoveryAttempted(DriftRecoveryAttempted) = "drift_recovery_attempted";
    /// The session keeps what lies under `persist/` (WSP-02).
    PersistPromoted(PersistPromoted) = "persist_promoted";
    /// A run of kind `agent` failed (EXE-16).
    RunFailed(RunFailed) = "run_failed";
    /// A run of kind `agent` failed after it had committed something (EXE-16).
    RunPartialSuccess(RunPartialSuccess) = "run_partial_success";
    /// The run is over.
    RunEnded(RunEnded) = "run_ended";
    /// The payload of an earlier record, and the files that it speaks of, were taken away on purpose.
    PayloadRedacted(PayloadRedacted) = "payload_redacted";
    /// All payloads and files of the run were taken away with its session.
    SessionDeleted(SessionDeleted) = "session_deleted";
}

/// A payload that cannot be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the payload of a `{kind}` record is unreadable: {reason}")]
pub struct PayloadError {
    /// The record's kind.
    pub kind: String,
    /// What is wrong.
    pub reason: String,
}

impl Payload {
    /// The files that the record speaks of.
    pub fn files(&self) -> Vec<&FileRef> {
        match self {
            Self::RunStarted(_)
            | Self::ContextCompacted(_)
            | Self::ModelRequestCreated(_)
            | Self::ModelTurnCompleted(_)
            | Self::ModelRequestFailed(_)
            | Self::ConsentOpened(_)
            | Self::ConsentClosed(_)
            | Self::GrantGiven(_)
            | Self::GrantRevoked(_)
            | Self::ToolCallStarted(_)
            | Self::AgentTaskCreated(_)
            | Self::DriftRecoveryAttempted(_)
            | Self::PersistPromoted(_)
            | Self::RunFailed(_)
            | Self::RunPartialSuccess(_)
            | Self::RunEnded(_)
            | Self::PayloadRedacted(_)
            | Self::SessionDeleted(_) => Vec::new(),
            Self::ChatCommitted(body) => vec![&body.file],
            Self::DirectOutputCaptured(body) => vec![&body.file],
            Self::ContextAssembled(body) => vec![&body.snapshot_file],
            Self::ChatImported(body) => vec![&body.file],
            Self::WorldInfoActivated(body) => vec![&body.file],
            Self::InvocationEnded(body) => body.files.iter().collect(),
            Self::ToolCallRequested(body) => vec![&body.arguments_file],
            Self::ToolCallCompleted(body) => {
                std::iter::once(&body.result_file).chain(&body.workspace).collect()
            }
            Self::ToolCallFailed(body) => vec![&body.result_file],
        }
    }

    /// Digests of the blobs that the record speaks of.
    pub fn blobs(&self) -> Vec<Digest> {
        let (changes, shown): (&[FileChange], &[Digest]) = match self {
            Self::ToolCallCompleted(body) => (&body.files, &body.blobs),
            Self::ToolCallFailed(body) => (&body.files, &[]),
            Self::RunStarted(_)
            | Self::ChatImported(_)
            | Self::WorldInfoActivated(_)
            | Self::ContextAssembled(_)
            | Self::ContextCompacted(_)
            | Self::ModelRequestCreated(_)
            | Self::ModelTurnCompleted(_)
            | Self::ModelRequestFailed(_)
            | Self::ToolCallRequested(_)
            | Self::ConsentOpened(_)
            | Self::ConsentClosed(_)
            | Self::GrantGiven(_)
            | Self::GrantRevoked(_)
            | Self::ToolCallStarted(_)
            | Self::AgentTaskCreated(_)
            | Self::InvocationEnded(_)
            | Self::ChatCommitted(_)
            | Self::DirectOutputCaptured(_)
            | Self::DriftRecoveryAttempted(_)
            | Self::PersistPromoted(_)
            | Self::RunFailed(_)
            | Self::RunPartialSuccess(_)
            | Self::RunEnded(_)
            | Self::PayloadRedacted(_)
            | Self::SessionDeleted(_) => return Vec::new(),
        };
        changes.iter().filter_map(|change| change.before).chain(shown.iter().copied()).collect()
    }

    /// The call that the record speaks of.
    pub fn call_id(&self) -> Option<&CallId> {
        match self {
            Self::ToolCallRequested(body) => Some(&body.call_id),
            Self::ToolCallStarted(body) => Some(&body.call_id),
            Self::ToolCallCompleted(body) => Some(&body.call_id),
            Self::ToolCallFailed(body) => Some(&body.call_id),
            Self::ConsentOpened(question) => Some(&question.call_id),
            Self::ConsentClosed(body) => Some(&body.call_id),
            Self::ChatCommitted(body) => body.call_id.as_ref(),
            Self::RunStarted(_)
            | Self::ChatImported(_)
            | Self::WorldInfoActivated(_)
            | Self::ContextAssembled(_)
            | Self::ContextCompacted(_)
            | Self::ModelRequestCreated(_)
            | Self::ModelTurnCompleted(_)
            | Self::ModelRequestFailed(_)
            | Self::GrantGiven(_)
            | Self::GrantRevoked(_)
            | Self::AgentTaskCreated(_)
            | Self::InvocationEnded(_)
            | Self::DirectOutputCaptured(_)
            | Self::DriftRecoveryAttempted(_)
            | Self::PersistPromoted(_)
            | Self::RunFailed(_)
            | Self::RunPartialSuccess(_)
            | Self::RunEnded(_)
            | Self::PayloadRedacted(_)
            | Self::SessionDeleted(_) => None,
        }
    }
}

/// A run begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The session.
    pub session: SessionId,
    /// `chat` or `agent`.
    pub run_kind: crate::profile::RunKind,
    /// Which surface began it: `call`, `exec`, `run`, `chat`, `embed` …
    pub surface: String,
    /// Name of the profile.
    pub profile: String,
    /// Name of the model; none where no model is asked.
    pub model: Option<String>,
    /// The session's project.
    pub project: Option<ProjectId>,
    /// What the person wrote; none for single calls.
    pub prompt: Option<String>,
    /// The version of Haft that wrote it.
    pub haft: String,
}

/// An invocation's context is put together. It holds no text of people, models or tools and is never redacted: what ties the run to
/// its session stands here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextAssembled {
    /// The session, as in [`RunStarted`], which can be redacted.
    pub session: SessionId,
    /// The session's run before this one, with its last hash: so that a run that is gone is missed.
    pub previous_run: Option<(RunId, Digest)>,
    /// The invocation; also the snapshot's id (SNP-09).
    pub invocation: InvocationId,
    /// The snapshot's file (SNP-07).
    pub snapshot_file: FileRef,
    /// Aliases and ids, in order.
    pub tools: Vec<(String, ToolId)>,
    /// The first turn's contract.
    pub contract: ToolTurnContract,
    /// What the invocation is for; none for the root of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskLink>,
    /// The roots of the run's workspace that it sees and may write, where they are not all (WSP-01).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceRoots>,
}

/// Ties an invocation to the one that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLink {
    /// The task, unique in its run.
    pub id: TaskId,
    /// Who started it.
    pub parent: InvocationId,
    /// Whether it works for its parent or took over from it.
    pub role: Role,
}

/// How an agent was given work (CONFLICT-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// `agent.call`: the caller waits for its text (DEL-18).
    Call,
    /// One of the tasks of `agent.multi` (DEL-03).
    Multi,
    /// `agent.delegate`: it works in the background and returns a result (DEL-07).
    Delegate,
    /// `agent.handoff`: it took over (DEL-09).
    Handoff,
}

/// An agent is given work. The record is written before the agent is asked anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTaskCreated {
    /// The task, unique in its run.
    pub task: TaskId,
    /// How it was given.
    pub kind: TaskKind,
    /// Which agent: the name of its profile, or of the task of `agent.multi`.
    pub agent: String,
    /// What it shall do.
    pub brief: String,
    /// Who gave it.
    pub parent: InvocationId,
    /// The invocation that works on it.
    pub invocation: InvocationId,
    /// The call that gave it.
    pub call_id: CallId,
}

/// An invocation that is not the root is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvocationEnded {
    /// The invocation.
    pub invocation: InvocationId,
    /// Its task.
    pub task: TaskId,
    /// How it ended.
    pub status: RunStatus,
    /// The stable code, if something failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What its parent and a person should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The files that hold its result (DEL-17).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
}

/// A model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequestCreated {
    /// The invocation.
    pub invocation: InvocationId,
    /// The turn, from 1.
    pub turn: u32,
    /// Name of the model.
    pub model: String,
    /// The dialect in which it is spoken to.
    pub dialect: String,
    /// Messages in the request.
    pub messages: u64,
    /// This round's contract (TRN-04).
    pub contract: ToolTurnContract,
    /// What the host told the model as the last message, where this is the last turn and the run is cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the host added to the conversation since the request before: results of agents, reminders (DEL-13, EXE-13).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
    /// Results of earlier calls that are shown with less than they hold, for want of room (PRV-04).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shortened: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelTurnCompleted {
    /// The invocation.
    pub invocation: InvocationId,
    /// The turn, from 1.
    pub turn: u32,
    /// Visible text.
    pub text: String,
    /// Reasoning that was shown.
    pub reasoning: String,
    /// The answer as written, where it differs.
    pub raw: Option<String>,
    /// What it asks for, with the host's ids, in order.
    pub calls: Vec<RequestedCallRecord>,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// Tokens.
    pub usage: Option<Usage>,
    /// What the provider wants back. Opaque.
    pub provider_metadata: Option<Value>,
}

/// One requested call in a [`ModelTurnCompleted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCallRecord {
    /// The host's id.
    pub call_id: CallId,
    /// What was asked.
    pub requested: RequestedCall,
    /// Which tool its name means in this turn; none where it means none. By this surfaces tell calls apart, never by the name (JRN-07).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
}

/// A model request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequestFailed {
    /// The invocation.
    pub invocation: InvocationId,
    /// The turn, from 1.
    pub turn: u32,
    /// `model.unreachable` …
    pub error_code: String,
    /// What a person should know.
    pub message: String,
}

/// A call was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallRequested {
    /// The name that the model wrote.
    pub alias: String,
    /// Digest of the canonical prepared arguments; none if the call was not prepared.
    pub arguments_digest: Option<Digest>,
    /// The arguments' file: prepared where they could be, else as written.
    pub arguments_file: FileRef,
    /// The host's id.
    pub call_id: CallId,
    /// What policy said: `allow`, `ask`, `deny`; none where it was not asked.
    pub decision: Option<String>,
    /// The standing yes that let it through, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// Who answered an ask.
    pub granted_by: Option<String>,
    /// Repairs that reading it needed.
    pub repairs: Vec<String>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Which tool; none where no tool was known.
    pub tool_id: Option<ToolId>,
    /// The provider's id, opaque (JRN-04).
    pub wire_id: Option<WireId>,
}

/// The intent is committed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallStarted {
    /// The host's id.
    pub call_id: CallId,
    /// Which tool.
    pub tool_id: ToolId,
}

/// The call did its work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallCompleted {
    /// The name that the model wrote.
    pub alias: String,
    /// Artifact versions made.
    pub artifacts: Vec<ArtifactRef>,
    /// Blobs that the result shows: its images.
    #[serde(default)]
    pub blobs: Vec<Digest>,
    /// The host's id.
    pub call_id: CallId,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// Files changed outside the store.
    pub files: Vec<FileChange>,
    /// Where content from outside came from that the result brought into the conversation: `builtin:web.fetch of https://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// The result's file, whole.
    pub result_file: FileRef,
    /// The earlier call whose result this is, where the tool was not run (CCH-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<CallId>,
    /// The tool was not run: an earlier result was given (CCH-05).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Where the model saw a preview: the artifact that holds the whole.
    pub spilled_to: Option<String>,
    /// Which tool.
    pub tool_id: ToolId,
    /// New versions of files of the run's workspace (WSP-15).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<FileRef>,
}

/// The call failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallFailed {
    /// The name that the model wrote.
    pub alias: String,
    /// The host's id.
    pub call_id: CallId,
    /// How long it ran, in milliseconds; 0 if it never started.
    pub duration_ms: u64,
    /// The stable code.
    pub error_code: ErrorCode,
    /// Files changed outside the store before it failed.
    #[serde(default)]
    pub files: Vec<FileChange>,
    /// As of a completed call: a failure may carry content from outside as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// The result's file, whole.
    pub result_file: FileRef,
    /// The earlier call whose failure this is, where the tool was not run (CCH-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<CallId>,
    /// The tool was not run: an earlier failure was given (CCH-05).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Which tool; none where no tool was known.
    pub tool_id: Option<ToolId>,
}

/// A question ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsentClosed {
    /// The question.
    pub consent: ConsentId,
    /// The call.
    pub call_id: CallId,
    /// How it ended.
    pub closing: Closing,
}

/// A yes was given. Nothing arms it again from here: grants live in the process that was told (APR-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantGiven {
    /// The epoch of the lease under which it was given: it ends with that owner of the session.
    pub epoch: u64,
    /// The grant.
    pub grant: Grant,
}

/// A grant was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRevoked {
    /// Which.
    pub grant: GrantId,
    /// When; the record may come later, with the next run of the session.
    pub revoked: Timestamp,
}

/// The run is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// How it ended.
    pub status: RunStatus,
    /// The stable code, if something failed.
    pub error_code: Option<String>,
    /// What a person should know.
    pub message: Option<String>,
    /// The final text, where the run has one.
    pub text: Option<String>,
}

/// A payload was taken away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PayloadRedacted {
    /// The record whose payload is gone.
    pub seq: u64,
    /// Paths of the files of the run workspace that went with it.
    pub files: Vec<String>,
    /// Id and version of the artifact versions that went with it; their digests would tell of what they were.
    pub artifacts: Vec<(String, u32)>,
    /// Why.
    pub reason: String,
}

/// All payloads of the run were taken away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionDeleted {
    /// The session.
    pub session: SessionId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completed_call_names_its_images_and_the_contents_before() {
        let (before, image) = (Digest::of(b"before"), Digest::of(b"image"));
        let mut body = serde_json::json!({
            "call_id": "c", "tool_id": "builtin:x", "alias": "x", "duration_ms": 1, "artifacts": [],
            "result_file": {"path": "r.json", "sha256": image, "bytes": 1},
            "files": [{"root": "host", "path": "a", "before": before, "after": null}], "spilled_to": null,
        });
        let blobs =
            |body: &Value| Payload::read("tool_call_completed", body.to_string().as_bytes()).unwrap().blobs();
        // Without the field there are no images.
        assert_eq!(blobs(&body), [before]);
        body["blobs"] = serde_json::json!([image]);
        assert_eq!(blobs(&body), [before, image]);
    }
}
