//! A started run: it goes on by itself, can be stopped, and tells its end.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use haft_core::RunId;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::context::Stopper;
use crate::error::EngineError;

/// A handle on a run. Dropping it stops nothing and loses nothing: the run is a task of its own, which writes every end record.
pub struct RunHandle<T> {
    run: RunId,
    stopper: Arc<Stopper>,
    task: JoinHandle<Result<T, EngineError>>,
}

impl<T: Send + 'static> RunHandle<T> {
    pub(crate) fn spawn<F>(tracker: &TaskTracker, run: RunId, work: impl FnOnce(Arc<Stopper>) -> F) -> Self
    where
        F: Future<Output = Result<T, EngineError>> + Send + 'static,
    {
        let stopper = Arc::new(Stopper::new());
        let task = tracker.spawn(work(stopper.clone()));
        Self { run, stopper, task }
    }

    /// The run's id.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// One Ctrl-C: stops the running tool; where none runs, or it was stopped already, stops the run.
    pub fn interrupt(&self) {
        self.stopper.interrupt();
    }

    /// Stops the run, with the tool and the question in it.
    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Something that stops the run from elsewhere.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + Clone + 'static + use<T> {
        let stopper = self.stopper.clone();
        move || stopper.interrupt()
    }

    /// Waits for the end.
    pub async fn wait(self) -> Result<T, EngineError> {
        match self.task.await {
            Ok(ended) => ended,
            Err(error) => Err(EngineError::Died(error.to_string())),
        }
    }
}

impl<T> fmt::Debug for RunHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("run", &self.run).finish_non_exhaustive()
    }
}
