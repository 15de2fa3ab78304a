//! The chat tools over a conversation in memory.

use std::sync::Arc;

use haft_core::chat::{ChatHistory, ChatMessage, read_chat_file};
use haft_core::{BoxFuture, Services, ToolError};
use haft_tools::chat;
use serde_json::{Value, json};

use crate::support::Invocation;

struct Chat(Arc<[ChatMessage]>);

impl ChatHistory for Chat {
    fn messages(&self) -> BoxFuture<'_, Result<Arc<[ChatMessage]>, ToolError>> {
        Box::pin(async move { Ok(self.0.clone()) })
    }
}

fn agent(messages: &[(&str, bool, &str)]) -> Invocation {
    let line = |(name, is_user, text): &(&str, bool, &str)| {
        json!({"name": name, "is_user": is_user, "mes": text}).to_string()
    };
    let header = json!({"user_name": "Ada", "character_name": "Keeper", "chat_metadata": {}}).to_string();
    let file: Vec<String> = std::iter::once(header).chain(messages.iter().map(line)).collect();
    let chat = read_chat_file(&file.join("\n")).unwrap();
    let mut services = Services::default();
    services.insert::<dyn ChatHistory>(Arc::new(Chat(chat.messages.into())));
    Invocation::new(chat::tools().unwrap(), services)
}

fn keeper() -> Invocation {
    agent(&[
        ("Keeper", false, "Who is there?\nThe lamp is dark."),
        ("Ada", true, "A friend. Is the lamp broken?"),
        ("Keeper", false, "The lamp, the lamp!\nAlways the lamp => never the keeper."),
        ("Gull", false, "Kraa."),
    ])
}

// CHT-01, CHT-03, WSP-16
#[tokio::test]
async fn the_conversation_is_searched_and_the_best_messages_come_first() {
    let mut agent = keeper();
    let output = agent.call("chat_search", json!({"query": "Lamp"})).await.unwrap();
    assert_eq!(
        output.text(),
        "3 messages fit `Lamp`.\n\n\
         message 2 (assistant, Keeper), score 12\nThe lamp, the lamp! Always the lamp => never the keeper.\n\n\
         message 0 (assistant, Keeper), score 10\nWho is there? The lamp is dark.\n\n\
         message 1 (user, Ada), score 10\nA friend. Is the lamp broken?"
    );
    assert_eq!(output.resource_refs, ["chat:current#2", "chat:current#0", "chat:current#1"]);
    let indexes = |output: &Value| -> Vec<u64> {
        output["hits"].as_array().unwrap().iter().map(|hit| hit["index"].as_u64().unwrap()).collect()
    };
    for (arguments, expected) in [
        (json!({"query": "lamp", "role": "user"}), vec![1]),
        (json!({"query": "lamp", "start_message": 1}), vec![2, 1]),
        (json!({"query": "lamp", "end_message": 1}), vec![0, 1]),
        (json!({"query": "lamp", "start_message": 1, "end_message": 1}), vec![1]),
        (json!({"query": "lamp", "scan_limit": 2}), vec![2]),
        (json!({"query": "lamp", "limit": 1}), vec![2]),
        (json!({"query": "=>"}), vec![2]),
        (json!({"query": "whale"}), vec![]),
        (json!({"query": "lamp", "start_message": 9}), vec![]),
    ] {
        let output = agent.call("chat_search", arguments.clone()).await.unwrap();
        assert_eq!(indexes(&output.structured.unwrap()), expected, "{arguments}");
    }
    assert_eq!(agent.text("chat_search", json!({"query": "whale"})).await, "No message fits `whale`.");
    assert!(
        agent
            .text("chat_search", json!({"query": "lamp", "scan_limit": 1}))
            .await
            .ends_with("[3 older messages were not looked at; set end_message or scan_limit to reach them]")
    );
    let error =
        agent.error("chat_search", json!({"query": "lamp", "start_message": 3, "end_message": 1})).await;
    assert_eq!(error.0, "chat.invalid_range");
    assert_eq!(agent.error("chat_search", json!({"query": ""})).await.0, "chat.empty_query");
    // No other chat can be named.
    assert_eq!(
        agent.error("chat_search", json!({"query": "x", "chat": "other"})).await.0,
        "agent.invalid_arguments"
    );
}

// CHT-02, WSP-03
#[tokio::test]
async fn messages_are_read_by_number_and_by_lines() {
    let mut agent = keeper();
    let output = agent
        .call(
            "chat_read_messages",
            json!({"messages": [{"index": 3}, {"index": 0, "start_line": 2, "line_count": 1}]}),
        )
        .await
        .unwrap();
    assert_eq!(
        output.text(),
        "message 3 (assistant, Gull):\nKraa.\n\nmessage 0 (assistant, Keeper):\nThe lamp is dark.\n[line 2 of 2]"
    );
    assert_eq!(output.resource_refs, ["chat:current#3", "chat:current#0"]);
    for (messages, code, message) in [
        (
            json!([{"index": 4}]),
            "chat.message_not_found",
            "There is no message 4. There are the messages 0 to 3.",
        ),
        (
            json!([{"index": 3, "start_line": 2}]),
            "chat.invalid_range",
            "Nothing of message 3 was read: line 2 is past the end: there is 1 line.",
        ),
    ] {
        let error = agent.error("chat_read_messages", json!({"messages": messages})).await;
        assert_eq!(error, (code.to_owned(), message.to_owned()));
    }
    let many: Vec<Value> = (0..21).map(|_| json!({"index": 0})).collect();
    for wrong in [json!([]), json!(many), json!([{"index": -1}]), json!([{"index": 0, "start_line": 0}])] {
        assert_eq!(
            agent.error("chat_read_messages", json!({"messages": wrong})).await.0,
            "agent.invalid_arguments"
        );
    }
}

// CHT-02, WSP-17
#[tokio::test]
async fn messages_past_the_budget_are_previews_that_can_be_read_on() {
    let long = "0123456789\n".repeat(1_500);
    let mut agent = agent(&[("Keeper", false, &long), ("Ada", true, &long), ("Keeper", false, "short")]);
    let output = agent
        .call("chat_read_messages", json!({"messages": [{"index": 0}, {"index": 1}, {"index": 2}]}))
        .await
        .unwrap();
    let text = output.text();
    assert!(text.contains(
        "[lines 1-318 of 1500; read on with chat_read_messages(messages=[{'index': 1, 'start_line': 319}])]"
    ));
    assert!(text.chars().filter(|c| c.is_ascii_digit() || *c == '\n').count() < 21_000);
    // Two characters are left for the last one.
    assert!(text.ends_with("message 2 (assistant, Keeper):\nsh\n[line 1 of 1; line 1 is cut after 2 characters, its rest is too long to be shown]"), "{}", &text[text.len() - 200..]);
    let whole = "x".repeat(20_000);
    let mut agent = crate::chat::agent(&[("Keeper", false, &whole), ("Ada", true, "short")]);
    let text = agent.text("chat_read_messages", json!({"messages": [{"index": 0}, {"index": 1}]})).await;
    assert!(text.ends_with(
        "message 1 (user, Ada):\n[not shown: the messages before it fill this answer; read it with \
         chat_read_messages(messages=[{'index': 1, 'start_line': 1}])]"
    ));
}
