//! The secrets of this home: what is masked in all that is stored and shown.
//!
//! They are read once when a process starts: the files of `.secrets/`, and the keys of models that stand in the environment.
//! Nothing else may be done with them here.

use haft_core::mask::Mask;

use crate::exit::Failure;
use crate::setup::Setup;
use crate::surroundings;

/// As much of a file as is a secret, in bytes.
const LONGEST_SECRET: u64 = 256 << 10;

/// Variables that hold the keys of well-known services, where no model entry names others.
const KEY_VARIABLES: [&str; 3] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];

/// The mask of this process. Where the secrets cannot be read, nothing is run: they could not be kept out of the journal.
pub(crate) fn mask(setup: &Setup) -> Result<Mask, Failure> {
    let folder = setup.home.root().join(".secrets");
    let fail = |error: &dyn std::fmt::Display| {
        Failure::failed(format!(
            "the secrets in `{}` cannot be read, so they could not be masked: {error}",
            folder.display()
        ))
        .hint("Mend the folder, or move what is broken out of it.")
    };
    let files = surroundings::files(&folder, LONGEST_SECRET).map_err(|error| fail(&error))?;
    let of_files =
        files.into_iter().map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned()));
    let named = setup.loaded.config.models.values().filter_map(|entry| entry.key_env.as_deref());
    let of_environment = named
        .chain(KEY_VARIABLES)
        .filter_map(|variable| Some((variable.to_owned(), surroundings::variable(variable)?)));
    Mask::new(of_files.chain(of_environment)).map_err(|error| fail(&error))
}
