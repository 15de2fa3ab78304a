//! Records of runs that work until a tool ends them: what went into the conversation, what was said instead of called, how
//! the run is classed, what its session keeps (EVT-05, EXE-13, EXE-16, EXE-18, WSP-02, WSP-13).

use haft_schema::Digest;
use serde::{Deserialize, Serialize};

use super::payload::FileRef;
use crate::ids::{CallId, InvocationId, RunId};
use crate::run_control::CommitMode;

/// A text is in the conversation, in the message of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatCommitted {
    /// The call that wanted it; none where the host published a draft by itself (EXE-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Characters of the message now.
    pub characters: u64,
    /// The text that went in, as it is shown.
    pub file: FileRef,
    /// Whose work it is.
    pub invocation: InvocationId,
    /// Index of the message in the conversation, from 0.
    pub message: u64,
    /// How it went in.
    pub mode: CommitMode,
    /// The version of the workspace's file that it is the text of: `output/main.md@3`.
    pub source: String,
}

/// A model answered without a call where a tool must end its work; its text is kept as a file (EXE-13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectOutputCaptured {
    /// The file, a version of the workspace.
    pub file: FileRef,
    /// Whose answer it was.
    pub invocation: InvocationId,
    /// The turn, from 1.
    pub turn: u32,
}

/// The model is told again how its work ends (EXE-14). The reminder itself stands in the next request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftRecoveryAttempted {
    /// Which attempt of the invocation it is, from 1.
    pub attempt: u32,
    /// Who is told.
    pub invocation: InvocationId,
    /// The turn without a call, from 1.
    pub turn: u32,
}

/// A file that a session keeps after a run, and where its bytes stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its path in the workspace, under `persist/`.
    pub path: String,
    /// The run that wrote it.
    pub run: RunId,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
    /// The file of that run that holds it: `workspace/persist/notes.md@2`.
    pub stored: String,
}

/// What the session keeps under `persist/` from now on: all of it, so that later runs need no earlier record (WSP-02).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistPromoted {
    /// The files, in order of path.
    pub files: Vec<KeptFile>,
}

/// A run of kind `agent` failed, and nothing of it is in the conversation (EXE-16).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailed {
    /// The stable code.
    pub error_code: String,
    /// What a person should know.
    pub message: String,
    /// Asking again may help: the host itself is not broken.
    pub user_retryable: bool,
}

/// A run of kind `agent` failed after something went into the conversation, which stays (EXE-16).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPartialSuccess {
    /// The stable code of what failed.
    pub error_code: String,
    /// What a person should know.
    pub warning: String,
}
