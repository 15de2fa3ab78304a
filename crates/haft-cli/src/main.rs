//! The binary `haft`: reads the command line, runs one command, and turns its end into an exit code.
//!
//! Start reading at [`args`] for the words and at [`commands`] for what they do; [`setup`] is what most of them start from.
//! Nothing here decides what a call may do: the engine's path does.

mod agents;
mod args;
mod call_arguments;
mod calls;
mod commands;
mod compose;
mod config;
mod current;
mod dialects;
mod document;
mod exit;
mod folders;
mod home;
mod models;
mod output;
mod platform;
mod prices;
mod profiles;
mod rules;
mod secrets;
mod setup;
mod surroundings;
mod terminal;
mod toolset;
mod unattended;
mod untrusted;
mod world_info;

use std::future::Future;
use std::process::ExitCode;

use args::{Cli, Command, Globals};
use exit::{Exit, Failure};
use output::Output;
use setup::Setup;

fn main() -> ExitCode {
    let output = Output::new();
    let (cli, globals) = match args::parse(std::env::args_os()) {
        Ok(read) => read,
        Err(error) => {
            // Help and version go to stdout, wrong usage to stderr; nobody is left to tell if that fails.
            drop(error.print());
            return ExitCode::from(if error.use_stderr() { Exit::Usage.code() } else { Exit::Done.code() });
        }
    };
    let exit = match run(cli, globals, output) {
        Ok(exit) => exit,
        Err(Failure::ClosedPipe) => Exit::Done,
        Err(Failure::Message { exit: Exit::Cancelled, text, .. }) => {
            output.note(&text);
            Exit::Cancelled
        }
        Err(Failure::Message { exit, text, hint }) => {
            output.error(&text, hint.as_deref());
            exit
        }
    };
    ExitCode::from(exit.code())
}

/// The commands that need no store start no runtime: they are over before one would be built.
fn run(cli: Cli, globals: Globals, output: Output) -> Result<Exit, Failure> {
    use commands as c;
    let setup = |globals| Setup::load(globals, output);
    match cli.command {
        Command::Completions(arguments) => c::completions::run(output, arguments.shell),
        Command::Parse(arguments) => c::parse::run(output, &arguments),
        Command::Profile(arguments) => c::profile::run(&setup(globals)?, arguments.command),
        Command::Config(arguments) => c::config::run(&setup(globals)?, arguments.command),
        Command::Tools(arguments) => {
            let setup = setup(globals)?;
            let of_session = match setup.globals.session.as_deref() {
                None => None,
                Some(session) => Some(block_on(c::tools::session_profile(&setup, session))?),
            };
            c::tools::run(&setup, arguments.command, of_session.as_deref())
        }
        Command::Call(arguments) if arguments.help && arguments.tool.is_none() => call_help(output),
        Command::Call(arguments) => block_on(c::call::run(setup(globals)?, arguments)),
        Command::Exec(arguments) => block_on(c::exec::run(setup(globals)?, arguments)),
        Command::Run(arguments) => block_on(c::run::run(setup(globals)?, arguments)),
        Command::Chat => block_on(c::chat::run(setup(globals)?)),
        Command::Sessions(arguments) => block_on(c::sessions::run(setup(globals)?, arguments.command)),
        Command::Artifacts(arguments) => block_on(c::artifacts::run(setup(globals)?, arguments.command)),
        Command::Project(arguments) => block_on(c::project::run(setup(globals)?, arguments.command)),
        Command::Audit(arguments) => block_on(c::audit::run(setup(globals)?, arguments.command)),
        Command::Replay(arguments) => block_on(c::replay::run(setup(globals)?, &arguments.run)),
        Command::Grants(arguments) => block_on(c::grants::run(setup(globals)?, arguments.command)),
        Command::Policy(arguments) => block_on(c::policy::run(setup(globals)?, arguments.command)),
        Command::Doctor => block_on(c::doctor::run(globals, output)),
    }
}

/// `haft call --help` without a tool: the command's own help.
fn call_help(output: Output) -> Result<Exit, Failure> {
    let mut command = args::command();
    command.build();
    if let Some(call) = command.find_subcommand_mut("call") {
        output.data(&call.render_help().to_string())?;
    }
    Ok(Exit::Done)
}

fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(
            |error| Failure::failed(format!("the threads of this program cannot be started: {error}")),
        )?;
    let ended = runtime.block_on(work);
    // A line that is still being read from stdin must not keep the process.
    runtime.shutdown_background();
    ended
}
