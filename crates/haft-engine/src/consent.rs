//! The consent service: pushes questions to surfaces, waits for the first valid answer, and tells all surfaces how it ended.
//!
//! No lock is held while a person thinks, and one question never blocks another.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::ConsentId;
use haft_core::consent::{Answer, Closing, ConsentSurface, Question};
use haft_core::ports::{Cancel, Clock};
use tokio::sync::oneshot;

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question is closed, or was never asked.
    #[error("the question {0} is closed already; this answer came too late and changes nothing")]
    Late(ConsentId),
    /// The answer grants what was not offered.
    #[error("the question {0} does not offer that scope")]
    NotOffered(ConsentId),
}

#[derive(Default)]
struct State {
    surfaces: Vec<Arc<dyn ConsentSurface>>,
    pending: HashMap<ConsentId, Pending>,
}

struct Pending {
    question: Question,
    sender: oneshot::Sender<Closing>,
}

/// Open questions and the surfaces that show them.
#[derive(Default)]
pub struct ConsentService {
    state: Mutex<State>,
}

impl ConsentService {
    /// Adds a surface; it is shown all open questions at once.
    pub fn attach(&self, surface: Arc<dyn ConsentSurface>) {
        let shown = surface.clone();
        let open: Vec<Question> = {
            let mut state = self.lock();
            state.surfaces.push(surface);
            state.pending.values().map(|pending| pending.question.clone()).collect()
        };
        open.iter().for_each(|question| shown.show(question));
    }

    /// Takes the surface of that name away.
    pub fn detach(&self, name: &str) {
        self.lock().surfaces.retain(|surface| surface.name() != name);
    }

    /// Answers a question. The first valid answer wins; a later one is told so.
    pub fn answer(&self, id: &ConsentId, answer: Answer, surface: &str) -> Result<(), AnswerError> {
        let pending = {
            let mut state = self.lock();
            let Some(pending) = state.pending.get(id) else { return Err(AnswerError::Late(id.clone())) };
            let offered = match &answer {
                Answer::Once | Answer::Deny { .. } => true,
                Answer::Session { scope } | Answer::Run { scope } => pending.question.scopes.contains(scope),
            };
            if !offered {
                return Err(AnswerError::NotOffered(id.clone()));
            }
            state.pending.remove(id)
        };
        let sent = pending.map(|pending| {
            pending.sender.send(Closing::Answered { answer, surface: surface.to_owned() }).is_ok()
        });
        if sent == Some(true) { Ok(()) } else { Err(AnswerError::Late(id.clone())) }
    }

    /// Open questions.
    pub fn open(&self) -> Vec<Question> {
        self.lock().pending.values().map(|pending| pending.question.clone()).collect()
    }

    /// Puts `question` and waits for its end: an answer, its deadline, or the run's stop. Without a surface it ends at once.
    pub async fn ask(&self, question: &Question, cancel: &dyn Cancel, clock: &dyn Clock) -> Closing {
        let (sender, receiver) = oneshot::channel();
        let surfaces = {
            let mut state = self.lock();
            if !state.surfaces.is_empty() {
                state.pending.insert(question.id.clone(), Pending { question: question.clone(), sender });
            }
            state.surfaces.clone()
        };
        if surfaces.is_empty() {
            return Closing::NoSurface;
        }
        let removal = Removal { service: self, id: &question.id };
        surfaces.iter().for_each(|surface| surface.show(question));
        let expiry = async {
            match question.deadline {
                Some(deadline) => {
                    tokio::time::sleep(Duration::from_millis(deadline.since(clock.now()))).await;
                }
                None => std::future::pending().await,
            }
        };
        let closing = tokio::select! {
            biased;
            answered = receiver => answered.unwrap_or(Closing::Cancelled),
            () = cancel.cancelled() => Closing::Cancelled,
            () = expiry => Closing::Expired,
        };
        drop(removal);
        surfaces.iter().for_each(|surface| surface.close(&question.id, &closing));
        closing
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A surface that panicked leaves the maps whole: every change is one insert or one remove.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a question however its wait ends, so that a dropped future leaves none open.
struct Removal<'a> {
    service: &'a ConsentService,
    id: &'a ConsentId,
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        self.service.lock().pending.remove(self.id);
    }
}

impl fmt::Debug for ConsentService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("ConsentService")
            .field("surfaces", &state.surfaces.len())
            .field("pending", &state.pending.len())
            .finish()
    }
}
