//! The part of a system prompt that tells a model how to call its tools in this dialect (DIA-13).

use crate::{Dialect, Tags, Writer};

pub use crate::write::{ExecutionMode, ToolInfo};

/// The instructions for these tools.
pub fn instructions(tools: &[ToolInfo<'_>], mode: ExecutionMode, tags: &Tags) -> String {
    Writer::new(Dialect::ArtifactXml, tags.clone()).instructions(tools, mode)
}
