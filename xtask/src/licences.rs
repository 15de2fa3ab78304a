//! Licences of the dependencies: every package that `Cargo.lock` names must be usable under an allowed one.

use std::path::Path;

use crate::metadata::{self, Package};
use crate::report::{Report, XtaskError};
use crate::spdx;

const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// Reads the locked packages and their licences.
pub(crate) fn check(root: &Path) -> Result<Report, XtaskError> {
    Ok(judge(&metadata::locked(root)?.packages))
}

fn is_allowed(licence: &str) -> bool {
    ALLOWED.contains(&licence) || licence.starts_with("BSD-")
}

fn judge(packages: &[Package]) -> Report {
    let foreign: Vec<&Package> = packages.iter().filter(|package| package.source.is_some()).collect();
    let problems = foreign
        .iter()
        .filter_map(|package| {
            let fault = match package.license.as_deref() {
                None => "names no licence".to_owned(),
                Some(licence) => match spdx::satisfied(licence, is_allowed) {
                    Some(true) => return None,
                    Some(false) => format!("is under `{licence}`, which is not allowed here"),
                    None => format!("has a licence that cannot be read: `{licence}`"),
                },
            };
            Some(format!("{} {} {fault}: take another crate", package.name, package.version))
        })
        .collect();
    let summary = format!("{} dependencies looked at", foreign.len());
    Report { name: "licences", summary, lines: Vec::new(), problems }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, license: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn foreign_packages_need_an_allowed_licence() {
        let report = judge(&[
            package("own", None, None),
            package("good", Some("Unlicense OR MIT"), Some("registry")),
            package("fine", Some("BSD-3-Clause"), Some("registry")),
            package("alone", Some("Unlicense"), Some("registry")),
            package("none", None, Some("registry")),
            package("odd", Some("MIT,"), Some("registry")),
        ]);
        assert_eq!(report.summary, "5 dependencies looked at");
        assert_eq!(
            report.problems,
            [
                "alone 1.0.0 is under `Unlicense`, which is not allowed here: take another crate",
                "none 1.0.0 names no licence: take another crate",
                "odd 1.0.0 is under `MIT,`, which is not allowed here: take another crate",
            ]
        );
    }
}
