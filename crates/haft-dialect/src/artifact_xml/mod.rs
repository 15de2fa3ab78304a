//! The dialect `artifact-xml`: ArtifactFlow's calls (DIA-01 to DIA-16).
//!
//! ```text
//! <tool_call><name>N</name><params><K><![CDATA[V]]></K>…</params></tool_call>
//! ```
//!
//! This is also the reader of all other forms that are tags within tags. `call` reads
//! one call with its repairs (`naming` its name, `parameters` its parameters, `json_body` what is JSON),
//! `value` finds the end of a value (`section` in CDATA, `unclosed` where its close tag is missing, `opened` what it opens itself); `tag`, `names` and `entity` are its
//! letters. Writers stand in `write` and `instructions`.
//! Nothing here decides whether a call may run.

pub(crate) mod call;
mod entity;
mod instructions;
mod json_body;
pub(crate) mod names;
mod naming;
mod opened;
mod parameters;
pub(crate) mod section;
pub(crate) mod tag;
mod unclosed;
pub(crate) mod value;
mod write;

pub use instructions::{ExecutionMode, ToolInfo, instructions};
pub use write::{write_call, write_result};
