//! Options that every command takes.

use std::path::PathBuf;

use clap::Args;

use super::Allow;

// No doc comment: clap would take it as the help of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Folder of configuration and data [default: $HAFT_HOME, else the platform's data folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Where data is kept: `sqlite`, a file in the home
    #[arg(long, value_name = "STORE", value_parser = store)]
    pub(crate) store: Option<StoreChoice>,
    /// A profile's name or, with a `/`, its path
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Go on in this session: its id, or `last`
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The project whose folder file tools work in
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// The model: an entry of haft.toml, http://host:port/v1#NAME, openai:NAME, anthropic:NAME, gemini:NAME, scripted:FILE, or demo
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Say yes in advance to a tool, or to a part of it: path:DIR, file:F, host:H, cmd:SHAPE
    #[arg(long, value_name = "TOOL[=SCOPE]", value_parser = Allow::parse)]
    pub(crate) allow: Vec<Allow>,
    /// Say yes in advance to whatever would be asked, but not to what must be asked every time
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The store that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// SQLite in the home.
    Sqlite,
}

fn store(text: &str) -> Result<StoreChoice, String> {
    match text {
        "sqlite" => Ok(StoreChoice::Sqlite),
        _ if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
            Err("PostgreSQL is not built yet; leave the option out to keep data in the home".to_owned())
        }
        _ => Err("the only store is `sqlite`; leave the option out to use it".to_owned()),
    }
}

impl Globals {
    /// `self` over `below`: single values replace, `--allow` adds up, switches hold wherever they stand.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            home: self.home.or(below.home),
            store: self.store.or(below.store),
            profile: self.profile.or(below.profile),
            session: self.session.or(below.session),
            project: self.project.or(below.project),
            model: self.model.or(below.model),
            allow: [below.allow, self.allow].concat(),
            yes: self.yes || below.yes,
            json: self.json || below.json,
        }
    }
}
