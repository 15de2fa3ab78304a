//! What a run of kind `agent` puts into its conversation: explicit commits, and drafts that the host publishes before the first of
//! them (WSP-13, WSP-21, WSP-22, EXE-18).
//!
//! The text goes through one port, the [`ChatHost`]; the record of it is written with the end of the call, or of the turn, from
//! which it comes. All texts of a run go into one message, whichever of its agents commits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::chat_host::{ChatHost, ChatReply};
use haft_core::journal::{ChatCommitted, Payload};
use haft_core::mask::View;
use haft_core::run_control::{ChatCommit, CommitMode, CommitReceipt, RunControl};
use haft_core::workspace::{BROKEN, Workspace, WorkspaceRoots, WorkspaceVersion};
use haft_core::{BoxFuture, CallId, ErrorClass, ErrorCode, InvocationId, ToolError, ToolId};
use serde_json::{Map, Value};

use crate::chat::StoredChat;
use crate::error::EngineError;
use crate::run::{CallOutcome, Driver};
use crate::session::SessionInner;
use crate::shared::RunShared;

/// Files whose text is published as it is (EXE-18).
const TEXT_SUFFIXES: [&str; 2] = [".md", ".txt"];

/// What a run has in its conversation.
#[derive(Default)]
pub(crate) struct Publication {
    /// One text at a time.
    saving: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    message: Option<RunMessage>,
    /// Successful explicit commits.
    explicit: u32,
    /// All texts that went in.
    saved: u32,
    /// What no record tells of yet.
    untold: Vec<Untold>,
    /// What the mutations of each agent's batch at hand wrote.
    written: Vec<Written>,
}

/// The message of the run.
#[derive(Clone)]
struct RunMessage {
    index: u64,
    text: String,
    /// Nothing but drafts that the host published by itself.
    is_draft: bool,
}

/// What a mutation wrote.
struct Written {
    by: InvocationId,
    call: CallId,
    version: WorkspaceVersion,
}

struct Untold {
    by: InvocationId,
    number: u32,
    message: u64,
    characters: u64,
    mode: CommitMode,
    source: String,
    text: String,
}

/// What is to be saved.
struct Saving<'a> {
    file: &'a WorkspaceVersion,
    text: String,
    mode: CommitMode,
    is_draft: bool,
}

impl Publication {
    /// The message as it stands; none if nothing is in the conversation.
    pub(crate) fn text(&self) -> Option<String> {
        self.state().message.as_ref().map(|message| message.text.clone())
    }

    /// True if the run committed something by itself (WSP-23).
    pub(crate) fn has_explicit_commit(&self) -> bool {
        self.state().explicit > 0
    }

    /// Keeps in mind what a mutation of the batch at hand of `by` wrote.
    pub(crate) fn wrote(&self, by: &InvocationId, call: &CallId, versions: &[WorkspaceVersion]) {
        let written = |version: &WorkspaceVersion| Written {
            by: by.clone(),
            call: call.clone(),
            version: version.clone(),
        };
        self.state().written.extend(versions.iter().map(written));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves a text: the file is read anew and must still be what was checked (EXE-18).
    async fn save(
        &self,
        shared: &Arc<RunShared>,
        by: &InvocationId,
        saving: Saving<'_>,
    ) -> Result<CommitReceipt, ToolError> {
        let _one = self.saving.lock().await;
        let Saving { file, text, mode, is_draft } = saving;
        let newest = shared.files.view(by.clone(), WorkspaceRoots::default()).read(&file.path)?;
        if newest.is_none_or(|newest| newest.digest() != file.digest()) {
            let text = format!("`{}` was changed meanwhile. Read it again, then commit it.", file.path);
            return Err(ToolError::new(ErrorCode::new("workspace.commit_stale"), text));
        }
        let before = self.state().message.clone();
        // A draft is nobody's commit, so that the first one takes its place whatever its mode.
        let mode = match &before {
            Some(message) if !message.is_draft => mode,
            Some(_) => CommitMode::Replace,
            None => mode,
        };
        let text = shared.session.engine.mask().text(&text, View::Record).into_owned();
        let reply = ChatReply {
            session: shared.session.lease.session.clone(),
            run: shared.run.clone(),
            message: before.as_ref().map(|message| message.index),
            mode,
            text,
        };
        let index = match shared.session.engine.parts.services.get::<dyn ChatHost>() {
            Some(host) => host.save(&reply).await?,
            None => JournalChat(shared.session.clone()).save(&reply).await?,
        };
        if before.as_ref().is_some_and(|message| message.index != index) {
            let text = format!("The message of the run was {:?} and is {index} now.", reply.message);
            return Err(ToolError::system(BROKEN, text));
        }
        let whole = match (mode, before) {
            (CommitMode::Append, Some(before)) => before.text + &reply.text,
            (CommitMode::Append, None) | (CommitMode::Replace, _) => reply.text.clone(),
        };
        let characters = whole.chars().count() as u64;
        let mut state = self.state();
        state.saved = state.saved.saturating_add(1);
        state.explicit = state.explicit.saturating_add(u32::from(!is_draft));
        state.message = Some(RunMessage { index, text: whole, is_draft });
        let untold = Untold {
            by: by.clone(),
            number: state.saved,
            message: index,
            characters,
            mode,
            source: format!("{}@{}", file.path, file.version),
            text: reply.text,
        };
        state.untold.push(untold);
        Ok(CommitReceipt { message: index, characters, commits: state.explicit })
    }
}

/// The conversation of the journal: the record of a commit is all that is saved.
struct JournalChat(Arc<SessionInner>);

impl ChatHost for JournalChat {
    fn save<'a>(&'a self, reply: &'a ChatReply) -> BoxFuture<'a, Result<u64, ToolError>> {
        Box::pin(async move {
            if let Some(index) = reply.message {
                return Ok(index);
            }
            let unreadable = |error: EngineError| {
                let text = "The conversation cannot be read now, so nothing was committed. Try again.";
                ToolError::new(ErrorCode::new("chat.unavailable"), text).with_detail(error.to_string())
            };
            let messages = StoredChat(self.0.clone()).read().await.map_err(unreadable)?;
            Ok(messages.len() as u64)
        })
    }
}

/// The run as the tools of one invocation may steer it.
pub(crate) struct Steering {
    pub(crate) shared: Arc<RunShared>,
    pub(crate) invocation: InvocationId,
}

impl RunControl for Steering {
    fn commit(&self, commit: ChatCommit) -> BoxFuture<'_, Result<CommitReceipt, ToolError>> {
        Box::pin(async move {
            let ChatCommit { file, text, mode } = commit;
            let saving = Saving { file: &file, text, mode, is_draft: false };
            self.shared.publication.save(&self.shared, &self.invocation, saving).await
        })
    }

    fn finish(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            if self.shared.options.background || self.shared.publication.has_explicit_commit() {
                return Ok(());
            }
            Err(ToolError::new(
                ErrorCode::new("agent.foreground_commit_required"),
                "Nothing is committed yet, so the person has nothing to read. Commit your text first, then finish.",
            ))
        })
    }
}

impl Driver {
    /// Begins a batch: what an earlier one of this agent wrote is published no more.
    pub(crate) fn begin_publication(&self) {
        self.shared.publication.state().written.retain(|written| written.by != self.invocation);
    }

    /// Notes what went into the conversation and no record tells of, as the work of `call`.
    pub(crate) fn tell_of_commits(&mut self, call: Option<&CallId>) -> Result<(), EngineError> {
        let own = {
            let mut state = self.shared.publication.state();
            let (own, others) = std::mem::take(&mut state.untold)
                .into_iter()
                .partition::<Vec<_>, _>(|one| one.by == self.invocation);
            state.untold = others;
            own
        };
        for one in own {
            let file =
                self.writer.file(format!("chat/commit_{}.txt", one.number), one.text.clone().into_bytes());
            let committed = ChatCommitted {
                call_id: call.cloned(),
                characters: one.characters,
                file,
                invocation: one.by,
                message: one.message,
                mode: one.mode,
                source: one.source,
            };
            let joined = if self.options.events.wants_events() {
                Map::from_iter([("text".to_owned(), Value::String(one.text))])
            } else {
                Map::new()
            };
            self.writer.note(&Payload::ChatCommitted(committed), joined)?;
        }
        Ok(())
    }

    /// Publishes the last text that a batch wrote, as long as the agent has committed nothing by itself (EXE-18).
    pub(crate) async fn publish_draft(&mut self, outcomes: &[CallOutcome]) -> Result<(), EngineError> {
        let publication = &self.shared.publication;
        if self.shared.options.background || publication.has_explicit_commit() {
            return Ok(());
        }
        let last = outcomes.iter().rev().find(|outcome| !outcome.result.is_error && is_mutation(outcome));
        let Some(last) = last else { return Ok(()) };
        let version = {
            let state = publication.state();
            let of_last = state.written.iter().rev().find(|written| written.call == last.result.call_id);
            of_last.map(|written| written.version.clone())
        };
        let Some(version) = version else { return Ok(()) };
        let is_text = TEXT_SUFFIXES.iter().any(|suffix| version.path.as_str().ends_with(suffix));
        let text = std::str::from_utf8(&version.bytes).unwrap_or_default().to_owned();
        if !is_text || text.trim().is_empty() {
            return Ok(());
        }
        let saving = Saving { file: &version, text, mode: CommitMode::Replace, is_draft: true };
        match publication.save(&self.shared, &self.invocation, saving).await {
            Ok(_) => self.tell_of_commits(None),
            Err(error) if error.class() == ErrorClass::SystemFailure => {
                let (code, message) = (error.code().to_string(), error.message().to_owned());
                Err(EngineError::System { code, message })
            }
            // Nobody asked for it, so nobody is told that it did not work: the text is where it was.
            Err(_) => Ok(()),
        }
    }
}

fn is_mutation(outcome: &CallOutcome) -> bool {
    let mutations = ["workspace.write_file", "workspace.apply_patch"].map(ToolId::builtin);
    outcome.result.tool_id.as_ref().is_some_and(|id| mutations.contains(id))
}
