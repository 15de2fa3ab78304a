//! One module a command. Each reads its arguments, asks the rooms below, and writes; none keeps anything for another.

pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod grants;
pub(crate) mod parse;
pub(crate) mod policy;
pub(crate) mod profile;
pub(crate) mod project;
pub(crate) mod questions;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod tools;
