//! The port of a tool: what it declares, what a call means to a person, what it touches, how it runs.

use crate::consent::{Ask, ConsentEnvironment};
use crate::declaration::ToolDeclaration;
use crate::error::ToolError;
use crate::ids::{RunId, SessionId};
use crate::path::{PreparedArguments, StartedCall};
use crate::ports::{BoxFuture, Cancel, Clock, Ids, Timestamp};
use crate::result::ToolOutput;
use crate::services::Services;

/// What a call reads and writes, for parallel execution and reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touches {
    /// Nothing that another call could see.
    Nothing,
    /// Unknown: it meets every other call. The careful default.
    Everything,
    /// These resources, by name, such as `project:demo/src/main.rs`.
    Resources {
        /// Read, not changed.
        reads: Vec<String>,
        /// Changed.
        writes: Vec<String>,
    },
}

/// A tool. It knows its arguments and its [`ToolContext`], nothing of runs, profiles or journals.
///
/// The only way to [`call`](Tool::call) one is with a [`StartedCall`], and only the path makes one.
pub trait Tool: Send + Sync {
    /// Its declaration; the same at every call.
    fn declaration(&self) -> &ToolDeclaration;

    /// What this call means to a person. Pure and quick; an error refuses the call. It is asked once for a call, for one that writes
    /// or leaves the machine before any call of its turn runs.
    fn ask(
        &self,
        _arguments: &PreparedArguments,
        _environment: &ConsentEnvironment,
    ) -> Result<Ask, ToolError> {
        Ok(Ask::default())
    }

    /// What this call touches.
    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Everything
    }

    /// Runs the call. An `Err` becomes a result that the model reads (EXE-07); a panic does too.
    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// What a running call may use.
pub trait ToolContext: Send + Sync {
    /// Whether the call was called off.
    fn cancel(&self) -> &dyn Cancel;
    /// When the call must be over.
    fn deadline(&self) -> Option<Timestamp>;
    /// The clock.
    fn clock(&self) -> &dyn Clock;
    /// Fresh ids.
    fn ids(&self) -> &dyn Ids;
    /// The session that the call belongs to.
    fn session(&self) -> &SessionId;
    /// The run that the call belongs to.
    fn run(&self) -> &RunId;
    /// Typed ports and shared services.
    fn services(&self) -> &Services;
    /// One short line for the person who waits.
    fn progress(&self, line: &str);
    /// The alias of another tool in the current snapshot, for hints to the model (ALI-09).
    fn alias_of(&self, tool: &crate::ids::ToolId) -> Option<&str>;
}
