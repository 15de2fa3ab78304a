//! Where profiles come from: a path, `profiles/NAME.md` in the home, or a preset inside the binary.

use std::path::{Path, PathBuf};

use haft_core::nearest::nearest;

use super::ProfileError;
use crate::document::FileError;
use crate::exit::Failure;
use crate::home::Home;
use crate::surroundings;

/// The presets, in the order in which they are listed.
const PRESETS: [(&str, &str); 6] = [
    ("default", include_str!("../../presets/default.md")),
    ("artifactflow", include_str!("../../presets/artifactflow.md")),
    ("ethan", include_str!("../../presets/ethan.md")),
    ("locked", include_str!("../../presets/locked.md")),
    ("nanoclaw", include_str!("../../presets/nanoclaw.md")),
    ("tauritavern", include_str!("../../presets/tauritavern.md")),
];

/// A profile as `--profile`, `extends:` or `default_profile` names it: a value with `/` is a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProfileName {
    /// A name.
    Name(String),
    /// A path.
    Path(PathBuf),
}

impl ProfileName {
    /// Reads `text` as the contract says; a relative path starts from the working folder and is made absolute, so that a
    /// session remembers it.
    pub(crate) fn new(text: &str) -> Result<Self, Failure> {
        if is_path(text) {
            Ok(Self::Path(surroundings::absolute(Path::new(text))?))
        } else {
            Ok(Self::Name(text.to_owned()))
        }
    }

    /// Reads `text` as `haft.toml` of `home` names it: a relative path starts from the home.
    pub(crate) fn from_home(text: &str, home: &Home) -> Self {
        if is_path(text) { Self::Path(home.root().join(text)) } else { Self::Name(text.to_owned()) }
    }

    /// The text that means the same again.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

fn is_path(text: &str) -> bool {
    text.contains('/') || text.contains(std::path::MAIN_SEPARATOR)
}

/// The text of one profile and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct ProfileSource {
    /// Its name: the file's stem, or the preset's name.
    pub(crate) name: String,
    /// Its place, for people: a path or `preset NAME`.
    pub(crate) place: String,
    /// The folder of its file; none for a preset.
    pub(crate) folder: Option<PathBuf>,
    /// The text.
    pub(crate) text: String,
}

/// Finds a profile: the home's own comes before the preset of the same name.
pub(crate) fn find(name: &ProfileName, home: &Home) -> Result<ProfileSource, ProfileError> {
    match name {
        ProfileName::Path(path) => file(path, None),
        ProfileName::Name(name) => {
            if !name.is_empty()
                && let Some(source) = file_if_there(&home.profiles().join(format!("{name}.md")))?
            {
                return Ok(source);
            }
            preset(name).ok_or_else(|| unknown(name, home))
        }
    }
}

/// Finds what `extends:` of `by` names: relative paths start from its folder, and a file may extend the preset whose name it has.
pub(super) fn find_extended(
    name: &str,
    by: &ProfileSource,
    home: &Home,
) -> Result<ProfileSource, ProfileError> {
    if is_path(name) {
        file(Path::new(name), by.folder.as_deref())
    } else if by.folder.is_none() || name == by.name {
        preset(name).ok_or_else(|| unknown(name, home))
    } else {
        find(&ProfileName::Name(name.to_owned()), home)
    }
}

/// Names of all profiles: presets first, then the home's own.
pub(crate) fn all_names(home: &Home) -> Result<Vec<String>, ProfileError> {
    let own = own_names(home)?;
    let presets = PRESETS.iter().map(|(name, _)| (*name).to_owned());
    let more = own.into_iter().filter(|name| !PRESETS.iter().any(|(preset, _)| preset == name));
    Ok(presets.chain(more).collect())
}

/// The names of the profiles in the home.
pub(crate) fn own_names(home: &Home) -> Result<Vec<String>, ProfileError> {
    surroundings::stems(&home.profiles(), "md").map_err(|reason| {
        FileError::whole(
            home.profiles().display().to_string(),
            format!("the folder cannot be read: {reason}"),
            None,
        )
        .into()
    })
}

fn preset(name: &str) -> Option<ProfileSource> {
    let (name, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
    Some(ProfileSource {
        name: (*name).to_owned(),
        place: format!("preset {name}"),
        folder: None,
        text: (*text).to_owned(),
    })
}

fn file(path: &Path, base: Option<&Path>) -> Result<ProfileSource, ProfileError> {
    let path = base.map_or_else(|| path.to_owned(), |base| base.join(path));
    match file_if_there(&path)? {
        Some(source) => Ok(source),
        None => {
            let place = path.display().to_string();
            let hint = "name an existing file, or a profile of `haft profile list`".to_owned();
            Err(FileError::whole(place, "there is no such profile file", Some(hint)).into())
        }
    }
}

fn file_if_there(path: &Path) -> Result<Option<ProfileSource>, ProfileError> {
    let place = path.display().to_string();
    let text = surroundings::text_if_there(path).map_err(|reason| {
        let hint = Some("make the file readable, or name another profile".to_owned());
        FileError::whole(&place, format!("the profile cannot be read: {reason}"), hint)
    })?;
    let Some(text) = text else { return Ok(None) };
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("profile").to_owned();
    let folder = Some(path.parent().unwrap_or(Path::new("")).to_owned());
    Ok(Some(ProfileSource { name, place, folder, text }))
}

fn unknown(name: &str, home: &Home) -> ProfileError {
    let all = all_names(home).unwrap_or_default();
    let near = nearest(name, all.iter().map(String::as_str), 3).into_iter().map(str::to_owned).collect();
    ProfileError::Unknown { name: name.to_owned(), near, all }
}
