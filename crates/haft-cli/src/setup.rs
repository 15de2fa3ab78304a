//! What most commands start from: the home, its configuration, the tools, and the profile that holds.
//!
//! It opens no store: whoever needs the session's profile hands it in.

use haft_core::snapshot::{CompiledTools, compile};
use haft_core::{InvocationId, ToolRegistry};
use indexmap::IndexMap;

use crate::args::Globals;
use crate::config::{self, LoadedConfig};
use crate::document::FileError;
use crate::exit::Failure;
use crate::home::Home;
use crate::output::Output;
use crate::profiles::{self, LoadedProfile, ProfileError, ProfileName};
use crate::{platform, rules, toolset};

/// Home, configuration and tools of this start.
pub(crate) struct Setup {
    /// The global options.
    pub(crate) globals: Globals,
    /// Where to write.
    pub(crate) output: Output,
    /// The home.
    pub(crate) home: Home,
    /// Its `haft.toml`.
    pub(crate) loaded: LoadedConfig,
    /// All tools.
    pub(crate) registry: ToolRegistry,
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::usage(error)
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::Unknown { .. } => {
                Self::usage(error).hint("`haft profile list` shows all profiles.")
            }
            ProfileError::File(error) => error.into(),
        }
    }
}

impl Setup {
    /// Reads the configuration and collects the tools.
    pub(crate) fn load(globals: Globals, output: Output) -> Result<Self, Failure> {
        let home = Home::find(globals.home.as_deref())?;
        let mut loaded = config::load(&home)?;
        let registry = toolset::registry(loaded.config.allow_override)?;
        let file = home.configuration().display().to_string();
        rules::check(&file, &loaded.config.rules, &registry, &IndexMap::new())?;
        rules::check_sources(&file, &loaded.config.source_rules)?;
        loaded.config.platform = platform::load(platform::PLACE, &registry)?;
        Ok(Self { globals, output, home, loaded, registry })
    }

    /// The profile that holds: `--profile`, else the session's, else `default_profile`, else `default`.
    pub(crate) fn profile(&self, of_session: Option<&str>) -> Result<(ProfileName, LoadedProfile), Failure> {
        let name = match self.globals.profile.as_deref().or(of_session) {
            Some(name) => ProfileName::new(name)?,
            None => {
                let name = self.loaded.config.default_profile.as_deref().unwrap_or("default");
                ProfileName::from_home(name, &self.home)
            }
        };
        let loaded = profiles::load(&name, &self.home, &self.loaded.config, &self.registry)?;
        Ok((name, loaded))
    }

    /// The tools of a profile, frozen as a root invocation would have them (SNP-12).
    pub(crate) fn compile(&self, loaded: &LoadedProfile) -> Result<CompiledTools, Failure> {
        compile(InvocationId::new("i_preview"), &loaded.profile, &self.registry).map_err(|error| {
            let place = loaded.chain.first().map_or("", String::as_str);
            Failure::usage(format!("{place}: {error}"))
        })
    }
}
