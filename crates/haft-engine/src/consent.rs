//! The consent service: pushes questions to the surfaces of their root run, waits for the first valid answer, and tells all surfaces
//! how it ended.
//!
//! No lock is held while a person thinks or a surface works, one question never blocks another, and a wait is a future: it has no
//! thread and no timer of its own beyond its deadline. A surface that panics is taken for one that went away.

mod surfaces;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::consent::{Answer, Closing, ConsentSurface, Question};
use haft_core::ports::{Cancel, Clock};
use haft_core::{ConsentId, Digest};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use surfaces::Attached;
pub use surfaces::{Audience, SurfaceId};

/// How many ended questions are kept in mind, so that a late answer is told what happened.
const KEPT: usize = 1_024;

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question has ended.
    #[error("this answer came too late and changes nothing: {}", how.in_words())]
    Late {
        /// The question.
        id: ConsentId,
        /// How it ended.
        how: Box<Closing>,
    },
    /// Nobody asked it, or it ended long ago.
    #[error(
        "there is no question {0}: it was never asked here, or it ended long ago; this answer changes nothing"
    )]
    Unknown(ConsentId),
    /// The answer grants what was not offered.
    #[error("the question {0} does not offer that scope; it still waits for an answer")]
    NotOffered(ConsentId),
    /// The answer is for other arguments than the question's.
    #[error(
        "the answer is for other arguments than those of the question {0}; look at it again, it still waits for an answer"
    )]
    OtherDigest(ConsentId),
}

/// Somebody's answer to what a surface showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The digest of the arguments that were shown.
    pub shown: Digest,
    /// The answer.
    pub answer: Answer,
    /// From which surface.
    pub surface: String,
    /// Who, where the surface knows.
    pub by: Option<String>,
}

impl Reply {
    /// An answer to `question` by nobody in particular.
    pub fn to(question: &Question, answer: Answer, surface: &str) -> Self {
        Self { shown: question.digest, answer, surface: surface.to_owned(), by: None }
    }
}

#[derive(Default)]
struct State {
    surfaces: Vec<Attached>,
    next_surface: u64,
    /// A person could be reached at some time: only then is a missing surface waited for.
    had_surface: bool,
    pending: HashMap<ConsentId, Pending>,
    ended: HashMap<ConsentId, Closing>,
    /// The ended questions, oldest first.
    order: VecDeque<ConsentId>,
}

struct Pending {
    question: Arc<Question>,
    sender: oneshot::Sender<Closing>,
}

impl State {
    /// Those that show `question`.
    fn audience_of(&self, question: &Question) -> Vec<Attached> {
        self.surfaces.iter().filter(|one| one.audience.includes(question)).cloned().collect()
    }

    fn keep(&mut self, id: &ConsentId, how: Closing) {
        if self.ended.insert(id.clone(), how).is_none() {
            self.order.push_back(id.clone());
        }
        while self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.ended.remove(&oldest);
            }
        }
    }
}

/// Open questions and the surfaces that show them.
pub struct ConsentService {
    state: Mutex<State>,
    /// Changes whenever a surface comes, goes or looks elsewhere.
    changes: watch::Sender<u64>,
}

impl Default for ConsentService {
    fn default() -> Self {
        Self { state: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

impl ConsentService {
    /// Adds a surface for the questions of all sessions; it is shown those that are open at once.
    pub fn attach(&self, surface: Arc<dyn ConsentSurface>) -> SurfaceId {
        self.attach_to(surface, Audience::All)
    }

    /// Adds a surface for some questions; it is shown those that are open at once. A surface comes back after a lost connection by
    /// being attached again: questions are state, no events that could be missed.
    pub fn attach_to(&self, surface: Arc<dyn ConsentSurface>, audience: Audience) -> SurfaceId {
        let id = {
            let mut state = self.lock();
            state.next_surface += 1;
            state.had_surface = true;
            let id = SurfaceId(state.next_surface);
            state.surfaces.push(Attached { id, surface, audience });
            id
        };
        self.show_open(id);
        self.has_changed();
        id
    }

    /// Lets a surface look at other questions from now on (APR-20); it is shown those that are open at once. False if it is gone.
    pub fn bind(&self, id: SurfaceId, audience: Audience) -> bool {
        let found = {
            let mut state = self.lock();
            let surface = state.surfaces.iter_mut().find(|one| one.id == id);
            surface.map(|surface| surface.audience = audience).is_some()
        };
        if found {
            self.show_open(id);
            self.has_changed();
        }
        found
    }

    /// Takes a surface away. Questions that nobody shows any more wait for `consent.grace_s`.
    pub fn detach(&self, id: SurfaceId) {
        self.lock().surfaces.retain(|one| one.id != id);
        self.has_changed();
    }

    /// Answers a question. The first valid answer wins; a later one is told how the question ended.
    ///
    /// # Errors
    /// [`AnswerError`]; the question still waits where the error says so.
    pub fn answer(&self, id: &ConsentId, reply: Reply) -> Result<(), AnswerError> {
        let mut state = self.lock();
        let Some(pending) = state.pending.get(id) else {
            return Err(match state.ended.get(id) {
                Some(how) => AnswerError::Late { id: id.clone(), how: Box::new(how.clone()) },
                None => AnswerError::Unknown(id.clone()),
            });
        };
        let Reply { shown, answer, surface, by } = reply;
        if shown != pending.question.digest {
            return Err(AnswerError::OtherDigest(id.clone()));
        }
        if answer.scope().is_some_and(|scope| !pending.question.offers(scope)) {
            return Err(AnswerError::NotOffered(id.clone()));
        }
        let closing = Closing::Answered { answer, surface, by, shown: Some(shown) };
        // Whoever takes the question out of the map decides how it ends; the waiter looks there before it gives up.
        if let Some(pending) = state.pending.remove(id) {
            state.keep(id, closing.clone());
            drop(pending.sender.send(closing));
        }
        Ok(())
    }

    /// Open questions.
    pub fn open(&self) -> Vec<Arc<Question>> {
        self.lock().pending.values().map(|pending| pending.question.clone()).collect()
    }

    /// Puts `question` and waits for its end: an answer, its deadline, the stop, or `grace` without any surface that shows it. Where
    /// no surface was ever attached nobody is waited for.
    pub async fn ask(
        &self,
        question: &Arc<Question>,
        grace: Duration,
        cancel: &dyn Cancel,
        clock: &dyn Clock,
    ) -> Closing {
        let (sender, mut receiver) = oneshot::channel();
        let audience = {
            let mut state = self.lock();
            let audience = state.audience_of(question);
            if audience.is_empty() && (grace.is_zero() || !state.had_surface) {
                state.keep(&question.id, Closing::NoSurface);
                return Closing::NoSurface;
            }
            state.pending.insert(question.id.clone(), Pending { question: question.clone(), sender });
            audience
        };
        let mut waiting = Waiting { service: self, question, ended: None };
        for one in &audience {
            self.show(one, question);
        }
        let given_up = tokio::select! {
            biased;
            answered = &mut receiver => return waiting.end(answered.unwrap_or(Closing::Cancelled)),
            () = cancel.cancelled() => Closing::Cancelled,
            () = expiry(question, clock) => Closing::Expired,
            () = self.nobody_shows(question, grace) => Closing::NoSurface,
        };
        // An answer that was accepted a moment ago counts: whoever gave it was told so.
        let is_ours = self.take(&question.id, &given_up);
        let closing = if is_ours { given_up } else { receiver.try_recv().unwrap_or(given_up) };
        waiting.end(closing)
    }

    /// Ends when no surface has shown `question` for `grace`.
    async fn nobody_shows(&self, question: &Question, grace: Duration) {
        let mut changes = self.changes.subscribe();
        let mut alone_since = None;
        loop {
            changes.mark_unchanged();
            let is_shown = self.lock().surfaces.iter().any(|one| one.audience.includes(question));
            if is_shown {
                alone_since = None;
                // The sender lives as long as this service.
                if changes.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let since = *alone_since.get_or_insert_with(Instant::now);
            if tokio::time::timeout_at(since + grace, changes.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Takes a question out, for `how`; false if somebody else did before.
    fn take(&self, id: &ConsentId, how: &Closing) -> bool {
        let mut state = self.lock();
        let is_ours = state.pending.remove(id).is_some();
        if is_ours {
            state.keep(id, how.clone());
        }
        is_ours
    }

    /// Shows a surface all open questions that are for it.
    fn show_open(&self, id: SurfaceId) {
        let (surface, open) = {
            let state = self.lock();
            let Some(surface) = state.surfaces.iter().find(|one| one.id == id).cloned() else { return };
            let questions = state.pending.values().map(|pending| &pending.question);
            let open: Vec<Arc<Question>> =
                questions.filter(|question| surface.audience.includes(question)).cloned().collect();
            (surface, open)
        };
        for question in open {
            self.show(&surface, &question);
            // It may have ended before it was shown.
            let ended = self.lock().ended.get(&question.id).cloned();
            if let Some(how) = ended {
                self.close(&surface, &question.id, &how);
            }
        }
    }

    fn show(&self, surface: &Attached, question: &Question) {
        if !surface.show(question) {
            self.detach(surface.id);
        }
    }

    fn close(&self, surface: &Attached, id: &ConsentId, how: &Closing) {
        if !surface.close(id, how) {
            self.detach(surface.id);
        }
    }

    fn has_changed(&self) {
        self.changes.send_modify(|number| *number = number.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing foreign runs under the lock, so that the maps are whole whatever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn expiry(question: &Question, clock: &dyn Clock) {
    match question.deadline {
        Some(deadline) => tokio::time::sleep(Duration::from_millis(deadline.since(clock.now()))).await,
        None => std::future::pending().await,
    }
}

/// A question that waits. However the wait ends, the question is forgotten and its surfaces are told; a future that is dropped
/// leaves none open.
struct Waiting<'a> {
    service: &'a ConsentService,
    question: &'a Question,
    ended: Option<Closing>,
}

impl Waiting<'_> {
    fn end(&mut self, closing: Closing) -> Closing {
        self.ended = Some(closing.clone());
        closing
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let id = &self.question.id;
        let how = self.ended.take().unwrap_or_else(|| {
            self.service.take(id, &Closing::Cancelled);
            let ended = self.service.lock().ended.get(id).cloned();
            ended.unwrap_or(Closing::Cancelled)
        });
        let audience = self.service.lock().audience_of(self.question);
        for one in &audience {
            self.service.close(one, id, &how);
        }
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
