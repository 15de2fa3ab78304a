//! How much an invocation may do: what a profile says, and what was used of it.
//!
//! [`Budgets`] is what a profile sets, [`Limits`] what a ledger holds, [`RunBudget`] the ledgers of one run and its children.
//! Amounts that are known only afterwards (tokens, bytes, money) are reserved by estimate before and settled after. Nothing here
//! waits or looks at a clock.

mod ledger;
mod money;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::ids::ToolId;

pub use ledger::{Exhausted, Ledger, LedgerId, Reservation, RunBudget, Whose};
pub use money::{Money, Price};

/// The budgets of one invocation, as a profile sets them. What is `None` is not limited.
///
/// ```
/// use haft_core::budget::Budgets;
/// let budgets = Budgets { model_tokens: Some(200_000), ..Budgets::default() };
/// assert_eq!((budgets.calls, budgets.rounds, budgets.wall_s), (80, 80, None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// Most calls of all tools together; C's `maxCallsPerRun` is this (SNP-13).
    pub calls: u32,
    /// Most model turns in which tools may be called (GAT-06).
    pub rounds: u32,
    /// Most calls of single tools.
    pub calls_of: IndexMap<ToolId, u32>,
    /// Longest time of a run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<u64>,
    /// Most bytes of tool results that the model is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Most tokens of the model, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_tokens: Option<u64>,
    /// Most money for the model, in the unit of its price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
}

impl Default for Budgets {
    /// C's numbers: 80 calls, 80 rounds. The sources give no other.
    fn default() -> Self {
        Self {
            calls: 80,
            rounds: 80,
            calls_of: IndexMap::new(),
            wall_s: None,
            output_bytes: None,
            model_tokens: None,
            money: None,
        }
    }
}

impl Budgets {
    /// What a ledger is opened with, but for the calls, which the snapshot names by themselves.
    pub fn limits(&self) -> Limits {
        Limits {
            calls: None,
            wall_ms: self.wall_s.map(|seconds| seconds.saturating_mul(1_000)),
            output_bytes: self.output_bytes,
            model_tokens: self.model_tokens,
            money: self.money,
        }
    }
}

/// What a budget is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Tool calls.
    Calls,
    /// Time of the run.
    WallTime,
    /// Bytes of tool results.
    OutputBytes,
    /// Tokens of the model.
    ModelTokens,
    /// Money for the model.
    Money,
}

impl Resource {
    /// The profile key that limits it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Calls => "budget.calls",
            Self::WallTime => "budget.wall_s",
            Self::OutputBytes => "budget.output_bytes",
            Self::ModelTokens => "budget.model_tokens",
            Self::Money => "budget.money",
        }
    }

    /// In words, as in "… is used up".
    pub fn noun(self) -> &'static str {
        match self {
            Self::Calls => "the number of tool calls",
            Self::WallTime => "the time of this run",
            Self::OutputBytes => "the room for tool results",
            Self::ModelTokens => "the number of model tokens",
            Self::Money => "the money for the model",
        }
    }
}

/// Limits of one ledger, or what is left of them; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Milliseconds from the opening of the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Bytes of tool results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Tokens of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_tokens: Option<u64>,
    /// Money for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
}

impl Limits {
    /// True if nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Amounts that are reserved, used or given back. Time is not among them: it passes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// Tool calls.
    pub calls: u64,
    /// Bytes of tool results.
    pub output_bytes: u64,
    /// Tokens of the model.
    pub model_tokens: u64,
    /// Money for the model.
    pub money: Money,
}

impl Amounts {
    /// One tool call.
    pub const ONE_CALL: Self = Self { calls: 1, output_bytes: 0, model_tokens: 0, money: Money(0) };

    /// Bytes of a tool result.
    pub fn output(bytes: u64) -> Self {
        Self { output_bytes: bytes, ..Self::default() }
    }

    /// Tokens of a model request and what they cost.
    pub fn model(tokens: u64, money: Money) -> Self {
        Self { model_tokens: tokens, money, ..Self::default() }
    }

    fn each(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            calls: with(self.calls, other.calls),
            output_bytes: with(self.output_bytes, other.output_bytes),
            model_tokens: with(self.model_tokens, other.model_tokens),
            money: Money(with(self.money.0, other.money.0)),
        }
    }
}
