//! A small world for the tests of the engine: tools of many kinds, a model that says what it is told, and a memory store.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::type_complexity,
    reason = "helpers of tests"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_core::artifact::Artifacts;
use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::event::RunEvent;
use haft_core::facts::{Injection, InjectionSource, Permission, Placement, ResultCap};
use haft_core::mask::Mask;
use haft_core::path::{PreparedArguments, StartedCall};
use haft_core::ports::{
    BoxFuture, Cancel, Clock, FinishReason, Ids, Model, ModelError, ModelRequest, ModelTraits, ModelTurn,
    Store, Timestamp, Tool, ToolContext, Touches, TurnSink,
};
use haft_core::result::Change;
use haft_core::{
    ArtifactVersion, CallId, ContentPart, Digest, Effect, ErrorCode, Payload, Profile, RequestedCall, RunId,
    Services, ToolDeclaration, ToolError, ToolFacts, ToolId, ToolOutput, ToolRegistry,
};
use haft_engine::{Engine, EngineParts, EventSink, Session, SessionChoice};
use haft_store::MemoryStore;
use haft_store::verify::{Class, verify_store};

mod failing;
#[allow(unused_imports, reason = "each test file uses its own part")]
pub use failing::FailingStore;
use serde_json::{Value, json};

/// A clock that goes one millisecond a look.
#[derive(Default)]
pub struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000 + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl TestClock {
    /// Lets that many seconds pass.
    pub fn pass(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }
}

/// Ids in order.
#[derive(Default)]
pub struct TestIds(AtomicU64);

impl Ids for TestIds {
    fn fresh(&self) -> String {
        format!("{:04}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// What the test tools did, in order.
pub type Log = Arc<Mutex<Vec<String>>>;

/// Named numbers that the tools `look` and `put` read and write, and those that are broken.
#[derive(Default)]
pub struct Cells {
    pub values: Mutex<BTreeMap<String, u64>>,
    pub broken: Mutex<BTreeSet<String>>,
    pub pair: Pair,
    /// How often a tool was asked what a call means.
    pub asked: AtomicUsize,
    /// Calls of the tools that stay, as they come (true) and go.
    pub visits: Mutex<Vec<(CallId, bool)>>,
}

/// A barrier for two.
pub struct Pair(tokio::sync::Barrier);

impl Pair {
    /// Lets one that waits go on, from the test itself.
    pub async fn meet(&self) {
        self.0.wait().await;
    }
}

impl Default for Pair {
    fn default() -> Self {
        Self(tokio::sync::Barrier::new(2))
    }
}

enum Kind {
    /// Ends only when two of its calls are under way at once.
    Pair,
    /// Reads or writes a cell for a while, and tells when it comes and goes.
    Stays,
    Look,
    Put,
    AsksEveryTime,
    /// Its text is a secret.
    Keeps,
    Echo,
    Yielding,
    Long,
    Fails,
    Panics,
    System,
    Artifact,
    Image,
    StagesAndFails,
    Endless,
}

struct TestTool {
    declaration: ToolDeclaration,
    kind: Kind,
    log: Log,
    cells: Arc<Cells>,
}

impl TestTool {
    fn cell(&self, call: &StartedCall) -> Result<ToolOutput, ToolError> {
        let name = call.arguments().text("text").unwrap_or("");
        let mut values = self.cells.values.lock().unwrap();
        let new = call.arguments().get("size").and_then(Value::as_u64);
        if let (Kind::Put, Some(new)) = (&self.kind, new) {
            values.insert(name.to_owned(), new);
        }
        if self.cells.broken.lock().unwrap().contains(name) {
            return Err(ToolError::failed("The cell is broken."));
        }
        Ok(ToolOutput::of_value(json!(values.get(name))))
    }
}

impl Tool for TestTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, _: &PreparedArguments, _: &ConsentEnvironment) -> Result<Ask, ToolError> {
        self.cells.asked.fetch_add(1, Ordering::Relaxed);
        let every_time = matches!(self.kind, Kind::AsksEveryTime);
        let secret = matches!(self.kind, Kind::Keeps);
        let secret_arguments = if secret { vec!["text".to_owned()] } else { Vec::new() };
        Ok(Ask { every_time, secret, secret_arguments, ..Ask::default() })
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        let cell = || vec![format!("cell:{}", arguments.text("text").unwrap_or(""))];
        match self.kind {
            Kind::Look => Touches::Resources { reads: cell(), writes: vec![] },
            Kind::Put => Touches::Resources { reads: vec![], writes: cell() },
            Kind::Pair | Kind::Stays => match self.declaration.facts.effect.writes() {
                true => Touches::Resources { reads: vec![], writes: cell() },
                false => Touches::Resources { reads: cell(), writes: vec![] },
            },
            Kind::Yielding => Touches::Nothing,
            _ => Touches::Everything,
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.log.lock().unwrap().push(format!(
                "{} {}",
                call.alias(),
                call.arguments().text("text").unwrap_or("")
            ));
            let version = |content: String| ArtifactVersion {
                id: "note".into(),
                version: 1,
                content_type: "text/plain".into(),
                title: "Note".into(),
                source: "model".into(),
                content,
            };
            let artifacts = || context.services().get::<dyn Artifacts>().unwrap().clone();
            match self.kind {
                Kind::Look | Kind::Put => self.cell(call),
                Kind::Pair => {
                    self.cells.pair.0.wait().await;
                    Ok("met".into())
                }
                Kind::Stays => {
                    let visit =
                        |comes| self.cells.visits.lock().unwrap().push((call.call_id().clone(), comes));
                    visit(true);
                    let rounds = call.arguments().get("size").and_then(Value::as_u64).unwrap_or(3);
                    for _ in 0..rounds {
                        tokio::task::yield_now().await;
                    }
                    visit(false);
                    Ok("stayed".into())
                }
                Kind::Echo | Kind::AsksEveryTime => {
                    Ok(ToolOutput::of_value(call.arguments().value().clone()))
                }
                Kind::Keeps => Ok("kept".into()),
                Kind::Yielding => {
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                    }
                    Ok("yielded".into())
                }
                Kind::Long => Ok("é"
                    .repeat(call.arguments().get("size").and_then(Value::as_u64).unwrap_or(10) as usize)
                    .into()),
                Kind::Fails => {
                    Err(ToolError::new(ErrorCode::new("test.failed"), "It did not work. Try the other door."))
                }
                Kind::Panics => panic!("boom"),
                Kind::System => Err(ToolError::system(ErrorCode::new("test.broken"), "The disk is gone.")),
                Kind::Artifact => {
                    let one = version(call.arguments().text("text").unwrap_or("").to_owned());
                    artifacts().stage(one.clone())?;
                    Ok(ToolOutput::of_text("kept")
                        .with_metadata("artifact_snapshot", one.snapshot())
                        .with_change(Change::Artifact(one)))
                }
                Kind::Image => {
                    let (blob, media_type) = (Digest::of(b"image"), "image/png".into());
                    let image = ContentPart::Image { blob, media_type, description: "a door".into() };
                    let mut output = ToolOutput::of_text("é".repeat(60_000));
                    output.content.push(image);
                    Ok(output)
                }
                Kind::StagesAndFails => {
                    artifacts().stage(version("lost".into()))?;
                    Err(ToolError::failed("no"))
                }
                Kind::Endless => {
                    std::future::pending::<()>().await;
                    Ok("never".into())
                }
            }
        })
    }
}

/// Everything that a test needs.
pub struct World {
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub log: Log,
    pub cells: Arc<Cells>,
    pub clock: Arc<TestClock>,
    pub events: Arc<Events>,
    pub profile: Profile,
    /// The store, where the world is its only owner: whatever the test ran in it must verify.
    memory: Option<Arc<MemoryStore>>,
}

impl Drop for World {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take().filter(|_| !std::thread::panicking()) else { return };
        let report = verify_store(memory.as_ref(), &[], Timestamp(u64::MAX)).unwrap();
        let all = report.runs.iter().flat_map(|run| &run.findings).chain(&report.findings);
        let damage: Vec<String> =
            all.filter(|finding| matches!(finding.class(), Class::Damage)).map(ToString::to_string).collect();
        assert!(damage.is_empty(), "the runs of this test do not verify: {damage:#?}");
    }
}

/// Collected events.
#[derive(Default)]
pub struct Events(pub Mutex<Vec<RunEvent>>);

impl EventSink for Events {
    fn event(&self, event: &RunEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl World {
    pub fn new() -> Self {
        let memory = Arc::new(MemoryStore::new());
        let mut world = Self::over(memory.clone());
        world.memory = Some(memory);
        world
    }

    pub fn over(store: Arc<dyn Store>) -> Self {
        Self::with(store, Services::default())
    }

    /// A world whose engine masks these secrets.
    pub fn knowing(store: Arc<dyn Store>, secrets: &[(&str, &str)]) -> Self {
        let secrets = secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut services = Services::default();
        services.insert(Arc::new(Mask::new(secrets).unwrap()));
        Self::with(store, services)
    }

    fn with(store: Arc<dyn Store>, services: Services) -> Self {
        let log = Log::default();
        let (cells, clock) = (Arc::new(Cells::default()), Arc::new(TestClock::default()));
        let mut registry = ToolRegistry::default();
        let mut allow = Vec::new();
        let kinds: [(&str, Kind, fn(&mut ToolFacts)); 33] = [
            ("echo", Kind::Echo, |_| {}),
            ("fetch", Kind::Echo, |facts| facts.open_world = true),
            ("fetch_fails", Kind::Fails, |facts| facts.open_world = true),
            ("mail", Kind::Echo, |facts| facts.outside = Some(true)),
            ("send", Kind::Echo, |facts| {
                (facts.effect, facts.open_world, facts.outside) = (Effect::Write, true, Some(false));
            }),
            ("send_asks", Kind::Echo, |facts| {
                (facts.open_world, facts.permission, facts.outside) = (true, Permission::Ask, Some(false));
            }),
            ("search", Kind::Echo, |facts| (facts.open_world, facts.plain_search) = (true, true)),
            ("secret", Kind::Echo, |facts| facts.secret = true),
            ("keeps", Kind::Keeps, |facts| facts.effect = Effect::Write),
            ("pair", Kind::Pair, |_| {}),
            ("pair_writes", Kind::Pair, |facts| facts.effect = Effect::Write),
            ("stays", Kind::Stays, |_| {}),
            ("stays_writes", Kind::Stays, |facts| facts.effect = Effect::Write),
            ("stays_last", Kind::Stays, |facts| facts.placement = Placement::DeferLast),
            ("look", Kind::Look, |_| {}),
            ("put", Kind::Put, |facts| facts.effect = Effect::Write),
            ("look_asks", Kind::Look, |facts| facts.permission = Permission::Ask),
            ("every_time", Kind::AsksEveryTime, |_| {}),
            ("steers", Kind::Echo, |facts| facts.effect = Effect::Control),
            ("yielding", Kind::Yielding, |_| {}),
            ("asks", Kind::Echo, |facts| facts.permission = Permission::Ask),
            ("writes", Kind::Endless, |facts| facts.effect = Effect::Write),
            ("deferred", Kind::Echo, |facts| facts.placement = Placement::DeferLast),
            ("long", Kind::Long, |_| {}),
            ("whole", Kind::Long, |facts| facts.result_cap = ResultCap::Unlimited),
            ("verbatim", Kind::Long, |facts| facts.no_compress = true),
            ("fails", Kind::Fails, |_| {}),
            ("panics", Kind::Panics, |_| {}),
            ("system", Kind::System, |_| {}),
            ("note", Kind::Artifact, |facts| facts.effect = Effect::Write),
            ("image", Kind::Image, |_| {}),
            ("stages", Kind::StagesAndFails, |_| {}),
            ("project", Kind::Echo, |facts| {
                facts.injections =
                    vec![Injection { parameter: "project_id".into(), source: InjectionSource::ProjectId }];
            }),
        ];
        for (name, kind, facts) in kinds {
            let schema = json!({
                "type": "object",
                "properties": {"text": {"type": "string"}, "size": {"type": "integer"}}
            });
            let id = ToolId::builtin(name);
            let declaration =
                ToolDeclaration::new(id.clone(), format!("Test tool {name}."), schema, Effect::Read)
                    .unwrap()
                    .with_facts(facts);
            registry
                .register(Arc::new(TestTool { declaration, kind, log: log.clone(), cells: cells.clone() }))
                .unwrap();
            allow.push(id);
        }
        let mut profile = Profile::new("test");
        profile.tools.allow = allow;
        profile.prompt = "You test.".into();
        let engine = Engine::new(EngineParts {
            store: store.clone(),
            clock: clock.clone(),
            ids: Arc::new(TestIds::default()),
            registry: Arc::new(registry),
            services,
            owner: "test".into(),
        });
        Self { engine, store, log, cells, clock, events: Arc::new(Events::default()), profile, memory: None }
    }

    pub async fn session(&self) -> Session {
        self.reopen(SessionChoice::New).await
    }

    pub async fn reopen(&self, choice: SessionChoice) -> Session {
        self.engine.open(choice, "test", None, ConsentEnvironment::default()).await.unwrap()
    }

    pub fn options(&self) -> haft_engine::RunOptions {
        let mut options = haft_engine::RunOptions::new(Arc::new(self.profile.clone()), "test");
        options.events = self.events.clone();
        options
    }

    pub fn logged(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub async fn kinds(&self, run: &RunId) -> Vec<String> {
        self.store.records(run).await.unwrap().into_iter().map(|record| record.kind).collect()
    }

    pub async fn payloads(&self, run: &RunId) -> Vec<Payload> {
        let records = self.store.records(run).await.unwrap();
        records
            .iter()
            .map(|record| Payload::read(&record.kind, record.payload.as_deref().unwrap()).unwrap())
            .collect()
    }

    pub fn events_of(&self, kind: &str) -> Vec<RunEvent> {
        self.events.0.lock().unwrap().iter().filter(|event| event.kind == kind).cloned().collect()
    }
}

pub fn call(name: &str, arguments: Value) -> RequestedCall {
    RequestedCall::call(name, arguments.as_object().cloned().unwrap_or_default())
}

/// A model that gives its turns one after another and keeps the requests.
pub struct FakeModel {
    turns: Mutex<VecDeque<Result<ModelTurn, ModelError>>>,
    pub requests: Mutex<Vec<ModelRequest>>,
    traits: ModelTraits,
}

pub fn says(text: &str, calls: Vec<RequestedCall>) -> Result<ModelTurn, ModelError> {
    Ok(ModelTurn {
        text: text.into(),
        reasoning: String::new(),
        calls,
        raw: None,
        finish_reason: FinishReason::Stop,
        usage: None,
        provider_metadata: None,
    })
}

impl FakeModel {
    pub fn new(turns: Vec<Result<ModelTurn, ModelError>>) -> Arc<Self> {
        let traits = ModelTraits {
            name: "fake".into(),
            dialect: "native".into(),
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        };
        Arc::new(Self { turns: Mutex::new(turns.into()), requests: Mutex::default(), traits })
    }

    /// It takes no more than that many tokens at once.
    pub fn takes(&mut self, tokens: u64) {
        self.traits.context_tokens = Some(tokens);
    }
}

impl Model for FakeModel {
    fn traits(&self) -> &ModelTraits {
        &self.traits
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        _: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(request.clone());
            let turn = self.turns.lock().unwrap().pop_front();
            let turn = turn.unwrap_or(Err(ModelError::ScriptExhausted { script: "fake".into() }))?;
            sink.text(&turn.text);
            Ok(turn)
        })
    }
}
