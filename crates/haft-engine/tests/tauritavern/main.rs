//! The sentences of C's agent tool system, sections 4 to 9 and 11, one module a section: a scripted model acts, and what the model reads
//! then and what the journal says are held against the sentence.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "../support/crew.rs"]
mod crew;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/writing.rs"]
mod writing;

mod s11_errors;
mod s4_results;
mod s5_lifecycle;
mod s6_policy;
mod s7_0_audit;
mod s7_0_editing;
mod s7_0_endings;
mod s7_0_kept;
mod s7_1_agents;
mod s7_1_handoff;
mod s7_2_workspace;
mod s7_4_reading;
mod s8_s9_prompt;
mod tavern;
mod whole_runs;
