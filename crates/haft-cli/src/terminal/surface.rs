//! The terminal as a place where a person is asked (the first `ConsentSurface`).
//!
//! It is pushed to and never blocks: a task of its own asks one question after another and hands the answers to the service.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use haft::system::SystemClock;
use haft_core::consent::{Answer, Closing, ConsentSurface};
use haft_core::ports::Clock;
use haft_core::{ConsentId, Question};
use haft_engine::{ConsentService, Reply, SurfaceId};

use tokio::sync::{Notify, mpsc};

use super::keys::{self, Pressed};
use super::question;
use crate::output::{Output, Tone};
use crate::surroundings;

const NAME: &str = "terminal";

/// Shows questions in the terminal.
#[derive(Debug)]
pub(crate) struct TerminalSurface {
    questions: mpsc::UnboundedSender<Question>,
    closed: Arc<Closed>,
}

/// Questions that were closed before or while they were shown.
#[derive(Debug, Default)]
struct Closed(Mutex<HashSet<ConsentId>>);

impl Closed {
    fn add(&self, id: &ConsentId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
    }

    fn contains(&self, id: &ConsentId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }
}

impl TerminalSurface {
    /// Attaches the terminal to `service`. `interrupted` is told of a Ctrl-C that comes while a question stands.
    pub(crate) fn attach(
        service: &Arc<ConsentService>,
        output: Output,
        interrupted: Arc<Notify>,
    ) -> SurfaceId {
        let (sender, receiver) = mpsc::unbounded_channel();
        let closed = Arc::new(Closed::default());
        let surface = service.attach(Arc::new(Self { questions: sender, closed: closed.clone() }));
        tokio::spawn(ask_all(receiver, service.clone(), closed, output, interrupted));
        surface
    }
}

impl ConsentSurface for TerminalSurface {
    fn name(&self) -> &str {
        NAME
    }

    fn show(&self, question: &Question) {
        // The task that asks ends with the process alone.
        drop(self.questions.send(question.clone()));
    }

    fn close(&self, id: &ConsentId, _how: &Closing) {
        self.closed.add(id);
    }
}

async fn ask_all(
    mut questions: mpsc::UnboundedReceiver<Question>,
    service: Arc<ConsentService>,
    closed: Arc<Closed>,
    output: Output,
    interrupted: Arc<Notify>,
) {
    while let Some(question) = questions.recv().await {
        let id = question.id.clone();
        let shown = question.digest;
        let reply =
            |answer| Reply { shown, answer, surface: NAME.to_owned(), by: surroundings::login_name() };
        let watched = closed.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let is_closed = || watched.contains(&question.id);
            if is_closed() { Ok(Asked::Closed) } else { ask(&question, output, &is_closed) }
        });
        match asked.await {
            Ok(Ok(Asked::Answer(answer))) => {
                if let Err(late) = service.answer(&id, reply(answer)) {
                    output.note(&late.to_string());
                }
            }
            Ok(Ok(Asked::Closed)) => output.note("  (the question is closed)"),
            Ok(Ok(Asked::Interrupt)) => interrupted.notify_one(),
            // A terminal that cannot be read cannot say yes.
            Ok(Err(_)) | Err(_) => drop(service.answer(&id, reply(Answer::Deny { reason: None }))),
        }
    }
}

enum Asked {
    Answer(Answer),
    Interrupt,
    Closed,
}

fn ask(question: &Question, output: Output, closed: &dyn Fn() -> bool) -> io::Result<Asked> {
    let columns = keys::columns();
    output.note("");
    output.note_in(Tone::Strong, &question::headline(question, columns));
    output.note_raw(&question::text(question, SystemClock.now(), columns));
    let scope = question::remembered(question);
    let offered: &[char] = if scope.is_some() { &['y', 's', 'n', 'e'] } else { &['y', 'n', 'e'] };
    let answer = match keys::one_of(&question::keys(question, columns), offered, closed)? {
        Pressed::Interrupt => return Ok(Asked::Interrupt),
        Pressed::Closed => return Ok(Asked::Closed),
        Pressed::Key('y') => Answer::Once,
        Pressed::Key('s') => match scope {
            Some(scope) => Answer::Session { scope: scope.clone() },
            None => Answer::Once,
        },
        Pressed::Key('e') => match keys::line("  why not: ", closed)? {
            Pressed::Interrupt => return Ok(Asked::Interrupt),
            Pressed::Closed => return Ok(Asked::Closed),
            Pressed::Line(text) => Answer::Deny { reason: (!text.is_empty()).then_some(text) },
            Pressed::Key(_) => Answer::Deny { reason: None },
        },
        Pressed::Key(_) | Pressed::Line(_) => Answer::Deny { reason: None },
    };
    Ok(Asked::Answer(answer))
}
