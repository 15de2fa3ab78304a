//! From a decision to the right to run: by policy, by a standing grant, by a flag, or by a person's answer.

use crate::call::ToolCall;
use crate::consent::{Answer, Closing, Question};
use crate::error::ErrorCode;
use crate::grant::{Grant, Lifetime};
use crate::ids::{CallId, ConsentId, RunId, SessionId, ToolId};
use crate::journal::Committed;
use crate::path::prepared::{PreparedArguments, PreparedCall};
use crate::path::refused::Refused;
use crate::path::started::{NotCommitted, StartedCall};
use crate::policy::{Decision, Outcome};
use crate::ports::Timestamp;
use crate::scope::Scope;

/// What stands in for a person's answer.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// Grants of the session.
    pub grants: &'a [Grant],
    /// `--yes`: every ask is answered, but those that must be asked every time.
    pub yes: bool,
    /// The run.
    pub run: &'a RunId,
    /// The session.
    pub session: &'a SessionId,
    /// The time now.
    pub now: Timestamp,
}

/// A call of which policy has spoken.
#[derive(Debug)]
pub struct DecidedCall {
    pub(super) prepared: PreparedCall,
    pub(super) decision: Decision,
}

/// What becomes of a decided call.
#[derive(Debug)]
pub enum Resolution {
    /// It may run.
    Authorized(AuthorizedCall),
    /// A person must say so first.
    Asking(AskingCall),
    /// It may not.
    Refused(Box<Refused>),
}

impl DecidedCall {
    pub(super) fn new(prepared: PreparedCall, decision: Decision) -> Self {
        Self { prepared, decision }
    }

    /// The call as the model wrote it.
    pub fn call(&self) -> &ToolCall {
        &self.prepared.call
    }

    /// The prepared arguments.
    pub fn arguments(&self) -> &PreparedArguments {
        &self.prepared.arguments
    }

    /// What was decided.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Applies grants and flags. A deny stays a deny; what must be asked every time is asked (APR-02).
    pub fn resolve(self, standing: Standing<'_>) -> Resolution {
        match self.decision.outcome {
            Outcome::Allow => Resolution::Authorized(AuthorizedCall::standing(self, None)),
            Outcome::Deny => {
                let message = format!("`{}` was refused: {}.", self.call().alias, self.decision.refusal());
                Resolution::Refused(self.refuse(message))
            }
            Outcome::Ask if self.decision.every_time => Resolution::Asking(AskingCall { decided: self }),
            Outcome::Ask => {
                let tool = &self.prepared.call.tool_id;
                let grant = standing.grants.iter().find(|grant| {
                    grant.covers(tool, &self.decision.scopes, standing.run, standing.session, standing.now)
                });
                let granted_by = grant.map(|grant| grant.granted_by.clone());
                match granted_by.or_else(|| standing.yes.then(|| "--yes".to_owned())) {
                    Some(by) => Resolution::Authorized(AuthorizedCall::standing(self, Some(by))),
                    None => Resolution::Asking(AskingCall { decided: self }),
                }
            }
        }
    }

    fn refuse(self, message: String) -> Box<Refused> {
        let value = self.prepared.arguments.value().clone();
        let digest = self.prepared.arguments.digest();
        let mut refused = Refused::of_call(self.prepared.call, ErrorCode::TOOL_DENIED, message);
        refused.arguments = value;
        refused.digest = Some(digest);
        refused.decision = Some(self.decision);
        Box::new(refused)
    }
}

/// A call that waits for a person.
#[derive(Debug)]
pub struct AskingCall {
    decided: DecidedCall,
}

impl AskingCall {
    /// The call as the model wrote it.
    pub fn call(&self) -> &ToolCall {
        self.decided.call()
    }

    /// What was decided.
    pub fn decision(&self) -> &Decision {
        &self.decided.decision
    }

    /// The prepared arguments.
    pub fn arguments(&self) -> &PreparedArguments {
        self.decided.arguments()
    }

    /// The question to put.
    pub fn question(
        &self,
        id: ConsentId,
        session: SessionId,
        run: RunId,
        deadline: Option<Timestamp>,
    ) -> Question {
        let decision = &self.decided.decision;
        let call = self.decided.call();
        let title = self.decided.prepared.tool.binding().descriptor.title.clone();
        Question {
            id,
            session,
            run,
            call_id: call.call_id.clone(),
            tool_id: call.tool_id.clone(),
            alias: call.alias.clone(),
            title,
            text: decision.question.clone().unwrap_or_else(|| format!("Run {}?", call.alias)),
            arguments: self.arguments().value().clone(),
            digest: self.arguments().digest(),
            scopes: decision.scopes.clone(),
            every_time: decision.every_time,
            rule: decision.rule.clone(),
            deadline,
        }
    }

    /// Consumes the answer to `question`. A yes gives the right to run and perhaps a grant; all else refuses (APR-06).
    /// An answer to a question with another digest refuses.
    pub fn close(
        self,
        question: &Question,
        closing: &Closing,
    ) -> Result<(AuthorizedCall, Option<Grant>), Box<Refused>> {
        let alias = self.call().alias.clone();
        if question.digest != self.arguments().digest() || question.call_id != self.call().call_id {
            let message = format!("`{alias}` was refused: the answer belongs to another call.");
            return Err(self.decided.refuse(message));
        }
        let (answer, surface) = match closing {
            Closing::Answered { answer, surface } => (answer, surface),
            Closing::Expired => {
                let message = format!(
                    "`{alias}` was refused: nobody answered in time. Ask the person before you try again."
                );
                return Err(self.decided.refuse(message));
            }
            Closing::Cancelled => {
                let message = format!("`{alias}` was not run: it was stopped.");
                let mut refused = self.decided.refuse(message);
                refused.code = ErrorCode::CALL_CANCELLED;
                return Err(refused);
            }
            Closing::NoSurface => {
                let message =
                    format!("`{alias}` was refused: it needs a person's yes, and nobody is there to ask.");
                return Err(self.decided.refuse(message));
            }
        };
        let tool = self.call().tool_id.clone();
        let lifetime_and_scope: Option<(Lifetime, &Scope)> = match answer {
            Answer::Once => None,
            Answer::Session { scope } => Some((Lifetime::Session(question.session.clone()), scope)),
            Answer::Run { scope } => Some((Lifetime::Run(question.run.clone()), scope)),
            Answer::Deny { reason } => {
                let message = match reason {
                    Some(reason) => format!("The person refused `{alias}` and says: {reason}"),
                    None => format!("The person refused `{alias}`. Do not try it again unasked."),
                };
                return Err(self.decided.refuse(message));
            }
        };
        // Only what was offered can be granted, and what must be asked every time is never remembered.
        let grant = lifetime_and_scope
            .filter(|(_, scope)| !question.every_time && question.scopes.contains(scope))
            .map(|(lifetime, scope)| Grant {
                tool,
                scope: scope.clone(),
                lifetime,
                granted_by: surface.clone(),
            });
        let granted_by = Some(surface.clone());
        Ok((AuthorizedCall { decided: self.decided, granted_by, answered: true }, grant))
    }
}

/// A call that may run once its intent is committed.
#[derive(Debug)]
pub struct AuthorizedCall {
    pub(super) decided: DecidedCall,
    pub(super) granted_by: Option<String>,
    /// A person was asked about this very call.
    pub(super) answered: bool,
}

impl AuthorizedCall {
    /// By policy alone, or by something that stands in for an answer.
    fn standing(decided: DecidedCall, granted_by: Option<String>) -> Self {
        Self { decided, granted_by, answered: false }
    }

    /// The host's id.
    pub fn call_id(&self) -> &CallId {
        &self.decided.call().call_id
    }

    /// Which tool.
    pub fn tool_id(&self) -> &ToolId {
        &self.decided.call().tool_id
    }

    /// The call as the model wrote it.
    pub fn call(&self) -> &ToolCall {
        self.decided.call()
    }

    /// The prepared arguments.
    pub fn arguments(&self) -> &PreparedArguments {
        self.decided.arguments()
    }

    /// What policy decided.
    pub fn decision(&self) -> &Decision {
        &self.decided.decision
    }

    /// Who answered the ask; none if policy allowed it.
    pub fn granted_by(&self) -> Option<&str> {
        self.granted_by.as_deref()
    }

    /// Descriptor and facts of the tool.
    pub fn declaration(&self) -> &crate::declaration::ToolDeclaration {
        self.decided.prepared.tool.declaration()
    }

    /// Gives the call up before it starts, for a reason of the host's own.
    pub fn give_up(self, code: ErrorCode, message: String) -> Box<Refused> {
        let mut refused = self.decided.refuse(message);
        refused.code = code;
        refused
    }

    /// Takes the intent out of the commit that made it durable. Without one the call cannot run.
    pub fn start(self, committed: &mut Committed) -> Result<StartedCall, NotCommitted> {
        if committed.take_started(self.call_id()) {
            let PreparedCall { call, tool, arguments } = self.decided.prepared;
            Ok(StartedCall::new(call, tool, arguments))
        } else {
            Err(NotCommitted { call_id: self.call_id().clone() })
        }
    }
}
