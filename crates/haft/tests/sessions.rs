//! What an embedder has beside single calls: questions to a person, a model, sessions that last.

use std::sync::{Arc, Mutex};

use haft::core::consent::{Answer, Ask, Closing, ConsentEnvironment, ConsentSurface, Question};
use haft::core::event::RunEvent;
use haft::core::journal::RunStatus;
use haft::core::message::Message;
use haft::core::ports::{FinishReason, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};
use haft::core::{BoxFuture, Cancel, ConsentId, ErrorCode, Model, PreparedArguments, RequestedCall, Scope};
use haft::engine::{EventSink, Reply, SessionChoice};
use haft::serde_json::{Map, json};
use haft::store::MemoryStore;
use haft::store::verify::verify_store;
use haft::system::SystemClock;
use haft::{Clock, Haft, ToolError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

fn what_it_means(arguments: &PreparedArguments, _: &ConsentEnvironment) -> Result<Ask, ToolError> {
    let place = arguments.text("place").unwrap_or_default();
    let question = Some(format!("Water the plants in the {place}?"));
    Ok(Ask { question, scopes: vec![Scope::Path(format!("/{place}"))], ..Ask::default() })
}

/// Waters the plants.
#[haft::tool(effect = "write", ask = what_it_means)]
async fn water(place: String) -> String {
    format!("The {place} is wet.")
}

struct Desk(UnboundedSender<Question>);

impl ConsentSurface for Desk {
    fn name(&self) -> &str {
        "desk"
    }

    fn show(&self, question: &Question) {
        self.0.send(question.clone()).unwrap_or_default();
    }

    fn close(&self, _: &ConsentId, _: &Closing) {}
}

async fn answer(haft: &Haft, desk: &mut UnboundedReceiver<Question>, answer: Answer) -> String {
    let Some(question) = desk.recv().await else { return String::new() };
    let told = haft.engine().consent().answer(&question.id, Reply::to(&question, answer, "desk"));
    format!("{} {told:?}", question.text)
}

// APR-07, APR-09
#[tokio::test]
async fn a_surface_is_asked_and_its_answer_counts() {
    let (sender, mut desk) = unbounded_channel();
    let builder = Haft::builder().tool(water::tool()).surface(Arc::new(Desk(sender)));
    let haft = builder.open().await.unwrap();
    let no = Answer::Deny { reason: Some("it rains".into()) };
    let (outcome, told) =
        tokio::join!(haft.call("water", json!({"place": "garden"})), answer(&haft, &mut desk, no));
    assert_eq!(told, "Water the plants in the garden? Ok(())");
    let result = outcome.unwrap().result;
    assert_eq!(result.error_code, Some(ErrorCode::TOOL_DENIED));
    assert_eq!(result.text(), "The person refused `water` and says: it rains");

    let yes = Answer::Session { scope: Scope::Path("/hall".into()) };
    let (outcome, told) =
        tokio::join!(haft.call("water", json!({"place": "hall"})), answer(&haft, &mut desk, yes));
    assert_eq!(told, "Water the plants in the hall? Ok(())");
    assert_eq!(outcome.unwrap().result.text(), "The hall is wet.");
    // The second time the grant answers, and nobody is asked.
    let again = haft.call("water", json!({"place": "hall"})).await.unwrap();
    assert_eq!((again.result.text(), again.granted_by), ("The hall is wet.".into(), Some("desk".into())));
    assert!(desk.try_recv().is_err());
}

/// Calls `water` once and then says what came back.
struct Gardener(ModelTraits);

impl Gardener {
    fn new() -> Self {
        Self(ModelTraits {
            name: "gardener".into(),
            dialect: "native".into(),
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        })
    }
}

impl Model for Gardener {
    fn traits(&self) -> &ModelTraits {
        &self.0
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a mut dyn TurnSink,
        _: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        let (text, calls) = match request.messages.last() {
            Some(Message::Results(results)) => {
                (results.iter().map(|one| one.content.as_str()).collect(), Vec::new())
            }
            _ => {
                let arguments = Map::from_iter([("place".to_owned(), json!("roof"))]);
                (String::new(), vec![RequestedCall::call("water", arguments)])
            }
        };
        let finish_reason = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        Box::pin(async move {
            Ok(ModelTurn {
                text,
                reasoning: String::new(),
                calls,
                raw: None,
                finish_reason,
                usage: None,
                provider_metadata: None,
            })
        })
    }
}

#[derive(Default)]
struct Kinds(Mutex<Vec<String>>);

impl EventSink for Kinds {
    fn event(&self, event: &RunEvent) {
        if let Ok(mut kinds) = self.0.lock() {
            kinds.push(event.kind.clone());
        }
    }
}

// REG-01, EVT-05
#[tokio::test]
async fn a_model_works_with_the_tools_and_events_follow_the_journal() {
    let kinds = Arc::new(Kinds::default());
    let builder = Haft::builder().tool(water::tool()).model(Arc::new(Gardener::new()));
    let haft = builder.yes(true).events(kinds.clone()).open().await.unwrap();
    let outcome = haft.run("Please water the roof.").await.unwrap();
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "The roof is wet."));
    let journal: Vec<String> = haft.journal().await.unwrap().into_iter().map(|record| record.kind).collect();
    assert_eq!(*kinds.0.lock().unwrap(), journal);
    assert!(journal.contains(&"tool_call_completed".to_owned()));
}

#[tokio::test]
async fn a_session_lasts_as_long_as_its_store() {
    let store = Arc::new(MemoryStore::default());
    let open =
        |choice| Haft::builder().tool(water::tool()).yes(true).store(store.clone()).session(choice).open();
    let first = open(SessionChoice::New).await.unwrap();
    first.call("water", json!({"place": "hall"})).await.unwrap();
    let (id, before) = (first.session().id().clone(), first.journal().await.unwrap());
    first.close().await.unwrap();

    let second = open(SessionChoice::Last).await.unwrap();
    assert_eq!((second.session().id(), second.journal().await.unwrap()), (&id, before.clone()));
    second.call("water", json!({"place": "roof"})).await.unwrap();
    assert_eq!(second.journal().await.unwrap().len(), 2 * before.len());
    assert_eq!(open(SessionChoice::New).await.unwrap().journal().await, Ok(Vec::new()));
    let report = verify_store(store.as_ref(), &[], SystemClock.now()).unwrap();
    assert_eq!((report.findings().count(), report.runs.len()), (0, 2));
}
