//! An agent at work on a task: a task of the runtime that writes every record of its invocation, its end included, and then tells
//! whoever waits. It ends whatever happens to the call that wanted it.

use std::sync::Arc;

use haft_core::agents::{TaskReturn, TaskState, TaskView};
use haft_core::journal::{FileRef, InvocationEnded, Payload, RunStatus};
use haft_core::message::Message;
use haft_core::workspace::WorkspacePath;
use haft_core::{CompiledTools, ErrorCode, TaskId, ToolId};
use serde_json::{Map, json};
use tokio::sync::Semaphore;

use crate::error::EngineError;
use crate::run::Driver;
use crate::shared::RunShared;
use crate::tasks::Ended;
use crate::turns::{End, Finished, Talk, cancelled};

/// An agent that takes over.
pub(crate) struct Takeover {
    pub(crate) driver: Driver,
    /// What it reads first.
    pub(crate) opening: String,
}

/// How the results of tasks begin that the host tells by itself.
pub(crate) const NEWS: &str = "(Note from the host: tasks that ";

/// What an agent reads first that was given a task in the background (DEL-14, DEL-16).
pub(crate) fn task_opening(task: &str, tools: &CompiledTools) -> String {
    let give_back = tools.by_id(&ToolId::builtin("task.return"));
    let alias = give_back.map_or("task_return", |tool| tool.binding().alias.as_str());
    format!(
        "{task}\n\n(You work on this task for another agent. Keep notes of your own under summaries/ or scratch/; write under \
         other folders only where the task asks for a file or an edit. End your work with `{alias}`: its result is all that the \
         other agent reads.)"
    )
}

/// What an agent reads first that takes over a run.
pub(crate) fn handoff_opening(prompt: Option<&str>, from: &str, brief: &str) -> String {
    let asked = prompt.map_or(String::new(), |prompt| format!("The person asked:\n\n{prompt}\n\n"));
    format!("{asked}You take over from the agent `{from}`, who says:\n\n{brief}")
}

/// Tells the end of a task also where its work dies.
struct Teller {
    shared: Arc<RunShared>,
    task: TaskId,
}

impl Drop for Teller {
    fn drop(&mut self) {
        let tasks = &self.shared.tasks;
        if tasks.ended(&self.task).is_none() {
            let text = "its work ended without an answer".to_owned();
            tasks.fail(EngineError::Died(text.clone()));
            self.shared.stopper.stop();
            tasks.end(&self.task, Ended { state: TaskState::Failed, text, files: Vec::new() });
        }
    }
}

/// Lets an agent work, at its turn among `workers` where there is one.
pub(crate) fn spawn(driver: Driver, opening: String, workers: Option<Arc<Semaphore>>) {
    let shared = driver.shared.clone();
    let tracker = shared.tasks.tracker.clone();
    let Some(link) = driver.task.clone() else { return };
    let teller = Teller { shared, task: link.id };
    tracker.spawn(async move {
        let teller = teller;
        let stop = driver.stopper.run_token();
        let _turn = match &workers {
            None => None,
            Some(workers) => tokio::select! {
                biased;
                () = stop.0.cancelled() => None,
                turn = workers.acquire() => turn.ok(),
            },
        };
        driver.work(&teller, opening).await;
    });
}

impl Driver {
    async fn work(mut self, teller: &Teller, opening: String) {
        let tasks = &teller.shared.tasks;
        let model = self.team.as_ref().map(|team| team.model.model.clone());
        let end = match model {
            Some(model) if !self.stopper.run_is_stopped() => {
                tasks.begin(&teller.task);
                self.turns(model.as_ref(), vec![Message::User(opening)], None).await
            }
            _ => Ok(Finished::End(cancelled(String::new()))),
        };
        self.let_others_end().await;
        tasks.stop_those_of(&self.invocation);
        let (end, failure) = match end {
            Ok(Finished::End(end)) => (end, None),
            // A child has no tool with which it could.
            Ok(Finished::HandedOver(_)) => (broken("it tried to hand over the run".to_owned()), None),
            Err(error) => (broken(error.to_string()), Some(error)),
        };
        let told = self.end_stint(&end).await;
        let failure = failure.or(told.as_ref().err().cloned());
        if let Some(error) = failure {
            tasks.fail(error);
            teller.shared.stopper.stop();
        }
        tasks.end(&teller.task, Ended { files: told.unwrap_or_default(), ..ended(&end) });
    }

    /// Adds the results of tasks that ended since, of which this agent does not know (DEL-13).
    pub(crate) fn tell_news(&self, talk: &mut Talk) {
        if let Some(rerun) = &self.options.rerun {
            // When a task ends hangs on the moment, so that it is told as it was.
            let turn = talk.turn.saturating_add(1);
            rerun.news(&self.invocation, turn).into_iter().for_each(|news| talk.tell(news));
        }
        self.news("you").into_iter().for_each(|news| talk.tell(news));
    }

    /// The results of its tasks that nobody was told of, as those of `giver`; none if there are none.
    pub(crate) fn news(&self, giver: &str) -> Option<String> {
        let news = self.shared.tasks.news(&self.invocation);
        if news.is_empty() || self.options.rerun.is_some() {
            return None;
        }
        let capsules: Vec<String> = news.iter().map(TaskView::capsule).collect();
        let capsules = capsules.join("\n\n");
        Some(format!("{NEWS}{giver} gave have ended.)\n\n{capsules}"))
    }

    /// In a replay those who work for this invocation come to their recorded ends before it goes on to its own.
    pub(crate) async fn let_others_end(&self) {
        if let Some(rerun) = &self.options.rerun {
            rerun.is_over(&self.invocation);
            let tasks = &self.shared.tasks;
            tasks.until(|| tasks.have_none_at_work(&self.invocation).then_some(())).await;
        }
    }

    /// The end of an agent that returned its result in the batch before (DEL-14).
    pub(crate) fn returned_end(&mut self) -> Option<End> {
        let returned = self.team.as_ref()?.take_returned()?;
        let (status, code) = if returned.failed {
            (RunStatus::Failed, Some(ErrorCode::AGENT_FAILED.to_string()))
        } else {
            (RunStatus::Completed, None)
        };
        let text = returned.result.clone();
        self.returned = Some(returned);
        Some(End { status, code, message: None, text })
    }

    /// Notes that another agent takes over from here, and commits all that is pending.
    pub(crate) async fn hand_on(&mut self, to: &str) -> Result<(), EngineError> {
        self.let_others_end().await;
        self.shared.tasks.stop_those_of(&self.invocation);
        let message = Some(format!("The agent `{to}` took over."));
        let end = End { status: RunStatus::Completed, code: None, message, text: String::new() };
        self.end_stint(&end).await?;
        if self.writer.has_pending() {
            self.writer.commit().await?;
        }
        Ok(())
    }

    /// Notes the end of an invocation that is not the root, with the files that hold its result, and commits all that is pending.
    /// Gives the paths of those files in the workspace.
    pub(crate) async fn end_stint(&mut self, end: &End) -> Result<Vec<String>, EngineError> {
        let Some(link) = self.task.clone() else { return Ok(Vec::new()) };
        let mut paths = Vec::new();
        let mut files = Vec::new();
        if let Some(returned) = self.returned.take() {
            files = self.keep_result(&link.id, end.status, &returned)?;
            paths.push(summary_path(&link.id));
            paths.extend(returned.files);
        }
        let payload = InvocationEnded {
            invocation: self.invocation.clone(),
            task: link.id,
            status: end.status,
            error_code: end.code.clone(),
            message: end.message.clone(),
            text: Some(end.text.clone()).filter(|text| !text.is_empty()),
            files,
        };
        self.writer.note(&Payload::InvocationEnded(payload), Map::new())?;
        self.writer.commit().await?;
        Ok(paths)
    }

    /// Keeps what a child returned (DEL-17).
    fn keep_result(
        &mut self,
        task: &TaskId,
        status: RunStatus,
        returned: &TaskReturn,
    ) -> Result<Vec<FileRef>, EngineError> {
        let mask = self.writer.mask.clone();
        let mut result = json!({
            "task": task, "invocation": self.invocation, "agent": self.agent, "status": status,
            "result": returned.result, "files": returned.files,
        });
        mask.value(&mut result, haft_core::mask::View::Record);
        let json = self
            .writer
            .file(format!("agent-results/{}.json", self.invocation), result.to_string().into_bytes());
        let path = WorkspacePath::parse(&summary_path(task)).map_err(|error| EngineError::System {
            code: "agent.result_unwritable".to_owned(),
            message: error.to_string(),
        })?;
        let text = mask.text(&returned.result, haft_core::mask::View::Record);
        let summary = self.shared.files.put(path, text.as_bytes().into());
        let summary = self.writer.file(summary.stored_path(), summary.bytes.to_vec());
        Ok(vec![json, summary])
    }
}

fn summary_path(task: &TaskId) -> String {
    format!("summaries/{task}-result.md")
}

fn broken(message: String) -> End {
    End {
        status: RunStatus::Failed,
        code: Some("agent.system_failure".to_owned()),
        message: Some(message),
        text: String::new(),
    }
}

/// What the parent of a task is told.
fn ended(end: &End) -> Ended {
    let (state, text) = match end.status {
        RunStatus::Completed | RunStatus::PartialSuccess => (TaskState::Completed, end.text.clone()),
        RunStatus::Cancelled => (TaskState::Cancelled, "It was stopped before it ended.".to_owned()),
        // What the agent itself says of its failure comes first.
        RunStatus::Failed => {
            let said = Some(end.text.clone()).filter(|text| !text.trim().is_empty());
            let parts: Vec<String> = [end.message.clone(), said].into_iter().flatten().collect();
            (TaskState::Failed, parts.join("\n\n"))
        }
    };
    Ended { state, text, files: Vec::new() }
}
