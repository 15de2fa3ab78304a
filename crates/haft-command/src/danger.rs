//! Commands that are asked about every time, each with a reason that a person can judge by (APR-12).

use crate::line::{CommandLine, SimpleCommand, Word};
use crate::options::{self, Said};

/// Why a command line is asked about every time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Danger {
    /// `rm -r` and its like.
    DeletesFolders,
    /// `sudo`, `su` …
    OtherUser,
    /// `… | sh`, `bash <(…)`, `eval "$(…)"`.
    PipedIntoShell,
    /// `dd of=`, `mkfs` …
    WritesDisk,
    /// A file of the system is written.
    SystemFile,
    /// A function that calls itself without end.
    ForkBomb,
    /// `git push --force`, `git reset --hard` …
    DestructiveGit,
    /// `chmod -R`, `chown -R`.
    ChangesRights,
    /// `shutdown`, `kill -9 -1` …
    StopsMachine,
}

impl Danger {
    /// As a person reads it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::DeletesFolders => "it deletes a folder with all that is in it",
            Self::OtherUser => "it acts as another user",
            Self::PipedIntoShell => "it runs text that another program makes",
            Self::WritesDisk => "it writes to a disk itself, past all files",
            Self::SystemFile => "it writes a file of the system",
            Self::ForkBomb => "it starts itself again without end",
            Self::DestructiveGit => "it takes away work that git cannot bring back",
            Self::ChangesRights => "it changes the rights of a whole folder",
            Self::StopsMachine => "it stops the machine or everything on it",
        }
    }
}

/// Adds what is dangerous in the commands of a line.
pub(crate) fn find(line: &mut CommandLine) {
    let mut found = Vec::new();
    for command in &line.commands {
        of_command(command, &mut found);
    }
    found.into_iter().for_each(|danger| line.danger(danger));
}

fn of_command(command: &SimpleCommand, found: &mut Vec<Danger>) {
    let name = command.name().to_ascii_lowercase();
    let arguments = &command.arguments;
    let says = |letters: &[char], words: &[&str]| {
        options::options(arguments).any(|option| {
            letters.iter().any(|letter| options::may_mean(&option.text, &Said::Letter(*letter)))
                || words.iter().any(|word| options::may_mean(&option.text, &Said::Whole((*word).to_owned())))
        })
    };
    match name.as_str() {
        // Arguments that are only known when it runs may be options.
        "rm" if says(&['r', 'R'], &["--recursive"])
            || arguments.iter().any(|word| !word.literal && !word.operand) =>
        {
            found.push(Danger::DeletesFolders);
        }
        "find" if arguments.iter().any(|word| word.text == "-delete") => found.push(Danger::DeletesFolders),
        "rsync" if says(&[], &["--delete", "--delete-after", "--delete-before", "--delete-excluded"]) => {
            found.push(Danger::DeletesFolders);
        }
        "sudo" | "doas" | "su" | "pkexec" | "runuser" => found.push(Danger::OtherUser),
        "dd" | "wipefs" | "fdisk" | "sfdisk" | "parted" | "mkswap" | "blkdiscard" | "shred" => {
            found.push(Danger::WritesDisk);
        }
        "git" if is_destructive_git(arguments) => found.push(Danger::DestructiveGit),
        "chmod" | "chown" | "chgrp" | "chattr" if says(&['R'], &["--recursive"]) => {
            found.push(Danger::ChangesRights);
        }
        "shutdown" | "reboot" | "halt" | "poweroff" | "telinit" => found.push(Danger::StopsMachine),
        "kill" if arguments.iter().any(|word| word.text == "-1") && arguments.len() > 1 => {
            found.push(Danger::StopsMachine);
        }
        "killall" | "pkill" if arguments.is_empty() || says(&['u'], &["--user"]) => {
            found.push(Danger::StopsMachine);
        }
        "crontab" if says(&['r'], &[]) => found.push(Danger::SystemFile),
        "iptables" | "nft" | "ufw" if says(&['F'], &["--flush"]) => found.push(Danger::SystemFile),
        name if name.starts_with("mkfs") => found.push(Danger::WritesDisk),
        "source" | "." if arguments.first().is_some_and(|word| word.text == "<( )") => {
            found.push(Danger::PipedIntoShell);
        }
        _ => {}
    }
    let redirected =
        command.redirects.iter().filter(|redirect| redirect.writes()).map(|redirect| &redirect.target);
    if redirected.chain(written(&name, command)).any(|word| is_of_system(&word.text)) {
        found.push(Danger::SystemFile);
    }
}

/// The operands that a program writes to.
fn written<'a>(name: &str, command: &'a SimpleCommand) -> Vec<&'a Word> {
    let operands: Vec<&Word> = command.operands().collect();
    match name {
        "tee" | "mv" | "rm" | "rmdir" | "unlink" | "truncate" | "touch" | "chmod" | "chown" | "chgrp"
        | "mkdir" | "ln" => operands,
        // The target is the last one, or the value of `-t`, which is an operand as well.
        "cp" | "install" | "rsync" | "scp" => {
            let named = options::options(&command.arguments)
                .any(|option| option.text.starts_with("-t") || option.text.starts_with("--t"));
            if named { operands } else { operands.into_iter().next_back().into_iter().collect() }
        }
        "sed" | "perl" if options::options(&command.arguments).any(|option| option.text.contains('i')) => {
            operands
        }
        "curl" | "wget" => operands.into_iter().filter(|word| !word.text.contains("://")).collect(),
        _ => Vec::new(),
    }
}

/// True for a file that belongs to the system, by its text: `..` and doubled separators are followed.
fn is_of_system(text: &str) -> bool {
    const FOLDERS: [&str; 14] = [
        "etc", "bin", "sbin", "usr", "lib", "lib32", "lib64", "boot", "dev", "sys", "proc", "system",
        "library", "windows",
    ];
    const HARMLESS: [&str; 7] = ["null", "stdout", "stderr", "stdin", "tty", "zero", "full"];
    let lower = text.to_lowercase().replace('\\', "/");
    let path = match lower.split_once(":/") {
        Some((drive, rest)) if drive.len() == 1 => rest,
        Some(_) | None if lower.starts_with('/') => lower.as_str(),
        Some(_) | None => return false,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    match parts.as_slice() {
        [] => true,
        ["dev", "fd", ..] | ["usr", "local", "src" | "share", ..] => false,
        ["dev", device] => !HARMLESS.contains(device),
        ["private", first, ..] | [first, ..] => FOLDERS.contains(first),
    }
}

fn is_destructive_git(arguments: &[Word]) -> bool {
    let rest = git_subcommand(arguments);
    let Some((subcommand, rest)) = rest.split_first() else { return false };
    let has = |letters: &[char], words: &[&str]| {
        options::options(rest).any(|option| {
            letters.iter().any(|letter| options::may_mean(&option.text, &Said::Letter(*letter)))
                || words.iter().any(|word| {
                    options::may_mean(&option.text, &Said::Whole((*word).to_owned()))
                        || option.text.starts_with(word)
                })
        })
    };
    let first = options::operands(rest).next().map_or("", |word| word.text.as_str());
    match subcommand.text.as_str() {
        "push" => {
            has(&['f', 'd'], &["--force", "--mirror", "--delete", "--prune"])
                || options::operands(rest).any(|word| word.text.starts_with(['+', ':']))
        }
        "reset" => has(&[], &["--hard", "--merge", "--keep"]),
        "clean" => has(&['f'], &["--force"]),
        "checkout" | "switch" => {
            has(&['f'], &["--force", "--discard-changes"])
                || rest.iter().any(|word| word.text == "--")
                || first == "."
        }
        "restore" => !has(&['S'], &["--staged"]) || has(&['W'], &["--worktree"]),
        "branch" | "tag" => has(&['D', 'd', 'f'], &["--delete", "--force"]),
        "stash" => matches!(first, "drop" | "clear"),
        "reflog" => matches!(first, "expire" | "delete"),
        "filter-branch" | "filter-repo" => true,
        "gc" | "prune" => has(&[], &["--prune"]) || subcommand.text == "prune",
        "update-ref" | "worktree" => has(&['d', 'f'], &["--force"]),
        "rm" => has(&['r', 'f'], &["--force"]),
        _ => false,
    }
}

/// The arguments of `git` from its subcommand on.
pub(crate) fn git_subcommand(arguments: &[Word]) -> &[Word] {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        match word.text.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env" => {
                at += 2;
            }
            option if option.starts_with('-') => at += 1,
            _ => break,
        }
    }
    arguments.get(at..).unwrap_or(&[])
}
