//! Profiles as people write them: Markdown files with YAML front matter, and the presets that Haft brings.
//!
//! [`front`] reads one file, [`layers`] lays a file over what it extends, [`sources`] finds files and presets, and
//! [`mod@write`] writes a profile in the same form. The result is a plain [`Profile`].

mod delegation;
mod front;
mod layers;
mod limits;
mod running;
mod skills;
mod sources;
mod workspace;
mod write;

use haft_core::policy::Rule;
use haft_core::{Profile, ToolRegistry};

use crate::config::Config;
use crate::document::FileError;
use crate::home::Home;
use crate::rules;

pub(crate) use sources::{ProfileName, ProfileSource, all_names, find, own_names};
pub(crate) use write::as_file;

/// A profile, resolved.
#[derive(Debug, Clone)]
pub(crate) struct LoadedProfile {
    /// What it means.
    pub(crate) profile: Profile,
    /// Where it was read from, and what that extends, in this order.
    pub(crate) chain: Vec<String>,
}

/// Why a profile cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProfileError {
    /// Nobody knows it.
    #[error("there is no profile `{name}`; {}", others(.near, .all))]
    Unknown {
        /// The name.
        name: String,
        /// The nearest ones.
        near: Vec<String>,
        /// All that there are.
        all: Vec<String>,
    },
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

fn others(near: &[String], all: &[String]) -> String {
    if near.is_empty() {
        format!("there are {}", all.join(", "))
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}

/// Finds, reads and resolves the profile `name`; what it leaves open comes from `config`, else from the defaults.
pub(crate) fn load(
    name: &ProfileName,
    home: &Home,
    config: &Config,
    registry: &ToolRegistry,
) -> Result<LoadedProfile, ProfileError> {
    let source = find(name, home)?;
    load_source(source, home, config, registry)
}

/// As [`load`], for a source that was found already.
pub(crate) fn load_source(
    source: ProfileSource,
    home: &Home,
    config: &Config,
    registry: &ToolRegistry,
) -> Result<LoadedProfile, ProfileError> {
    let name = source.name.clone();
    let (layer, chain) = layers::read(source, home, registry)?;
    let profile = layer.into_profile(&name, config);
    // Each file's rules by themselves, with the aliases that hold in the end.
    for place in &chain {
        let of_file = |rule: &&Rule| rule.place.file == *place;
        let own: Vec<Rule> = profile.policy.profile.iter().filter(of_file).cloned().collect();
        rules::check(place, &own, registry, &profile.tools.alias)?;
    }
    Ok(LoadedProfile { profile, chain })
}
