//! The engine: what all sessions of a process share.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use haft_core::consent::ConsentEnvironment;
use haft_core::mask::{Mask, MaskError};
use haft_core::ports::{Clock, Ids, SessionRow, Store};
use haft_core::{ProjectId, Services, SessionId, ToolRegistry};

use crate::consent::ConsentService;
use crate::error::EngineError;
use crate::session::{Session, SessionChoice};

/// What an engine is put together from.
pub struct EngineParts {
    /// What lasts.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn Ids>,
    /// All tools.
    pub registry: Arc<ToolRegistry>,
    /// Services that tools may use, beside those that the engine adds for a session. A [`Mask`] among them is what is masked.
    pub services: Services,
    /// Who this process is, in words for people: `process 4711 (haft chat)`.
    pub owner: String,
}

impl fmt::Debug for EngineParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineParts")
            .field("owner", &self.owner)
            .field("registry", &self.registry)
            .field("services", &self.services)
            .finish_non_exhaustive()
    }
}

/// Opens sessions. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) parts: Arc<EngineParts>,
    consent: Arc<ConsentService>,
    /// What is masked by now: the [`Mask`] among the services, and the secrets that were learned since.
    mask: Arc<RwLock<Mask>>,
}

impl Engine {
    /// An engine without any surface: questions are refused until one is attached.
    pub fn new(parts: EngineParts) -> Self {
        let mask = parts.services.get::<Mask>().map(|mask| mask.as_ref().clone()).unwrap_or_default();
        let (parts, consent) = (Arc::new(parts), Arc::new(ConsentService::default()));
        Self { parts, consent, mask: Arc::new(RwLock::new(mask)) }
    }

    /// Where surfaces are attached and answers go.
    pub fn consent(&self) -> &Arc<ConsentService> {
        &self.consent
    }

    /// What is masked in all that is stored and shown: the [`Mask`] among the services, else one that knows forms alone; and the
    /// secrets that were read or written since the engine began.
    pub fn mask(&self) -> Mask {
        self.mask.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on these texts are secrets, under the name `name`.
    pub(crate) fn learn(&self, name: &str, secrets: &[String]) -> Result<(), MaskError> {
        let named = secrets.iter().map(|secret| (name.to_owned(), secret.clone()));
        let mut mask = self.mask.write().unwrap_or_else(PoisonError::into_inner);
        *mask = mask.and(named)?;
        Ok(())
    }

    /// All tools.
    pub fn registry(&self) -> &ToolRegistry {
        &self.parts.registry
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// Opens a session: takes its lease, closes runs that a crash left open, and loads its artifacts.
    /// `project` is the project of a new session, or replaces nothing in an old one: it then holds for this opening alone.
    pub async fn open(
        &self,
        choice: SessionChoice,
        profile: &str,
        project: Option<ProjectId>,
        environment: ConsentEnvironment,
    ) -> Result<Session, EngineError> {
        Session::open(self, choice, profile, project, environment).await
    }

    /// The row of the session that `choice` means, if it is an old one.
    pub async fn find(&self, choice: &SessionChoice) -> Result<Option<SessionRow>, EngineError> {
        let store = &self.parts.store;
        let row = match choice {
            SessionChoice::New => return Ok(None),
            SessionChoice::Last => {
                let rows = store.sessions().await?;
                rows.into_iter()
                    .filter(|row| !row.deleted)
                    .max_by_key(|row| row.created)
                    .ok_or(EngineError::NoLastSession)?
            }
            SessionChoice::Id(id) => {
                store.session(id).await?.ok_or_else(|| EngineError::NoSession(id.clone()))?
            }
        };
        if row.deleted { Err(EngineError::Deleted(row.id)) } else { Ok(Some(row)) }
    }

    pub(crate) fn fresh(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.parts.ids.fresh())
    }

    pub(crate) fn new_session_id(&self) -> SessionId {
        SessionId::new(self.fresh("s_"))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("owner", &self.parts.owner).finish_non_exhaustive()
    }
}
