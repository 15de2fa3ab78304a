//! What is decided of a prepared call, and by which rule. Pure: the same inputs give the same decision.
//!
//! The order today: the profile's permission for the tool, else the tool's default (POL-10); then the tool's own question,
//! which may add an ask and never remove one. Layers and rules of a user, a platform and a plan come before these.

use std::panic::AssertUnwindSafe;

use serde::{Deserialize, Serialize};

use crate::consent::{Ask, ConsentEnvironment};
use crate::error::ToolError;
use crate::facts::Permission;
use crate::path::PreparedArguments;
use crate::scope::Scope;
use crate::snapshot::BoundTool;

/// What policy says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It may run.
    Allow,
    /// A person is asked, unless a grant covers it.
    Ask,
    /// It may not run.
    Deny,
}

impl Outcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A decision and the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What is decided.
    pub outcome: Outcome,
    /// The rule, in words that name where it stands.
    pub rule: String,
    /// What a person is asked, where somebody is.
    pub question: Option<String>,
    /// What a yes could cover, narrowest first; never empty.
    pub scopes: Vec<Scope>,
    /// A yes is never remembered, and no flag or grant stands in for it (APR-10).
    pub every_time: bool,
}

/// Decides one prepared call.
pub fn decide(tool: &BoundTool, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Decision {
    let permission = tool.binding().permission;
    let alias = &tool.binding().alias;
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| tool.tool().ask(arguments, environment)));
    let ask = match asked.unwrap_or_else(|_| Err(ToolError::failed("it crashed"))) {
        Ok(ask) => ask,
        // A guard that fails, refuses.
        Err(error) => {
            let rule = format!("`{alias}` cannot say what the call means: {}", error.message());
            return Decision {
                outcome: Outcome::Deny,
                rule,
                question: None,
                scopes: vec![Scope::Tool],
                every_time: false,
            };
        }
    };
    let (outcome, rule) = match (permission, &ask.question) {
        (Permission::Deny, _) => (Outcome::Deny, format!("permission of `{alias}`: deny")),
        (Permission::Ask, _) => (Outcome::Ask, format!("permission of `{alias}`: ask")),
        (Permission::Allow, Some(_)) => (Outcome::Ask, format!("`{alias}` asks for this call")),
        (Permission::Allow, None) => (Outcome::Allow, format!("permission of `{alias}`: allow")),
    };
    let Ask { question, meaning, mut scopes, every_time } = ask;
    if scopes.is_empty() {
        scopes.push(Scope::Tool);
    }
    let question =
        (outcome == Outcome::Ask).then(|| question.or(meaning).unwrap_or_else(|| format!("Run {alias}?")));
    Decision { outcome, rule, question, scopes, every_time }
}
