//! Books of world info: JSON files in the folder `lorebooks` of the home, which a profile names under `world_info` (WLD-02).

use std::path::{Path, PathBuf};

use haft_core::Profile;
use haft_core::lorebook::{BookError, Lorebook, Lorebooks, read_lorebook};

use crate::exit::Failure;
use crate::surroundings;

/// The folder of books in the home.
pub(crate) struct HomeBooks(PathBuf);

impl HomeBooks {
    /// The books of the home at `home`.
    pub(crate) fn of(home: &Path) -> Self {
        Self(home.join("lorebooks"))
    }

    /// Looks whether all books can be had that `profile` names, so that a run does not fail for it later.
    pub(crate) fn check(&self, profile: &Profile) -> Result<(), Failure> {
        for name in &profile.world_info {
            self.book(name).map_err(|error| {
                Failure::usage(format!("profile {}: `world_info`: {error}", profile.name))
            })?;
        }
        Ok(())
    }

    fn missing(&self, name: &str) -> BookError {
        let known = surroundings::stems(&self.0, "json").unwrap_or_default();
        let next_step = if known.is_empty() {
            format!("put it into {} as {name}.json", self.0.display())
        } else {
            format!("the books in {} are {}", self.0.display(), known.join(", "))
        };
        BookError::Missing { name: name.to_owned(), next_step }
    }
}

impl Lorebooks for HomeBooks {
    fn book(&self, name: &str) -> Result<Lorebook, BookError> {
        // A name is a name and leads out of no folder.
        let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        if !is_plain {
            return Err(self.missing(name));
        }
        let text = surroundings::text_if_there(&self.0.join(format!("{name}.json")))
            .map_err(|reason| BookError::Unreadable { name: name.to_owned(), reason })?;
        let text = text.ok_or_else(|| self.missing(name))?;
        Ok(read_lorebook(name, &text)?)
    }
}
