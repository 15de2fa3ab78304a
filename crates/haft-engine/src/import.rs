//! A chat of another program becomes a session: one run that holds it, written whole or not at all (CHT-01).

use std::sync::Arc;

use haft_core::chat::ChatFile;
use haft_core::consent::ConsentEnvironment;
use haft_core::journal::{ChatImported, Payload, RunEnded, RunStarted, RunStatus};
use haft_core::mask::View;
use haft_core::profile::RunKind;
use haft_core::{ProjectId, RunId, SessionId};
use serde_json::Map;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::imported::to_lines;
use crate::run::NoEvents;
use crate::session::{Session, SessionChoice};
use crate::writer::{RunJournal, RunWriter};

/// Where the messages stand in the run workspace.
const CHAT_FILE: &str = "input/chat.jsonl";

impl Engine {
    /// Makes a new session of `profile` that begins with `chat`; `source` says where it comes from, such as the name of a file.
    /// Texts are masked like everything that is stored. If it cannot be written whole, nothing of it is in any session.
    ///
    /// # Errors
    /// The store cannot keep it.
    pub async fn import_chat(
        &self,
        chat: &ChatFile,
        source: &str,
        profile: &str,
        project: Option<ProjectId>,
    ) -> Result<(SessionId, RunId), EngineError> {
        let environment = ConsentEnvironment::default();
        let session = self.open(SessionChoice::New, profile, project, environment).await?;
        let id = session.id().clone();
        let written = session.write_chat(chat, source, profile).await;
        if written.is_err() {
            // The first cause is what counts: the store may be the very thing that is broken.
            let inner = &session.inner;
            let _kept = inner.store().delete_session(&inner.lease, inner.clock().now()).await;
        }
        session.close().await?;
        Ok((id, written?))
    }
}

impl Session {
    async fn write_chat(&self, chat: &ChatFile, source: &str, profile: &str) -> Result<RunId, EngineError> {
        let inner = &self.inner;
        let run = RunId::new(inner.engine.fresh("r_"));
        let mut writer = RunWriter::new(RunJournal::new(inner.clone(), run.clone(), Arc::new(NoEvents)));
        let started = RunStarted {
            session: inner.lease.session.clone(),
            run_kind: RunKind::Chat,
            surface: "import".to_owned(),
            profile: profile.to_owned(),
            model: None,
            project: inner.project().cloned(),
            prompt: None,
            haft: env!("CARGO_PKG_VERSION").to_owned(),
        };
        writer.note(&Payload::RunStarted(started), Map::new())?;
        let mut messages = chat.messages.clone();
        for message in &mut messages {
            writer.mask.put(&mut message.text, View::Record);
            message.name.as_mut().map(|name| writer.mask.put(name, View::Record));
        }
        let lines = to_lines(&messages).map_err(|error| EngineError::System {
            code: "agent.chat_unwritable".to_owned(),
            message: error.to_string(),
        })?;
        let imported = ChatImported {
            character: chat.character.clone(),
            file: writer.file(CHAT_FILE.to_owned(), lines.into_bytes()),
            is_group: chat.is_group,
            messages: messages.len() as u64,
            source: source.to_owned(),
            user: chat.user.clone(),
        };
        writer.note(&Payload::ChatImported(imported), Map::new())?;
        let ended = RunEnded { status: RunStatus::Completed, error_code: None, message: None, text: None };
        writer.note(&Payload::RunEnded(ended), Map::new())?;
        writer.commit().await?;
        Ok(run)
    }
}
