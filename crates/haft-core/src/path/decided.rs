//! From a decision to the right to run: by policy, by a standing grant, by a flag, or by a person's answer.

use crate::call::ToolCall;
use crate::consent::{Answer, Circumstances, Closing, Examples, Opening, Question, effect_in_words};
use crate::error::ErrorCode;
use crate::grant::{Grant, Lifetime};
use crate::ids::{CallId, GrantId, Provider, RunId, SessionId, ToolId};
use crate::journal::Committed;
use crate::path::prepared::{PreparedArguments, PreparedCall};
use crate::path::refused::Refused;
use crate::path::started::{NotCommitted, StartedCall};
use crate::policy::{Decision, Lost, Outcome, Ruling, WhyLost, covering};
use crate::ports::Timestamp;
use crate::profile::ApprovalMode;
use crate::scope::Scope;

/// What stands in for a person's answer.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// Grants of the session.
    pub grants: &'a [Grant],
    /// `--yes`: every ask is answered, but those that must be asked every time.
    pub yes: bool,
    /// Whether tools of MCP servers ask (APR-22).
    pub approval: ApprovalMode,
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

/// Repairs that change nothing of what a call says: its form is another one, or a name is spelled otherwise.
const OF_FORM: [&str; 8] = [
    "name_from_tag",
    "name_from_attribute",
    "name_from_text",
    "params_from_attributes",
    "params_from_json",
    "call_from_json",
    "name_mapped",
    "parameter_mapped",
];

fn is_of_form(repair: &str) -> bool {
    OF_FORM.contains(&repair)
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

    /// Says that content from outside is in the conversation, and which call brought it from where. A call that can carry data
    /// to a place that the model chose is then asked again, whatever was decided but for a deny, and whatever was granted.
    #[must_use]
    pub fn after_outside(mut self, source: &str) -> Self {
        let carries_away = self.prepared.tool.declaration().facts.carries_away();
        match self.decision.outcome {
            Outcome::Allow | Outcome::Ask if carries_away => {}
            Outcome::Allow | Outcome::Ask | Outcome::Deny => return self,
        }
        let by = Ruling::Outside { source: source.to_owned() };
        let alias = &self.prepared.call.alias;
        let asked = self.decision.question.take().unwrap_or_else(|| format!("Run {alias}?"));
        self.decision.question = Some(format!(
            "{asked} Content from outside has entered this run ({source}), and this call can carry data to a place that the \
             model chose."
        ));
        self.decision.rule = by.text(alias);
        self.decision.outcome = by.outcome();
        let before = std::mem::replace(&mut self.decision.by, by);
        self.decision.lost.insert(0, Lost { ruling: before, why: WhyLost::Outside });
        self
    }

    /// A call that policy allows, that writes, and that had to be repaired to be read, is asked first: a person sees what was made
    /// of it. Repairs that only say that another form was used, or how a name was spelled, ask nothing.
    #[must_use]
    pub fn after_repairs(mut self) -> Self {
        let repairs: Vec<&str> =
            self.prepared.call.repairs.iter().map(String::as_str).filter(|name| !is_of_form(name)).collect();
        let writes = self.prepared.tool.declaration().facts.effect.writes();
        match self.decision.outcome {
            Outcome::Allow if writes && !repairs.is_empty() => {}
            Outcome::Allow | Outcome::Ask | Outcome::Deny => return self,
        }
        let by = Ruling::Repaired { repairs: repairs.join(", ") };
        let alias = &self.prepared.call.alias;
        self.decision.question =
            Some(format!("Run {alias}? The call had to be repaired to be read ({}).", repairs.join(", ")));
        self.decision.rule = by.text(alias);
        self.decision.outcome = by.outcome();
        let before = std::mem::replace(&mut self.decision.by, by);
        self.decision.lost.insert(0, Lost { ruling: before, why: WhyLost::Repaired });
        self
    }

    /// Applies grants and flags. A deny stays a deny; what must be asked every time is asked (APR-02).
    pub fn resolve(self, standing: Standing<'_>) -> Resolution {
        match self.decision.outcome {
            Outcome::Allow => Resolution::Authorized(AuthorizedCall::standing(self, None, None)),
            Outcome::Deny => {
                let message = format!("`{}` was refused: {}.", self.call().alias, self.decision.refusal());
                Resolution::Refused(self.refuse(message))
            }
            Outcome::Ask if self.decision.every_time => {
                Resolution::Asking(AskingCall { decided: Box::new(self) })
            }
            Outcome::Ask => {
                let tool = &self.prepared.call.tool_id;
                let outside = matches!(self.decision.by, Ruling::Outside { .. });
                let standing_grants = || standing.grants.iter().filter(|_| !outside);
                let grant = standing_grants().find(|grant| {
                    let wanted = &self.decision.scopes;
                    let reaches = !self.decision.exact
                        || wanted.iter().any(|scope| *scope != Scope::Tool && grant.scope.is_same(scope));
                    reaches && grant.covers(tool, wanted, standing.run, standing.session, standing.now)
                });
                let alive = standing_grants().filter(|grant| {
                    let own = std::slice::from_ref(&grant.scope);
                    grant.covers(tool, own, standing.run, standing.session, standing.now)
                });
                if let Some(grant) = grant.or_else(|| covering(&self.decision.parts, alive)) {
                    let (by, id) = (Some(grant.granted_by.clone()), Some(grant.id.clone()));
                    return Resolution::Authorized(AuthorizedCall::standing(self, by, id));
                }
                let stands_in = if self.decision.unseen {
                    None
                } else if standing.yes {
                    Some("--yes")
                } else if standing.approval == ApprovalMode::Off && self.asks_as_mcp_tool() {
                    Some("approval.mode: off")
                } else {
                    None
                };
                match stands_in {
                    Some(by) => {
                        Resolution::Authorized(AuthorizedCall::standing(self, Some(by.to_owned()), None))
                    }
                    None => {
                        // A yes to it holds for this call alone.
                        let mut decided = self;
                        decided.decision.every_time |= outside;
                        Resolution::Asking(AskingCall { decided: Box::new(decided) })
                    }
                }
            }
        }
    }

    /// Refuses the call because what guards it has failed: a guard that fails, refuses.
    pub fn refuse_unguarded(self, what: &str) -> Box<Refused> {
        let message = format!("`{}` was refused: {what}. Nothing was run.", self.call().alias);
        self.refuse(message)
    }

    /// True if the permission of an MCP server's tool asks, and no rule does (APR-22).
    fn asks_as_mcp_tool(&self) -> bool {
        let by_permission = match self.decision.by {
            Ruling::Permission { .. } => true,
            Ruling::Rule { .. }
            | Ruling::OwnQuestion
            | Ruling::Outside { .. }
            | Ruling::Repaired { .. }
            | Ruling::Unseen { .. }
            | Ruling::Broken => false,
        };
        by_permission && matches!(self.prepared.call.tool_id.provider(), Provider::Mcp(_))
    }

    fn refuse(self, message: String) -> Box<Refused> {
        let value = self.prepared.arguments.value().clone();
        let digest = self.prepared.arguments.digest();
        let mut refused = Refused::of_call(*self.prepared.call, ErrorCode::TOOL_DENIED, message);
        refused.arguments = value;
        refused.digest = Some(digest);
        refused.secret_arguments.clone_from(&self.decision.secret_arguments);
        refused.decision = Some(self.decision);
        Box::new(refused)
    }
}

/// A call that waits for a person.
#[derive(Debug)]
pub struct AskingCall {
    decided: Box<DecidedCall>,
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

    /// Refuses the call because what guards it has failed: a guard that fails, refuses.
    pub fn refuse_unguarded(self, what: &str) -> Box<Refused> {
        self.decided.refuse_unguarded(what)
    }

    /// The question to put, whole.
    pub fn question(&self, opening: Opening) -> Question {
        let decision = &self.decided.decision;
        let call = self.decided.call();
        let tool = &self.decided.prepared.tool;
        let Opening { id, session, run, invocation, folder, deadline } = opening;
        let scopes = Question::offered(&decision.scopes, decision.every_time);
        let examples =
            scopes.iter().map(|scope| Examples::of(scope, &decision.scopes, &call.alias)).collect();
        Question {
            id,
            session,
            run,
            invocation: Some(invocation),
            call_id: call.call_id.clone(),
            tool_id: call.tool_id.clone(),
            alias: call.alias.clone(),
            title: tool.binding().descriptor.title.clone(),
            source: call.tool_id.source().to_owned(),
            effect: effect_in_words(&tool.declaration().facts),
            text: decision.question.clone().unwrap_or_else(|| format!("Run {}?", call.alias)),
            arguments: self.arguments().value().clone(),
            digest: self.arguments().digest(),
            folder,
            policy: Some(tool.policy_version()),
            scopes,
            examples,
            every_time: decision.every_time,
            rule: decision.rule.clone(),
            reason: decision.reason().map(str::to_owned),
            deadline,
        }
    }

    /// Consumes the answer to `question`. A yes gives the right to run, and the grant `id` that says what else it covers; all else
    /// refuses (APR-06). So does an answer that was given for other bytes, in another working folder, under another policy, or that
    /// grants what was not offered: then the person must be asked again.
    pub fn close(
        self,
        question: &Question,
        closing: &Closing,
        now: &Circumstances,
        (id, given): (GrantId, Timestamp),
    ) -> Result<(AuthorizedCall, Grant), Box<Refused>> {
        let alias = self.call().alias.clone();
        let digest = self.arguments().digest();
        if question.digest != digest || question.call_id != self.call().call_id {
            let message = format!("`{alias}` was refused: the answer belongs to another call. {ASK_AGAIN}");
            return Err(self.decided.refuse(message));
        }
        let (answer, surface, by, shown) = match closing {
            Closing::Answered { answer, surface, by, shown } => (answer, surface, by, shown),
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
                let mut message =
                    format!("`{alias}` was refused: it needs a person's yes, and nobody is there to ask.");
                if self.decision().unseen {
                    message.push_str(
                        " No rule can look into the code that it runs, and something here is forbidden that it could do. Do the \
                         work with commands that can be read.",
                    );
                }
                return Err(self.decided.refuse(message));
            }
        };
        let lifetime = match answer {
            Answer::Once => Lifetime::Once,
            Answer::Session { .. } => Lifetime::Session(question.session.clone()),
            Answer::Run { .. } => Lifetime::Run(question.run.clone()),
            Answer::Until { time, .. } => Lifetime::Until(*time),
            // A no needs no proof of what it was given for.
            Answer::Deny { reason } => {
                let message = match reason {
                    Some(reason) => format!("The person refused `{alias}` and says: {reason}"),
                    None => format!("The person refused `{alias}`. Do not try it again unasked."),
                };
                return Err(self.decided.refuse(message));
            }
        };
        let scope = answer.scope();
        let stale = if *shown != Some(digest) {
            Some("the answer was given for other arguments")
        } else if question.folder != now.folder {
            Some("the working folder changed while the question stood")
        } else if question.policy != Some(now.policy) {
            Some("the rules changed while the question stood")
        } else if scope.is_some_and(|scope| !question.offers(scope)) {
            Some("the answer grants what was not offered")
        } else {
            None
        };
        if let Some(why) = stale {
            return Err(self.decided.refuse(format!("`{alias}` was refused: {why}. {ASK_AGAIN}")));
        }
        let grant = Grant {
            id: id.clone(),
            tool: self.call().tool_id.clone(),
            scope: scope.cloned().unwrap_or_else(|| self.own_scope()),
            lifetime,
            granted_by: surface.clone(),
            by: by.clone(),
            given,
            question: Some(question.id.clone()),
        };
        let granted_by = Some(surface.clone());
        Ok((AuthorizedCall { decided: self.decided, granted_by, grant: Some(id), answered: true }, grant))
    }

    /// The narrowest that the call is about, for the record of a yes to it alone.
    fn own_scope(&self) -> Scope {
        Question::offered(&self.decided.decision.scopes, false).into_iter().next().unwrap_or(Scope::Tool)
    }
}

/// What the model reads where an answer does not count.
const ASK_AGAIN: &str = "Nothing was run; call it again, and the person is asked again.";

/// A call that may run once its intent is committed.
#[derive(Debug)]
pub struct AuthorizedCall {
    /// Boxed, as it walks on through several hands.
    pub(super) decided: Box<DecidedCall>,
    pub(super) granted_by: Option<String>,
    /// The yes that let it through.
    pub(super) grant: Option<GrantId>,
    /// A person was asked about this very call.
    pub(super) answered: bool,
}

impl AuthorizedCall {
    /// By policy alone, or by something that stands in for an answer.
    fn standing(decided: DecidedCall, granted_by: Option<String>, grant: Option<GrantId>) -> Self {
        Self { decided: Box::new(decided), granted_by, grant, answered: false }
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

    /// The yes that let it through, be it one that stood or the answer to its own question; none where policy or a flag did.
    pub fn grant(&self) -> Option<&GrantId> {
        self.grant.as_ref()
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
            let DecidedCall { prepared, decision } = *self.decided;
            let PreparedCall { call, tool, arguments, .. } = prepared;
            Ok(StartedCall::new(call, tool, arguments, decision.secret, decision.secret_arguments))
        } else {
            Err(NotCommitted { call_id: self.call_id().clone() })
        }
    }
}
