//! `skill.read`: a text of a skill, whole or by lines, within the budget (SKL-03, SKL-04).

use haft_core::lines::{LineRange, ReadLimits, read_lines};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::skills::SkillAccess;
use haft_core::{
    BoxFuture, Effect, ErrorCode, ResultCap, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::folder::{self, Found};
use super::{MAIN_FILE, access, exhausted, id, open};
use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    name: &'a str,
    path: &'a str,
    start_line: Option<u64>,
    line_count: Option<u64>,
}

pub(super) struct ReadSkill {
    declaration: ToolDeclaration,
}

impl ReadSkill {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Name of the skill"},
                "path": {"type": "string", "description": "A file of the skill, such as references/forms.md", "default": MAIN_FILE},
                "start_line": {"type": "integer", "minimum": 1, "description": "First line to read, from 1; left out, from the beginning"},
                "line_count": {"type": "integer", "minimum": 1, "description": "Most lines to read; left out, as many as fit"},
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        let description = "Read a skill before you do the work that it is for: its SKILL.md, or another file that it names. Of a \
            long file you see the first lines and are told how to read on. Skills cannot be changed: copy what you want to \
            keep into files of your own.";
        let declaration = ToolDeclaration::new(id("read"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "skill".to_owned();
            facts.idempotent = true;
            facts.no_compress = true;
            // It has a budget of its own and pages by lines.
            facts.result_cap = ResultCap::Unlimited;
            facts.example = json!({"name": "ui-card"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for ReadSkill {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        let name = arguments.text("name").unwrap_or_default();
        Touches::Resources { reads: vec![format!("skill/{name}")], writes: Vec::new() }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(read(call, context))
    }
}

async fn read(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let access = access(context);
    let skill = open(context, &access, wanted.name).await?;
    let (name, path) = (wanted.name.to_owned(), folder::path(wanted.path)?);
    let (found, path) = folder::blocking(move || Ok((folder::read(&skill, &name, &path)?, path))).await?;
    match found {
        Found::Text(text) => within_budget(call.alias(), &wanted, &path, &text, &access),
        Found::Binary(bytes) => Err(ToolError::new(
            ErrorCode::new("skill.file_not_text"),
            format!("`{path}` of the skill `{}` is no text in UTF-8 ({bytes} bytes). Leave it.", wanted.name),
        )),
    }
}

fn within_budget(
    alias: &str,
    wanted: &Arguments<'_>,
    path: &str,
    text: &str,
    access: &SkillAccess,
) -> Result<ToolOutput, ToolError> {
    let granted = access.reserve();
    if granted == 0 && !text.is_empty() {
        return Err(exhausted(access));
    }
    let name = wanted.name;
    let range = LineRange { start_line: wanted.start_line, line_count: wanted.line_count };
    let view = match read_lines(text, range, ReadLimits::of_chars(granted)) {
        Ok(view) => view,
        Err(error) => {
            access.give_back(granted);
            let text = format!("Nothing of `{path}` of the skill `{name}` was read: {error}.");
            return Err(ToolError::new(ErrorCode::new("skill.invalid_range"), text));
        }
    };
    access.give_back(granted.saturating_sub(view.text().chars().count() as u64));
    let place = if path == MAIN_FILE { String::new() } else { format!(", path='{path}'") };
    let count = wanted.line_count.map(|count| format!(", line_count={count}")).unwrap_or_default();
    let shown = view.shown(|line| format!("{alias}(name='{name}'{place}, start_line={line}{count})"));
    let mut numbers = view.numbers();
    numbers.insert("name".to_owned(), json!(name));
    numbers.insert("path".to_owned(), json!(path));
    let mut output = ToolOutput::of_text(shown).with_structured(Value::Object(numbers));
    output.resource_refs.push(format!("skill:{name}/{path}"));
    Ok(output)
}
