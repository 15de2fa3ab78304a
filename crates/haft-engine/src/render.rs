//! A result as the model reads it: the profile's renderer, or the result form of the model's dialect.

use haft_core::message::ResultMessage;
use haft_core::render::{self, Renderer};
use haft_core::{ContentPart, ToolResult, WireId};

/// The message part of `result` under `renderer`. Only content reaches the model (RES-08, RES-09).
pub fn result_message(result: &ToolResult, wire_id: Option<WireId>, renderer: Renderer) -> ResultMessage {
    let content = result.text();
    let alias = if result.alias.is_empty() { "unknown" } else { result.alias.as_str() };
    let body = match renderer {
        Renderer::Xml => haft_dialect::artifact_xml::write_result(alias, !result.is_error, &content),
        Renderer::Json => render::json(result),
        Renderer::Markdown => render::markdown(result),
        Renderer::Plain => render::plain(result),
    };
    let images = result
        .content
        .iter()
        .filter(|part| match part {
            ContentPart::Image { .. } => true,
            ContentPart::Text { .. } => false,
        })
        .cloned()
        .collect();
    ResultMessage {
        call_id: result.call_id.clone(),
        wire_id,
        tool_id: result.tool_id.clone(),
        alias: alias.to_owned(),
        is_error: result.is_error,
        content,
        body,
        images,
    }
}
