//! Whoever answered the questions of a recorded run, and answers them again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_core::ConsentId;
use haft_core::consent::{Answer, Closing, ConsentSurface, Question};

use super::recorded::Recorded;
use crate::consent::{ConsentService, Reply};

/// A surface that says no where the record says that the call was refused, and else yes to this one call.
pub(super) struct RecordedAnswers {
    service: Weak<ConsentService>,
    refused: HashSet<String>,
    /// Questions that were answered.
    seen: Mutex<HashSet<ConsentId>>,
}

impl RecordedAnswers {
    pub(super) fn new(recorded: &Recorded, service: &Arc<ConsentService>) -> Self {
        Self { service: Arc::downgrade(service), refused: recorded.refused(), seen: Mutex::default() }
    }
}

impl ConsentSurface for RecordedAnswers {
    fn name(&self) -> &str {
        "replay"
    }

    fn show(&self, question: &Question) {
        let Some(service) = self.service.upgrade() else { return };
        if !self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(question.id.clone()) {
            return;
        }
        let refused = self.refused.contains(&super::recorded::key_of(&question.call_id));
        let answer = if refused { Answer::Deny { reason: None } } else { Answer::Once };
        let reply = Reply::to(question, answer, "replay");
        let id = question.id.clone();
        // The service holds itself while it shows: the answer comes from elsewhere.
        tokio::spawn(async move { service.answer(&id, reply) });
    }

    fn close(&self, _: &ConsentId, _: &Closing) {}
}
