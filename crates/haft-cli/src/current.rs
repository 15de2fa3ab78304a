//! Whether the rules are still those under which a person was asked: a yes counts only while they are.

use std::path::PathBuf;
use std::sync::Arc;

use haft_core::{CompiledTools, Digest};
use haft_engine::CurrentPolicy;

use crate::args::Globals;
use crate::output::Output;
use crate::platform;
use crate::profiles::LoadedProfile;
use crate::setup::Setup;
use crate::surroundings;

/// The files that say what holds, as they were when the profile was read.
pub(crate) struct RulesOnDisk {
    globals: Globals,
    output: Output,
    profile: String,
    version: Digest,
    /// What stood in each file; none where it was not there.
    files: Vec<(PathBuf, Option<Digest>)>,
}

impl RulesOnDisk {
    /// Those of `loaded`, whose tools are `tools`.
    pub(crate) fn of(
        setup: &Setup,
        profile: &str,
        loaded: &LoadedProfile,
        tools: &CompiledTools,
    ) -> Arc<Self> {
        let files = files_of(&loaded.chain, setup.home.configuration());
        Arc::new(Self {
            globals: setup.globals.clone(),
            output: setup.output,
            profile: profile.to_owned(),
            version: tools.policy_version(),
            files: files
                .into_iter()
                .map(|path| (path.clone(), text_digest(&path).unwrap_or_default()))
                .collect(),
        })
    }
}

/// The files that rules and permissions come from: the profile with what it extends, the configuration of the home, and the
/// administrator's rules.
fn files_of(chain: &[String], configuration: PathBuf) -> Vec<PathBuf> {
    // Presets are part of the program; their names are no absolute paths.
    let profiles = chain.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    profiles.chain([configuration]).chain(platform::PLACE.map(PathBuf::from)).collect()
}

fn text_digest(path: &std::path::Path) -> Result<Option<Digest>, String> {
    Ok(surroundings::text_if_there(path)?.map(|text| Digest::of(text.as_bytes())))
}

impl CurrentPolicy for RulesOnDisk {
    fn version(&self) -> Result<Digest, String> {
        let is_same = |(path, before): &(PathBuf, Option<Digest>)| {
            text_digest(path).map(|now| now == *before).map_err(|why| format!("{}: {why}", path.display()))
        };
        for file in &self.files {
            if !is_same(file)? {
                // Something was written: all of it is read again, and what it says counts.
                return self.read_again();
            }
        }
        Ok(self.version)
    }
}

impl RulesOnDisk {
    fn read_again(&self) -> Result<Digest, String> {
        let read = || {
            let setup = Setup::load(self.globals.clone(), self.output)?;
            let (_, loaded) = setup.profile(Some(&self.profile))?;
            setup.compile(&loaded)
        };
        read().map(|tools| tools.policy_version()).map_err(|failure: crate::exit::Failure| failure.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // POL-04: a change of the administrator's rules is seen while a question stands.
    #[test]
    fn the_administrators_rules_are_looked_at_again() {
        let chain = ["/home/x/profiles/a.md".to_owned(), "preset default".to_owned()];
        let files = files_of(&chain, PathBuf::from("/home/x/haft.toml"));
        let mut expected = vec![PathBuf::from("/home/x/profiles/a.md"), PathBuf::from("/home/x/haft.toml")];
        expected.extend(platform::PLACE.map(PathBuf::from));
        assert_eq!(files, expected);
    }
}
