//! A world whose agents put each other to work: the real tools of the family, profiles by name, and a model that says what is told
//! to each agent.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::type_complexity, reason = "helpers of tests")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use haft_core::message::Message;
use haft_core::ports::{
    BoxFuture, Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink,
};
use haft_core::{Payload, Profile, RunId, Services, ToolId, ToolRegistry};
use haft_engine::{AgentModel, Agents, Engine, EngineParts, RunOptions, RunOutcome, Session};

use crate::support::{TestIds, World, says};

/// Profiles by name.
#[derive(Default)]
pub struct Crew(pub BTreeMap<String, Arc<Profile>>);

impl Agents for Crew {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn profile(&self, name: &str) -> Result<Option<Arc<Profile>>, String> {
        if name == "unreadable" {
            return Err("its file cannot be read".to_owned());
        }
        Ok(self.0.get(name).cloned())
    }

    fn model(&self, _profile: &Profile, caller: &AgentModel) -> Result<AgentModel, String> {
        Ok(caller.clone())
    }
}

/// What an agent says when it is asked, and how long it thinks.
pub struct Say(pub u32, pub Result<ModelTurn, ModelError>);

/// A model that gives each agent its own turns.
pub struct CrewModel {
    turns: Mutex<HashMap<String, VecDeque<Say>>>,
    pub requests: Mutex<Vec<ModelRequest>>,
    traits: ModelTraits,
}

impl CrewModel {
    pub fn new(turns: Vec<(&str, Vec<Result<ModelTurn, ModelError>>)>) -> Arc<Self> {
        let turns = turns.into_iter().map(|(agent, turns)| {
            let turns = turns.into_iter().map(|turn| Say(0, turn)).collect();
            (agent.to_owned(), turns)
        });
        Self::thinking(turns.collect())
    }

    pub fn thinking(turns: HashMap<String, VecDeque<Say>>) -> Arc<Self> {
        let traits = ModelTraits {
            name: "crew".into(),
            dialect: "native".into(),
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        };
        Arc::new(Self { turns: Mutex::new(turns), requests: Mutex::default(), traits })
    }

    /// The requests of one agent.
    pub fn asked(&self, agent: &str) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().iter().filter(|request| request.agent == agent).cloned().collect()
    }

    /// The last message of each request of an agent.
    pub fn last_read(&self, agent: &str) -> Vec<String> {
        self.asked(agent).iter().map(|request| text_of(request.messages.last().unwrap())).collect()
    }

    /// All that an agent had read when it was asked last.
    pub fn read_by(&self, agent: &str) -> String {
        let asked = self.asked(agent);
        let messages = asked.last().map(|request| request.messages.clone()).unwrap_or_default();
        messages.iter().map(text_of).collect::<Vec<_>>().join("\n")
    }
}

impl Model for CrewModel {
    fn traits(&self) -> &ModelTraits {
        &self.traits
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(request.clone());
            let turn = self.turns.lock().unwrap().get_mut(&request.agent).and_then(VecDeque::pop_front);
            let Say(yields, turn) =
                turn.unwrap_or(Say(0, Err(ModelError::ScriptExhausted { script: request.agent.clone() })));
            for _ in 0..yields {
                if cancel.is_cancelled() {
                    return Err(ModelError::Cancelled);
                }
                tokio::task::yield_now().await;
            }
            let turn = turn?;
            sink.text(&turn.text);
            Ok(turn)
        })
    }
}

/// A world in which `root` has these tools beside those of the agents, and these agents can be called.
pub struct Team {
    pub world: World,
    pub crew: Crew,
}

impl Team {
    pub fn new(tools: &[&str]) -> Self {
        Self::over(World::new(), tools)
    }

    pub fn over(mut world: World, tools: &[&str]) -> Self {
        let mut registry = ToolRegistry::default();
        for tool in world.engine.registry().iter() {
            registry.register(tool.clone()).unwrap();
        }
        registry.register_all(haft_tools::agents::tools().unwrap()).unwrap();
        registry.register_all(haft_tools::workspace::tools().unwrap()).unwrap();
        registry.register_all(haft_tools::workspace::control_tools().unwrap()).unwrap();
        world.engine = Engine::new(EngineParts {
            store: world.store.clone(),
            clock: world.clock.clone(),
            ids: Arc::new(TestIds::default()),
            registry: Arc::new(registry),
            services: Services::default(),
            owner: "test".into(),
        });
        world.profile = profile("root", tools);
        Self { world, crew: Crew::default() }
    }

    /// Adds an agent with these tools.
    pub fn agent(&mut self, name: &str, tools: &[&str], change: impl FnOnce(&mut Profile)) {
        let mut profile = profile(name, tools);
        profile.delegation.callable = true;
        profile.delegation.allow_as_handoff_target = true;
        change(&mut profile);
        self.crew.0.insert(name.to_owned(), Arc::new(profile));
    }

    pub fn options(&self) -> RunOptions {
        let mut options = self.world.options();
        options.agents = Arc::new(Crew(self.crew.0.clone()));
        options
    }

    pub async fn run(&self, model: &Arc<CrewModel>) -> RunOutcome {
        let session = self.world.session().await;
        let outcome = self.prompt(&session, model).await;
        session.close().await.unwrap();
        outcome
    }

    pub async fn prompt(&self, session: &Session, model: &Arc<CrewModel>) -> RunOutcome {
        session.prompt("Do it".into(), model.clone(), self.options()).wait().await.unwrap()
    }
}

pub fn profile(name: &str, tools: &[&str]) -> Profile {
    let mut profile = Profile::new(name);
    profile.prompt = format!("You are {name}.");
    profile.description = format!("Does what {name} does.");
    profile.tools.allow = tools.iter().map(|tool| ToolId::builtin(tool)).collect();
    profile
}

fn text_of(message: &Message) -> String {
    match message {
        Message::User(text) | Message::Assistant { text, .. } => text.clone(),
        Message::Results(results) => {
            results.iter().map(|result| result.body.clone()).collect::<Vec<_>>().join("\n---\n")
        }
    }
}

/// A turn of calls.
pub fn calls(calls: Vec<(&str, serde_json::Value)>) -> Result<ModelTurn, ModelError> {
    says("", calls.into_iter().map(|(name, arguments)| crate::support::call(name, arguments)).collect())
}

pub fn text(text: &str) -> Result<ModelTurn, ModelError> {
    says(text, Vec::new())
}

/// The journal of a run, one record a line, with invocations by the names of their agents.
pub async fn journal(world: &World, run: &RunId) -> String {
    let mut lines = String::new();
    let mut names: Vec<(String, String)> = Vec::new();
    for payload in world.payloads(run).await {
        let line = match &payload {
            Payload::RunStarted(body) => {
                format!("{:?} {} {:?}", body.run_kind, body.profile, body.prompt.as_deref().unwrap_or(""))
            }
            Payload::AgentTaskCreated(body) => {
                names.push((body.invocation.to_string(), body.agent.clone()));
                format!(
                    "{} {:?} {} by {} in {}: {:?}",
                    body.task, body.kind, body.agent, body.parent, body.call_id, body.brief
                )
            }
            Payload::ContextAssembled(body) => {
                if body.task.is_none() {
                    names.push((body.invocation.to_string(), "root".to_owned()));
                }
                let tools: Vec<&str> = body.tools.iter().map(|(alias, _)| alias.as_str()).collect();
                let role = body
                    .task
                    .as_ref()
                    .map_or(String::new(), |task| format!("{:?} of {} ", task.role, task.parent));
                format!("{} {role}with {}", body.invocation, tools.join(" "))
            }
            Payload::ModelRequestCreated(body) => {
                let told: String = body.told.iter().map(|told| format!(", told {told:?}")).collect();
                let note = body.note.as_ref().map_or("", |_| ", the last one");
                format!("{} turn {}{note}{told}", body.invocation, body.turn)
            }
            Payload::ModelTurnCompleted(body) => {
                format!("{} turn {} {:?} {} calls", body.invocation, body.turn, body.text, body.calls.len())
            }
            Payload::ModelRequestFailed(body) => format!("{} {}", body.invocation, body.error_code),
            Payload::ToolCallRequested(body) => format!("{} {}", body.call_id, body.alias),
            Payload::ToolCallStarted(body) => body.call_id.to_string(),
            Payload::ToolCallCompleted(body) => {
                let files: String = body.workspace.iter().map(|file| format!(" {}", file.path)).collect();
                format!("{}{files}", body.call_id)
            }
            Payload::ToolCallFailed(body) => format!("{} {}", body.call_id, body.error_code),
            Payload::InvocationEnded(body) => {
                let files: String = body.files.iter().map(|file| format!(" {}", file.path)).collect();
                let code = body.error_code.as_deref().map_or(String::new(), |code| format!(" {code}"));
                format!("{} {} {:?}{code} {:?}{files}", body.task, body.invocation, body.status, body.text)
            }
            Payload::ConsentOpened(question) => format!("{} {:?}", question.call_id, question.text),
            Payload::ConsentClosed(body) => format!("{} {:?}", body.call_id, body.closing),
            Payload::ChatCommitted(body) => format!("{:?} {} {}", body.mode, body.source, body.file.path),
            Payload::RunEnded(body) => format!("{:?} {:?} {:?}", body.status, body.error_code, body.text),
            other => format!("{other:?}"),
        };
        writeln!(lines, "{} {line}", payload.kind()).unwrap();
    }
    for (invocation, name) in names {
        lines = lines.replace(&invocation, &format!("<{name}>"));
    }
    lines
}
