//! Words that must not stand in the tree: paths of somebody's machine, hosts of package registries, and in the
//! code of `crates/` what is left open (`todo!`, ignored tests, `dbg!`). Lock files name registries by nature.

use std::path::Path;

use crate::report::{Report, XtaskError};
use crate::{rust_source, tree};

/// Folders of a machine, each written in two parts so that this file does not hold them.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/fa", "rm/"), concat!("/tmp/", "bash_")];

/// Hosts of package registries, written in two parts for the same reason.
const REGISTRY_HOSTS: [&str; 9] = [
    concat!("crates", ".io"),
    concat!("py", "pi.org"),
    concat!("python", "hosted.org"),
    concat!("registry.npm", "js.org"),
    concat!("registry.yarn", "pkg.com"),
    concat!("deb.", "debian.org"),
    concat!("security.", "debian.org"),
    concat!("proxy.go", "lang.org"),
    concat!("repo.maven.", "apache.org"),
];

const LEFT_OPEN: [&str; 4] = ["todo!(", "unimplemented!(", "#[ignore", "dbg!("];

const LOCK_FILES: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// Looks at every text file that git knows or would add.
pub(crate) fn check(root: &Path) -> Result<Report, XtaskError> {
    let mut problems = Vec::new();
    let mut looked_at = 0;
    for file in tree::tracked_files(root)? {
        if let Some(text) = tree::read_text_if_any(&root.join(&file))? {
            looked_at += 1;
            problems.extend(judge(&file, &text));
        }
    }
    let summary = format!("{looked_at} text files looked at");
    Ok(Report { name: "words", summary, lines: Vec::new(), problems })
}

fn judge(file: &Path, text: &str) -> Vec<String> {
    let is_lock_file = file.file_name().is_some_and(|name| LOCK_FILES.iter().any(|lock| name == *lock));
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let at = format!("{}:{number}", file.display());
        for path in MACHINE_PATHS.iter().filter(|path| holds_path(line, path)) {
            problems.push(format!("{at} holds the machine path `{path}`: use a relative path or a variable"));
        }
        for host in REGISTRY_HOSTS.iter().filter(|host| !is_lock_file && line.contains(*host)) {
            problems.push(format!("{at} names the registry host `{host}`: name the package alone"));
        }
    }
    if file.starts_with("crates") && file.extension().is_some_and(|extension| extension == "rs") {
        for (number, line) in (1..).zip(rust_source::code_only(text).lines()) {
            for open in LEFT_OPEN.iter().filter(|open| line.contains(*open)) {
                problems
                    .push(format!("{}:{number} holds `{open}`: finish it or take it out", file.display()));
            }
        }
    }
    problems
}

/// True when `line` holds `path` as the start of an absolute path, not as the middle of a longer one.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(offset, _)| {
        let before = line[..offset].chars().next_back();
        !before.is_some_and(|character| character.is_alphanumeric() || "._-}*".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        judge(Path::new(file), text)
    }

    #[test]
    fn machine_paths_are_told_from_the_middle_of_others() {
        let root = MACHINE_PATHS[0];
        assert_eq!(found("a.md", &format!("fine\nsee \"{root}x\"")).len(), 1);
        assert!(found("a.md", &format!("see \"{root}x\""))[0].starts_with("a.md:1 holds the machine path"));
        assert_eq!(found("a.md", &format!("see a{root}x, ..{root}, ${{HOME}}{root}")), Vec::<String>::new());
    }

    #[test]
    fn registry_hosts_stand_in_lock_files_alone() {
        let text = format!("source = \"{}\"", REGISTRY_HOSTS[0]);
        assert_eq!(found("docs/a.md", &text).len(), 1);
        assert_eq!(found("Cargo.lock", &text), Vec::<String>::new());
    }

    #[test]
    fn what_is_left_open_counts_in_code_alone() {
        let text = "// todo!() later\nlet a = \"dbg!(\";\n    todo!()\n";
        assert_eq!(
            found("crates/a/src/b.rs", text),
            ["crates/a/src/b.rs:3 holds `todo!(`: finish it or take it out"]
        );
        assert_eq!(found("xtask/src/b.rs", text), Vec::<String>::new());
    }
}
