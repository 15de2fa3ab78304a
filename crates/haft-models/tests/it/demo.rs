//! The demo: calls line by line, results repeated, examples that work.

use crate::support::{Heard, request, tool};
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelRequest, ModelTurn, NeverCancelled};
use haft_core::{CallId, Model, ModelTool, RequestedCall, ToolChoice, ToolId};
use haft_models::Demo;
use haft_schema::Validator;
use serde_json::{Value, json};

async fn ask(request: &ModelRequest) -> ModelTurn {
    let mut heard = Heard::default();
    let turn = Demo::new().turn(request, &mut heard, &NeverCancelled).await.unwrap();
    assert_eq!(heard.text, turn.text);
    turn
}

fn call(name: &str, arguments: Value) -> RequestedCall {
    RequestedCall::call(name, arguments.as_object().unwrap().clone())
}

fn builtin(id: &str, alias: &str, schema: Value) -> ModelTool {
    ModelTool { tool_id: ToolId::builtin(id), ..tool(alias, schema) }
}

#[tokio::test]
async fn each_line_becomes_a_call_of_one_batch() {
    let text = "Please do this:\nget_weather city='Bad Homburg'\n\n  get_weather {\"city\": \"Ulm\", \"days\": 3}\nget_wether city=Bonn";
    let turn = ask(&request(text)).await;
    assert_eq!(
        turn.calls,
        [
            call("get_weather", json!({"city": "Bad Homburg"})),
            call("get_weather", json!({"city": "Ulm", "days": 3})),
            call("get_wether", json!({"city": "Bonn"})),
        ]
    );
    assert_eq!(turn.finish_reason, FinishReason::ToolCalls);
    assert_eq!(turn.text, "I am the demo, no language model. I make these 3 calls:");
}

#[tokio::test]
async fn a_line_that_cannot_be_read_is_told_and_the_others_are_called() {
    let turn = ask(&request("get_weather Bonn\nget_weather city=Ulm")).await;
    assert_eq!(turn.calls, [call("get_weather", json!({"city": "Ulm"}))]);
    assert!(
        turn.text.contains("I cannot read the rest:\n- `get_weather`: `Bonn` is no key=value"),
        "{}",
        turn.text
    );
    let turn = ask(&request("get_weather {")).await;
    assert_eq!((turn.calls.len(), turn.finish_reason), (0, FinishReason::Stop));
    assert!(
        turn.text.starts_with("I cannot read this:\n- `get_weather`: the arguments are not JSON"),
        "{}",
        turn.text
    );
}

#[tokio::test]
async fn it_repeats_what_came_back_and_stops() {
    let result = |alias: &str, is_error, content: &str| ResultMessage {
        call_id: CallId::new("c_i_1_1"),
        wire_id: None,
        tool_id: None,
        alias: alias.into(),
        is_error,
        content: content.into(),
        body: "## rendered".into(),
        images: Vec::new(),
    };
    let mut after = request("get_weather city=Ulm");
    after.messages.push(Message::Results(vec![
        result("get_weather", false, "sunny\n20 °C"),
        result("get_weather", true, "No such city."),
        result("", true, "Not readable."),
    ]));
    let turn = ask(&after).await;
    assert_eq!(
        turn.text,
        "get_weather answered:\nsunny\n20 °C\n\nget_weather failed:\nNo such city.\n\na call failed:\nNot readable."
    );
    assert_eq!((turn.calls.len(), turn.finish_reason), (0, FinishReason::Stop));
}

/// The example lines of an answer.
fn lines(turn: &ModelTurn) -> Vec<&str> {
    turn.text.lines().skip(2).take_while(|line| !line.is_empty()).collect()
}

#[tokio::test]
async fn anything_else_gets_three_lines_that_work() {
    let mut tools = vec![
        builtin(
            "web.search",
            "web_search",
            json!({"properties": {"query": {"type": "string"}}, "required": ["query"]}),
        ),
        builtin(
            "artifact.read",
            "read_artifact",
            json!({"properties": {"id": {"type": "string"}}, "required": ["id"]}),
        ),
        builtin(
            "data.text_process",
            "text_process",
            json!({"properties": {"text": {"type": "string"}, "operation": {"type": "string", "enum": ["upper", "lower"]}}, "required": ["text", "operation"]}),
        ),
        builtin(
            "artifact.create",
            "create_artifact",
            json!({"properties": {"id": {"type": "string", "pattern": "^[a-z]+$"}, "content": {"type": "string"}}, "required": ["id", "content"]}),
        ),
        builtin(
            "data.calculator",
            "calc",
            json!({"properties": {"expression": {"type": "string"}}, "required": ["expression"]}),
        ),
    ];
    tools[3].example = json!({"id": "plan", "content": "# Plan\n\nIt's a \"plan\".\n"}).as_object().cloned();
    let mut one = request("Hello, who are you?");
    one.tools = tools.clone();
    let turn = ask(&one).await;
    assert!(turn.text.starts_with("I am the demo, no language model"), "{}", turn.text);
    assert_eq!(
        lines(&turn),
        [
            "calc expression=6*7",
            r##"create_artifact {"id":"plan","content":"# Plan\n\nIt's a \"plan\".\n"}"##,
            "text_process text=hello operation=upper",
        ]
    );
    for line in lines(&turn) {
        let mut next = one.clone();
        next.messages = vec![Message::User(line.into())];
        let calls = ask(&next).await.calls;
        let [RequestedCall::Call { name, arguments, .. }] = calls.as_slice() else { panic!("{line}") };
        let tool = tools.iter().find(|tool| tool.alias == *name).unwrap();
        let validator = Validator::compile(&tool.input_schema).unwrap();
        assert_eq!(validator.validate(&Value::Object(arguments.clone())), Ok(()), "{line}");
    }
}

#[tokio::test]
async fn few_tools_still_get_three_lines_where_the_calculator_is_one() {
    let mut one = request("Hi");
    one.tools = vec![builtin(
        "data.calculator",
        "calculator",
        json!({"properties": {"expression": {"type": "string"}}, "required": ["expression"]}),
    )];
    let turn = ask(&one).await;
    assert_eq!(
        lines(&turn),
        ["calculator expression=6*7", "calculator expression=2^64", "calculator expression='(1 + 2) / 4'"]
    );
}

// EXE-19
#[tokio::test]
async fn without_tools_it_says_so_and_calls_nothing() {
    let mut one = request("get_weather city=Ulm");
    one.choice = ToolChoice::None;
    let turn = ask(&one).await;
    assert_eq!(turn.calls, []);
    assert!(turn.text.contains("No tool can be called now."), "{}", turn.text);
}
