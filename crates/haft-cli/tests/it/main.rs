//! The binary as its users meet it: every test starts the real `haft` in a home of its own and looks at exit code, stdout
//! and stderr together.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "these tests stand outside: they start the binary, write the files that it reads, and play its model servers"
)]

#[macro_use]
mod support;

mod agent_runs;
mod agents;
mod arguments;
mod audit;
mod bad_input;
mod bounds;
mod call;
mod chat;
mod chats;
mod configuration;
mod dialects;
mod exec;
mod grants;
mod guide;
mod killed;
mod model_servers;
mod parse;
mod policy;
mod presets;
mod processes;
mod profiles;
mod projects;
mod run;
mod secrets;
mod sessions;
#[cfg(target_os = "linux")]
mod terminal;
mod tools;
mod writing;
