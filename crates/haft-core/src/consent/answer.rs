//! What a person answers, and how a question ends.

use haft_schema::Digest;
use serde::{Deserialize, Serialize};

use crate::ports::Timestamp;
use crate::scope::Scope;

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Answer {
    /// This call alone.
    Once,
    /// This call and those that `scope` covers in this session.
    Session {
        /// One of the scopes offered.
        scope: Scope,
    },
    /// This call and those that `scope` covers in this run (APR-05).
    Run {
        /// One of the scopes offered.
        scope: Scope,
    },
    /// This call and those that `scope` covers in this session up to a time.
    Until {
        /// One of the scopes offered.
        scope: Scope,
        /// When it ends.
        time: Timestamp,
    },
    /// No; the reason goes to the model word for word.
    Deny {
        /// Why.
        reason: Option<String>,
    },
}

impl Answer {
    /// What it would cover beside the call.
    pub fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Session { scope } | Self::Run { scope } | Self::Until { scope, .. } => Some(scope),
            Self::Once | Self::Deny { .. } => None,
        }
    }
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Closing {
    /// Somebody answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// From which surface.
        surface: String,
        /// Who, where the surface knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The digest of the arguments that were shown; the answer counts for no others. Always there but in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Digest>,
    },
    /// Nobody answered in time: that is a no (APR-04).
    Expired,
    /// The run was stopped.
    Cancelled,
    /// No surface is there to ask.
    NoSurface,
}

impl Closing {
    /// What a surface or a late answerer is told.
    ///
    /// ```
    /// use haft_core::consent::Closing;
    /// assert_eq!(Closing::Expired.in_words(), "nobody answered in time");
    /// ```
    pub fn in_words(&self) -> String {
        match self {
            Self::Answered { answer, surface, by, .. } => {
                let who = match by {
                    Some(by) => format!("{by} ({surface})"),
                    None => surface.clone(),
                };
                let said = match answer {
                    Answer::Deny { .. } => "no",
                    Answer::Once | Answer::Session { .. } | Answer::Run { .. } | Answer::Until { .. } => {
                        "yes"
                    }
                };
                format!("it was answered with {said} by {who}")
            }
            Self::Expired => "nobody answered in time".to_owned(),
            Self::Cancelled => "it was stopped".to_owned(),
            Self::NoSurface => "nobody was there to ask".to_owned(),
        }
    }
}
