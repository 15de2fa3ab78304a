//! A small real model, free and held to the calls of its turn: how many of its calls are well formed. It needs a
//! server and says so where there is none: `scripts/test-grammar.sh` starts one and runs this.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the figures are what this is for")]

use haft_core::ports::{FinishReason, ModelRequest, NeverCancelled};
use haft_core::{ModelTool, RequestedCall, ToolChoice};
use haft_models::{Grammar, ModelEntry, ModelName, connect};
use serde_json::json;

use crate::support::{Heard, request, tool};

/// Tasks in two languages; what they name is what small models stumble over: lists, markup, choices, two calls at once.
const TASKS: [&str; 12] = [
    "What is the weather in Köln in fahrenheit?",
    "查一下上海的天气。",
    "Set the lamp in the kitchen to 40 percent.",
    "Turn the lamp in room A1 off, then tell me the weather in Oslo.",
    "Write a file notes.md with the text: if a < b && c > d then ]]> end.",
    "Save this to page.html: <p class=\"x\">Tom & Ann</p>",
    "Mail ann@example.org and bob@example.org that the meeting is moved to Friday.",
    "Find articles about moss, at most 5, newest first.",
    "给李雷(li@example.cn)发邮件,主题是\"会议\",内容是\"明天九点\"。",
    "Write hello.py that prints the numbers from 1 to 3.",
    "Look for recent articles on \"tide & time\" and mail the list to kim@example.org.",
    "What is 2 + 2?",
];

fn tools() -> Vec<ModelTool> {
    vec![
        tool(
            "get_weather",
            json!({"type": "object", "properties": {
            "city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}, "required": ["city"]}),
        ),
        tool(
            "set_lamp",
            json!({"type": "object", "properties": {
            "room": {"type": "string"}, "level": {"type": "number"}, "on": {"type": "boolean"}}, "required": ["room"]}),
        ),
        tool(
            "write_file",
            json!({"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}}, "required": ["path", "content"]}),
        ),
        tool(
            "send_mail",
            json!({"type": "object", "properties": {
            "to": {"type": "array", "items": {"type": "string"}}, "subject": {"type": "string"}, "body": {"type": "string"}},
            "required": ["to", "body"]}),
        ),
        tool(
            "find_articles",
            json!({"type": "object", "properties": {
            "query": {"type": "string"}, "limit": {"type": "integer"}, "newest_first": {"type": "boolean"}},
            "required": ["query"]}),
        ),
    ]
}

/// What came of the tasks in one setting.
#[derive(Debug, Default)]
struct Score {
    turns: usize,
    with_calls: usize,
    calls: usize,
    well_formed: usize,
    cut: usize,
}

#[expect(clippy::panic, reason = "a wrong address ends the test")]
async fn score(url: &str, dialect: &str, grammar: Option<Grammar>, choice: &ToolChoice) -> Score {
    let Some(ModelName::Address { url, model }) = ModelName::parse(url).ok() else {
        panic!("write http://host:port/v1#NAME")
    };
    let mut entry = ModelEntry::new("real", url, model);
    entry.dialect = dialect.to_owned();
    entry.grammar = grammar;
    entry.temperature = Some(0.0);
    entry.seed = Some(7);
    entry.max_tokens = Some(200);
    let model = connect(entry).unwrap();
    let mut score = Score::default();
    for task in TASKS {
        let asked = ModelRequest { tools: tools(), choice: choice.clone(), ..request(task) };
        let turn = model.turn(&asked, &mut Heard::default(), &NeverCancelled).await.unwrap();
        score.turns += 1;
        if turn.finish_reason == FinishReason::Length {
            // The token limit cut it off: that is no matter of form.
            score.cut += 1;
            continue;
        }
        score.with_calls += usize::from(!turn.calls.is_empty());
        for call in &turn.calls {
            score.calls += 1;
            let well_formed = match call {
                RequestedCall::Call { name, repairs, arguments, .. } => {
                    repairs.is_empty()
                        && asked.tools.iter().any(|tool| {
                            tool.alias == *name
                                && tool.input_schema.required().all(|key| arguments.contains_key(key))
                                && arguments.keys().all(|key| tool.input_schema.property(key).is_some())
                        })
                }
                RequestedCall::Malformed { .. } => false,
            };
            score.well_formed += usize::from(well_formed);
            if !well_formed {
                println!("  {dialect}: {task}\n    {call:?}\n    {:?}", turn.raw);
            }
        }
    }
    score
}

#[tokio::test]
#[allow(
    clippy::disallowed_methods,
    reason = "the script says where the server is, and a person which dialect to look at"
)]
async fn a_held_models_calls_are_always_well_formed() {
    let Ok(url) = std::env::var("HAFT_TEST_MODEL_URL") else {
        println!("SKIPPED: a real model held to its calls; scripts/test-grammar.sh starts one");
        return;
    };
    let only = std::env::var("HAFT_TEST_DIALECT").ok();
    let settings = [
        ("artifact-xml", None),
        ("artifact-xml", Some(Grammar::Gbnf)),
        ("hermes", None),
        ("hermes", Some(Grammar::Gbnf)),
        ("qwen3-coder", Some(Grammar::Gbnf)),
        ("json-fence", Some(Grammar::JsonSchema)),
    ];
    for choice in [ToolChoice::Auto, ToolChoice::Required] {
        for (dialect, grammar) in
            settings.iter().filter(|(dialect, _)| only.as_ref().is_none_or(|only| only == dialect))
        {
            let held = grammar.is_some();
            let score = score(&url, dialect, grammar.clone(), &choice).await;
            println!("{choice:?} {dialect} {grammar:?}: {score:?}");
            if held {
                assert_eq!(score.well_formed, score.calls, "{dialect}");
                if choice == ToolChoice::Required {
                    assert_eq!(score.with_calls + score.cut, score.turns, "{dialect}");
                }
            }
        }
    }
}
