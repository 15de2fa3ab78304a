//! What programs are, by name: the tables by which commands are judged. Names are compared without their folder.

/// Shells: they run text.
pub(crate) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "pwsh"];

/// Interpreters: what they do stands in a file or a text that is no command line.
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "pypy3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "expect",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "osascript",
    "Rscript",
    "julia",
    "ghci",
    "java",
    "jshell",
    "powershell",
    "ipython",
    "groovy",
];

/// Programs that run what a file or their arguments tell them to.
const RUNNERS: &[&str] = &[
    "make", "gmake", "ninja", "just", "npx", "bunx", "uvx", "pipx", "docker", "podman", "kubectl", "vagrant",
    "vim", "vi", "nvim", "emacs", "gdb", "source",
];

/// Programs that talk to other machines.
const NETWORK: &[&str] = &[
    "curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "lftp",
    "http", "https", "xh", "aria2c", "mosh", "openssl", "dig", "nslookup", "ping",
];

/// Programs that change or take away what is there.
const CHANGERS: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "mv",
    "cp",
    "ln",
    "install",
    "dd",
    "tee",
    "truncate",
    "shred",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "kill",
    "pkill",
    "killall",
    "crontab",
    "systemctl",
    "mount",
    "umount",
];

/// Programs whose arguments are never run, or are followed elsewhere in this crate.
const PLAIN: &[&str] = &[
    "echo",
    "printf",
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "wc",
    "sort",
    "uniq",
    "cut",
    "tr",
    "diff",
    "cmp",
    "stat",
    "file",
    "du",
    "df",
    "pwd",
    "cd",
    "pushd",
    "popd",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "date",
    "test",
    "[",
    "true",
    "false",
    ":",
    "sleep",
    "which",
    "type",
    "whereis",
    "man",
    "info",
    "help",
    "mkdir",
    "touch",
    "sed",
    "git",
    "tree",
    "jq",
    "yq",
    "export",
    "unset",
    "set",
    "local",
    "readonly",
    "declare",
    "typeset",
    "read",
    "ps",
    "id",
    "whoami",
    "uname",
    "hostname",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "base64",
    "xxd",
    "od",
    "seq",
    "expr",
    "let",
    "bc",
    "tar",
    "gzip",
    "gunzip",
    "zip",
    "unzip",
    "cargo",
    "npm",
    "yarn",
    "pnpm",
    "pip",
    "pip3",
    "apt",
    "apt-get",
    "brew",
    "dnf",
    "yum",
    "pacman",
    "gh",
    "return",
    "exit",
    "shift",
    "wait",
    "jobs",
    "bg",
    "fg",
    "umask",
    "trap",
    "hash",
    "getopts",
];

/// Programs that lead their arguments further; `through.rs` follows them.
const WRAPPERS: &[&str] = &[
    "env", "nice", "nohup", "time", "timeout", "gtimeout", "sudo", "doas", "pkexec", "xargs", "command",
    "builtin", "exec", "stdbuf", "setsid", "ionice", "watch", "su", "runuser", "busybox", "toybox", "find",
    "eval", "chronic", "unbuffer", "strace", "ltrace", "parallel",
];

/// True for a shell.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// True for a program that runs text which is no command line, whatever its version: `python3.12`.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain)
}

/// True if the interpreter `name` is handed code by `option`: `python3 -c CODE`, `perl -lne CODE`.
pub(crate) fn takes_code(name: &str, option: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (letters, words): (&str, &[&str]) = match plain {
        "python" | "pypy" | "ipython" | "expect" => ("c", &[]),
        "perl" => ("eE", &[]),
        "ruby" | "lua" | "luajit" | "osascript" | "Rscript" | "ghci" | "groovy" => ("e", &[]),
        "julia" => ("eE", &["--eval", "--print"]),
        "node" | "nodejs" | "bun" => ("ep", &["--eval", "--print"]),
        "php" => ("rBRE", &["--run"]),
        "powershell" => return option.to_ascii_lowercase().starts_with("-c") || option.starts_with("-e"),
        _ => return false,
    };
    match option.strip_prefix('-') {
        Some(bundle) if !bundle.starts_with('-') => bundle.contains(|letter| letters.contains(letter)),
        Some(_) => words.iter().any(|word| option.starts_with(word)),
        None => false,
    }
}

/// True if a program for awk may run others: by `system`, by a pipe, by what it reads.
pub(crate) fn awk_runs(code: &str) -> bool {
    // `||` is no pipe, and neither is the `|` of `/a|b/`.
    let code = code.replace("||", "");
    let pipes = code.contains(" | ") || code.contains('|') && code.contains('"');
    pipes || code.contains("system") || code.contains("getline")
}

/// True for a program that does what a file or its arguments tell it to, in no shell's words.
pub(crate) fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name) || name == "."
}

/// True if a program is named by a place that is none of the system's own folders: whatever lies there is run.
pub(crate) fn is_placed(program: &str) -> bool {
    const OF_SYSTEM: [&str; 7] =
        ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];
    match program.rsplit_once(['/', '\\']) {
        Some((folder, _)) => !OF_SYSTEM.contains(&folder),
        None => false,
    }
}

/// True if an argument of awk may run programs, or reads or writes other files than those that stand among its arguments.
pub(crate) fn awk_reaches_out(argument: &str) -> bool {
    awk_runs(argument)
        || argument.contains('>')
        || argument.starts_with("-f")
        || argument.starts_with("--file")
}

/// True for a program that talks to other machines, by its name without a folder.
pub fn is_network(name: &str) -> bool {
    NETWORK.contains(&name)
}

/// True if a yes to the program alone would be a yes to anything: only exact commands of it are remembered.
pub(crate) fn is_powerful(name: &str) -> bool {
    is_shell(name)
        || is_interpreter(name)
        || is_network(name)
        || RUNNERS.contains(&name)
        || CHANGERS.contains(&name)
        || WRAPPERS.contains(&name)
        || name.starts_with("mkfs")
        || matches!(
            name,
            "." | "alias" | "fdisk" | "parted" | "wipefs" | "shutdown" | "reboot" | "poweroff" | "halt"
        )
}

/// True if the program is known, so that its arguments are known not to be run unseen.
pub(crate) fn is_known(name: &str) -> bool {
    is_powerful(name) || PLAIN.contains(&name)
}

/// Programs whose first operand is a word of their own: `git log`, `cargo test`.
pub(crate) fn has_subcommands(name: &str) -> bool {
    matches!(
        name,
        "git"
            | "cargo"
            | "npm"
            | "yarn"
            | "pnpm"
            | "pip"
            | "pip3"
            | "apt"
            | "apt-get"
            | "brew"
            | "dnf"
            | "yum"
            | "pacman"
            | "gh"
            | "go"
            | "dotnet"
            | "rustup"
            | "uv"
            | "poetry"
            | "conda"
            | "terraform"
            | "helm"
            | "bundle"
            | "gem"
            | "mvn"
            | "gradle"
            | "composer"
            | "mix"
            | "rake"
            | "jj"
            | "hg"
            | "svn"
    )
}

/// Options, each with its value, that make a known program run another one or read its orders from elsewhere.
pub(crate) fn runs_by_option(name: &str, option: &str) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| option.starts_with(prefix));
    match name {
        "git" => {
            option == "-c"
                || begins(&[
                    "--config-env",
                    "--exec",
                    "--upload-pack",
                    "--receive-pack",
                    "--extcmd",
                    "--open-files-in-pager",
                    "-O",
                ])
        }
        "tar" => begins(&[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "-I",
            "--rsh-command",
            "-F",
            "--info-script",
        ]),
        "rg" => begins(&["--pre", "--hostname-bin"]),
        "fd" | "fdfind" => begins(&["-x", "-X", "--exec"]),
        "sort" => begins(&["--compress-program"]),
        "man" => begins(&["-P", "--pager", "-H", "--html"]),
        "zip" => begins(&["-TT", "--unzip-command"]),
        "sed" => begins(&["--expression=e", "-ee"]),
        "ssh" | "scp" | "sftp" => begins(&["-o", "-F", "-S"]),
        "rsync" => begins(&["-e", "--rsh", "--rsync-path"]),
        "wget" => begins(&["--use-askpass", "-e", "--execute"]),
        "curl" => begins(&["-K", "--config"]),
        "cargo" | "npm" | "yarn" | "pnpm" => begins(&["--config", "--script-shell"]),
        _ => false,
    }
}

/// Subcommands that run what follows them or what a file says.
pub(crate) fn runs_by_subcommand(name: &str, words: &[&str]) -> bool {
    match name {
        "git" => match words {
            ["bisect", "run", ..] | ["submodule", "foreach", ..] => true,
            ["config", rest @ ..] => rest.len() > 1,
            words => matches!(words.first(), Some(&("filter-branch" | "difftool" | "mergetool"))),
        },
        "npm" | "pnpm" | "yarn" => matches!(words.first(), Some(&("exec" | "dlx" | "x"))),
        _ => false,
    }
}

/// True if the variable changes which program a name means, or what a program runs.
pub(crate) fn changes_names(variable: &str) -> bool {
    let name = variable.trim_end_matches('+');
    ["LD_", "DYLD_", "GIT_"].iter().any(|prefix| name.starts_with(prefix))
        || matches!(
            name,
            "PATH"
                | "IFS"
                | "ENV"
                | "BASH_ENV"
                | "PROMPT_COMMAND"
                | "SHELL"
                | "EDITOR"
                | "VISUAL"
                | "PAGER"
                | "MANPAGER"
                | "PYTHONPATH"
                | "PYTHONSTARTUP"
                | "NODE_OPTIONS"
                | "PERL5OPT"
                | "PERL5LIB"
                | "RUBYOPT"
                | "RUSTC_WRAPPER"
                | "RUSTC"
                | "BROWSER"
                | "LESSOPEN"
                | "SHELLOPTS"
                | "BASHOPTS"
                | "PS4"
                | "CDPATH"
                | "GLOBIGNORE"
        )
}
