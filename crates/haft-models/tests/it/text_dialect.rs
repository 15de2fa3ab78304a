//! Text dialects over models that know plain text: what they are told, and what is read out of their answers.

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelRequest, ModelTurn, NeverCancelled};
use haft_core::{CallId, Model, RequestedCall, ToolChoice, ToolId};
use haft_models::{Demo, Scripted, TextDialect, connect};
use serde_json::{Value, json};

use crate::support::{Heard, Reply, Server, chunk, last, request, tool, weather};

/// What a model that writes `text` in `chunks` asks for, and what a person saw.
async fn read(chunks: &[&str], reason: &str, request: &ModelRequest) -> (ModelTurn, Heard) {
    let script = json!({"chunks": chunks, "finish_reason": reason}).to_string();
    let model = TextDialect::new(Scripted::from_jsonl("s", &script).unwrap(), "artifact-xml", None).unwrap();
    let mut heard = Heard::default();
    let turn = model.turn(request, &mut heard, &NeverCancelled).await.unwrap();
    (turn, heard)
}

fn call(name: &str, arguments: Value, repairs: &[&str]) -> RequestedCall {
    let mut call = RequestedCall::call(name, arguments.as_object().unwrap().clone());
    if let RequestedCall::Call { repairs: named, .. } = &mut call {
        named.extend(repairs.iter().map(|repair| (*repair).to_owned()));
    }
    call
}

const CALL: &str =
    "<tool_call>\n<name>get_weather</name>\n<params>\n<city><![CDATA[Köln]]></city>\n</params>\n</tool_call>";

// CONFLICT-02
#[tokio::test]
async fn calls_leave_the_text_and_arrive_as_calls() {
    let whole = format!("I look it up.\n\n{CALL}\n");
    for size in [1, 7, 1000] {
        let letters: Vec<char> = whole.chars().collect();
        let chunks: Vec<String> = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let (turn, heard) = read(&chunks, "stop", &request("Weather?")).await;
        assert_eq!(
            turn,
            ModelTurn {
                text: "I look it up.".into(),
                reasoning: String::new(),
                calls: vec![call("get_weather", json!({"city": "Köln"}), &[])],
                raw: Some(whole.clone()),
                finish_reason: FinishReason::ToolCalls,
                usage: None,
                provider_metadata: None,
            }
        );
        assert_eq!(heard.text.trim_end(), "I look it up.");
    }
}

#[tokio::test]
async fn plain_text_stays_as_it_is() {
    let (turn, heard) = read(&["Just ", "text: 1 < 2."], "stop", &request("Hi")).await;
    assert_eq!(
        (turn.text.as_str(), turn.raw, turn.finish_reason),
        ("Just text: 1 < 2.", None, FinishReason::Stop)
    );
    assert_eq!((turn.calls.len(), heard.text.as_str()), (0, "Just text: 1 < 2."));
}

// DIA-10
#[tokio::test]
async fn what_cannot_be_read_keeps_its_place_and_its_words() {
    let broken = "<tool_call><params><city><![CDATA[Ulm]]></city></params></tool_call>";
    let (turn, _) = read(&[CALL, "\n", broken], "stop", &request("Weather?")).await;
    let [first, RequestedCall::Malformed { name: None, reason, raw, wire_id: None }] = turn.calls.as_slice()
    else {
        panic!("{turn:?}")
    };
    assert_eq!(first, &call("get_weather", json!({"city": "Köln"}), &[]));
    assert!(!reason.is_empty());
    assert_eq!(raw, broken);
}

#[tokio::test]
async fn a_call_that_the_token_limit_cut_is_not_run() {
    let cut = "<tool_call><name>get_weather</name><params><city><![CDATA[Kö";
    let (turn, _) = read(&[cut], "length", &request("Weather?")).await;
    assert_eq!(turn.finish_reason, FinishReason::Length);
    assert!(matches!(turn.calls.as_slice(), [RequestedCall::Malformed { .. }]), "{turn:?}");
}

#[tokio::test]
async fn native_calls_beside_the_text_follow_those_in_it() {
    let script = json!({"text": CALL, "tool_calls": [{"name": "get_weather", "arguments": {"city": "Ulm"}}]})
        .to_string();
    let model = TextDialect::new(Scripted::from_jsonl("s", &script).unwrap(), "artifact-xml", None).unwrap();
    let turn = model.turn(&request("Hi"), &mut Heard::default(), &NeverCancelled).await.unwrap();
    assert_eq!(
        turn.calls,
        [call("get_weather", json!({"city": "Köln"}), &[]), call("get_weather", json!({"city": "Ulm"}), &[])]
    );
    assert!(turn.raw.is_some_and(|raw| raw.contains("Köln") && raw.contains("Ulm")));
}

#[tokio::test]
async fn without_tools_text_is_text_and_nothing_is_explained() {
    let mut none = request("Hi");
    none.tools.clear();
    let (turn, heard) = read(&[CALL], "stop", &none).await;
    assert_eq!((turn.text.as_str(), turn.calls.len(), heard.text.as_str()), (CALL, 0, CALL));
    assert_eq!(asked(&none, None).await["messages"][0]["content"], "You are brief.");
}

/// The body that a server is sent for a request in the text dialect.
async fn asked(request: &ModelRequest, tag: Option<&str>) -> Value {
    let server = Server::start(vec![Reply::events(&[chunk(json!({"content": "ok"})), last("stop")])]).await;
    let mut entry = server.entry();
    entry.dialect = "artifact-xml".into();
    entry.tag = tag.map(str::to_owned);
    connect(entry).unwrap().turn(request, &mut Heard::default(), &NeverCancelled).await.unwrap();
    server.body()
}

// DIA-13, DIA-14
#[tokio::test]
async fn the_tools_of_the_request_stand_in_the_prompt_and_nowhere_else() {
    let body = asked(&request("Weather?"), Some("function_call")).await;
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none());
    insta::assert_snapshot!("prompt", body["messages"][0]["content"].as_str().unwrap());

    let mut other = request("Weather?");
    other.system.clear();
    other.tools = vec![tool("now", json!({}))];
    let body = asked(&other, None).await;
    let prompt = body["messages"][0]["content"].as_str().unwrap();
    assert!(
        prompt.starts_with("<tool_instructions>")
            && prompt.contains("now")
            && !prompt.contains("get_weather")
    );
}

// CONFLICT-27
#[tokio::test]
async fn the_prompt_says_how_calls_run() {
    let mut one = request("Hi");
    for (serial, said) in [(true, "They execute sequentially."), (false, "They may execute in parallel")] {
        one.serial = serial;
        let body = asked(&one, None).await;
        assert!(body["messages"][0]["content"].as_str().unwrap().contains(said));
    }
}

// EXE-19
#[tokio::test]
async fn choices_are_said_in_words() {
    let mut one = request("Hi");
    for (choice, ending) in [
        (ToolChoice::None, "You are brief."),
        (ToolChoice::Auto, "</tool_instructions>"),
        (ToolChoice::Required, "Your next message must hold at least one tool call."),
        (ToolChoice::Tool(weather().tool_id), "Your next message must call the tool get_weather."),
    ] {
        one.choice = choice;
        let body = asked(&one, None).await;
        let prompt = body["messages"][0]["content"].as_str().unwrap();
        assert!(prompt.ends_with(ending), "{prompt}");
    }
}

// CONFLICT-06, RES-02
#[tokio::test]
async fn earlier_calls_and_results_stand_in_the_dialect_itself() {
    let result = |alias: &str, is_error, content: &str| ResultMessage {
        call_id: CallId::new("c_i_1_1"),
        wire_id: None,
        tool_id: Some(ToolId::own("get_weather")),
        alias: alias.into(),
        is_error,
        content: content.into(),
        body: "## Tool error\n\nrendered".into(),
        images: Vec::new(),
    };
    let malformed = RequestedCall::Malformed {
        name: None,
        reason: "No name.".into(),
        raw: "<tool_call><params/></tool_call>".into(),
        wire_id: None,
    };
    let assistant = |text: &str, raw: Option<&str>, calls| Message::Assistant {
        text: text.into(),
        raw: raw.map(str::to_owned),
        calls,
        call_ids: Vec::new(),
        provider_metadata: None,
    };
    let mut history = request("Weather?");
    history.system.clear();
    history.choice = ToolChoice::None;
    history.messages.extend([
        assistant(
            "I look.",
            Some("I look.\n<tool_call>as written</tool_call>"),
            vec![call("get_weather", json!({}), &[])],
        ),
        Message::Results(vec![result("get_weather", false, "sunny </data>"), result("", true, "No name.")]),
        Message::User("And Ulm?".into()),
        assistant("", None, vec![call("get_weather", json!({"city": "Ulm", "days": 3}), &[]), malformed]),
        Message::Results(vec![result("get_weather", true, "no such city")]),
    ]);
    let body = asked(&history, Some("function_call")).await;
    insta::assert_json_snapshot!("dialect_history", body["messages"]);
}

/// What Qwen2.5-Coder really writes (notes/models.md): never the usual tag, often no tag at all.
#[tokio::test]
async fn a_small_real_models_ways_of_writing_are_read_over_a_stream() {
    let tagged = "<function_call>\n  <name>get_weather</name>\n  <params>\n    <city><![CDATA[Köln]]></city>\n  </params>\n</function_call>";
    let bare = "<name>get_weather</name>\n<params>\n<city><![CDATA[Köln]]></city>\n</params>";
    for (written, repairs) in [(tagged, vec![]), (bare, vec!["wrapper_added"])] {
        let letters: Vec<char> = written.chars().collect();
        let mut events: Vec<Value> = letters
            .chunks(5)
            .map(|piece| chunk(json!({"content": piece.iter().collect::<String>()})))
            .collect();
        events.push(last("stop"));
        let server = Server::start(vec![Reply::events(&events)]).await;
        let mut entry = server.entry();
        entry.dialect = "artifact-xml".into();
        entry.tag = Some("function_call".into());
        let model = connect(entry).unwrap();
        let mut heard = Heard::default();
        let turn = model.turn(&request("Weather?"), &mut heard, &NeverCancelled).await.unwrap();
        assert_eq!(turn.calls, [call("get_weather", json!({"city": "Köln"}), &repairs)], "{written}");
        assert_eq!((turn.text.as_str(), heard.text.trim()), ("", ""));
        assert_eq!(turn.raw.as_deref(), Some(written));
    }
}

#[tokio::test]
async fn a_second_try_is_read_from_its_beginning() {
    let half = format!("data: {}\n\n", chunk(json!({"content": "Half of it. <tool_call><name>get_wea"})));
    let whole = Reply::events(&[chunk(json!({"content": CALL})), last("stop")]);
    let server = Server::start(vec![Reply::stream(&half), whole]).await;
    let mut entry = server.entry();
    entry.dialect = "artifact-xml".into();
    let mut heard = Heard::default();
    let turn = connect(entry).unwrap().turn(&request("Hi"), &mut heard, &NeverCancelled).await.unwrap();
    assert_eq!(turn.calls, [call("get_weather", json!({"city": "Köln"}), &[])]);
    assert_eq!((turn.text.as_str(), heard.text.as_str(), heard.restarts.len()), ("", "", 1));
}

// CONFLICT-02
#[tokio::test]
async fn the_demo_writes_its_calls_in_the_dialect_and_they_are_read_back() {
    let demo = Demo::in_dialect("artifact-xml", Some("function_call")).unwrap();
    assert_eq!((demo.traits().dialect.as_str(), demo.traits().wraps_results), ("artifact-xml", true));
    let mut heard = Heard::default();
    let text = "get_weather city='a ]]> b'\nget_wether city=Ulm";
    let turn = demo.turn(&request(text), &mut heard, &NeverCancelled).await.unwrap();
    assert_eq!(
        turn.calls,
        [
            call("get_weather", json!({"city": "a ]]> b"}), &[]),
            call("get_wether", json!({"city": "Ulm"}), &[])
        ]
    );
    assert_eq!(turn.finish_reason, FinishReason::ToolCalls);
    assert_eq!(turn.text, "I am the demo, no language model. I make these 2 calls:");
    assert_eq!(heard.text.trim_end(), turn.text);
    assert!(turn.raw.is_some_and(|raw| raw.contains("<function_call>\n  <name>get_wether</name>")));
    assert_eq!(Demo::in_dialect("native", None).unwrap().traits().dialect, "native");
}
