//! The rules of the machine's administrator: one file at a place that no user, project or environment chooses.

use std::path::Path;

use haft_core::ToolRegistry;
use haft_core::facts::Permission;
use haft_core::policy::Rule;
use indexmap::IndexMap;

use crate::document::reader::{Problems, TableReader};
use crate::document::{FileError, toml};
use crate::{rules, surroundings};

/// Where the administrator's rules are; there is no such file on other systems.
pub(crate) const PLACE: Option<&str> = if cfg!(unix) { Some("/etc/haft/policy.toml") } else { None };

/// What the file says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PlatformRules {
    /// Its rules.
    pub(crate) rules: Vec<Rule>,
    /// What holds where nobody speaks.
    pub(crate) default: Option<Permission>,
    /// There is such a file.
    pub(crate) is_there: bool,
}

/// Reads and checks the file at `place`. One that is there and cannot be read stops every command: a guard that fails, refuses.
pub(crate) fn load(place: Option<&str>, registry: &ToolRegistry) -> Result<PlatformRules, FileError> {
    let Some(place) = place else { return Ok(PlatformRules::default()) };
    let text = surroundings::text_if_there(Path::new(place)).map_err(|reason| {
        let hint = "the administrator's rules hold for everybody; ask whoever keeps this machine".to_owned();
        FileError::whole(place, format!("the file cannot be read: {reason}"), Some(hint))
    })?;
    let Some(text) = text else { return Ok(PlatformRules::default()) };
    let tree = toml::parse(place, &text)?;
    let problems = Problems::default();
    let root = TableReader::new(&tree, "", &problems);
    let mut read = PlatformRules { is_there: true, ..PlatformRules::default() };
    if let Some(policy) = root.table("policy") {
        rules::read_version(&policy);
        read.rules = rules::read(&policy, place);
        read.default = rules::read_default(&policy);
        policy.finish();
    }
    root.finish();
    problems.into_result(place)?;
    rules::check(place, &read.rules, registry, &IndexMap::new())?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(text: &str) -> Result<PlatformRules, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.toml");
        #[expect(clippy::disallowed_methods, reason = "a test makes the file that is read")]
        std::fs::write(&file, text).unwrap();
        let place = file.display().to_string();
        load(Some(&place), &crate::toolset::registry(false).unwrap_or_default())
            .map_err(|error| error.to_string().replace(&place, "policy.toml"))
    }

    // POL-01, POL-04
    #[test]
    fn the_administrators_file_is_read_and_checked() {
        let text = "[policy]\ndefault = \"ask\"\n[[policy.rules]]\ntool = \"file_*\"\ndecision = \"deny\"\npath = \"/srv\"\n";
        let read = loaded(text).unwrap();
        assert_eq!((read.rules.len(), read.default, read.is_there), (1, Some(Permission::Ask), true));
        assert_eq!(read.rules[0].place.line, 4);
        assert_eq!(
            loaded("[[policy.rules]]\ndecision = \"deny\"\ntoool = \"x\"\n").unwrap_err(),
            "policy.toml:3:1: unknown key `toool` in `policy.rules`; did you mean `tool`?"
        );
        assert_eq!(loaded("[policy]\nversion = 9\n").unwrap_err().lines().count(), 1);
        assert_eq!(
            load(Some("/nowhere/at/all.toml"), &ToolRegistry::default()).unwrap(),
            PlatformRules::default()
        );
    }

    // A guard that fails, refuses.
    #[test]
    fn a_file_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        let error = load(Some(&place), &ToolRegistry::default()).unwrap_err().to_string();
        assert!(error.contains("the file cannot be read"), "{error}");
    }
}
