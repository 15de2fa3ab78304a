//! A decision with its reasons: who decided, who would have, and what would change it.

use std::sync::Arc;

use super::Outcome;
use super::layers::Layer;
use super::rule::Rule;
use crate::facts::Permission;
use crate::scope::Scope;

/// Who speaks of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// A rule.
    Rule {
        /// The rule.
        rule: Arc<Rule>,
        /// Whose it is.
        layer: Layer,
    },
    /// The permission that the snapshot gives the tool.
    Permission {
        /// The permission.
        permission: Permission,
        /// Whether the profile said so, or the tool's default holds.
        layer: Layer,
    },
    /// The tool's own question (APR-08).
    OwnQuestion,
    /// Content from outside is in the conversation, and the call can carry data to a place that the model chose.
    Outside {
        /// Which call brought it, and from where.
        source: String,
    },
    /// The call had to be repaired to be read, and its tool writes.
    Repaired {
        /// The repairs by which it was read.
        repairs: String,
    },
    /// The call runs code that no rule can look into, and a deny could concern what that does.
    Unseen {
        /// The deny.
        rule: Arc<Rule>,
    },
    /// The tool could not say what the call means.
    Broken,
}

impl Ruling {
    /// What it says.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Rule { rule, .. } => rule.decision.into(),
            Self::Permission { permission, .. } => (*permission).into(),
            Self::OwnQuestion | Self::Outside { .. } | Self::Repaired { .. } | Self::Unseen { .. } => {
                Outcome::Ask
            }
            Self::Broken => Outcome::Deny,
        }
    }

    /// Whose voice it is.
    pub fn layer(&self) -> Layer {
        match self {
            Self::Rule { layer, .. } | Self::Permission { layer, .. } => *layer,
            Self::OwnQuestion
            | Self::Outside { .. }
            | Self::Repaired { .. }
            | Self::Unseen { .. }
            | Self::Broken => Layer::Tool,
        }
    }

    /// True if it says the same of every call of the tool.
    pub fn is_of_the_whole_tool(&self) -> bool {
        match self {
            Self::Permission { .. } => true,
            Self::Rule { .. }
            | Self::OwnQuestion
            | Self::Outside { .. }
            | Self::Repaired { .. }
            | Self::Unseen { .. }
            | Self::Broken => false,
        }
    }

    /// In words that name where it stands.
    pub fn text(&self, alias: &str) -> String {
        match self {
            Self::Rule { rule, .. } => rule.to_string(),
            Self::Permission { permission, .. } => {
                ["permission of `", alias, "`: ", permission.as_str()].concat()
            }
            Self::OwnQuestion => format!("`{alias}` asks for this call"),
            Self::Outside { source } => format!("content from outside has entered this run: {source}"),
            Self::Repaired { repairs } => {
                format!("the call had to be repaired to be read ({repairs}), and `{alias}` writes")
            }
            Self::Unseen { rule } => {
                format!("no rule can look into the code that it runs, and this could concern it: {rule}")
            }
            Self::Broken => format!("`{alias}` cannot say what the call means"),
        }
    }
}

/// Why one that speaks of a call does not decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLost {
    /// Denies come first (POL-06).
    DenyFirst,
    /// It denies as well.
    AnotherDeny,
    /// Another of the same layer spoke before.
    EarlierInLayer,
    /// A layer before it spoke.
    LayerBefore(Layer),
    /// The tool's own question comes on top of an allow.
    OwnQuestion,
    /// Content from outside is in the conversation.
    Outside,
    /// The call had to be repaired to be read.
    Repaired,
    /// The call runs code that a deny could concern and no rule can look into.
    Unseen,
}

impl WhyLost {
    /// As a person reads it.
    pub fn text(self) -> String {
        match self {
            Self::DenyFirst => "a deny comes before every allow and ask".to_owned(),
            Self::AnotherDeny => "another deny decided already".to_owned(),
            Self::EarlierInLayer => "a rule before it in the same layer spoke first".to_owned(),
            Self::LayerBefore(layer) => format!("{} spoke first", layer.as_str()),
            Self::Repaired => "calls that write and had to be repaired to be read are asked first".to_owned(),
            Self::Outside => {
                "after content from outside, calls that can carry data away are asked again".to_owned()
            }
            Self::Unseen => {
                "code that no rule can look into is asked about where a deny could concern it".to_owned()
            }
            Self::OwnQuestion => "the tool's own question comes on top; only a grant removes it".to_owned(),
        }
    }
}

/// One that speaks of the call and does not decide it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Who.
    pub ruling: Ruling,
    /// Why it does not decide.
    pub why: WhyLost,
}

/// A decision and the rule that made it (POL-02).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What is decided.
    pub outcome: Outcome,
    /// The rule, in words that name where it stands.
    pub rule: String,
    /// Who decided.
    pub by: Ruling,
    /// Who speaks of the call too and does not decide it.
    pub lost: Vec<Lost>,
    /// What a person is asked, where somebody is.
    pub question: Option<String>,
    /// What a yes could cover, narrowest first; never empty.
    pub scopes: Vec<Scope>,
    /// A yes is never remembered, and no flag or grant stands in for it (APR-10).
    pub every_time: bool,
    /// Only a grant of exactly one of the scopes covers the call (APR-14).
    pub exact: bool,
    /// A deny could concern code that the call runs and no rule can look into: neither `--yes` nor a yes to more than this very call
    /// stands in for an answer.
    pub unseen: bool,
    /// What the call gives is a secret (CONFLICT-29).
    pub secret: bool,
    /// Names of the arguments whose values are secrets.
    pub secret_arguments: Vec<String>,
    /// The shapes of each command of a command line: grants that cover every one of them cover the call. Empty for other calls.
    pub parts: Vec<Vec<String>>,
}

impl Decision {
    /// The reason that the deciding rule gives; the model may read it.
    pub fn reason(&self) -> Option<&str> {
        match &self.by {
            Ruling::Rule { rule, .. } => rule.reason.as_deref(),
            Ruling::Permission { .. }
            | Ruling::OwnQuestion
            | Ruling::Outside { .. }
            | Ruling::Repaired { .. }
            | Ruling::Unseen { .. }
            | Ruling::Broken => None,
        }
    }

    /// Why the call is refused, in words for the model: the reason of a rule, never its place.
    pub fn refusal(&self) -> String {
        match (&self.by, self.reason()) {
            (Ruling::Rule { .. }, Some(reason)) => {
                format!("a rule forbids it: {}", reason.trim_end_matches('.'))
            }
            (Ruling::Rule { .. }, None) => {
                "a rule forbids this call; ask the person before you try another way".to_owned()
            }
            (
                Ruling::Permission { .. }
                | Ruling::OwnQuestion
                | Ruling::Outside { .. }
                | Ruling::Repaired { .. }
                | Ruling::Unseen { .. }
                | Ruling::Broken,
                _,
            ) => self.rule.clone(),
        }
    }

    /// What the call is after, as narrowly as it is said: the first scope that covers no other one.
    pub fn goal(&self) -> &Scope {
        let is_narrowest =
            |scope: &&Scope| !self.scopes.iter().any(|other| other != *scope && scope.covers(other));
        self.scopes.iter().find(is_narrowest).unwrap_or(&Scope::Tool)
    }

    /// What would make the decision another one, as steps for a person.
    pub fn would_change(&self, alias: &str) -> Vec<String> {
        match (self.outcome, &self.by) {
            (Outcome::Deny, Ruling::Rule { rule, .. }) => {
                let mut steps = vec![format!(
                    "change or remove the rule at {}; no allow, grant or flag lifts a deny",
                    rule.place
                )];
                let others = self.lost.iter().filter(|lost| lost.why == WhyLost::AnotherDeny);
                steps.extend(
                    others.map(|lost| format!("and what denies it too: {}", lost.ruling.text(alias))),
                );
                steps
            }
            (Outcome::Deny, Ruling::Permission { .. }) => {
                vec![format!("another permission of `{alias}` in `tools.permission` of the profile")]
            }
            (
                Outcome::Deny,
                Ruling::OwnQuestion
                | Ruling::Outside { .. }
                | Ruling::Repaired { .. }
                | Ruling::Unseen { .. }
                | Ruling::Broken,
            ) => {
                vec!["arguments of which the tool can say what they mean".to_owned()]
            }
            (Outcome::Ask, by) => self.instead_of_asking(by, alias),
            (Outcome::Allow, by) => {
                let mut steps = vec!["a deny rule for this call, in haft.toml or in the profile".to_owned()];
                steps.push(match by {
                    Ruling::Rule { rule, .. } => {
                        format!("an ask rule before the one at {}, or that rule taken away", rule.place)
                    }
                    Ruling::Permission { .. }
                    | Ruling::OwnQuestion
                    | Ruling::Outside { .. }
                    | Ruling::Repaired { .. }
                    | Ruling::Unseen { .. }
                    | Ruling::Broken => {
                        "an ask rule for this call, in haft.toml or in the profile".to_owned()
                    }
                });
                steps
            }
        }
    }

    fn instead_of_asking(&self, by: &Ruling, alias: &str) -> Vec<String> {
        if self.every_time {
            return vec!["a person's yes to this call; it is asked every time".to_owned()];
        }
        let scope = match self.scopes.first() {
            None | Some(Scope::Tool) => String::new(),
            Some(scope) => format!("={scope}"),
        };
        let mut steps = vec![match by {
            _ if self.unseen => format!(
                "a person's yes, or one in advance to this very call: `--allow '{alias}{scope}'`; `--yes` and wider yeses do not count"
            ),
            // What `--allow` says holds no more.
            Ruling::Outside { .. } => "a person's yes, or `--yes`; no other yes in advance counts".to_owned(),
            Ruling::Rule { .. }
            | Ruling::Permission { .. }
            | Ruling::OwnQuestion
            | Ruling::Repaired { .. }
            | Ruling::Unseen { .. }
            | Ruling::Broken => {
                format!("a person's yes, or one in advance: `--allow {alias}{scope}` or `--yes`")
            }
        }];
        match by {
            Ruling::Rule { rule, .. } => {
                steps
                    .push(format!("an allow rule before the one at {}, or that rule taken away", rule.place));
            }
            Ruling::Permission { .. } => {
                steps.push("an allow rule for this call, in haft.toml or in the profile".to_owned());
            }
            Ruling::Unseen { rule } => {
                steps.push("the same work as commands that rules can read".to_owned());
                steps.push(format!("the deny at {} changed or removed", rule.place));
            }
            // No rule removes a tool's own question.
            Ruling::OwnQuestion | Ruling::Outside { .. } | Ruling::Repaired { .. } | Ruling::Broken => {}
        }
        steps.push("a deny rule for this call".to_owned());
        steps
    }
}
