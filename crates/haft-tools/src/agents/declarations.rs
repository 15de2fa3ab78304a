//! What the tools of this family say of themselves. They speak from the view of the agent that calls (DES-07).

use haft_core::facts::{Injection, InjectionSource, Placement};
use haft_core::{Effect, ToolDeclaration, ToolId};
use haft_schema::SchemaError;
use serde_json::{Value, json};

use super::Step;

/// Longest brief, in characters.
const BRIEF: u64 = 8_000;

pub(super) fn all() -> Result<Vec<(Step, ToolDeclaration)>, SchemaError> {
    Ok(vec![
        (Step::Call, call()?),
        (Step::Multi, multi()?),
        (Step::List, list()?),
        (Step::Delegate, delegate()?),
        (Step::Handoff, handoff()?),
        (Step::Await, wait()?),
        (Step::Return, give_back()?),
    ])
}

fn declare(
    id: &str,
    alias: Option<&str>,
    description: &str,
    properties: &Value,
    required: &[&str],
    effect: Effect,
) -> Result<ToolDeclaration, SchemaError> {
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    let declaration = ToolDeclaration::new(ToolId::builtin(id), description, schema, effect)?;
    Ok(declaration.with_facts(|facts| {
        facts.category = "agent".to_owned();
        facts.alias = alias.map(str::to_owned);
    }))
}

fn call() -> Result<ToolDeclaration, SchemaError> {
    let declaration = declare(
        "agent.call",
        Some("call_subagent"),
        "Let another agent work on something and wait for its answer, which is the result of this call. It sees nothing of this \
         conversation, so put all that it needs into the instruction. At most one agent in an answer; it runs after your other \
         calls.",
        &json!({
            "agent_name": {"type": "string", "description": "The name of the agent"},
            "instruction": {"type": "string", "description": "What it shall do, and in which form you want the answer"},
        }),
        &["agent_name", "instruction"],
        Effect::Control,
    )?;
    Ok(declaration.with_facts(|facts| {
        facts.placement = Placement::DeferLast;
        facts.example = object(json!({
            "agent_name": "researcher", "instruction": "Find out when the bridge was built. Answer in one sentence.",
        }));
    }))
}

fn multi() -> Result<ToolDeclaration, SchemaError> {
    let task = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A short name of the task"},
            "instruction": {"type": "string", "description": "What to do, with all that is needed for it"},
            "tools": {
                "type": "array", "items": {"type": "string"},
                "description": "Names of the tools that may be used; all of yours if left out",
            },
        },
        "required": ["name", "instruction"],
        "additionalProperties": false,
    });
    let declaration = declare(
        "agent.multi",
        Some("multi_agent"),
        "Let up to five agents work side by side, each on one task, and wait for all their answers. Use it for parts that do not \
         need each other. An agent sees nothing of this conversation and has only a few turns, so keep each task small and say \
         all that it needs.",
        &json!({
            "tasks": {
                "type": "array", "items": task, "minItems": 1, "maxItems": 5, "description": "The tasks",
            },
        }),
        &["tasks"],
        Effect::Control,
    )?;
    Ok(declaration.with_facts(|facts| {
        facts.injections = vec![
            Injection { parameter: "_model".to_owned(), source: InjectionSource::Model },
            Injection { parameter: "_project_id".to_owned(), source: InjectionSource::ProjectId },
        ];
        facts.example = object(json!({"tasks": [
            {"name": "sum", "instruction": "Add 12 and 30."}, {"name": "product", "instruction": "Multiply 6 by 7."},
        ]}));
    }))
}

fn list() -> Result<ToolDeclaration, SchemaError> {
    declare(
        "agent.list",
        None,
        "List the agents that you can give work to, or that can take over.",
        &json!({
            "purpose": {
                "type": "string", "enum": ["any", "delegate", "handoff"], "default": "any",
                "description": "delegate: they can be given tasks; handoff: they can take over",
            },
            "query": {"type": "string", "description": "Words that name or description must hold"},
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 20, "default": 8, "description": "Most agents to list",
            },
        }),
        &[],
        Effect::Read,
    )
}

fn delegate() -> Result<ToolDeclaration, SchemaError> {
    let declaration = declare(
        "agent.delegate",
        None,
        "Give another agent a task to work on in the background while you go on. Say in the task which workspace paths it should \
         read and which file or answer you expect, and how far it should go. It sees nothing of this conversation. Its result \
         comes to you when it is done.",
        &json!({
            "agentId": {"type": "string", "description": "The name of the agent"},
            "task": {
                "type": "string", "maxLength": BRIEF,
                "description": "The task: goal, relevant workspace paths, the artifact or answer that you expect",
            },
        }),
        &["agentId", "task"],
        Effect::WriteControl,
    )?;
    Ok(declaration.with_facts(|facts| {
        facts.example = object(json!({
            "agentId": "editor",
            "task": "Read output/main.md and write the three weakest sentences with a better form into summaries/style.md.",
        }));
    }))
}

fn handoff() -> Result<ToolDeclaration, SchemaError> {
    let declaration = declare(
        "agent.handoff",
        None,
        "Let another agent take over this run and finish it; you do nothing more in it. The brief should name the objective, the \
         relevant workspace paths, the context that it needs, constraints, and when the work counts as complete. It must be the \
         last call of your answer, and all tasks that you gave must be done.",
        &json!({
            "agentId": {"type": "string", "description": "The name of the agent"},
            "brief": {
                "type": "string", "maxLength": BRIEF,
                "description": "Objective, workspace paths, context, constraints, completion criteria",
            },
        }),
        &["agentId", "brief"],
        Effect::WriteControl,
    )?;
    Ok(declaration.with_facts(|facts| {
        facts.placement = Placement::MustBeLast;
        facts.example = object(json!({
            "agentId": "editor",
            "brief": "Objective: finish the chapter. The draft is output/main.md, the outline plan/outline.md. Keep the tone. \
                Complete when the chapter is committed.",
        }));
    }))
}

fn wait() -> Result<ToolDeclaration, SchemaError> {
    declare(
        "agent.await",
        None,
        "Wait for tasks that you gave to other agents, and read their results.",
        &json!({
            "taskIds": {
                "type": "array", "items": {"type": "string"}, "description": "Which tasks; all of yours if left out",
            },
            "timeoutSeconds": {
                "type": "integer", "minimum": 0, "maximum": 300, "default": 120,
                "description": "Longest wait; 0 only looks how far they are",
            },
        }),
        &[],
        Effect::Control,
    )
}

fn give_back() -> Result<ToolDeclaration, SchemaError> {
    let declaration = declare(
        "task.return",
        None,
        "Return the result of your task to the agent that gave it, and end your work. Only what you return is read. It must be \
         the last call of your answer.",
        &json!({
            "result": {"type": "string", "description": "The result, or why there is none"},
            "status": {
                "type": "string", "enum": ["completed", "failed"], "default": "completed",
                "description": "failed: the task could not be done",
            },
            "files": {
                "type": "array", "items": {"type": "string"},
                "description": "Workspace paths that belong to the result",
            },
        }),
        &["result"],
        Effect::Control,
    )?;
    Ok(declaration.with_facts(|facts| {
        facts.placement = Placement::MustBeLast;
        facts.example =
            object(json!({"result": "The chapter has three weak sentences; see summaries/style.md."}));
    }))
}

fn object(value: Value) -> Option<serde_json::Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}
