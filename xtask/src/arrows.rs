//! The arrows between the crates point one way: a crate may depend on crates of a lower storey alone.
//! Development dependencies are free. The storeys are those of `ARCHITECTURE.md`.

use std::path::Path;

use crate::metadata::{self, Package};
use crate::report::{Report, XtaskError};

/// The crates, lowest storey first. Crates of one storey do not see each other.
const STOREYS: [&[&str]; 6] = [
    &["haft-command", "haft-schema"],
    &["haft-core", "haft-dialect", "haft-macros", "haft-sandbox"],
    &["haft-engine", "haft-mcp", "haft-models", "haft-store", "haft-tools"],
    &["haft"],
    &["haft-server"],
    &["haft-cli"],
];

/// Members of the workspace that may see everything and that nothing may see.
const OUTSIDE: [&str; 2] = ["haft-bench", "xtask"];

/// Compares the dependency tables of the workspace with the storeys.
pub(crate) fn check(root: &Path) -> Result<Report, XtaskError> {
    Ok(judge(&metadata::own(root)?.packages))
}

fn storey(name: &str) -> Option<usize> {
    STOREYS.iter().position(|names| names.contains(&name))
}

fn judge(packages: &[Package]) -> Report {
    let mut problems = Vec::new();
    let mut arrows = 0;
    for package in packages {
        let own = storey(&package.name);
        if own.is_none() && !OUTSIDE.contains(&package.name.as_str()) {
            problems.push(format!("{} has no storey: give it one in xtask/src/arrows.rs", package.name));
        }
        let shipped =
            package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
        for dependency in shipped {
            let is_own = packages.iter().any(|package| package.name == dependency.name);
            if !is_own {
                continue;
            }
            arrows += 1;
            if OUTSIDE.contains(&dependency.name.as_str()) {
                problems.push(format!("{} depends on {}: nothing may", package.name, dependency.name));
            }
            if let (Some(from), Some(to)) = (own, storey(&dependency.name))
                && to >= from
            {
                problems.push(format!(
                    "{} depends on {}, which is not below it: let them meet in a port of haft-core",
                    package.name, dependency.name
                ));
            }
        }
    }
    let summary = format!("{} members, {arrows} arrows between them", packages.len());
    Report { name: "arrows", summary, lines: Vec::new(), problems }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            license: None,
            source: None,
            dependencies: dependencies
                .iter()
                .map(|(name, kind)| Dependency { name: (*name).to_owned(), kind: kind.map(str::to_owned) })
                .collect(),
        }
    }

    #[test]
    fn downward_arrows_and_development_dependencies_pass() {
        let report = judge(&[
            package("haft-schema", &[("serde", None)]),
            package("haft-core", &[("haft-schema", None), ("haft-store", Some("dev"))]),
            package("haft-store", &[("haft-core", None)]),
            package("haft-cli", &[("haft-store", None), ("haft-core", None)]),
            package("haft-bench", &[("haft-store", None)]),
        ]);
        assert_eq!(report.problems, Vec::<String>::new());
        assert_eq!(report.summary, "5 members, 5 arrows between them");
    }

    #[test]
    fn sideways_and_upward_arrows_fail() {
        let report = judge(&[
            package("haft-core", &[("haft-dialect", None)]),
            package("haft-dialect", &[("haft-cli", Some("build"))]),
            package("haft-cli", &[("haft-bench", None)]),
            package("haft-bench", &[]),
            package("haft-new", &[]),
        ]);
        let starts: Vec<&str> =
            report.problems.iter().filter_map(|problem| problem.split([',', ':']).next()).collect();
        assert_eq!(
            starts,
            [
                "haft-core depends on haft-dialect",
                "haft-dialect depends on haft-cli",
                "haft-cli depends on haft-bench",
                "haft-new has no storey"
            ]
        );
    }
}
