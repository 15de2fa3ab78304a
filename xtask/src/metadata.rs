//! The part of `cargo metadata` that the checks read.

use std::path::Path;

use serde::Deserialize;

use crate::report::XtaskError;
use crate::tree;

/// All packages of a build.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

/// One package: ours, or one that we depend on.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// SPDX expression, or the old `A/B`.
    pub(crate) license: Option<String>,
    /// Where it comes from; `None` for our own.
    pub(crate) source: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a dependency table.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

/// Reads our own packages alone, without resolving or fetching anything.
pub(crate) fn own(root: &Path) -> Result<Metadata, XtaskError> {
    let json = tree::run(root, "cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    Ok(serde_json::from_str(&json)?)
}

/// Reads every package that `Cargo.lock` names.
pub(crate) fn locked(root: &Path) -> Result<Metadata, XtaskError> {
    let json = tree::run(root, "cargo", &["metadata", "--format-version", "1", "--locked"])?;
    Ok(serde_json::from_str(&json)?)
}
