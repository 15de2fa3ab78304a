//! The person of a case: a surface that answers each question as the case says.
//!
//! `yes`, `no`, `no: REASON` · `session`, `run`, `until` for the narrowest scope that is offered, `session 3` for the third ·
//! `yes to other bytes`, `more than offered`: answers that do not count; nothing more is said · `yes, rules changed`, `yes, rules
//! unreadable`, `yes, folder moved`: what happens before the yes · `no, then yes`, `yes twice`: two answers from two places ·
//! `silence` until the time is over · `stop` the run, then yes · `crash`: the process ends while the question stands.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Weak};

use haft_core::consent::{Answer, Closing, ConsentSurface, Question};
use haft_core::ports::{ProjectRow, Store};
use haft_core::{ConsentId, Digest, Scope, Timestamp};
use haft_engine::{AnswerError, ConsentService, CurrentPolicy, Reply};
use tokio::sync::mpsc;

/// What the runner must do in the middle of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Stop,
    Crash,
}

/// The rules as they stand on disk at this moment.
pub(crate) struct RulesNow {
    pub(crate) version: Digest,
    state: AtomicU8,
}

impl RulesNow {
    pub(crate) fn new(version: Digest) -> Self {
        Self { version, state: AtomicU8::new(0) }
    }
}

impl CurrentPolicy for RulesNow {
    fn version(&self) -> Result<Digest, String> {
        match self.state.load(Ordering::SeqCst) {
            0 => Ok(self.version),
            1 => Ok(Digest::of(b"other rules")),
            _ => Err("haft.toml cannot be read".to_owned()),
        }
    }
}

pub(crate) struct Person {
    service: Weak<ConsentService>,
    store: Arc<dyn Store>,
    answers: Mutex<VecDeque<String>>,
    rules: Mutex<Option<Arc<RulesNow>>>,
    deeds: mpsc::UnboundedSender<Deed>,
    /// What was asked, in order.
    pub(crate) asked: Mutex<Vec<Question>>,
}

impl Person {
    pub(crate) fn new(
        service: &Arc<ConsentService>,
        store: Arc<dyn Store>,
        deeds: mpsc::UnboundedSender<Deed>,
    ) -> Arc<Self> {
        Arc::new(Self {
            service: Arc::downgrade(service),
            store,
            answers: Mutex::default(),
            rules: Mutex::default(),
            deeds,
            asked: Mutex::default(),
        })
    }

    /// What to do with the questions of the step that begins.
    pub(crate) fn prepare(&self, answers: &[String], rules: Arc<RulesNow>) {
        *self.answers.lock().unwrap() = answers.iter().cloned().collect();
        *self.rules.lock().unwrap() = Some(rules);
    }

    /// Answers that the case names and nobody asked for.
    pub(crate) fn left(&self) -> Vec<String> {
        self.answers.lock().unwrap().iter().cloned().collect()
    }

    fn set_rules(&self, state: u8) {
        let rules = self.rules.lock().unwrap();
        rules.as_ref().unwrap().state.store(state, Ordering::SeqCst);
    }
}

impl ConsentSurface for Person {
    fn name(&self) -> &'static str {
        "person"
    }

    fn show(&self, question: &Question) {
        self.asked.lock().unwrap().push(question.clone());
        let said = self.answers.lock().unwrap().pop_front().unwrap_or_else(|| "no".to_owned());
        let Some(service) = self.service.upgrade() else { return };
        let (question, store, deeds) = (question.clone(), self.store.clone(), self.deeds.clone());
        match said.as_str() {
            "yes, rules changed" => self.set_rules(1),
            "yes, rules unreadable" => self.set_rules(2),
            _ => {}
        }
        // Answers come from elsewhere, and later.
        tokio::spawn(async move { act(&said, &question, &service, store.as_ref(), &deeds).await });
    }

    fn close(&self, _: &ConsentId, _: &Closing) {}
}

async fn act(
    said: &str,
    question: &Question,
    service: &ConsentService,
    store: &dyn Store,
    deeds: &mpsc::UnboundedSender<Deed>,
) {
    let reply = |answer: Answer| Reply::to(question, answer, "person");
    let give = |answer: Answer| service.answer(&question.id, reply(answer));
    let deny = |reason: Option<&str>| Answer::Deny { reason: reason.map(str::to_owned) };
    let scope = |words: &str| {
        let at = words.trim().parse::<usize>().unwrap_or(1);
        let scope = question.scopes.get(at - 1).cloned();
        scope.unwrap_or_else(|| panic!("the question offers only {:?}", question.scopes))
    };
    match said {
        "yes" | "yes, rules changed" | "yes, rules unreadable" => give(Answer::Once).unwrap(),
        "no" => give(deny(None)).unwrap(),
        "silence" => {}
        "stop" => {
            deeds.send(Deed::Stop).unwrap();
            // The stop comes first; the answer is late, or was never waited for.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            assert!(matches!(give(Answer::Once), Err(AnswerError::Late { .. })));
        }
        "crash" => deeds.send(Deed::Crash).unwrap(),
        "yes to other bytes" => {
            let other = Reply { shown: Digest::of(b"other bytes"), ..reply(Answer::Once) };
            let error = service.answer(&question.id, other).unwrap_err();
            assert!(matches!(error, AnswerError::OtherDigest(_)), "{error}");
        }
        "more than offered" => {
            for scope in [Scope::Tool, Scope::Path("/".into()), Scope::Command("*".into())] {
                if question.scopes.contains(&scope) {
                    continue;
                }
                let error = give(Answer::Session { scope }).unwrap_err();
                assert!(matches!(error, AnswerError::NotOffered(_)), "{error}");
            }
        }
        "yes, folder moved" => {
            let project = "demo".into();
            let row = store.project(&project).await.unwrap().unwrap();
            store.put_project(&ProjectRow { path: format!("{}2", row.path), ..row }).await.unwrap();
            give(Answer::Once).unwrap();
        }
        "no, then yes" => {
            give(deny(None)).unwrap();
            assert!(matches!(give(Answer::Once), Err(AnswerError::Late { .. })));
        }
        "yes twice" => {
            give(Answer::Once).unwrap();
            let scope = question.scopes.first().cloned().unwrap_or(Scope::Tool);
            assert!(matches!(give(Answer::Session { scope }), Err(AnswerError::Late { .. })));
        }
        other => {
            let (word, rest) = other.split_once([' ', ':']).unwrap_or((other, ""));
            let answer = match word {
                "no" => deny(Some(rest.trim())),
                "session" => Answer::Session { scope: scope(rest) },
                "run" => Answer::Run { scope: scope(rest) },
                "until" => Answer::Until { scope: scope(rest), time: Timestamp(MINUTE) },
                _ => panic!("`{other}` is no answer"),
            };
            give(answer).unwrap();
        }
    }
}

/// When `until` ends: a minute after the case began.
pub(crate) const MINUTE: u64 = 60_000;
