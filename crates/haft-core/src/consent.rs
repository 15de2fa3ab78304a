//! Questions to a person and their answers, as plain values (APR-07 to APR-10).
//!
//! Waiting for an answer is the engine's work; this module says what is asked and what an answer means.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CallId, ConsentId, ProjectId, RunId, SessionId, ToolId};
use crate::ports::Timestamp;
use crate::scope::Scope;
use haft_schema::Digest;

/// What a tool says that a call means to a person. The default asks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ask {
    /// The question, if the tool itself wants one asked (APR-08); permission may ask without it.
    pub question: Option<String>,
    /// What the call would do, as a question that is put where permission asks and the tool itself does not.
    pub meaning: Option<String>,
    /// What a yes could cover, narrowest first; the whole tool where none is named (APR-09).
    pub scopes: Vec<Scope>,
    /// Asked every time, whatever was granted before (APR-10).
    pub every_time: bool,
}

/// What a tool may know when it says what a call means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConsentEnvironment {
    /// The session's project, if it has one.
    pub project: Option<ProjectId>,
    /// The project's folder, resolved.
    pub project_folder: Option<String>,
    /// Places of the machine; none where its files are not open to tools.
    pub host: Option<HostPlaces>,
    /// A person is there to ask; rules may look at it.
    pub attended: bool,
}

/// Places of the machine that mean something to a question about its files: absolute paths with all links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlaces {
    /// What `~` stands for.
    pub user_home: Option<String>,
    /// Haft's own home: configuration, profiles, store.
    pub haft_home: String,
    /// Where secrets lie, each file asked for by itself (APR-14).
    pub secrets_folder: String,
    /// Folders in which writing asks nobody (APR-13).
    pub temp_folders: Vec<String>,
}

/// One question, whole: a surface shows all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: ConsentId,
    /// The session.
    pub session: SessionId,
    /// The root run: questions of nested agents go to its surface.
    pub run: RunId,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool_id: ToolId,
    /// The name that the model used.
    pub alias: String,
    /// The tool's name for people.
    pub title: String,
    /// What is asked, in the host's words.
    pub text: String,
    /// The canonical arguments that a yes runs.
    pub arguments: Value,
    /// Their digest; the answer is bound to it.
    pub digest: Digest,
    /// What a yes could cover, narrowest first.
    pub scopes: Vec<Scope>,
    /// A yes is never remembered.
    pub every_time: bool,
    /// The rule that asks.
    pub rule: String,
    /// No answer by then is a no; none is no limit (CONFLICT-13).
    pub deadline: Option<Timestamp>,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Answer {
    /// This call alone.
    Once,
    /// This call and those that `scope` covers in this session.
    Session {
        /// One of the scopes offered.
        scope: Scope,
    },
    /// This call and those that `scope` covers in this run (APR-05).
    Run {
        /// One of the scopes offered.
        scope: Scope,
    },
    /// No; the reason goes to the model word for word.
    Deny {
        /// Why.
        reason: Option<String>,
    },
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Closing {
    /// Somebody answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// From which surface.
        surface: String,
    },
    /// Nobody answered in time: that is a no (APR-04).
    Expired,
    /// The run was stopped.
    Cancelled,
    /// No surface is there to ask.
    NoSurface,
}

/// A place where a person can be asked: terminal, web card, editor …
///
/// It is pushed to and never awaited; answers go to the consent service.
pub trait ConsentSurface: Send + Sync {
    /// Its name, as grants and records write it: `terminal` …
    fn name(&self) -> &str;

    /// Puts a question. It is shown whole.
    fn show(&self, question: &Question);

    /// Takes a question away that was closed, wherever the answer came from.
    fn close(&self, id: &ConsentId, how: &Closing);
}
