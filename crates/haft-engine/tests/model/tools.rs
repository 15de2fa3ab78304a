//! The tools of the model: they tell that they were reached, and do nothing.

use std::sync::{Arc, Mutex};

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::{Effect, Permission, ToolFacts};
use haft_core::path::{PreparedArguments, StartedCall};
use haft_core::ports::{BoxFuture, Touches};
use haft_core::{CallId, Scope, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput};
use serde_json::json;

/// The calls that reached a tool.
pub(crate) type Log = Arc<Mutex<Vec<CallId>>>;

struct Cell {
    declaration: ToolDeclaration,
    log: Log,
}

impl Tool for Cell {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, _: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let path = format!("/{}", arguments.text("cell").unwrap_or(""));
        let folder =
            path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let scopes = vec![Scope::File(path.clone()), Scope::Path(folder.to_owned()), Scope::Tool];
        let every_time = self.declaration.id().native_name() == "pay";
        Ok(Ask { scopes, every_time, ..Ask::default() })
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        let cell = vec![arguments.text("cell").unwrap_or("").to_owned()];
        match self.declaration.facts.effect.writes() {
            false => Touches::Resources { reads: cell, writes: vec![] },
            true => Touches::Resources { reads: vec![], writes: cell },
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.log.lock().unwrap().push(call.call_id().clone());
        Box::pin(std::future::ready(Ok("done".into())))
    }
}

pub(crate) fn all(log: &Log) -> Vec<Arc<dyn Tool>> {
    let one = |name: &str, effect: Effect, facts: fn(&mut ToolFacts)| {
        let schema =
            json!({"type": "object", "properties": {"cell": {"type": "string"}}, "required": ["cell"]});
        let declaration =
            ToolDeclaration::new(ToolId::builtin(name), format!("Tool {name}."), schema, effect);
        let declaration = declaration.unwrap().with_facts(facts);
        Arc::new(Cell { declaration, log: log.clone() }) as Arc<dyn Tool>
    };
    vec![
        one("read", Effect::Read, |_| {}),
        one("view", Effect::Read, |facts| facts.permission = Permission::Ask),
        one("write", Effect::Write, |facts| facts.permission = Permission::Ask),
        one("pay", Effect::Write, |facts| facts.permission = Permission::Ask),
        one("mail", Effect::Read, |facts| facts.outside = Some(true)),
        one("send", Effect::Write, |facts| (facts.open_world, facts.outside) = (true, Some(false))),
    ]
}
