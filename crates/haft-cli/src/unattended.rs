//! `unattended.allow` of a profile, made ready for use: paths as tools name them, and nothing that could never be used.

use haft_core::capability::{Capabilities, CapabilityError};
use haft_core::consent::ConsentEnvironment;
use haft_core::{CompiledTools, ProjectId, Scope};

use crate::compose::real;
use crate::exit::Failure;
use crate::profiles::LoadedProfile;

/// Makes paths absolute, with all links resolved. A relative one starts from the project's folder; without one it stays as it is
/// and covers nothing.
pub(crate) fn fix(capabilities: &mut Capabilities, project_folder: Option<&str>) -> Result<(), Failure> {
    for capability in &mut capabilities.0 {
        let (Scope::Path(path) | Scope::File(path)) = &mut capability.scope else { continue };
        if project_folder.is_some() || path.starts_with('/') {
            *path = real(path, project_folder)?;
        }
    }
    Ok(())
}

/// An error that names all that could never be used.
pub(crate) fn check(
    loaded: &LoadedProfile,
    tools: &CompiledTools,
    environment: &ConsentEnvironment,
) -> Result<(), Failure> {
    // Where there is no project, what tools would offer in one is what counts.
    let environment = ConsentEnvironment {
        project: environment.project.clone().or_else(|| Some(ProjectId::from("any"))),
        project_folder: environment.project_folder.clone().or_else(|| Some("/".to_owned())),
        ..environment.clone()
    };
    let problems = loaded.profile.unattended.check(tools, &environment);
    if problems.is_empty() {
        return Ok(());
    }
    let place = loaded.chain.first().map_or("", String::as_str);
    let texts: Vec<String> = problems.iter().map(CapabilityError::to_string).collect();
    Err(Failure::usage(format!("{place}: `unattended.allow`: {}", texts.join("; ")))
        .hint("`haft policy questions` says which questions would come, and what would cover them."))
}
