//! Working with other agents: calling one, several at once, or in the background, handing a run over, and returning a result (DEL).
//!
//! The tools check their arguments and write what the model reads. Who may call whom and what becomes of the work is told by the
//! port [`Delegation`]; where nobody gives it, there is no run whose agents could work.

mod declarations;

use std::sync::Arc;

use haft_core::agents::{AgentCard, Delegation, MultiTask, TaskReturn, TaskView};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, ErrorCode, StartedCall, TaskId, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::arguments;

/// The family: call, multi, list, delegate, handoff, await, and `task.return`.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    let tools = declarations::all()?.into_iter();
    Ok(tools.map(|(step, declaration)| Arc::new(AgentTool { step, declaration }) as Arc<dyn Tool>).collect())
}

/// What a tool of the family does.
#[derive(Debug, Clone, Copy)]
enum Step {
    Call,
    Multi,
    List,
    Delegate,
    Handoff,
    Await,
    Return,
}

struct AgentTool {
    step: Step,
    declaration: ToolDeclaration,
}

impl Tool for AgentTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    /// Nothing: what agents do, their own calls touch.
    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let agents = context.services().get::<dyn Delegation>().ok_or_else(|| {
                let text = "There are no agents here: this is a single call and no run.";
                ToolError::new(ErrorCode::NOT_IN_LOOP, text)
            })?;
            let agents = agents.as_ref();
            match self.step {
                Step::Call => call_one(agents, call, context).await,
                Step::Multi => call_several(agents, call, context).await,
                Step::List => list(agents, call),
                Step::Delegate => delegate(agents, call, context).await,
                Step::Handoff => hand_over(agents, call),
                Step::Await => wait(agents, call, context).await,
                Step::Return => give_back(agents, call),
            }
        })
    }
}

#[derive(Deserialize)]
struct CallArguments<'a> {
    agent_name: &'a str,
    instruction: &'a str,
}

async fn call_one(
    agents: &dyn Delegation,
    call: &StartedCall,
    context: &dyn ToolContext,
) -> Result<ToolOutput, ToolError> {
    let wanted: CallArguments<'_> = arguments(call)?;
    let text = agents.call(call, wanted.agent_name, wanted.instruction, context.cancel()).await?;
    Ok(ToolOutput::of_text(text).with_metadata("agent", json!(wanted.agent_name)))
}

#[derive(Deserialize)]
struct MultiArguments {
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    name: String,
    instruction: String,
    tools: Option<Vec<String>>,
}

async fn call_several(
    agents: &dyn Delegation,
    call: &StartedCall,
    context: &dyn ToolContext,
) -> Result<ToolOutput, ToolError> {
    let wanted: MultiArguments = arguments(call)?;
    let names: Vec<String> = wanted.tasks.iter().map(|task| task.name.clone()).collect();
    let tasks = wanted.tasks.into_iter();
    let tasks = tasks.map(|Task { name, instruction, tools }| MultiTask { name, instruction, tools });
    let ends = agents.multi(call, tasks.collect(), context.cancel()).await?;
    let results: Vec<Value> = names.iter().zip(&ends).map(|(name, end)| result_of(name, end)).collect();
    // B's form (DEL-05).
    let whole = json!({"success": true, "results": results, "total": results.len()});
    Ok(ToolOutput::of_value(whole))
}

fn result_of(name: &str, end: &Result<String, String>) -> Value {
    match end {
        Ok(response) => json!({"task_name": name, "success": true, "response": response}),
        Err(error) => json!({"task_name": name, "success": false, "error": error}),
    }
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Purpose {
    Any,
    Delegate,
    Handoff,
}

#[derive(Deserialize)]
struct ListArguments<'a> {
    purpose: Purpose,
    query: Option<&'a str>,
    limit: usize,
}

fn list(agents: &dyn Delegation, call: &StartedCall) -> Result<ToolOutput, ToolError> {
    let wanted: ListArguments<'_> = arguments(call)?;
    let query = wanted.query.map(str::to_lowercase).unwrap_or_default();
    let serves = |card: &AgentCard| match wanted.purpose {
        Purpose::Any => true,
        Purpose::Delegate => card.delegate,
        Purpose::Handoff => card.handoff,
    };
    let matches = |card: &AgentCard| {
        let text = format!("{} {}", card.id, card.description).to_lowercase();
        query.split_whitespace().all(|word| text.contains(word))
    };
    let found: Vec<AgentCard> =
        agents.list()?.into_iter().filter(|card| serves(card) && matches(card)).collect();
    let shown: Vec<&AgentCard> = found.iter().take(wanted.limit).collect();
    let mut text: String = shown.iter().map(|card| line_of(card)).collect::<Vec<_>>().join("\n");
    if shown.is_empty() {
        "No agent can be called for that. Do the work yourself.".clone_into(&mut text);
    } else if found.len() > shown.len() {
        text.push_str(&format!("\n({} more; give a query or a higher limit.)", found.len() - shown.len()));
    }
    let rows: Vec<Value> = shown.iter().map(|card| row_of(card)).collect();
    Ok(ToolOutput::of_text(text).with_structured(json!({"agents": rows, "total": found.len()})))
}

fn line_of(card: &AgentCard) -> String {
    let can = match (card.delegate, card.handoff) {
        (true, true) => "delegate, handoff",
        (false, true) => "handoff",
        (true | false, false) => "delegate",
    };
    format!("- `{}` ({can}): {}", card.id, card.description)
}

fn row_of(card: &AgentCard) -> Value {
    json!({
        "agentId": card.id, "description": card.description, "delegate": card.delegate, "handoff": card.handoff,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DelegateArguments<'a> {
    agent_id: &'a str,
    task: &'a str,
}

async fn delegate(
    agents: &dyn Delegation,
    call: &StartedCall,
    context: &dyn ToolContext,
) -> Result<ToolOutput, ToolError> {
    let wanted: DelegateArguments<'_> = arguments(call)?;
    let id = agents.delegate(call, wanted.agent_id, wanted.task).await?;
    let how = match context.alias_of(&ToolId::builtin("agent.await")) {
        Some(alias) => format!("`{alias}` waits for it; its result also comes to you by itself."),
        None => "Its result comes to you by itself.".to_owned(),
    };
    let text =
        format!("`{}` works on {id} in the background. Go on with your own work. {how}", wanted.agent_id);
    Ok(ToolOutput::of_text(text).with_structured(json!({"taskId": id, "agentId": wanted.agent_id})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HandoffArguments<'a> {
    agent_id: &'a str,
    brief: &'a str,
}

fn hand_over(agents: &dyn Delegation, call: &StartedCall) -> Result<ToolOutput, ToolError> {
    let wanted: HandoffArguments<'_> = arguments(call)?;
    agents.hand_over(call, wanted.agent_id, wanted.brief)?;
    Ok(ToolOutput::of_text(format!(
        "`{}` takes over from here. Your work in this run is over.",
        wanted.agent_id
    )))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AwaitArguments {
    #[serde(default)]
    task_ids: Vec<String>,
    timeout_seconds: u64,
}

async fn wait(
    agents: &dyn Delegation,
    call: &StartedCall,
    context: &dyn ToolContext,
) -> Result<ToolOutput, ToolError> {
    let wanted: AwaitArguments = arguments(call)?;
    let ids: Vec<TaskId> = wanted.task_ids.into_iter().map(TaskId::new).collect();
    let tasks = agents.wait(call, &ids, wanted.timeout_seconds, context.cancel()).await?;
    let mut text = tasks.iter().map(TaskView::capsule).collect::<Vec<_>>().join("\n\n");
    let open = tasks.iter().filter(|task| !task.state.is_terminal()).count();
    if tasks.is_empty() {
        "You have given no task.".clone_into(&mut text);
    } else if open > 0 {
        text.push_str(&format!(
            "\n\n({open} of {} not done yet. Their results come to you by themselves.)",
            tasks.len()
        ));
    }
    let rows: Vec<Value> = tasks.iter().map(task_row).collect();
    Ok(ToolOutput::of_text(text).with_structured(json!({"tasks": rows})))
}

fn task_row(task: &TaskView) -> Value {
    json!({
        "taskId": task.id, "agentId": task.agent, "status": task.state.as_str(), "result": task.text,
        "files": task.files, "givenBefore": task.given_before,
    })
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Status {
    Completed,
    Failed,
}

#[derive(Deserialize)]
struct ReturnArguments {
    result: String,
    status: Status,
    #[serde(default)]
    files: Vec<String>,
}

fn give_back(agents: &dyn Delegation, call: &StartedCall) -> Result<ToolOutput, ToolError> {
    let ReturnArguments { result, status, files } = arguments(call)?;
    agents.give_back(call, TaskReturn { result, failed: status == Status::Failed, files })?;
    Ok(ToolOutput::of_text("Returned. Your work is over."))
}
