//! The agents that a run of this binary may put to work: the profiles of the home, and the presets that ask before they change
//! anything. The others become agents by a profile of one's own that extends them.

use std::sync::{Arc, OnceLock};

use haft_core::Profile;
use haft_engine::{AgentModel, Agents};
use haft_store::SqliteStore;

use crate::args::Globals;
use crate::exit::Failure;
use crate::models;
use crate::output::Output;
use crate::prices;
use crate::profiles::{self, ProfileName, own_names};
use crate::setup::Setup;

/// The presets that may be called as agents.
const PRESETS: [&str; 3] = ["default", "artifactflow", "locked"];

/// The agents of a home. Profiles are read when an agent is looked for, so that one that cannot be read disturbs nobody else.
pub(crate) struct HomeAgents {
    globals: Globals,
    output: Output,
    store: Arc<SqliteStore>,
    setup: OnceLock<Result<Setup, String>>,
}

impl HomeAgents {
    /// Those of the home that the global options name.
    pub(crate) fn of(setup: &Setup, store: Arc<SqliteStore>) -> Arc<Self> {
        let (globals, output) = (setup.globals.clone(), setup.output);
        Arc::new(Self { globals, output, store, setup: OnceLock::new() })
    }

    fn setup(&self) -> Result<&Setup, String> {
        let load = || Setup::load(self.globals.clone(), self.output).map_err(in_words);
        self.setup.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

impl Agents for HomeAgents {
    fn names(&self) -> Vec<String> {
        let own = self.setup().ok().and_then(|setup| own_names(&setup.home).ok()).unwrap_or_default();
        let presets = PRESETS.iter().map(|name| (*name).to_owned()).filter(|name| !own.contains(name));
        own.iter().cloned().chain(presets).collect()
    }

    fn profile(&self, name: &str) -> Result<Option<Arc<Profile>>, String> {
        if !self.names().iter().any(|known| known == name) {
            return Ok(None);
        }
        let setup = self.setup()?;
        let name = ProfileName::from_home(name, &setup.home);
        let loaded = profiles::load(&name, &setup.home, &setup.loaded.config, &setup.registry);
        loaded.map(|loaded| Some(Arc::new(loaded.profile))).map_err(|error| in_words(error.into()))
    }

    fn model(&self, profile: &Profile, caller: &AgentModel) -> Result<AgentModel, String> {
        let setup = self.setup()?;
        let named = self.globals.model.clone().or_else(|| profile.model.clone());
        let Some(name) = named.or_else(|| caller.name.clone()) else { return Ok(caller.clone()) };
        let model = models::build(&name, setup, profile, self.store.clone()).map_err(in_words)?;
        if caller.name.as_ref() == Some(&name) && model.traits() == caller.model.traits() {
            // The very same one: a script goes on, and a recording records both.
            return Ok(caller.clone());
        }
        let price = prices::of(&name, setup, profile).map_err(in_words)?;
        Ok(AgentModel { model, name: Some(name), price })
    }
}

fn in_words(failure: Failure) -> String {
    failure.text()
}
