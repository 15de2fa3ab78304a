//! D's file tools for the whole machine (FIL-04 to FIL-06): reading, writing and listing by absolute path.
//!
//! They are fenced by questions, not by a folder: writing asks outside of temporary folders (APR-13), reading asks for each
//! file of the secrets folder (APR-14). Questions are put by the text of a path, so every call walks from the root without
//! following a link: what a person agreed to by its path is what is opened, whatever links do meanwhile. Nothing here opens a
//! path by itself; the root comes from the port [`HostFiles`].

mod folder;
mod list;
mod path;
mod ports;
mod read;
mod write;

use std::sync::Arc;

use haft_core::consent::{Ask, ConsentEnvironment, HostPlaces};
use haft_core::facts::ToolFacts;
use haft_core::path::PreparedArguments;
use haft_core::{ErrorCode, Scope, Tool, ToolContext, ToolError};
use haft_schema::SchemaError;

pub use ports::HostFiles;

use path::{HostPath, PathError};

/// The family: read, write, list.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    Ok(vec![
        Arc::new(read::FileRead::new()?),
        Arc::new(write::FileWrite::new()?),
        Arc::new(list::FileList::new()?),
    ])
}

/// The facts that all tools of the family share. The aliases are those of the project's tools too: a profile that allows both
/// families renames one (CONFLICT-09).
fn family(facts: &mut ToolFacts, alias: &str) {
    facts.alias = Some(alias.to_owned());
    facts.category = "file".to_owned();
}

/// `1 byte`, `2 bytes`.
fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The places and the path that a question is about; no path if the text is none, which the call itself complains about.
///
/// Without places nobody can say what a path means, so the call is refused.
fn asked<'a>(
    arguments: &PreparedArguments,
    environment: &'a ConsentEnvironment,
) -> Result<(&'a HostPlaces, Option<HostPath>), ToolError> {
    let places = environment.host.as_ref().ok_or_else(no_host)?;
    match HostPath::parse(arguments.text("path").unwrap_or_default(), places) {
        Ok(path) => Ok((places, Some(path))),
        Err(error @ PathError::NoHome) => Err(error.to_tool_error()),
        Err(
            PathError::Empty
            | PathError::Control
            | PathError::TooLong
            | PathError::Relative(_)
            | PathError::OtherHome,
        ) => Ok((places, None)),
    }
}

/// The question of a call that only looks, for a profile in which looking asks: for the thing itself or the folder around it.
fn looks(what: &str, path: &HostPath, itself: Scope) -> Ask {
    let folder = path.folder().map(|folder| Scope::Path(folder.to_string()));
    let scopes = [itself].into_iter().chain(folder).collect();
    Ask { meaning: Some(format!("{what} `{path}` of this machine?")), scopes, ..Ask::default() }
}

/// The port, or the reason why there are no files.
fn host(context: &dyn ToolContext) -> Result<Arc<dyn HostFiles>, ToolError> {
    context.services().get::<dyn HostFiles>().cloned().ok_or_else(no_host)
}

fn no_host() -> ToolError {
    let message = "The files of this machine are not open to tools here. Work without them.";
    ToolError::new(ErrorCode::new("host.unavailable"), message)
}

/// Runs file work where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.unwrap_or_else(|error| {
            Err(ToolError::failed("The file work broke off.").with_detail(error.to_string()))
        }),
        Err(_) => work(),
    }
}
