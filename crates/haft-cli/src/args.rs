//! The command line as clap reads it (design: the stable contract). Words and help only; nothing is decided here.
//!
//! Global options may stand before and after the command: [`parse`] adds them at every level and [`Globals::over`] lays the
//! levels over each other.

mod allow;
mod globals;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use allow::Allow;
pub(crate) use globals::Globals;

/// Holds a language model's tools: reads its calls, checks, asks, runs and writes all of it down.
#[derive(Debug, Parser)]
#[command(
    name = "haft",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    after_help = "Start with `haft chat`, or see what a model would see with `haft tools`."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk to a model that may use tools; asks you before calls that need a yes
    #[command(after_help = "Example: haft chat --model demo --project notes")]
    Chat,
    /// Let a model work on one prompt and print its final text
    #[command(after_help = "Example: haft run --model demo 'calculator expression=6*7'")]
    Run(RunArgs),
    /// Run the calls in a model's text from stdin; print results in the same dialect
    #[command(after_help = "Example: haft exec < answer.txt")]
    Exec(ExecArgs),
    /// Make one call of one tool
    #[command(
        disable_help_flag = true,
        override_usage = "haft call [OPTIONS] TOOL [key=text|key:=json|key@=file]...",
        after_help = "Examples:\n  haft call calculator expression='2^100'\n  haft call calculator --help     shows the tool's arguments"
    )]
    Call(CallArgs),
    /// Only read the calls in a model's text from stdin; nothing is run
    #[command(after_help = "Example: haft parse --dialect artifact-xml --tools tools.json < answer.txt")]
    Parse(ParseArgs),
    /// Show the tools that a model would see
    #[command(after_help = "Example: haft tools show file_read --profile nanoclaw")]
    Tools(ToolsArgs),
    /// List, show, import, export and delete conversations
    #[command(after_help = "Example: haft sessions show last")]
    Sessions(SessionsArgs),
    /// List and print the artifacts of a session
    #[command(after_help = "Example: haft artifacts get plan.md --session last")]
    Artifacts(ArtifactsArgs),
    /// Name the folders that file tools may work in
    #[command(after_help = "Example: haft project add ~/notes --id notes")]
    Project(ProjectArgs),
    /// List, show and check profiles
    #[command(after_help = "Example: haft profile show nanoclaw > my-profile.md")]
    Profile(ProfileArgs),
    /// Show and check the configuration
    #[command(after_help = "Example: haft config show --origin")]
    Config(ConfigArgs),
    /// List what was allowed in a session, and take it back
    #[command(after_help = "Example: haft grants list --session last")]
    Grants(GrantsArgs),
    /// Explain, check and test the rules that decide calls
    #[command(
        after_help = "Example: haft policy explain file_write --args '{\"path\": \"a\", \"content\": \"b\"}'"
    )]
    Policy(PolicyArgs),
    /// Read, export and verify the journals of runs
    #[command(after_help = "Example: haft audit verify")]
    Audit(AuditArgs),
    /// Run a recorded run again, in memory; tell the first difference
    #[command(after_help = "Example: haft replay last --json")]
    Replay(ReplayArgs),
    /// Show what works on this machine
    #[command(after_help = "Example: haft doctor")]
    Doctor,
    /// Print a completion script for a shell
    #[command(
        after_help = "Example: haft completions bash > ~/.local/share/bash-completion/completions/haft"
    )]
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Switch tools off for this answer
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// Ask the model once and show what would run; run and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write what the model answers to a new file, for `--model scripted:FILE`
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) record: Option<PathBuf>,
    /// The prompt; `-` reads it from stdin
    pub(crate) prompt: String,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Dialect of the text: `auto`, `native`, or a name of `haft parse --dialects`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) dialect: String,
    /// Show what would run; run and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// An alias, or a tool id (`builtin:` may be left out)
    pub(crate) tool: Option<String>,
    /// Arguments: `key=text`, `key:=json`, `key@=file`
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object; `-` reads it from stdin
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Show what would run; run and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print help; with a tool, its arguments
    #[arg(long, short)]
    pub(crate) help: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// Dialect of the text; `auto` finds it
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) dialect: String,
    /// JSON array of `{name, parameters}`: the tools that are declared
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Feed N characters at a time; the result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) chunk: Option<u64>,
    /// Each input line is `{id, dialect?, tools?, text, finish_reason?}`
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// Why the model stopped; after `length` no unclosed call counts
    #[arg(long, value_name = "REASON", default_value = "stop")]
    pub(crate) finish_reason: String,
    /// List the dialects
    #[arg(long, conflicts_with = "repairs")]
    pub(crate) dialects: bool,
    /// List the repairs
    #[arg(long)]
    pub(crate) repairs: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

/// What to show of the tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools of the profile (the default)
    #[command(after_help = "Example: haft tools list --profile artifactflow")]
    List,
    /// Show one tool, whole
    #[command(after_help = "Example: haft tools show calculator")]
    Show {
        /// An alias, or a tool id (`builtin:` may be left out)
        tool: String,
    },
    /// Print the tools as a model reads them
    #[command(after_help = "Example: haft tools prompt --dialect artifact-xml")]
    Prompt {
        /// `native`, or the name of a text dialect; else what the profile says
        #[arg(long, value_name = "NAME")]
        dialect: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, newest change first (the default)
    #[command(after_help = "Example: haft sessions list --json")]
    List,
    /// Print the messages of a session
    #[command(after_help = "Example: haft sessions show last")]
    Show {
        /// Its id, or `last`
        id: String,
    },
    /// Make a session of a chat of another program, in JSON Lines with a header first
    #[command(after_help = "Example: haft sessions import chat.jsonl --profile tauritavern")]
    Import {
        /// The file, of at most 16 MB
        file: PathBuf,
    },
    /// Print the conversation of a session as JSON Lines, for other programs
    #[command(after_help = "Example: haft sessions export last > chat.jsonl")]
    Export {
        /// Its id, or `last`
        id: String,
    },
    /// Take away all texts, files and artifacts of a session; its chain stays for audit
    #[command(after_help = "Example: haft sessions delete last")]
    Delete {
        /// Its id, or `last`
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ArtifactsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ArtifactsCommand>,
}

/// What to do with artifacts.
#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactsCommand {
    /// List the artifacts of the session (the default)
    #[command(after_help = "Example: haft artifacts list --session last")]
    List,
    /// Print one artifact
    #[command(after_help = "Example: haft artifacts get plan.md --version 1 > plan.md")]
    Get {
        /// Its id
        id: String,
        /// That version; the newest where it is left out
        #[arg(long, value_name = "N")]
        version: Option<u32>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ProjectCommand>,
}

/// What to do with projects.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// Add a folder as a project
    #[command(after_help = "Example: haft project add ~/notes --id notes")]
    Add {
        /// The folder
        path: PathBuf,
        /// Its id; the folder's name where it is left out
        #[arg(long)]
        id: Option<String>,
    },
    /// List the projects (the default)
    #[command(after_help = "Example: haft project list")]
    List,
    /// Forget a project; its folder is not touched
    #[command(after_help = "Example: haft project remove notes")]
    Remove {
        /// Its id
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ProfileCommand>,
}

/// What to do with profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles (the default)
    #[command(after_help = "Example: haft profile list")]
    List,
    /// Print a profile, resolved, in the form in which profiles are written
    #[command(after_help = "Example: haft profile show nanoclaw > my-profile.md")]
    Show {
        /// Its name or path; the one that would be used where it is left out
        name: Option<String>,
    },
    /// Check profiles
    #[command(after_help = "Example: haft profile check ./my-profile.md")]
    Check {
        /// Names or paths; all where none is given
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show all settings (the default)
    #[command(after_help = "Example: haft config show --origin")]
    Show {
        /// Say where each one comes from
        #[arg(long)]
        origin: bool,
    },
    /// Check haft.toml and what it names
    #[command(after_help = "Example: haft config check")]
    Check,
}

#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<GrantsCommand>,
}

/// What to do with grants.
#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List the grants of a session, the newest one where none is named (the default)
    #[command(after_help = "Example: haft grants list --session last --json")]
    List,
    /// Take a grant back, whichever process it lives in
    #[command(after_help = "Example: haft grants revoke g_01hx5k3v9q2m4c7t")]
    Revoke {
        /// Its id
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PolicyCommand>,
}

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what is decided of a call, by which rule, and what would change it; nothing is run
    #[command(
        after_help = "Example: haft policy explain calculator --args '{\"expression\": \"1+1\"}' --json"
    )]
    Explain {
        /// An alias, or a tool id (`builtin:` may be left out)
        tool: String,
        /// All arguments as one JSON object; `-` reads it from stdin
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
    },
    /// Say which questions would come, tool by tool, and what would become of them where nobody is there
    #[command(after_help = "Example: haft policy questions --profile nanoclaw --json")]
    Questions,
    /// Look for rules that never decide (the default)
    #[command(after_help = "Example: haft policy lint --profile nanoclaw")]
    Lint,
    /// Run a file of cases; exit 1 if one is decided otherwise than it says
    #[command(after_help = "Example: haft policy test cases.toml")]
    Test {
        /// The file: `[[cases]]` with `tool`, `args` and `expect`, in TOML
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AuditCommand>,
}

/// What to do with journals.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List the runs, oldest first (the default)
    #[command(after_help = "Example: haft audit runs --json")]
    Runs,
    /// Print the records of a run
    #[command(after_help = "Example: haft audit show last")]
    Show {
        /// Its id, or `last`
        #[arg(default_value = "last")]
        run: String,
    },
    /// Write a run's journal and files into a new folder
    #[command(after_help = "Example: haft audit export last --output evidence")]
    Export {
        /// Its id, or `last`
        run: String,
        /// The folder; the run's id where it is left out
        #[arg(long, short, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Check that nothing was changed; exit 1 and a name for all that does not fit
    #[command(after_help = "Example: haft audit verify --anchors anchors.jsonl")]
    Verify {
        /// One run, or `last`; all where it is left out
        run: Option<String>,
        /// What `haft audit anchor` printed before: those heads must still be there
        #[arg(long, value_name = "FILE")]
        anchors: Option<PathBuf>,
    },
    /// Take the text of one record away; the chain still verifies
    #[command(after_help = "Example: haft audit redact last 0 --reason 'a name in the prompt'")]
    Redact {
        /// Its id, or `last`
        run: String,
        /// The number of the record
        seq: u64,
        /// Why; it is written into the journal
        #[arg(long, value_name = "TEXT", default_value = "redacted by the user")]
        reason: String,
    },
    /// Print the head hash of each run, to be kept elsewhere
    #[command(after_help = "Example: haft audit anchor > anchors.jsonl")]
    Anchor,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Its id, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// The whole command line for clap, with the global options at every level. Only the help of `haft` itself explains them; that of a
/// command names them.
pub(crate) fn command() -> clap::Command {
    Globals::augment_args(with_commands(Cli::command()))
}

/// Reads the command line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Cli, Globals), clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    let globals = globals_of(&matches)?;
    Ok((Cli::from_arg_matches(&matches)?, globals))
}

fn with_commands(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_quiet_globals))
}

fn with_quiet_globals(command: clap::Command) -> clap::Command {
    let globals = Globals::augment_args(clap::Command::new("globals"));
    let options: Vec<String> =
        globals.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
    let quiet = globals.get_arguments().cloned().map(|argument| argument.hide(true));
    let named = format!("Global options, which `haft --help` explains:\n  {}", options.join(" "));
    let end = match command.get_after_help() {
        Some(help) => format!("{named}\n\n{help}"),
        None => named,
    };
    with_commands(command).args(quiet).after_help(end)
}

fn globals_of(matches: &ArgMatches) -> Result<Globals, clap::Error> {
    let own = Globals::from_arg_matches(matches)?;
    match matches.subcommand() {
        Some((_, deeper)) => Ok(globals_of(deeper)?.over(own)),
        None => Ok(own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Cli, Globals), clap::Error> {
        parse(std::iter::once("haft").chain(line.split(' ')).map(OsString::from))
    }

    #[test]
    fn the_table_of_arguments_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn globals_stand_before_and_after_the_command() {
        let (_, globals) =
            read("--home a --allow x --json sessions --profile p list --home b --allow y=path:/z --yes")
                .unwrap();
        assert_eq!(globals.home, Some(PathBuf::from("b")));
        assert_eq!(globals.profile.as_deref(), Some("p"));
        let allowed: Vec<String> = globals.allow.iter().map(ToString::to_string).collect();
        assert_eq!(allowed, ["x", "y=path:/z"]);
        assert!(globals.yes && globals.json);
    }

    #[test]
    fn commands_of_later_issues_are_absent() {
        for line in ["serve", "mcp", "undo", "gc", "call x --nope", "--store postgres://h tools"] {
            assert_eq!(read(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
