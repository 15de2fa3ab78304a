//! Model servers that are down, slow, cut off or talk nonsense: a clear message with the next step, exit 1, nothing lost.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::support::{Home, Run};

/// Answers every request with `answer`, which gets the connection after the request was read; gives the model's name.
fn server(answer: fn(&mut TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_request(&mut stream);
            answer(&mut stream);
        }
    });
    format!("http://{address}/v1#test")
}

/// Reads a request whole; gives its text.
pub(crate) fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer).unwrap_or(0);
        bytes.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            if length == 0 {
                return text.into_owned();
            }
            continue;
        };
        let head = head.to_lowercase();
        let wanted = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|value| value.trim().parse::<usize>().ok())
            .unwrap_or(0);
        if length == 0 || bytes.len() >= head.len() + 4 + wanted {
            return text.into_owned();
        }
    }
}

pub(crate) fn say(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    drop(stream.write_all(answer.as_bytes()));
}

fn ask(home: &Home, model: &str) -> Run {
    home.haft(&["run", "--model", model, "Hello"])
}

#[test]
fn a_server_that_is_down_is_named() {
    let home = Home::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    haft_snapshot!(home, ask(&home, &format!("http://{free}/v1#test")), @r#"
    exit: 1
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    error: cannot reach the model `http://127.0.0.1:[PORT]/v1#test` at http://127.0.0.1:[PORT]/v1: Connection refused (os error 111). Is the server running? `haft doctor` looks for local ones
    "#);
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
    assert!(home.haft(&["sessions", "show", "last"]).stdout.contains("> Hello"));
}

#[test]
fn a_server_that_works_is_understood() {
    let home = Home::new();
    let model = server(|stream| {
        say(
            stream,
            "200 OK",
            "text/event-stream",
            "data: {\"choices\":[{\"delta\":{\"content\":\"Good \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"day.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        );
    });
    haft_snapshot!(home, ask(&home, &model), @r#"
    exit: 0
    --- stdout
    Good day.
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

// PRV-03
#[test]
fn an_entry_says_how_its_server_is_spoken_to() {
    let home = Home::new();
    let anthropic = server(|stream| {
        let events = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"From Messages.\"}]}}\n\n\
                      event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
                      event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        say(stream, "200 OK", "text/event-stream", events);
    });
    let gemini = server(|stream| {
        let chunk = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"From Gemini.\"}]},\"finishReason\":\"STOP\"}]}\n\n";
        say(stream, "200 OK", "text/event-stream", chunk);
    });
    let entries = format!(
        "[models.a]\nurl = \"{anthropic}\"\napi = \"anthropic\"\nextra = {{ thinking = {{ type = \"adaptive\" }} }}\n\
         [models.g]\nurl = \"{gemini}\"\napi = \"gemini\"\n\
         [models.wrong]\nurl = \"gemini:x\"\napi = \"anthropic\"\n"
    );
    home.write("home/haft.toml", &entries);
    assert_eq!(ask(&home, "a").stdout, "From Messages.\n");
    assert_eq!(ask(&home, "g").stdout, "From Gemini.\n");
    haft_snapshot!(home, ask(&home, "wrong"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: haft.toml, `models.wrong`: `api` cannot stand beside the service `gemini:x`

      Take `api` out, or write the address: `url = "http://host:port/v1#NAME"`.
    "#);
}

#[test]
fn a_server_that_refuses_is_quoted() {
    let home = Home::new();
    let model = server(|stream| {
        say(stream, "404 Not Found", "application/json", "{\"error\":{\"message\":\"model not found\"}}");
    });
    haft_snapshot!(home, ask(&home, &model), @r#"
    exit: 1
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    error: the model `http://127.0.0.1:[PORT]/v1#test` refused the request (HTTP 404): model not found. Check the model's name, and that `url` ends with /v1
    "#);
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let home = Home::new();
    let model = server(|stream| {
        // Keeps the connection open until the other side leaves it.
        drop(stream.read(&mut [0]));
    });
    home.write("home/haft.toml", &format!("[models.slow]\nurl = \"{model}\"\nidle_timeout_s = 1\n"));
    haft_snapshot!(home, ask(&home, "slow"), @r#"
    exit: 1
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    error: the answer of the model `slow` was cut off: nothing came for 1 s. Nothing of it was run; try again
    "#);
}

#[test]
fn nonsense_is_called_so() {
    let home = Home::new();
    let model = server(|stream| say(stream, "200 OK", "text/html", "<html>Welcome</html>"));
    let run = ask(&home, &model);
    assert_eq!(run.exit, Some(1), "{run}");
    assert!(run.stderr.contains("error:"), "{run}");
    let model = server(|stream| {
        say(stream, "200 OK", "text/event-stream", "data: {\"choices\": 7}\n\ndata: nonsense\n\n");
    });
    let run = ask(&home, &model);
    assert_eq!(run.exit, Some(1), "{run}");
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}

#[test]
fn an_answer_that_is_cut_off_runs_nothing() {
    let home = Home::new();
    let model = server(|stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n";
        let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\",\"function\":{\"name\":\"calculator\",\"arguments\":\"{\\\"expr\"}}]}}]}\n\n";
        drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(call.as_bytes())));
    });
    let run = ask(&home, &model);
    assert_eq!(run.exit, Some(1), "{run}");
    assert!(!run.stderr.contains("→"), "{run}");
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}

// PRV-04: an entry says what its model takes, a profile when older messages are summed up.
#[test]
fn a_conversation_that_outgrows_its_model_is_summed_up() {
    let home = Home::new();
    let model = server(|stream| {
        say(
            stream,
            "200 OK",
            "text/event-stream",
            "data: {\"choices\":[{\"delta\":{\"content\":\"Good day.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        );
    });
    home.write("home/haft.toml", &format!("[models.small]\nurl = \"{model}\"\ncontext_tokens = 2000\n"));
    home.write("home/profiles/mine.md", "---\ncompact:\n  at: 50\n---\nBe brief.\n");
    let shown = home.haft(&["profile", "show", "mine"]).stdout;
    assert!(shown.contains("\ncompact:\n  at: 50\n"), "{shown}");
    let prompt = "Moss. ".repeat(250);
    let run = home.haft(&["run", "--model", "small", "--profile", "mine", &prompt]);
    assert_eq!(run.exit, Some(0), "{run}");
    assert!(!home.haft(&["audit", "show"]).stdout.contains("context_compacted"));
    let run = home.haft(&["run", "--model", "small", "--session", "last", &prompt]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "Good day.\n"), "{run}");
    let shown = home.haft(&["audit", "show"]);
    assert!(shown.stdout.contains("turn 1, 2 messages summed up: Good day."), "{shown}");
    assert_eq!(home.haft(&["replay"]).exit, Some(0));
    let seen = home.haft(&["sessions", "show", "last"]).stdout;
    assert_eq!(seen.matches("> Moss.").count(), 2, "{seen}");
}
