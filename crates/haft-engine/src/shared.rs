//! What all invocations of one run share: its journal, its files, its budget, the yeses given in advance, and how it is stopped.

use std::sync::{Arc, Mutex};

use haft_core::budget::Ledger;
use haft_core::capability::Pledges;
use haft_core::lorebook::WorldInfoActivation;
use haft_core::workspace::RunFiles;
use haft_core::{Digest, RunId};

use crate::context::Stopper;
use crate::floor::Floor;
use crate::publish::Publication;
use crate::run::RunOptions;
use crate::session::SessionInner;
use crate::tasks::Tasks;
use crate::writer::RunJournal;

pub(crate) struct RunShared {
    pub(crate) session: Arc<SessionInner>,
    pub(crate) run: RunId,
    pub(crate) journal: Arc<RunJournal>,
    /// How the run is to be done: the options of its root.
    pub(crate) options: RunOptions,
    pub(crate) files: Arc<RunFiles>,
    /// What is in the conversation of it.
    pub(crate) publication: Publication,
    pub(crate) floor: Floor,
    /// The root's budget; those of children take from it too.
    pub(crate) ledger: Ledger,
    /// What was allowed in advance to a run that nobody attends, for all of its agents together.
    pub(crate) pledges: Arc<Mutex<Pledges>>,
    /// The version of the policy under which the run began.
    pub(crate) policy: Digest,
    /// Stops the run.
    pub(crate) stopper: Arc<Stopper>,
    /// What the person asked; none for single calls.
    pub(crate) prompt: Option<String>,
    /// The world info that is active in it; none where its profile names no books.
    pub(crate) world_info: Option<Arc<WorldInfoActivation>>,
    pub(crate) tasks: Tasks,
}
