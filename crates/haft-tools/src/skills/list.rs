//! `skill.list`: the index of the skills that the profile shows (SKL-01).

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{BoxFuture, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolOutput};
use haft_schema::SchemaError;
use serde_json::{Value, json};

use super::front::{self, Front};
use super::{access, all, folder, id};

/// As far as a `SKILL.md` is read for the index, in bytes.
const MAX_FRONT: u64 = 16 << 10;
/// Skills shown, at most.
const MAX_SHOWN: usize = 200;

pub(super) struct ListSkills {
    declaration: ToolDeclaration,
}

impl ListSkills {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let description = "List the skills that you can read: instructions for special work, each with a name and what it is for. \
            Look here when a task may have one, and read it before you begin.";
        let declaration = ToolDeclaration::new(id("list"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "skill".to_owned();
            facts.idempotent = true;
        });
        Ok(Self { declaration })
    }
}

impl Tool for ListSkills {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Resources { reads: vec!["skill".to_owned()], writes: Vec::new() }
    }

    fn call<'a>(
        &'a self,
        _call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(list(context))
    }
}

struct Row {
    name: String,
    front: Result<Front, &'static str>,
}

async fn list(context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let (root, policy) = (all(context).await?, access(context).policy().clone());
    let rows = folder::blocking(move || {
        let Some(root) = root else { return Ok(Vec::new()) };
        let names = folder::names(&root)?.into_iter().filter(|name| policy.shows(name));
        names
            .map(|name| {
                let skill = folder::enter(&root, &name)?;
                let front = match folder::beginning(&skill, MAX_FRONT) {
                    Some(text) => front::read(&text),
                    None => Err("it has no SKILL.md that can be read"),
                };
                Ok(Row { name, front })
            })
            .collect::<Result<Vec<Row>, ToolError>>()
    })
    .await?;
    if rows.is_empty() {
        return Ok(ToolOutput::of_text("There are no skills.").with_structured(json!({"skills": []})));
    }
    let mut lines: Vec<String> = rows.iter().take(MAX_SHOWN).map(said).collect();
    if let Some(more) = rows.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        lines.push(format!("[{more} more are not shown]"));
    }
    let skills: Vec<Value> = rows
        .iter()
        .map(|row| match &row.front {
            Ok(front) => json!({"name": row.name, "title": front.name, "description": front.description}),
            Err(problem) => json!({"name": row.name, "problem": problem}),
        })
        .collect();
    Ok(ToolOutput::of_text(lines.join("\n")).with_structured(json!({"skills": skills})))
}

fn said(row: &Row) -> String {
    match &row.front {
        Ok(Front { description: Some(description), .. }) => format!("- {}: {description}", row.name),
        Ok(_) => format!("- {}", row.name),
        Err(problem) => format!("- {} ({problem})", row.name),
    }
}
