//! The file tools of a project (FIL-01 to FIL-03, FIL-07 to FIL-10): reading, writing, editing, listing inside one folder
//! that the user named.
//!
//! Every access goes through a [`cap_std::fs::Dir`] that the port [`ProjectFolders`] hands out; no path of the machine is
//! ever opened here. Paths are judged twice: by their text in `path`, so that consent and execution speak of the same
//! place, and by the folder handle, which follows no link out of it. What changes files follows no link at all.

mod delete;
mod edit;
mod encoding;
mod exists;
mod folder;
mod list;
mod mkdir;
mod path;
mod ports;
mod read;
mod reads;
pub(crate) mod swap;
mod write;

use std::sync::Arc;

use cap_std::fs::Dir;
use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::{Injection, InjectionSource, ToolFacts};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::result::{Change, FileChange};
use haft_core::{Digest, ErrorCode, Scope, StartedCall, Tool, ToolContext, ToolError, ToolOutput};
use haft_schema::SchemaError;

pub use ports::{BeforeImages, ProjectError, ProjectFolders};

use path::ProjectPath;
use swap::Seen;

/// The family: read, write, edit, delete, list, exists, mkdir.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    let reads = Arc::new(reads::ProjectReads::default());
    Ok(vec![
        Arc::new(read::FileRead::new(reads.clone())?),
        Arc::new(write::FileWrite::new(reads.clone())?),
        Arc::new(edit::FileEdit::new(reads)?),
        Arc::new(delete::FileDelete::new()?),
        Arc::new(list::FileList::new()?),
        Arc::new(exists::FileExists::new()?),
        Arc::new(mkdir::FileMkdir::new()?),
    ])
}

/// `1 byte`, `2 bytes`.
fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The name of the parameter that the host fills (FIL-01, CTX-02).
const PROJECT_ID: &str = "project_id";

/// The facts that all tools of the family share.
fn family(facts: &mut ToolFacts, alias: &str) {
    facts.alias = Some(alias.to_owned());
    facts.category = "file".to_owned();
    facts.injections =
        vec![Injection { parameter: PROJECT_ID.to_owned(), source: InjectionSource::ProjectId }];
}

/// One call in one project: opened and its path judged, or the reason why not (FIL-02, FIL-03).
struct Place {
    project: String,
    dir: Dir,
    path: ProjectPath,
    /// The file is a secret, and was asked for as one.
    is_secret: bool,
}

impl Place {
    /// The place that `path` means. The order of the complaints is the source's: no project, unknown project, path.
    async fn open(call: &StartedCall, context: &dyn ToolContext, path: &str) -> Result<Self, ToolError> {
        let project = call.arguments().text(PROJECT_ID).filter(|id| !id.is_empty()).ok_or_else(|| {
            let code = ErrorCode::new("project.required");
            ToolError::new(code, "project_id is required for file operations")
        })?;
        let folders = context.services().get::<dyn ProjectFolders>().cloned().ok_or_else(|| {
            let code = ErrorCode::new("project.unavailable");
            ToolError::new(code, "This host has no project folders. Work without files.")
        })?;
        let project = project.to_owned();
        let (dir, project) =
            blocking(move || Ok((folders.open(&project).map_err(|error| error.to_tool_error())?, project)))
                .await?;
        Ok(Self { project, dir, path: ProjectPath::parse(path)?, is_secret: call.is_secret() })
    }

    /// What the file holds now, with the place itself; none if there is no file.
    async fn before(self) -> Result<(Self, Option<Seen>), ToolError> {
        blocking(move || {
            let seen = folder::before(&self.dir, &self.path)?;
            Ok((self, seen))
        })
        .await
    }

    /// Keeps what a file held before it is changed, unless it is a secret. Without a place to keep it, nothing is changed.
    async fn keep(
        &self,
        context: &dyn ToolContext,
        before: Option<&Seen>,
    ) -> Result<Option<Digest>, ToolError> {
        let Some(seen) = before.filter(|_| !self.is_secret) else { return Ok(None) };
        let images = context.services().get::<dyn BeforeImages>().ok_or_else(|| {
            ToolError::new(
                ErrorCode::new("project.unavailable"),
                format!("`{}` was not changed: this host cannot keep what it held before.", self.path),
            )
        })?;
        images.keep(&seen.bytes).await.map(Some)
    }

    /// The name of the file among all that a session knows.
    fn name(&self) -> String {
        format!("project:{}/{}", self.project, self.path)
    }

    /// Adds the change that the journal tells; that of a secret has no digest, by which anybody could try out what it might be.
    fn changed(&self, output: ToolOutput, before: Option<Digest>, after: Option<Digest>) -> ToolOutput {
        if self.is_secret {
            return output;
        }
        let root = format!("project:{}", self.project);
        output.with_change(Change::File(FileChange { root, path: self.path.to_string(), before, after }))
    }
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

/// What a call that looks at one file touches.
fn reads(arguments: &PreparedArguments) -> Touches {
    match named(arguments) {
        Some((project, path)) => {
            Touches::Resources { reads: vec![format!("project:{project}/{path}")], writes: Vec::new() }
        }
        None => Touches::Everything,
    }
}

/// What a call that changes one file touches. Whoever reads a folder above it is met too: resources meet by their paths.
fn writes(arguments: &PreparedArguments) -> Touches {
    match named(arguments) {
        Some((project, path)) => {
            Touches::Resources { reads: Vec::new(), writes: vec![format!("project:{project}/{path}")] }
        }
        None => Touches::Everything,
    }
}

fn named(arguments: &PreparedArguments) -> Option<(&str, ProjectPath)> {
    Some((arguments.text(PROJECT_ID)?, ProjectPath::parse(arguments.text("path")?).ok()?))
}

/// What a change means to a person, and what a yes to it could cover. `secret` names the arguments that are secrets where the file
/// is one. A path that leaves the project is refused when the call runs; no grant of a place covers it.
fn change(
    meaning: String,
    arguments: &PreparedArguments,
    environment: &ConsentEnvironment,
    remembered: Remembered,
    secret: &[&str],
) -> Ask {
    let Some(path) = path_of(arguments) else {
        return Ask { meaning: Some(meaning), scopes: vec![Scope::Tool], ..Ask::default() };
    };
    let folder = Scope::Path(absolute(&path.parent().unwrap_or_else(ProjectPath::root), environment));
    let file = Scope::File(absolute(&path, environment));
    let scopes = match remembered {
        Remembered::File => vec![file, folder, Scope::Tool],
        // The file comes after its folder, so that `--allow file_write=file:F` is enough for F.
        Remembered::Folder => vec![folder, file, Scope::Tool],
        Remembered::NewFolder => vec![Scope::Path(absolute(&path, environment)), folder, Scope::Tool],
    };
    match Guarded::of(&path, environment) {
        Guarded::Not => Ask { meaning: Some(meaning), scopes, ..Ask::default() },
        Guarded::Home => Ask { question: Some(meaning), scopes, every_time: true, ..Ask::default() },
        Guarded::Secret => Ask {
            question: Some(format!("{meaning} It is a secret, and what it held before is not kept.")),
            scopes,
            every_time: true,
            secret: true,
            secret_arguments: secret.iter().map(|name| (*name).to_owned()).collect(),
            ..Ask::default()
        },
    }
}

/// The question of a call that reads a file, where the file is a secret: only a yes to that very file covers it (APR-14).
fn look(arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Ask {
    let Some(path) = path_of(arguments) else { return Ask::default() };
    match Guarded::of(&path, environment) {
        Guarded::Not | Guarded::Home => Ask::default(),
        Guarded::Secret => Ask {
            question: Some(format!("Read the secret `{path}` of the project and show it to the model?")),
            scopes: vec![Scope::File(absolute(&path, environment))],
            exact: true,
            secret: true,
            ..Ask::default()
        },
    }
}

fn path_of(arguments: &PreparedArguments) -> Option<ProjectPath> {
    ProjectPath::parse(arguments.text("path")?).ok()
}

/// The path from the root of the machine, where the project's folder is known.
fn absolute(path: &ProjectPath, environment: &ConsentEnvironment) -> String {
    match &environment.project_folder {
        Some(folder) if path.is_root() => folder.clone(),
        Some(folder) => format!("{}/{path}", folder.trim_end_matches('/')),
        None => path.to_string(),
    }
}

/// Places of a project that no yes to more than a single call or file reaches.
enum Guarded {
    Not,
    /// Haft's own home, which the project lies around: its configuration, profiles, store.
    Home,
    /// A folder of secrets: one of that name, or that of Haft's home.
    Secret,
}

impl Guarded {
    fn of(path: &ProjectPath, environment: &ConsentEnvironment) -> Self {
        let place = Scope::Path(absolute(path, environment));
        let lies_in = |folder: &String| Scope::Path(folder.clone()).covers(&place);
        let places = environment.host.as_ref();
        if path.is_secret() || places.is_some_and(|places| lies_in(&places.secrets_folder)) {
            Self::Secret
        } else if places.is_some_and(|places| lies_in(&places.haft_home)) {
            Self::Home
        } else {
            Self::Not
        }
    }
}

/// What a yes for longer than one call covers unless the person chooses otherwise: the first scope offered.
#[derive(Clone, Copy)]
enum Remembered {
    /// The file itself.
    File,
    /// The folder that the file is in.
    Folder,
    /// The folder that is made.
    NewFolder,
}
