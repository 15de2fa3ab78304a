//! Questions to a person and their answers, as plain values (APR-07 to APR-10).
//!
//! Waiting for an answer is the engine's work; this module says what is asked, what a yes would cover and is bound to, and what an
//! answer means.

mod answer;
mod examples;
mod question;

use crate::ids::{ConsentId, ProjectId};
use crate::scope::Scope;

pub use answer::{Answer, Closing};
pub use examples::Examples;
pub use question::{Circumstances, Opening, Question, effect_in_words};

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
    /// Only a grant of exactly one of the scopes covers the call, none of a folder around it and none of the whole tool (APR-14).
    pub exact: bool,
    /// What the call gives is a secret, as if [`ToolFacts::secret`](crate::ToolFacts::secret) said so.
    pub secret: bool,
    /// Names of the arguments whose values are secrets: what is stored says only that there was one. A tool that neither writes nor
    /// is `open_world` is asked only when the call is decided, so that the turn of the model tells them.
    pub secret_arguments: Vec<String>,
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
