//! `haft chat`: a conversation in the terminal; without one, each line of stdin is a message.

mod model;

use std::io::{self, BufRead};
use std::sync::Arc;

use haft_core::GrantId;
use haft_core::ports::{Clock, Model};
use haft_core::profile::RunKind;
use haft_engine::{Session, SessionChoice, conversation};

use crate::commands::grants::{grant_line, uses};
use crate::commands::run::tell_end;
use crate::commands::tools;
use crate::compose::{Chosen, Workplace};
use crate::exit::{Exit, Failure};
use crate::models;
use crate::output::counted;
use crate::prices;
use crate::setup::Setup;
use crate::surroundings;
use crate::terminal::editor::{Entered, LineEditor};
use crate::terminal::history::History;
use crate::terminal::keys;
use crate::terminal::screen::{Mode, Screen};
use crate::toolset;

const HELP: &str = "\
/new          start a new session, without the messages, artifacts and yeses of this one
/resume ID    go on in another session; `last` is the newest
/tools        the tools of this profile, and whether they run, ask or are denied
/model        which model answers; /model NAME takes another one
/grants       what was allowed in this session, and how often that was used
/revoke ID    take a yes back
/help         this help
/quit         leave; Ctrl-D and twice Ctrl-C do the same
While the model works, one Ctrl-C stops the running tool and two stop the run.
Several lines can be pasted as one message.";

/// Runs the command.
pub(crate) async fn run(setup: Setup) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft chat").await?;
    let mut chosen = workplace.choose().await?;
    let interactive = surroundings::has_terminal() && !workplace.setup.globals.json;
    let mut name = match workplace.setup.model_name(&chosen.profile) {
        Some(name) => name,
        None => model::offer(&workplace.setup, interactive).await?,
    };
    let mut model = models::build(&name, &workplace.setup, &chosen.profile, workplace.store.clone())?;
    let mut session = workplace.start(&chosen).await?;
    let output = workplace.setup.output;
    let profile = &chosen.profile.name;
    let project = chosen.environment.project.as_ref();
    let project = project.map_or(String::new(), |project| format!(", project {project}"));
    output.note(&format!("model {name}, profile {profile}{project}, session {}", session.id()));
    let before = conversation(workplace.store.as_ref(), session.id()).await?.len();
    if before > 0 {
        let id = session.id();
        output.note(&format!("{} so far; `haft sessions show {id}` shows them", counted(before, "message")));
    }
    let mut lines = if interactive {
        if chosen.environment.project.is_none() && has_project_tools(&chosen) {
            output.note(
                "There is no project, so that file tools have no folder: `haft project add FOLDER --id ID` makes one, \
                 `haft chat --project ID` takes it.",
            );
        }
        output.note("Write a message and press Enter; /help tells more.");
        Lines::Terminal(Box::new(LineEditor::new(History::of(&workplace.setup)?)))
    } else {
        Lines::Stdin
    };
    let mut exit = Exit::Done;
    let mut said = 0;
    loop {
        let Some(line) = lines.next().await? else { break };
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => break,
            "/help" => output.note(HELP),
            "/new" => {
                session.close().await?;
                chosen.session = SessionChoice::New;
                session = workplace.start(&chosen).await?;
                output.note(&format!("new session {}", session.id()));
            }
            "/tools" => {
                for line in tools::lines(&chosen.tools, &chosen.environment) {
                    output.note(&line);
                }
            }
            "/model" => model::tell(&workplace.setup, &name),
            "/grants" => list_grants(&workplace, &session),
            command if interactive && command.starts_with('/') => {
                match command.split_once(char::is_whitespace) {
                    Some(("/revoke", id)) => revoke(&workplace, &session, id.trim()).await?,
                    Some(("/model", wanted)) => {
                        if let Some(next) = model::switch(&workplace, &chosen, wanted.trim())? {
                            (name, model) = (wanted.trim().to_owned(), next);
                        }
                    }
                    Some(("/resume", id)) => {
                        if let Some((other, next)) = resume(&workplace, &session, id.trim()).await? {
                            session.close().await?;
                            model = models::build(
                                &name,
                                &workplace.setup,
                                &other.profile,
                                workplace.store.clone(),
                            )?;
                            (chosen, session) = (other, next);
                        }
                    }
                    None if matches!(command, "/revoke" | "/resume") => {
                        output.note(&format!("{command} takes an id; /help tells more"));
                    }
                    None => output.note(&format!("there is no command `{command}`; /help lists them")),
                    // A message may begin with a path.
                    Some(_) => {
                        said += 1;
                        exit = worse(exit, speak(&workplace, &chosen, &session, &model, &name, line).await?);
                        output.note("");
                    }
                }
            }
            _ => {
                said += 1;
                exit = worse(exit, speak(&workplace, &chosen, &session, &model, &name, line).await?);
                if interactive {
                    output.note("");
                }
            }
        }
    }
    let id = session.id().clone();
    session.close().await?;
    if !interactive {
        let messages = counted(said, "message");
        output
            .note(&format!("answered {messages} in session {id}; `haft sessions show {id}` shows it again"));
        return Ok(exit);
    }
    output.note(&format!("session {id} is kept; `haft chat --session {id}` goes on"));
    Ok(Exit::Done)
}

/// The profile has tools that work in a project's folder.
fn has_project_tools(chosen: &Chosen) -> bool {
    chosen.tools.tools().iter().any(|tool| toolset::is_of_a_project(tool.id()))
}

/// What was allowed in the session since it was opened.
fn list_grants(workplace: &Workplace, session: &Session) {
    let output = workplace.setup.output;
    let now = workplace.clock.now();
    let grants = session.grants();
    for one in &grants {
        let state = match (one.revoked, one.is_live(now)) {
            (Some(_), _) => "; taken back",
            (None, false) => "; over",
            (None, true) => "",
        };
        let uses = uses(&one.grant, one.uses, one.last_use);
        output.note(&format!("{}  {}; {uses}{state}", one.grant.id, grant_line(&one.grant)));
    }
    if grants.is_empty() {
        output.note("nothing is allowed beforehand in this session");
    }
}

async fn revoke(workplace: &Workplace, session: &Session, id: &str) -> Result<(), Failure> {
    let taken = session.revoke(&GrantId::new(id)).await?;
    workplace.setup.output.note(&if taken {
        format!("{id} is taken back; what it covered asks again")
    } else {
        format!("there is nothing to take back under `{id}`; /grants lists what is allowed")
    });
    Ok(())
}

/// Another session to go on in, with its own profile and project, and its questions in this terminal (APR-20); none where it cannot be
/// had.
async fn resume(
    workplace: &Workplace,
    session: &Session,
    id: &str,
) -> Result<Option<(Chosen, Session)>, Failure> {
    let output = workplace.setup.output;
    let opened = async {
        let row = workplace.stored_session(id).await?;
        if row.id == *session.id() {
            return Err(Failure::usage("that is the session at hand"));
        }
        let chosen = workplace.choose_for(SessionChoice::Id(row.id)).await?;
        let next = workplace.start(&chosen).await?;
        Ok((chosen, next))
    };
    match opened.await {
        Ok((chosen, next)) => {
            let messages = conversation(workplace.store.as_ref(), next.id()).await?.len();
            output.note(&format!("session {}, {} so far", next.id(), counted(messages, "message")));
            Ok(Some((chosen, next)))
        }
        Err(Failure::Message { text, .. }) => {
            output.note(&text);
            Ok(None)
        }
        Err(Failure::ClosedPipe) => Err(Failure::ClosedPipe),
    }
}

/// One message and its run.
async fn speak(
    workplace: &Workplace,
    chosen: &Chosen,
    session: &Session,
    model: &Arc<dyn Model>,
    name: &str,
    line: String,
) -> Result<Exit, Failure> {
    let json = workplace.setup.globals.json;
    // What an agent says on the way is no part of the conversation; what it commits is.
    let writes = chosen.profile.run_kind == RunKind::Agent;
    let mode = match (json, writes) {
        (true, _) => Mode::Json,
        (false, true) => Mode::Calls,
        (false, false) => Mode::Conversation,
    };
    let screen = Arc::new(Screen::new(workplace.setup.output, mode));
    let mut options = workplace.options(chosen, "chat");
    options.price = prices::of(name, &workplace.setup, &chosen.profile)?;
    options.model = Some(name.to_owned());
    options.events = screen.clone();
    let watch = workplace.watch().await;
    let handle = session.prompt(line, model.clone(), options);
    let ended = workplace.guard(handle, watch, Some(&screen)).await?;
    if let Some(failure) = screen.take_failure() {
        return Err(failure);
    }
    if mode == Mode::Calls && !ended.text.is_empty() {
        workplace.setup.output.foreign_line(&ended.text)?;
    }
    Ok(tell_end(&workplace.setup, &ended))
}

/// The later failure counts, a success never takes one back.
fn worse(before: Exit, now: Exit) -> Exit {
    if now == Exit::Done { before } else { now }
}

/// Where lines come from.
enum Lines {
    Terminal(Box<LineEditor>),
    Stdin,
}

impl Lines {
    /// The next line; none at the end.
    async fn next(&mut self) -> Result<Option<String>, Failure> {
        match self {
            Self::Terminal(editor) => tokio::task::block_in_place(|| edited(editor)),
            Self::Stdin => {
                let read = tokio::task::spawn_blocking(|| {
                    let mut line = String::new();
                    io::stdin().lock().read_line(&mut line).map(|length| (length > 0).then_some(line))
                });
                tokio::select! {
                    read = read => match read {
                        Ok(Ok(line)) => Ok(line.map(|line| line.trim_end_matches(['\r', '\n']).to_owned())),
                        Ok(Err(error)) => Err(Failure::usage(format!("cannot read standard input: {error}"))),
                        Err(error) => Err(Failure::failed(error)),
                    },
                    _ = tokio::signal::ctrl_c() => Err(Failure::cancelled()),
                }
            }
        }
    }
}

/// A line from the editor. One Ctrl-C clears the line, a second one right after it leaves.
fn edited(editor: &mut LineEditor) -> Result<Option<String>, Failure> {
    let unreadable = |error: io::Error| Failure::failed(format!("cannot read the terminal: {error}"));
    let mut pressed = false;
    loop {
        match editor.read().map_err(unreadable)? {
            Entered::Line(line) => return Ok(Some(line)),
            Entered::End => return Ok(None),
            Entered::Interrupt if pressed => return Ok(None),
            Entered::Interrupt => {
                pressed = true;
                keys::tell_twice().map_err(unreadable)?;
            }
        }
    }
}
