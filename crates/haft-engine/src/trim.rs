//! Room in the request: where a conversation is longer than a model takes, the results of earlier calls are shown shortened, then not
//! at all (PRV-04). Pure: the conversation itself and the journal keep them whole.
//!
//! Which call a result belongs to is never lost, nothing that people or the model wrote is touched, and the newest results are
//! left as they are: the model has not read them yet.

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::ModelRequest;
use haft_core::render::Renderer;
use haft_core::{ContentPart, ToolResult};
use serde_json::Map;

use crate::allowance::{bytes_of, result_bytes};
use crate::render::result_message;

/// Characters that are left of a result that is shortened.
const SHORTENED: usize = 400;

/// Makes `request` fit into `most` bytes, the oldest results first; gives how many are shown with less than they hold. What still does
/// not fit is sent as it is: the server says what it takes.
pub(crate) fn fit(request: &mut ModelRequest, most: u64, renderer: Renderer) -> u64 {
    let mut bytes = bytes_of(request);
    let newest = request.messages.iter().rposition(|message| matches!(message, Message::Results(_)));
    let Some(newest) = newest else { return 0 };
    let Some(earlier) = request.messages.get_mut(..newest) else { return 0 };
    let mut touched = vec![];
    for step in [shorten, leave_out] {
        for (at, message) in earlier.iter_mut().enumerate() {
            let Message::Results(results) = message else { continue };
            for (number, result) in results.iter_mut().enumerate() {
                if bytes <= most {
                    return count(touched);
                }
                let before = result_bytes(result);
                let Some(less) = step(result) else { continue };
                let less = of_text(result, less, renderer);
                if result_bytes(&less) < before {
                    bytes = bytes.saturating_sub(before - result_bytes(&less));
                    *result = less;
                    touched.push((at, number));
                }
            }
        }
    }
    count(touched)
}

fn count(mut touched: Vec<(usize, usize)>) -> u64 {
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

/// The beginning of a long result.
fn shorten(result: &ResultMessage) -> Option<String> {
    let (end, _) = result.content.char_indices().nth(SHORTENED)?;
    let left = result.content.get(end..)?.chars().count();
    let start = result.content.get(..end)?;
    Some(format!(
        "{start}\n[{left} more characters are left out here to save room; call again for what you need]"
    ))
}

/// Nothing of a result but that there was one.
fn leave_out(result: &ResultMessage) -> Option<String> {
    let word = if result.is_error { "error" } else { "result" };
    Some(format!("[this {word} is left out here to save room; call again for what you need]"))
}

/// The same result with that text as its content, and no images.
fn of_text(result: &ResultMessage, text: String, renderer: Renderer) -> ResultMessage {
    let shown = ToolResult {
        call_id: result.call_id.clone(),
        tool_id: result.tool_id.clone(),
        alias: result.alias.clone(),
        content: vec![ContentPart::Text { text }],
        structured: None,
        is_error: result.is_error,
        error_code: None,
        resource_refs: Vec::new(),
        ui: None,
        metadata: Map::new(),
        duration_ms: 0,
        skipped: false,
    };
    result_message(&shown, result.wire_id.clone(), renderer)
}

#[cfg(test)]
mod tests {
    use haft_core::{CallId, ToolChoice, ToolId, WireId};
    use proptest::prelude::*;

    use super::*;

    fn result(number: usize, content: &str) -> ResultMessage {
        let call = CallId::new(format!("c_{number}"));
        let shown = ResultMessage {
            call_id: call,
            wire_id: Some(WireId::new(format!("w{number}"))),
            tool_id: Some(ToolId::builtin("look")),
            alias: "look".into(),
            is_error: number % 2 == 1,
            content: content.to_owned(),
            body: String::new(),
            images: vec![],
        };
        of_text(&shown, content.to_owned(), Renderer::Markdown)
    }

    fn request(results: &[&str]) -> ModelRequest {
        let mut messages = vec![Message::User("Go".into())];
        for (number, content) in results.iter().enumerate() {
            messages.push(Message::Results(vec![result(number, content)]));
        }
        ModelRequest {
            agent: "a".into(),
            system: "s".into(),
            messages,
            tools: vec![],
            choice: ToolChoice::Auto,
            serial: true,
            max_tokens: None,
            temperature: None,
            seed: None,
        }
    }

    fn contents(request: &ModelRequest) -> Vec<String> {
        let of_message = |message: &Message| match message {
            Message::Results(results) => results.iter().map(|one| one.content.clone()).collect(),
            Message::User(_) | Message::Assistant { .. } => Vec::new(),
        };
        request.messages.iter().flat_map(of_message).collect()
    }

    // PRV-04
    #[test]
    fn the_oldest_results_give_way_first_and_the_newest_never() {
        let long = "é".repeat(1_000);
        let all = [long.as_str(), long.as_str(), long.as_str()];
        let mut whole = request(&all);
        assert_eq!(fit(&mut whole, u64::MAX, Renderer::Markdown), 0);
        assert_eq!(whole, request(&all));

        let mut first = request(&all);
        let most = bytes_of(&first) - 1;
        assert_eq!(fit(&mut first, most, Renderer::Markdown), 1);
        let shown = contents(&first);
        assert_eq!(
            shown[0],
            format!(
                "{}\n[600 more characters are left out here to save room; call again for what you need]",
                "é".repeat(400)
            )
        );
        assert_eq!(shown[1..], [long.clone(), long.clone()]);

        let mut both = request(&all);
        assert_eq!(fit(&mut both, 0, Renderer::Markdown), 2);
        assert_eq!(
            contents(&both),
            [
                "[this result is left out here to save room; call again for what you need]".to_owned(),
                "[this error is left out here to save room; call again for what you need]".to_owned(),
                long,
            ]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        // PRV-04: whatever is left out, each result still says which call it belongs to, and nothing grows.
        #[test]
        fn identities_stay(lengths in proptest::collection::vec(0usize..900, 0..6), most in 0u64..4_000) {
            let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let all: Vec<&str> = texts.iter().map(String::as_str).collect();
            let before = request(&all);
            let mut after = before.clone();
            let touched = fit(&mut after, most, Renderer::Json);
            let identities = |request: &ModelRequest| -> Vec<_> {
                let of = |message: &Message| match message {
                    Message::Results(results) => results
                        .iter()
                        .map(|one| (one.call_id.clone(), one.wire_id.clone(), one.tool_id.clone(), one.is_error))
                        .collect(),
                    Message::User(_) | Message::Assistant { .. } => Vec::new(),
                };
                request.messages.iter().flat_map(of).collect()
            };
            prop_assert_eq!(identities(&before), identities(&after));
            prop_assert!(bytes_of(&after) <= bytes_of(&before));
            prop_assert_eq!(touched == 0, before == after);
            prop_assert_eq!(before.messages.last(), after.messages.last());
        }
    }
}
