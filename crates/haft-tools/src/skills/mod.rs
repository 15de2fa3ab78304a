//! The skills: folders with a `SKILL.md` and what belongs to it, which an agent reads when it needs them (SKL-01 to SKL-05).
//!
//! They lie in one folder that the port [`SkillFolders`] opens, and are only ever read: nothing here writes, and no link leads
//! out of a skill. What an invocation sees and how much it may read stands in its
//! [`SkillAccess`].

mod folder;
mod front;
mod list;
mod read;
mod search;

use std::sync::Arc;

use cap_std::fs::Dir;
use haft_core::nearest::nearest;
use haft_core::skills::SkillAccess;
use haft_core::{ErrorCode, Tool, ToolContext, ToolError, ToolId};
use haft_schema::SchemaError;

pub use folder::SkillFolders;

/// The file that every skill has.
const MAIN_FILE: &str = "SKILL.md";

/// The family: list, search, read.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    Ok(vec![
        Arc::new(list::ListSkills::new()?),
        Arc::new(search::SearchSkill::new()?),
        Arc::new(read::ReadSkill::new()?),
    ])
}

fn id(name: &str) -> ToolId {
    ToolId::builtin(&format!("skill.{name}"))
}

/// The folder of all skills; none if there is none yet.
async fn all(context: &dyn ToolContext) -> Result<Option<Dir>, ToolError> {
    let folders = context.services().get::<dyn SkillFolders>().cloned().ok_or_else(|| {
        ToolError::new(ErrorCode::new("skill.unavailable"), "This host has no skills. Work without them.")
    })?;
    folder::blocking(move || folders.open().map_err(|error| folder::broken("the folder of skills", &error)))
        .await
}

/// What the invocation may see and read.
fn access(context: &dyn ToolContext) -> Arc<SkillAccess> {
    // An embedding program that says nothing of skills gives the defaults, and a budget for each call.
    context
        .services()
        .get::<SkillAccess>()
        .cloned()
        .unwrap_or_else(|| Arc::new(SkillAccess::new(Default::default())))
}

/// The folder of a skill that the invocation sees, or an error that names those it sees.
async fn open(context: &dyn ToolContext, access: &SkillAccess, name: &str) -> Result<Dir, ToolError> {
    let root = all(context).await?;
    let (wanted, policy) = (name.to_owned(), access.policy().clone());
    let (found, names) = folder::blocking(move || {
        let Some(root) = root else { return Ok((None, Vec::new())) };
        let names = folder::names(&root)?;
        // A skill that is not visible is not told from one that is not there.
        let visible: Vec<String> = names.into_iter().filter(|name| policy.shows(name)).collect();
        let found = visible.contains(&wanted).then(|| folder::enter(&root, &wanted)).transpose()?;
        Ok((found, visible))
    })
    .await?;
    found.ok_or_else(|| {
        let near = nearest(name, names.iter().map(String::as_str), 3);
        let next = match (near.is_empty(), names.is_empty()) {
            (false, _) => format!("Did you mean {}?", near.join(", ")),
            (true, false) => {
                format!("There are: {}.", names.iter().take(20).cloned().collect::<Vec<_>>().join(", "))
            }
            (true, true) => "There are none.".to_owned(),
        };
        ToolError::new(ErrorCode::new("skill.not_found"), format!("There is no skill `{name}`. {next}"))
    })
}

/// The complaint about a budget that is used up (SKL-02, SKL-03).
fn exhausted(access: &SkillAccess) -> ToolError {
    ToolError::new(
        ErrorCode::new("skill.read_budget_exceeded"),
        format!(
            "You have read {} characters of skills, which is all that this run allows. Go on with what you know.",
            access.policy().max_read_chars_per_run
        ),
    )
}
