//! The tasks of a run: who was given what, how far it is, and that each result is told once.
//!
//! A task is worked on by a task of the runtime of its own, which the run waits for before it ends; dropping whoever asked for it
//! loses nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::agents::{TaskState, TaskView};
use haft_core::journal::TaskKind;
use haft_core::{InvocationId, TaskId};
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::context::Stopper;
use crate::error::EngineError;

/// Tasks that agents work on at once in the background (DEL-07).
const AT_ONCE: usize = 3;
/// Background tasks of a run.
const MOST_DELEGATED: usize = 8;
/// How deep agents may call agents.
pub(crate) const MOST_DEPTH: u32 = 8;

/// The tasks of one run.
pub(crate) struct Tasks {
    state: Mutex<State>,
    changed: Notify,
    /// Background tasks take turns here.
    pub(crate) workers: Arc<Semaphore>,
    /// Those that are worked on.
    pub(crate) tracker: TaskTracker,
}

#[derive(Default)]
struct State {
    all: Vec<Task>,
    handoffs: u32,
    failure: Option<EngineError>,
    closed: bool,
}

/// A task that begins.
pub(crate) struct NewTask {
    pub(crate) kind: TaskKind,
    pub(crate) agent: String,
    pub(crate) parent: InvocationId,
    pub(crate) stopper: Arc<Stopper>,
}

struct Task {
    id: TaskId,
    kind: TaskKind,
    agent: String,
    parent: InvocationId,
    stopper: Arc<Stopper>,
    state: TaskState,
    text: Option<String>,
    files: Vec<String>,
    /// Its parent was told of its end.
    told: bool,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) state: TaskState,
    pub(crate) text: String,
    pub(crate) files: Vec<String>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            workers: Arc::new(Semaphore::new(AT_ONCE)),
            tracker: TaskTracker::new(),
        }
    }
}

impl Tasks {
    /// Adds a task; none if the run has given as many of its kind as it may, or ends.
    pub(crate) fn add(&self, new: NewTask) -> Option<TaskId> {
        let mut state = self.lock();
        let delegated = state.all.iter().filter(|task| task.kind == TaskKind::Delegate).count();
        if state.closed || (new.kind == TaskKind::Delegate && delegated >= MOST_DELEGATED) {
            return None;
        }
        let id = TaskId::new(format!("task_{}", state.all.len() + 1));
        let NewTask { kind, agent, parent, stopper } = new;
        let (state_of, text, files) = (TaskState::Queued, None, Vec::new());
        state.all.push(Task {
            id: id.clone(),
            kind,
            agent,
            parent,
            stopper,
            state: state_of,
            text,
            files,
            told: false,
        });
        Some(id)
    }

    /// Takes a task back that never began.
    pub(crate) fn forget(&self, id: &TaskId) {
        self.end(id, Ended { state: TaskState::Cancelled, text: String::new(), files: Vec::new() });
        self.with(id, |task| task.told = true);
    }

    /// An agent begins to work on the task.
    pub(crate) fn begin(&self, id: &TaskId) {
        self.with(id, |task| task.state = TaskState::Running);
    }

    /// The task is over; whoever waits is told. The first end counts.
    pub(crate) fn end(&self, id: &TaskId, ended: Ended) {
        self.with(id, |task| {
            if !task.state.is_terminal() {
                task.state = ended.state;
                task.text = Some(ended.text);
                task.files = ended.files;
            }
        });
        self.changed.notify_waiters();
    }

    fn with(&self, id: &TaskId, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.lock().all.iter_mut().find(|task| task.id == *id) {
            change(task);
        }
    }

    /// Waits until `ready` gives something; it is asked whenever a task ends.
    pub(crate) async fn until<T>(&self, ready: impl Fn() -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(value) = ready() {
                return value;
            }
            changed.await;
        }
    }

    /// How the task ended, if it did.
    pub(crate) fn ended(&self, id: &TaskId) -> Option<Ended> {
        let state = self.lock();
        let task = state.all.iter().find(|task| task.id == *id && task.state.is_terminal())?;
        Some(Ended {
            state: task.state,
            text: task.text.clone().unwrap_or_default(),
            files: task.files.clone(),
        })
    }

    /// The background tasks of `parent`.
    pub(crate) fn delegated_by(&self, parent: &InvocationId) -> Vec<TaskId> {
        self.lock()
            .all
            .iter()
            .filter(|task| task.is_delegated_by(parent))
            .map(|task| task.id.clone())
            .collect()
    }

    /// True if none of these tasks is still worked on.
    pub(crate) fn are_over(&self, ids: &[TaskId]) -> bool {
        let state = self.lock();
        !state.all.iter().any(|task| ids.contains(&task.id) && !task.state.is_terminal())
    }

    /// True if a background task of `parent` is not over.
    pub(crate) fn has_unfinished(&self, parent: &InvocationId) -> bool {
        let state = self.lock();
        state.all.iter().any(|task| task.is_delegated_by(parent) && !task.state.is_terminal())
    }

    /// Those tasks as their owner sees them; results that are told with it are not told again.
    pub(crate) fn tell(&self, ids: &[TaskId]) -> Vec<TaskView> {
        let mut state = self.lock();
        let asked = state.all.iter_mut().filter(|task| ids.contains(&task.id));
        asked
            .map(|task| {
                let given_before = task.told;
                task.told |= task.state.is_terminal();
                task.view(given_before)
            })
            .collect()
    }

    /// The background tasks of `parent` that ended and of which it was not told; from now on it was (DEL-13).
    pub(crate) fn news(&self, parent: &InvocationId) -> Vec<TaskView> {
        let mut state = self.lock();
        let news = |task: &&mut Task| task.is_delegated_by(parent) && task.state.is_terminal() && !task.told;
        let of_task = |task: &mut Task| {
            task.told = true;
            task.view(false)
        };
        state.all.iter_mut().filter(news).map(of_task).collect()
    }

    /// True if nobody works for `parent`.
    pub(crate) fn have_none_at_work(&self, parent: &InvocationId) -> bool {
        let state = self.lock();
        let at_work = |task: &Task| task.parent == *parent && task.is_work() && !task.state.is_terminal();
        !state.all.iter().any(at_work)
    }

    /// Counts a handoff if fewer than `most` were made; gives how many there are now.
    pub(crate) fn hand_over(&self, most: u32) -> Option<u32> {
        let mut state = self.lock();
        if state.handoffs >= most {
            return None;
        }
        state.handoffs += 1;
        Some(state.handoffs)
    }

    /// Stops the tasks of `parent` (DEL-15).
    pub(crate) fn stop_those_of(&self, parent: &InvocationId) {
        for task in self.lock().all.iter().filter(|task| task.parent == *parent && task.is_work()) {
            task.stopper.stop();
        }
    }

    /// Stops all tasks, takes no more, and waits until each has told its end (DEL-15).
    pub(crate) async fn wind_up(&self) {
        {
            let mut state = self.lock();
            state.closed = true;
            state.all.iter().filter(|task| task.is_work()).for_each(|task| task.stopper.stop());
        }
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// The host itself broke in an agent: the run must fail with it. The first cause counts.
    pub(crate) fn fail(&self, error: EngineError) {
        self.lock().failure.get_or_insert(error);
    }

    /// What broke the host in an agent.
    pub(crate) fn take_failure(&self) -> Option<EngineError> {
        self.lock().failure.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn is_delegated_by(&self, parent: &InvocationId) -> bool {
        self.kind == TaskKind::Delegate && self.parent == *parent
    }

    /// True if it is worked on beside its parent; what took over is the run itself.
    fn is_work(&self) -> bool {
        match self.kind {
            TaskKind::Call | TaskKind::Multi | TaskKind::Delegate => true,
            TaskKind::Handoff => false,
        }
    }

    fn view(&self, given_before: bool) -> TaskView {
        TaskView {
            id: self.id.clone(),
            agent: self.agent.clone(),
            state: self.state,
            text: self.text.clone(),
            files: self.files.clone(),
            given_before,
        }
    }
}
