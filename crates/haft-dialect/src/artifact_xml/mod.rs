//! The dialect `artifact-xml`: ArtifactFlow's calls (DIA-01 to DIA-16).
//!
//! ```text
//! <tool_call><name>N</name><params><K><![CDATA[V]]></K>…</params></tool_call>
//! ```
//!
//! `message` finds what in a text is reasoning or invented, `quoted` what is code, `opening` what begins a call; `call` reads
//! one call with its repairs (`naming` its name, `parameters` its parameters, `json_body` what is JSON), `draft` judges it,
//! `value` finds the end of a value (`section` in CDATA, `opened` what it opens itself); `tag`, `names` and `entity` are its
//! letters. Writers stand in `write` and `instructions`.
//! Nothing here decides whether a call may run.

mod call;
mod draft;
mod entity;
mod instructions;
mod json_body;
mod message;
mod names;
mod naming;
mod opened;
mod opening;
mod parameters;
mod quoted;
mod section;
mod tag;
mod value;
mod write;

pub(crate) use draft::Outcome;
pub use instructions::{ExecutionMode, ToolInfo, instructions};
pub(crate) use message::{Message, Output};
pub(crate) use names::Names;
pub use write::{write_call, write_result};
