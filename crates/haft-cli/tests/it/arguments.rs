//! The command line itself: help, wrong usage, globals, pipes.

use std::process::Stdio;

use crate::support::{Home, run};

#[test]
fn help_names_the_commands() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["--help"]), @r#"
    exit: 0
    --- stdout
    Holds a language model's tools: reads its calls, checks, asks, runs and writes all of it down

    Usage: haft [OPTIONS] <COMMAND>

    Commands:
      chat         Talk to a model that may use tools; asks you before calls that need a yes
      run          Let a model work on one prompt and print its final text
      exec         Run the calls in a model's text from stdin; print results in the same dialect
      call         Make one call of one tool
      parse        Only read the calls in a model's text from stdin; nothing is run
      tools        Show the tools that a model would see
      sessions     List, show, import, export and delete conversations
      artifacts    List and print the artifacts of a session
      project      Name the folders that file tools may work in
      profile      List, show and check profiles
      config       Show and check the configuration
      grants       List what was allowed in a session, and take it back
      policy       Explain, check and test the rules that decide calls
      audit        Read, export and verify the journals of runs
      replay       Run a recorded run again, in memory; tell the first difference
      doctor       Show what works on this machine
      completions  Print a completion script for a shell

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
          --home <DIR>            Folder of configuration and data [default: $HAFT_HOME, else the
                                  platform's data folder]
          --store <STORE>         Where data is kept: `sqlite`, a file in the home
          --profile <PROFILE>     A profile's name or, with a `/`, its path
          --session <ID>          Go on in this session: its id, or `last`
          --project <ID>          The project whose folder file tools work in
          --model <MODEL>         The model: an entry of haft.toml, http://host:port/v1#NAME,
                                  openai:NAME, anthropic:NAME, gemini:NAME, scripted:FILE, or demo
          --allow <TOOL[=SCOPE]>  Say yes in advance to a tool, or to a part of it: path:DIR, file:F,
                                  host:H, cmd:SHAPE
          --yes                   Say yes in advance to whatever would be asked, but not to what must be
                                  asked every time
          --json                  Print JSON

    Start with `haft chat`, or see what a model would see with `haft tools`.
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["run", "--help"]), @r#"
    exit: 0
    --- stdout
    Let a model work on one prompt and print its final text

    Usage: haft run [OPTIONS] <PROMPT>

    Arguments:
      <PROMPT>  The prompt; `-` reads it from stdin

    Options:
          --no-tools       Switch tools off for this answer
          --dry-run        Ask the model once and show what would run; run and store nothing
          --record <FILE>  Write what the model answers to a new file, for `--model scripted:FILE`
      -h, --help           Print help

    Global options, which `haft --help` explains:
      --home --store --profile --session --project --model --allow --yes --json

    Example: haft run --model demo 'calculator expression=6*7'
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["call", "--help"]), @r#"
    exit: 0
    --- stdout
    Make one call of one tool

    Usage: haft call [OPTIONS] TOOL [key=text|key:=json|key@=file]...

    Arguments:
      [TOOL]         An alias, or a tool id (`builtin:` may be left out)
      [ARGUMENT]...  Arguments: `key=text`, `key:=json`, `key@=file`

    Options:
          --args <JSON>  All arguments as one JSON object; `-` reads it from stdin
          --dry-run      Show what would run; run and store nothing
      -h, --help         Print help; with a tool, its arguments

    Global options, which `haft --help` explains:
      --home --store --profile --session --project --model --allow --yes --json

    Examples:
      haft call calculator expression='2^100'
      haft call calculator --help     shows the tool's arguments
    --- stderr
    "#);
}

#[test]
fn every_command_has_help_with_an_example() {
    let home = Home::new();
    for command in [
        "chat",
        "run",
        "exec",
        "call",
        "parse",
        "tools",
        "sessions",
        "artifacts",
        "project",
        "profile",
        "config",
        "policy",
        "audit",
        "doctor",
        "completions",
    ] {
        let run = home.haft(&[command, "--help"]);
        assert_eq!(run.exit, Some(0), "{command}: {run}");
        assert!(run.stdout.contains("Example"), "{command}: {run}");
        assert!(run.stderr.is_empty(), "{command}: {run}");
    }
}

#[test]
fn every_subcommand_has_help_with_an_example_of_itself() {
    let home = Home::new();
    for line in [
        "tools list",
        "tools show",
        "tools prompt",
        "sessions list",
        "sessions show",
        "sessions import",
        "sessions export",
        "sessions delete",
        "artifacts list",
        "artifacts get",
        "project add",
        "project list",
        "project remove",
        "profile list",
        "profile show",
        "profile check",
        "config show",
        "config check",
        "audit runs",
        "audit show",
        "audit export",
        "audit verify",
        "audit redact",
        "audit anchor",
    ] {
        let words: Vec<&str> = line.split(' ').chain(["--help"]).collect();
        let run = home.haft(&words);
        assert_eq!(run.exit, Some(0), "{line}: {run}");
        assert!(run.stdout.contains(&format!("Example: haft {line}")), "{line}: {run}");
    }
}

#[test]
fn wrong_usage_is_exit_2() {
    let home = Home::new();
    for arguments in [
        &[][..],
        &["serve"],
        &["grants"],
        &["tools", "--nope"],
        &["run"],
        &["run", "--model", "demo", " "],
        &["call"],
        &["--store", "postgres://host/db", "tools"],
        &["--store", "elsewhere", "tools"],
        &["--allow", "x=/no/kind", "tools"],
        &["parse", "--chunk", "0"],
        &["completions", "nosuchshell"],
    ] {
        let run = home.haft(arguments);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{arguments:?}: {run}");
        assert!(!run.stderr.is_empty());
    }
    haft_snapshot!(home, home.haft(&["--store", "postgres://host/db", "tools"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: invalid value 'postgres://host/db' for '--store <STORE>': PostgreSQL is not built yet; leave the option out to keep data in the home

    For more information, try '--help'.
    "#);
    haft_snapshot!(home, home.haft(&["tolls"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: unrecognized subcommand 'tolls'

      tip: a similar subcommand exists: 'tools'

    Usage: haft [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    haft_snapshot!(home, home.haft(&["call"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the tool is missing

      Write `haft call TOOL key=text …`; `haft tools` lists the tools.
    "#);
}

#[test]
fn completions_are_printed_for_the_usual_shells() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = home.haft(&["completions", shell]);
        assert_eq!(run.exit, Some(0), "{shell}");
        assert!(run.stdout.contains("sessions") && run.stderr.is_empty(), "{shell}");
    }
}

#[test]
fn the_home_is_named_by_flag_then_environment_then_platform() {
    let home = Home::new();
    let origin = |command: &mut std::process::Command| {
        let run = run(command, b"");
        run.stdout.lines().next().unwrap_or_default().to_owned()
    };
    let bare = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_haft"));
        command.env_clear().current_dir(home.folder()).args(["config", "show", "--origin"]);
        command
    };
    let by_flag = origin(bare().env("HAFT_HOME", home.path("b")).args(["--home", "a"]));
    assert!(by_flag.contains("/a\"") && by_flag.ends_with("# --home"), "{by_flag}");
    let by_variable = origin(bare().env("HAFT_HOME", home.path("b")));
    assert!(by_variable.contains("/b\"") && by_variable.ends_with("# $HAFT_HOME"), "{by_variable}");
    let by_platform = origin(bare().env("HOME", home.path("me")));
    assert!(by_platform.contains("/me/") && by_platform.ends_with("data folder"), "{by_platform}");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let home = Home::new();
    for arguments in [
        &["completions", "bash"][..],
        &["tools"],
        &["run", "--model", "demo", "hello"],
        &["run", "--model", "demo", "hello", "--json"],
        &["profile", "show", "default"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = home.command(arguments);
        let output = command
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output();
        let output = output.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("error") && !stderr.contains("panic"), "{arguments:?}: {stderr}");
    }
}
