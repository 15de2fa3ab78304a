//! The terminal as a place where a person is asked (the first `ConsentSurface`).
//!
//! It is pushed to and never blocks: a task of its own asks one question after another and hands the answers to the service.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use haft::system::SystemClock;
use haft_core::consent::{Answer, Closing, ConsentSurface};
use haft_core::ports::Clock;
use haft_core::{ConsentId, Question, Scope, Timestamp};
use haft_engine::{ConsentService, Reply, SurfaceId};

use tokio::sync::{Notify, mpsc};

use super::keys::{self, Pressed};
use super::{pages, question};
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
    // The headline stands above the first page.
    let rows = keys::rows().map(|rows| rows.saturating_sub(2).max(2));
    let shown = pages::show(&question::text(question, SystemClock.now(), columns), rows, closed)?;
    let mut pressed = match shown {
        Some(pressed) => pressed,
        None => top(question, columns, closed)?,
    };
    loop {
        let answer = match pressed {
            Pressed::Interrupt => return Ok(Asked::Interrupt),
            Pressed::Closed => return Ok(Asked::Closed),
            Pressed::Key('y') => Answer::Once,
            Pressed::Key(key @ ('s' | 'r' | 'u')) => match part(question, key, columns, closed)? {
                Part::Of(scope) if key == 's' => Answer::Session { scope },
                Part::Of(scope) if key == 'r' => Answer::Run { scope },
                Part::Of(scope) => match until(closed)? {
                    Ok(time) => Answer::Until { scope, time },
                    Err(Pressed::Line(_) | Pressed::Key(_)) => {
                        pressed = top(question, columns, closed)?;
                        continue;
                    }
                    Err(other) => {
                        pressed = other;
                        continue;
                    }
                },
                Part::Other(Pressed::Key(_)) => {
                    pressed = top(question, columns, closed)?;
                    continue;
                }
                Part::Other(other) => {
                    pressed = other;
                    continue;
                }
            },
            Pressed::Key('e') => match keys::line("  why not: ", closed)? {
                Pressed::Interrupt => return Ok(Asked::Interrupt),
                Pressed::Closed => return Ok(Asked::Closed),
                Pressed::Line(text) => Answer::Deny { reason: (!text.is_empty()).then_some(text) },
                Pressed::Key(_) => Answer::Deny { reason: None },
            },
            Pressed::Key(_) | Pressed::Line(_) => Answer::Deny { reason: None },
        };
        return Ok(Asked::Answer(answer));
    }
}

fn top(question: &Question, columns: usize, closed: &dyn Fn() -> bool) -> io::Result<Pressed> {
    keys::one_of(&question::keys(question, columns), question::offered_keys(question), closed)
}

/// Up to when a yes is to hold; asked again until a length of time is typed, or nothing.
fn until(closed: &dyn Fn() -> bool) -> io::Result<Result<Timestamp, Pressed>> {
    loop {
        match keys::line(question::HOW_LONG, closed)? {
            Pressed::Line(text) => match question::milliseconds(&text) {
                Some(length) => return Ok(Ok(SystemClock.now().plus(length))),
                None if text.is_empty() => return Ok(Err(Pressed::Line(text))),
                None => {}
            },
            other @ (Pressed::Key(_) | Pressed::Interrupt | Pressed::Closed) => return Ok(Err(other)),
        }
    }
}

/// What a yes for longer than one call is to cover.
enum Part {
    Of(Scope),
    /// Back, or something that ends the question.
    Other(Pressed),
}

/// The one part that is offered, or the one that is picked.
fn part(question: &Question, key: char, columns: usize, closed: &dyn Fn() -> bool) -> io::Result<Part> {
    let offered = question::offered(question);
    if let [(scope, _)] = offered.as_slice() {
        return Ok(Part::Of((*scope).clone()));
    }
    let for_what = match key {
        's' => "this session",
        'r' => "this run",
        _ => "some time",
    };
    let numbers: Vec<char> =
        (1..=offered.len()).filter_map(|number| char::from_digit(number as u32, 10)).collect();
    let keys: Vec<char> = numbers.iter().copied().chain(['b']).collect();
    let pressed = keys::one_of(&question::parts(question, for_what, columns), &keys, closed)?;
    let picked = match &pressed {
        Pressed::Key(key) => numbers.iter().position(|number| number == key),
        Pressed::Line(_) | Pressed::Interrupt | Pressed::Closed => None,
    };
    Ok(match picked.and_then(|at| offered.get(at)) {
        Some((scope, _)) => Part::Of((*scope).clone()),
        None => Part::Other(pressed),
    })
}
