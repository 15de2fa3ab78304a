//! How much an invocation may do.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::ids::ToolId;

/// The budgets of one invocation, as a profile sets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// Most calls of all tools together; C's `maxCallsPerRun` is this (SNP-13).
    pub calls: u32,
    /// Most model turns (GAT-06).
    pub rounds: u32,
    /// Most calls of single tools.
    pub calls_of: IndexMap<ToolId, u32>,
}

impl Default for Budgets {
    /// C's numbers: 80 calls, 80 rounds.
    fn default() -> Self {
        Self { calls: 80, rounds: 80, calls_of: IndexMap::new() }
    }
}
