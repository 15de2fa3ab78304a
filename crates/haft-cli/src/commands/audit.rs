//! `haft audit`: what the journals say, whether they are whole, and how to take text out of them.

mod summary;

use std::path::PathBuf;

use haft_core::RunId;
use haft_core::ports::{Clock, JournalRows, RunRow, SessionRows};
use haft_engine::replay_events;
use haft_store::verify::{self, RunState};
use serde_json::{Value, json};

use crate::args::AuditCommand;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::output::counted;
use crate::setup::Setup;
use crate::surroundings;

/// Runs the command.
pub(crate) async fn run(setup: Setup, command: Option<AuditCommand>) -> Result<Exit, Failure> {
    let command = command.unwrap_or(AuditCommand::Runs);
    let verifies = matches!(command, AuditCommand::Verify { .. });
    let workplace = Workplace::open(setup, "haft audit").await.map_err(|failure| match failure {
        // A database that cannot be read at all does not fit either.
        Failure::Message { text, hint, .. } if verifies => {
            Failure::Message { exit: Exit::Failed, text, hint }
        }
        other => other,
    })?;
    match command {
        AuditCommand::Runs => runs(&workplace).await?,
        AuditCommand::Show { run } => show(&workplace, &run).await?,
        AuditCommand::Export { run, output } => export(&workplace, &run, output).await?,
        AuditCommand::Verify { run, anchors } => return verify(&workplace, run.as_deref(), anchors).await,
        AuditCommand::Redact { run, seq, reason } => redact(&workplace, &run, seq, &reason).await?,
        AuditCommand::Anchor => anchor(&workplace)?,
    }
    Ok(Exit::Done)
}

/// The stored run that `name` means: an id or `last`.
pub(super) async fn find(workplace: &Workplace, name: &str) -> Result<RunRow, Failure> {
    let mut rows = workplace.store.runs(None).await?;
    let at = match name {
        "last" => rows.len().checked_sub(1),
        id => rows.iter().position(|row| row.id.as_str() == id),
    };
    match at {
        Some(at) => Ok(rows.swap_remove(at)),
        None if rows.is_empty() => {
            Err(Failure::usage("there is no run yet")
                .hint("`haft call`, `haft run` and `haft chat` make runs."))
        }
        None => Err(Failure::usage(format!("there is no run `{name}`"))
            .hint("`haft audit runs` lists those that there are.")),
    }
}

async fn runs(workplace: &Workplace) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let rows = workplace.store.runs(None).await?;
    if workplace.setup.globals.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "run": row.id, "session": row.session, "started": row.started, "records": row.head.next,
                    "head": row.head.hash, "ended": row.ended,
                })
            })
            .collect();
        return output.json(&rows);
    }
    for row in &rows {
        let end = if row.ended { "" } else { "  not ended" };
        output.foreign_line(&format!(
            "{}  {}  session {}  {} records  head {}{end}",
            row.id, row.started, row.session, row.head.next, row.head.hash
        ))?;
    }
    if rows.is_empty() {
        output.note("there is no run yet");
    }
    Ok(())
}

async fn show(workplace: &Workplace, name: &str) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let row = find(workplace, name).await?;
    let events = replay_events(workplace.store.as_ref(), &row.id).await?;
    if workplace.setup.globals.json {
        return output.json(&events);
    }
    for event in &events {
        let seq = event.seq.map_or_else(String::new, |seq| seq.to_string());
        let line = summary::line(event);
        output.foreign_line(&format!("{seq:>4}  {}  {:21}  {line}", event.time, event.kind))?;
    }
    output.note(&format!("head {}", row.head.hash));
    Ok(())
}

async fn export(workplace: &Workplace, name: &str, folder: Option<PathBuf>) -> Result<(), Failure> {
    let row = find(workplace, name).await?;
    let folder = surroundings::absolute(&folder.unwrap_or_else(|| PathBuf::from(row.id.as_str())))?;
    let export = haft_store::export_run(workplace.store.as_ref(), &row.id).await?;
    export.write(&folder)?;
    workplace.setup.output.line(&folder.display().to_string())?;
    let (records, files) = (counted(export.lines.len(), "record"), counted(export.files.len(), "file"));
    workplace
        .setup
        .output
        .note(&format!("run {}: {records} and {files} exported; head {}", row.id, row.head.hash));
    Ok(())
}

/// Exit 1 if anything does not fit; what does not is named.
async fn verify(
    workplace: &Workplace,
    name: Option<&str>,
    anchors: Option<PathBuf>,
) -> Result<Exit, Failure> {
    let output = workplace.setup.output;
    let anchors = match anchors {
        None => Vec::new(),
        Some(path) => read_anchors(&path)?,
    };
    let (store, now) = (workplace.store.as_ref(), workplace.clock.now());
    let report = match name {
        None => verify::verify_store(store, &anchors, now)?,
        Some("last") => verify::verify_run(store, &find(workplace, "last").await?.id, &anchors, now)?,
        Some(id) => {
            let known = store.runs(None).await.is_ok_and(|rows| rows.iter().any(|row| row.id.as_str() == id));
            let report = verify::verify_run(store, &RunId::from(id), &anchors, now)?;
            let is_empty = report.runs.iter().all(|run| run.head.next == 0);
            if !known && is_empty && anchors.is_empty() {
                find(workplace, id).await?;
            }
            report
        }
    };
    let exit = if report.fits() { Exit::Done } else { Exit::Failed };
    if workplace.setup.globals.json {
        let findings = |found: &[verify::Finding]| found.iter().map(ToString::to_string).collect::<Vec<_>>();
        let runs: Vec<Value> = report
            .runs
            .iter()
            .map(|run| {
                json!({
                    "run": run.run, "session": run.session, "records": run.head.next, "head": run.head.hash,
                    "state": state(run.state), "findings": findings(&run.findings),
                })
            })
            .collect();
        output.json(&json!({"fits": report.fits(), "runs": runs, "findings": findings(&report.findings)}))?;
        return Ok(exit);
    }
    for run in &report.runs {
        if run.findings.is_empty() {
            output.foreign_line(&format!(
                "run {}: {} records, {}, head {}",
                run.run,
                run.head.next,
                state(run.state),
                run.head.hash
            ))?;
        }
    }
    for finding in report.findings() {
        output.foreign_line(&finding.to_string())?;
    }
    let count = report.runs.len();
    let runs = counted(count, "run");
    if report.fits() {
        output.note(&format!("{runs}: everything fits"));
    } else {
        output.error(&format!("{runs}: something does not fit"), None);
    }
    Ok(exit)
}

fn state(state: RunState) -> &'static str {
    match state {
        RunState::Ended => "ended",
        RunState::Running => "running",
        RunState::Open => "open",
        RunState::Deleted => "deleted",
    }
}

/// One JSON object a line, or one array with `--json`; `verify --anchors` reads both.
fn anchor(workplace: &Workplace) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let anchors = verify::anchor(workplace.store.as_ref())?;
    if workplace.setup.globals.json {
        return output.json(&anchors);
    }
    anchors.iter().try_for_each(|anchor| output.json(anchor))
}

/// What `haft audit anchor` printed.
fn read_anchors(path: &std::path::Path) -> Result<Vec<verify::Anchor>, Failure> {
    let fail = |reason: String| Failure::usage(format!("--anchors {}: {reason}", path.display()));
    let text = surroundings::text(path).map_err(fail)?;
    if let Ok(anchors) = serde_json::from_str(&text) {
        return Ok(anchors);
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| fail(format!("line {number} is no anchor: {error}")))
        })
        .collect()
}

async fn redact(workplace: &Workplace, name: &str, seq: u64, reason: &str) -> Result<(), Failure> {
    let row = find(workplace, name).await?;
    let now = workplace.clock.now();
    let owner = format!("process {} (haft audit redact)", std::process::id());
    let lease = workplace.store.lease(&row.session, &owner, now).await?;
    let redacted = workplace.store.redact(&lease, &row.id, seq, reason, now).await;
    workplace.store.release(&lease).await?;
    redacted.map_err(|error| match error {
        haft_core::ports::RedactionError::NotRedactable { .. } => Failure::usage(error),
        haft_core::ports::RedactionError::Store(error) => error.into(),
    })?;
    workplace.setup.output.note(&format!(
        "record {seq} of run {} is redacted, with the files that it speaks of; the journal says so and still verifies",
        row.id
    ));
    Ok(())
}
