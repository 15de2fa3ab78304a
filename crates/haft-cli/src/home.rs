//! The one home of Haft's data (design: storage): where it is and what lies where in it.
//!
//! Nothing is created here; the store and the commands create what they need.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::exit::Failure;
use crate::surroundings;

/// Who said where the home is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeOrigin {
    /// `--home`.
    Flag,
    /// `$HAFT_HOME`.
    Environment,
    /// The platform's data folder.
    Platform,
}

impl HomeOrigin {
    /// In words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "--home",
            Self::Environment => "$HAFT_HOME",
            Self::Platform => "the platform's data folder",
        }
    }
}

/// The home.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    root: PathBuf,
    origin: HomeOrigin,
}

impl Home {
    /// The home, which must be a folder or not there yet: `--home`, else `$HAFT_HOME`, else `haft` in the platform's data folder.
    pub(crate) fn find(flag: Option<&Path>) -> Result<Self, Failure> {
        let home = Self::named(flag)?;
        if home.root.exists() && !home.root.is_dir() {
            let (root, origin) = (home.root.display(), home.origin.as_str());
            return Err(Failure::usage(format!("the home {root} (by {origin}) is a file, not a folder"))
                .hint("Choose another one with `--home DIR` or `HAFT_HOME`."));
        }
        Ok(home)
    }

    fn named(flag: Option<&Path>) -> Result<Self, Failure> {
        if let Some(path) = flag {
            return Ok(Self { root: surroundings::absolute(path)?, origin: HomeOrigin::Flag });
        }
        if let Some(path) = surroundings::variable("HAFT_HOME") {
            let root = surroundings::absolute(Path::new(&path))?;
            return Ok(Self { root, origin: HomeOrigin::Environment });
        }
        let strategy = etcetera::choose_base_strategy().map_err(|error| {
            Failure::usage(format!("cannot tell where your data folder is: {error}"))
                .hint("Name one with `--home DIR` or set `HAFT_HOME`.")
        })?;
        Ok(Self { root: strategy.data_dir().join("haft"), origin: HomeOrigin::Platform })
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Who said so.
    pub(crate) fn origin(&self) -> HomeOrigin {
        self.origin
    }

    /// `haft.toml`.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.root.join("haft.toml")
    }

    /// The folder of the user's profiles.
    pub(crate) fn profiles(&self) -> PathBuf {
        self.root.join("profiles")
    }
}
