//! Tools that do nothing and tell all: what reached them stands in a log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::{Effect, Permission, ToolFacts};
use haft_core::path::{PreparedArguments, StartedCall};
use haft_core::ports::{BoxFuture, Touches};
use haft_core::{Scope, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput};
use serde_json::{Value, json};

/// Calls that reached a tool, each as its alias and its arguments.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

type Asks = fn(&PreparedArguments) -> Result<Ask, ToolError>;

struct Recording {
    declaration: ToolDeclaration,
    asks: Asks,
    log: Log,
    /// What a call gives, by the text of its first argument.
    output: Arc<BTreeMap<String, String>>,
}

impl Tool for Recording {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, _: &ConsentEnvironment) -> Result<Ask, ToolError> {
        (self.asks)(arguments)
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        let cell = vec![format!("cell:{}", arguments.text("cell").unwrap_or(""))];
        match (arguments.text("cell"), self.declaration.facts.effect.writes()) {
            (None, _) => Touches::Everything,
            (Some(_), false) => Touches::Resources { reads: cell, writes: vec![] },
            (Some(_), true) => Touches::Resources { reads: vec![], writes: cell },
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = call.arguments().value();
            self.log.lock().unwrap().push(format!("{} {arguments}", call.alias()));
            let first = arguments.as_object().and_then(|map| map.values().find_map(Value::as_str));
            let given = first.and_then(|first| self.output.get(first)).cloned();
            Ok(given.unwrap_or_else(|| "done".to_owned()).into())
        })
    }
}

/// A yes to a page is one to its host, read as a browser reads it.
fn host_of(arguments: &PreparedArguments) -> Result<Ask, ToolError> {
    let address = arguments.text("url").unwrap_or("");
    let url = url::Url::parse(address).map_err(|error| ToolError::failed(error.to_string()))?;
    let host = url.host_str().unwrap_or("").to_owned();
    Ok(Ask { scopes: vec![Scope::Host(host)], ..Ask::default() })
}

fn pays(_: &PreparedArguments) -> Result<Ask, ToolError> {
    Ok(Ask { question: Some("Pay?".into()), every_time: true, ..Ask::default() })
}

/// Crashes, without a word to whoever runs the tests.
fn dies(_: &PreparedArguments) -> Result<Ask, ToolError> {
    std::panic::resume_unwind(Box::new("a tool that crashes when asked"))
}

fn nothing(_: &PreparedArguments) -> Result<Ask, ToolError> {
    Ok(Ask::default())
}

/// All of them.
pub(crate) fn all(log: &Log, output: &BTreeMap<String, String>) -> Vec<Arc<dyn Tool>> {
    let one = |id: &str, parameter: &str, effect: Effect, asks: Asks, facts: &dyn Fn(&mut ToolFacts)| {
        let schema = json!({
            "type": "object",
            "properties": {parameter: {"type": "string"}, "note": {"type": "string"}},
            "required": [parameter],
        });
        let id: ToolId = id.parse().unwrap();
        let mut declaration =
            ToolDeclaration::new(id, format!("Records {parameter}."), schema, effect).unwrap();
        facts(&mut declaration.facts);
        let (log, output) = (log.clone(), Arc::new(output.clone()));
        Arc::new(Recording { declaration, asks, log, output }) as Arc<dyn Tool>
    };
    let server = "mcp/018f0c5e-0000-7000-8000-000000000001";
    vec![
        one("builtin:shell.run", "command", Effect::Write, nothing, &|facts| {
            facts.alias = Some("shell".into());
            (facts.command, facts.permission) = (Some("command".into()), Permission::Ask);
        }),
        // A tool that takes a command line and does not say so.
        one("ext/old:run", "command", Effect::Write, nothing, &|facts| facts.permission = Permission::Ask),
        one("builtin:web.fetch", "url", Effect::Read, host_of, &|facts| {
            (facts.open_world, facts.permission) = (true, Permission::Ask);
        }),
        one("builtin:web.search", "query", Effect::Read, nothing, &|facts| {
            (facts.open_world, facts.plain_search) = (true, true);
        }),
        one("builtin:mail.send", "to", Effect::Write, nothing, &|facts| {
            (facts.open_world, facts.outside) = (true, Some(false));
        }),
        one("builtin:mail.read", "cell", Effect::Read, nothing, &|facts| facts.outside = Some(true)),
        one("builtin:cell.read", "cell", Effect::Read, nothing, &|_| {}),
        one("builtin:cell.read_private", "cell", Effect::Read, nothing, &|facts| {
            facts.permission = Permission::Ask;
        }),
        one("builtin:cell.write", "cell", Effect::Write, nothing, &|facts| {
            facts.permission = Permission::Ask;
        }),
        one("builtin:money.pay", "to", Effect::Write, pays, &|facts| {
            facts.permission = Permission::Ask;
        }),
        one("builtin:broken.ask", "text", Effect::Read, |_| Err(ToolError::failed("no idea")), &|_| {}),
        one("builtin:broken.crash", "text", Effect::Read, dies, &|_| {}),
        one(&format!("{server}:cell.read"), "cell", Effect::Read, nothing, &|facts| {
            facts.alias = Some("server_cell_read".into());
            (facts.permission, facts.outside) = (Permission::Ask, Some(true));
        }),
        one(&format!("{server}:delete_all"), "path", Effect::Write, nothing, &|facts| {
            facts.permission = Permission::Ask;
        }),
    ]
}
