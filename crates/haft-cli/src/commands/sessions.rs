//! `haft sessions`: list, show and delete conversations.

use haft_core::RequestedCall;
use haft_core::message::Message;
use haft_core::ports::{Clock, SessionRows};
use haft_engine::conversation;
use serde_json::{Value, json};

use crate::args::SessionsCommand;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::setup::Setup;
use crate::terminal::screen::call_line;

/// Runs the command.
pub(crate) async fn run(setup: Setup, command: Option<SessionsCommand>) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft sessions").await?;
    match command.unwrap_or(SessionsCommand::List) {
        SessionsCommand::List => list(&workplace).await?,
        SessionsCommand::Show { id } => show(&workplace, &id).await?,
        SessionsCommand::Delete { id } => delete(&workplace, &id).await?,
    }
    Ok(Exit::Done)
}

async fn list(workplace: &Workplace) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let mut rows = workplace.store.sessions().await?;
    rows.retain(|row| !row.deleted);
    if workplace.setup.globals.json {
        return output.json(&rows);
    }
    for row in &rows {
        let project = row.project.as_ref().map_or(String::new(), |project| format!("  project {project}"));
        output.foreign_line(&format!("{}  {}  profile {}{project}", row.id, row.updated, row.profile))?;
    }
    if rows.is_empty() {
        output.note("there is no session yet; `haft chat` starts one");
    }
    Ok(())
}

async fn show(workplace: &Workplace, id: &str) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let row = workplace.stored_session(id).await?;
    let messages = conversation(workplace.store.as_ref(), &row.id).await?;
    if workplace.setup.globals.json {
        return output.json(&messages.iter().map(as_json).collect::<Vec<_>>());
    }
    for (number, message) in messages.iter().enumerate() {
        if number > 0 && matches!(message, Message::User(_)) {
            output.line("")?;
        }
        output.foreign_line(&as_text(message))?;
    }
    if messages.is_empty() {
        let id = &row.id;
        output.note(&format!(
            "session {id} holds no messages; `haft audit runs` lists the calls that were made alone"
        ));
    }
    Ok(())
}

async fn delete(workplace: &Workplace, id: &str) -> Result<(), Failure> {
    let row = workplace.stored_session(id).await?;
    let now = workplace.clock.now();
    let owner = format!("process {} (haft sessions delete)", std::process::id());
    let lease = workplace.store.lease(&row.id, &owner, now).await?;
    let deleted = workplace.store.delete_session(&lease, now).await;
    workplace.store.release(&lease).await?;
    deleted?;
    let id = &row.id;
    workplace.setup.output.note(&format!(
        "session {id} is deleted: its texts, files and artifacts are gone; its chain is kept and still verifies"
    ));
    Ok(())
}

fn as_json(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "text": text}),
        Message::Assistant { text, calls, call_ids, .. } => {
            let calls: Vec<Value> =
                calls.iter().zip(call_ids).map(|(call, id)| call_json(call, id.as_str())).collect();
            json!({"role": "assistant", "text": text, "calls": calls})
        }
        Message::Results(results) => {
            let results: Vec<Value> = results
                .iter()
                .map(|result| {
                    json!({
                        "call_id": result.call_id, "tool_id": result.tool_id, "alias": result.alias,
                        "is_error": result.is_error, "content": result.content,
                    })
                })
                .collect();
            json!({"role": "tool", "results": results})
        }
    }
}

fn call_json(call: &RequestedCall, id: &str) -> Value {
    match call {
        RequestedCall::Call { name, arguments, .. } => {
            json!({"call_id": id, "alias": name, "arguments": arguments, "malformed": null})
        }
        RequestedCall::Malformed { name, reason, .. } => {
            json!({"call_id": id, "alias": name, "arguments": null, "malformed": reason})
        }
    }
}

fn as_text(message: &Message) -> String {
    match message {
        Message::User(text) => format!("> {}", text.trim_end().replace('\n', "\n> ")),
        Message::Assistant { text, calls, .. } => {
            let mut lines: Vec<String> = Vec::new();
            if !text.trim().is_empty() {
                lines.push(text.trim_end().to_owned());
            }
            lines.extend(calls.iter().map(|call| match call {
                RequestedCall::Call { name, arguments, .. } => {
                    call_line(name, Some(&Value::Object(arguments.clone())))
                }
                RequestedCall::Malformed { reason, .. } => {
                    format!("→ (a call that could not be read: {reason})")
                }
            }));
            lines.join("\n")
        }
        Message::Results(results) => {
            let lines = results.iter().map(|result| {
                let mark = if result.is_error { '✗' } else { '←' };
                format!("{mark} {}: {}", result.alias, result.content.trim_end())
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}
