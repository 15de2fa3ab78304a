//! `haft grants`: what was allowed in a session, by whom, how often it was used, and taking it back.
//!
//! The list is read from the journal, which is the history of grants and arms none. Taking one back writes a row that the process which
//! owns the session looks at before it lets the grant stand in for an answer.

use haft_core::ports::{Clock, GrantRows, SessionRow, SessionRows};
use haft_core::{Grant, GrantId, Lifetime, Scope, Timestamp};
use haft_engine::{GrantRecord, grants_of};
use serde_json::{Value, json};

use crate::args::GrantsCommand;
use crate::calls::scope_word;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::output::counted;
use crate::setup::Setup;

/// Runs the command.
pub(crate) async fn run(setup: Setup, command: Option<GrantsCommand>) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft grants").await?;
    match command.unwrap_or(GrantsCommand::List) {
        GrantsCommand::List => list(&workplace).await?,
        GrantsCommand::Revoke { id } => revoke(&workplace, &GrantId::new(id)).await?,
    }
    Ok(Exit::Done)
}

/// What became of a grant, as far as another process can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The process that was told still owns the session.
    Live,
    /// Its time is over, or that process is gone.
    Ended,
    /// It was taken back.
    Revoked,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ended => "ended",
            Self::Revoked => "revoked",
        }
    }
}

async fn list(workplace: &Workplace) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let named = workplace.setup.globals.session.as_deref().unwrap_or("last");
    let row = workplace.stored_session(named).await?;
    let grants = grants_of(workplace.store.as_ref(), &row.id).await?;
    let now = workplace.clock.now();
    let owner = workplace.store.holder(&row.id, now).await?.map(|lease| lease.epoch);
    if workplace.setup.globals.json {
        let rows: Vec<Value> = grants.iter().map(|one| as_json(one, &row, state(one, owner, now))).collect();
        return output.json(&rows);
    }
    for one in &grants {
        let state = state(one, owner, now);
        let uses = uses(&one.grant, one.uses, one.last_use);
        output.foreign_line(&format!(
            "{}  {}; {uses}; {}",
            one.grant.id,
            grant_line(&one.grant),
            state.as_str()
        ))?;
    }
    if grants.is_empty() {
        output.note(&format!("nothing was granted in session {}", row.id));
    }
    Ok(())
}

/// The yeses of a session that stand in for answers as long as the process that was told owns it, without the limits of its runs.
pub(crate) async fn live(workplace: &Workplace, row: &SessionRow) -> Result<Vec<Grant>, Failure> {
    let now = workplace.clock.now();
    let owner = workplace.store.holder(&row.id, now).await?.map(|lease| lease.epoch);
    let grants = grants_of(workplace.store.as_ref(), &row.id).await?;
    let live = grants.into_iter().filter(|one| state(one, owner, now) == State::Live);
    Ok(live.map(|one| Grant { lifetime: Lifetime::Until(Timestamp(u64::MAX)), ..one.grant }).collect())
}

async fn revoke(workplace: &Workplace, id: &GrantId) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let (row, record) = find(workplace, id).await?;
    let now = workplace.clock.now();
    let owner = workplace.store.holder(&row.id, now).await?;
    let before = state(&record, owner.as_ref().map(|lease| lease.epoch), now);
    let first = workplace.store.revoke_grant(&row.id, id, now).await?;
    let what = grant_line(&record.grant);
    match before {
        State::Revoked => output.note(&format!("{id} was taken back before, at {first}: {what}")),
        State::Ended => output.note(&format!("{id} is taken back; it had ended already: {what}")),
        State::Live => {
            let owner = owner.map_or_else(|| "its process".to_owned(), |lease| lease.owner);
            output.note(&format!("{id} is taken back; {owner} asks again from now on: {what}"));
        }
    }
    Ok(())
}

/// The grant and its session: that of `--session`, else whichever has it.
async fn find(workplace: &Workplace, id: &GrantId) -> Result<(SessionRow, GrantRecord), Failure> {
    let sessions = match workplace.setup.globals.session.as_deref() {
        Some(named) => vec![workplace.stored_session(named).await?],
        None => workplace.store.sessions().await?.into_iter().filter(|row| !row.deleted).collect(),
    };
    for row in sessions {
        let grants = grants_of(workplace.store.as_ref(), &row.id).await?;
        if let Some(record) = grants.into_iter().find(|one| one.grant.id == *id) {
            return Ok((row, record));
        }
    }
    Err(Failure::usage(format!("there is no grant `{id}`"))
        .hint("`haft grants list --session ID` shows those of a session; one that was given a moment ago is listed with the next call."))
}

fn state(one: &GrantRecord, owner: Option<u64>, now: Timestamp) -> State {
    let ended = one.run_ended
        || match one.grant.lifetime {
            Lifetime::Once => true,
            Lifetime::Run(_) | Lifetime::Session(_) => false,
            Lifetime::Until(end) => end <= now,
        };
    match one.revoked {
        Some(_) => State::Revoked,
        None if ended || owner != Some(one.epoch) => State::Ended,
        None => State::Live,
    }
}

fn as_json(one: &GrantRecord, row: &SessionRow, state: State) -> Value {
    let grant = &one.grant;
    let (lifetime, run, until) = match &grant.lifetime {
        Lifetime::Once => ("once", None, None),
        Lifetime::Run(run) => ("run", Some(run), None),
        Lifetime::Session(_) => ("session", None, None),
        Lifetime::Until(end) => ("until", None, Some(end.to_string())),
    };
    json!({
        "id": grant.id,
        "session": row.id,
        "tool_id": grant.tool,
        "scope": scope_word(&grant.scope),
        "lifetime": lifetime,
        "run": run,
        "until": until,
        "given": grant.given.to_string(),
        "by": grant.by,
        "surface": grant.granted_by,
        "question": grant.question,
        "uses": one.uses,
        "last_use": one.last_use.map(|time| time.to_string()),
        "revoked": one.revoked.map(|time| time.to_string()),
        "state": state.as_str(),
    })
}

/// What a grant is, in one line without its id.
pub(crate) fn grant_line(grant: &Grant) -> String {
    let scope = match &grant.scope {
        Scope::Tool => "every call".to_owned(),
        scope @ (Scope::Path(_) | Scope::File(_) | Scope::Host(_) | Scope::Command(_)) => scope.to_string(),
    };
    let lifetime = match &grant.lifetime {
        Lifetime::Once => "once".to_owned(),
        Lifetime::Run(run) => format!("for run {run}"),
        Lifetime::Session(_) => "for the session".to_owned(),
        Lifetime::Until(end) => format!("until {end}"),
    };
    let who = match &grant.by {
        Some(by) => format!("by {by} from {}", grant.granted_by),
        None => format!("from {}", grant.granted_by),
    };
    format!("{} {scope} {lifetime}, given {} {who}", grant.tool, grant.given)
}

/// How often a grant was used, beside the call that was asked about when it was given.
pub(crate) fn uses(grant: &Grant, uses: u64, last_use: Option<Timestamp>) -> String {
    match (uses, last_use) {
        (0, _) | (_, None) if grant.question.is_some() => "not used since".to_owned(),
        (0, _) | (_, None) => "never used".to_owned(),
        (uses, Some(last)) => {
            let times = counted(usize::try_from(uses).unwrap_or(usize::MAX), "time");
            format!("used {times}, last at {last}")
        }
    }
}
