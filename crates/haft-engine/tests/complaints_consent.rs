//! Painful public threads about grants and consent, each as a test under its number in the notes: what hurt others must not hurt here.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::consent::{Answer, Closing, ConsentEnvironment, ConsentSurface, Question};
use haft_core::facts::Permission;
use haft_core::ports::{BoxFuture, Cancel, NeverCancelled, ProjectRow, ProjectRows};
use haft_core::{
    CallId, ConsentId, Digest, ErrorCode, Grant, GrantId, Lifetime, Payload, RunId, Scope, SessionId,
    Timestamp, ToolId,
};
use haft_engine::{AnswerError, Audience, ConsentService, CurrentPolicy, Reply, SessionChoice, grants_of};
use haft_store::MemoryStore;
use serde_json::json;
use support::{FailingStore, FakeModel, TestClock, World, call, says};

/// A surface that shows and never answers by itself.
#[derive(Default)]
struct Desk {
    shown: Mutex<Vec<Question>>,
    closed: Mutex<Vec<(ConsentId, Closing)>>,
}

impl Desk {
    fn ids(&self) -> Vec<String> {
        self.shown.lock().unwrap().iter().map(|question| question.id.to_string()).collect()
    }

    fn closings(&self) -> Vec<Closing> {
        self.closed.lock().unwrap().iter().map(|(_, how)| how.clone()).collect()
    }
}

impl ConsentSurface for Desk {
    fn name(&self) -> &'static str {
        "desk"
    }
    fn show(&self, question: &Question) {
        self.shown.lock().unwrap().push(question.clone());
    }
    fn close(&self, id: &ConsentId, how: &Closing) {
        self.closed.lock().unwrap().push((id.clone(), how.clone()));
    }
}

/// A surface that is broken.
struct Panics;
impl ConsentSurface for Panics {
    fn name(&self) -> &str {
        panic!("no name")
    }
    fn show(&self, _: &Question) {
        panic!("no screen")
    }
    fn close(&self, _: &ConsentId, _: &Closing) {
        panic!("no screen")
    }
}

fn question(id: &str, session: &str, run: &str, deadline: Option<Timestamp>) -> Arc<Question> {
    let tool = ToolId::builtin("project.file_write");
    Arc::new(Question {
        id: ConsentId::new(id),
        session: SessionId::new(session),
        run: RunId::new(run),
        invocation: Some("i_child".into()),
        call_id: CallId::new("c_i_child_1_1"),
        source: tool.source().to_owned(),
        tool_id: tool,
        alias: "file_write".into(),
        title: "File write".into(),
        effect: "changes something".into(),
        text: "Write?".into(),
        arguments: json!({"path": "a"}),
        digest: Digest::of(br#"{"path":"a"}"#),
        folder: None,
        policy: None,
        scopes: vec![Scope::File("/p/a".into())],
        examples: Vec::new(),
        every_time: false,
        rule: "permission".into(),
        reason: None,
        deadline,
    })
}

const GRACE: Duration = Duration::from_secs(30);

/// Asks in a task of its own.
fn asked(
    service: &Arc<ConsentService>,
    question: &Arc<Question>,
    grace: Duration,
) -> tokio::task::JoinHandle<Closing> {
    let (service, question) = (service.clone(), question.clone());
    tokio::spawn(async move { service.ask(&question, grace, &NeverCancelled, &TestClock::default()).await })
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

fn yes(question: &Question) -> Reply {
    Reply { by: Some("anna".into()), ..Reply::to(question, Answer::Once, "desk") }
}

/// The questions of the desk, once there are `number`.
async fn shown(desk: &Desk, number: usize) -> Vec<Question> {
    for _ in 0..10_000 {
        if desk.shown.lock().unwrap().len() >= number {
            return desk.shown.lock().unwrap().clone();
        }
        tokio::task::yield_now().await;
    }
    panic!("{number} questions were never shown: {:?}", desk.ids())
}

fn world_with_desk() -> (World, Arc<Desk>) {
    let (world, desk) = (World::new(), Arc::new(Desk::default()));
    world.engine.consent().attach(desk.clone());
    (world, desk)
}

// Pains 1, APR-17: every grant has a scope and an end, and shows its reach before it is given.
#[tokio::test]
async fn complaint_1_a_yes_covers_one_tool_in_one_session_and_says_what() {
    let (world, desk) = world_with_desk();
    let (one, other) = (world.session().await, world.session().await);
    let handle = one.calls(vec![call("asks", json!({"text": "a"}))], world.options());
    let question = shown(&desk, 1).await.remove(0);
    assert_eq!(question.scopes, [Scope::Tool]);
    assert_eq!(question.examples[0].allows, ["`asks` with whatever arguments, now and later"]);
    assert_eq!(question.examples[0].refuses.as_deref(), Some("any other tool"));
    let answer = Answer::Session { scope: Scope::Tool };
    world.engine.consent().answer(&question.id, Reply::to(&question, answer, "desk")).unwrap();
    assert!(!handle.wait().await.unwrap()[0].result.is_error);
    let held = one.grants();
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].grant.lifetime, Lifetime::Session(one.id().clone()));
    assert_eq!(held[0].grant.question, Some(question.id));
    // The same tool in another session, and another tool in this one, ask.
    assert!(other.grants().is_empty());
    let elsewhere = other.calls(vec![call("asks", json!({"text": "a"}))], world.options());
    let beside = one.calls(vec![call("look_asks", json!({"text": "a"}))], world.options());
    let waiting = shown(&desk, 3).await;
    for question in &waiting[1..] {
        let no = Reply::to(question, Answer::Deny { reason: None }, "desk");
        world.engine.consent().answer(&question.id, no).unwrap();
    }
    assert!(elsewhere.wait().await.unwrap()[0].result.is_error);
    assert!(beside.wait().await.unwrap()[0].result.is_error);
    // No yes for the bare name of a program that reaches the network or runs what it is told.
    for program in ["curl", "/usr/bin/wget", "python3", "bash", "sudo"] {
        assert!(Scope::Command(program.into()).frees_a_program(), "{program}");
    }
}

// Pains 2: the grants that are offered reach further than the exact call, step by step, with examples of each.
#[test]
fn complaint_2_up_to_three_scopes_each_with_what_it_allows_and_what_not() {
    use haft_core::consent::Examples;
    let wanted = [Scope::File("/p/n/a.md".into()), Scope::Path("/p/n".into()), Scope::Path("/p".into())];
    let told: Vec<(Vec<String>, Option<String>)> = wanted
        .iter()
        .map(|scope| Examples::of(scope, &wanted, "file_write"))
        .map(|examples| (examples.allows, examples.refuses))
        .collect();
    assert_eq!(
        told,
        [
            (vec!["/p/n/a.md".to_owned()], Some("/p/n/other.md".to_owned())),
            (vec!["/p/n/a.md".to_owned(), "/p/n/other.md".to_owned()], Some("/p/n-old/a.md".to_owned())),
            (vec!["/p/n/a.md".to_owned(), "/p/other.md".to_owned()], Some("/p-old/a.md".to_owned())),
        ]
    );
}

// Pains 3: what is shown, what is decided and what runs are the same bytes.
#[tokio::test]
async fn complaint_3_what_is_shown_is_what_runs() {
    let (world, desk) = world_with_desk();
    let session = world.session().await;
    let handle = session.calls(vec![call("asks", json!({"size": 7.0, "text": "b"}))], world.options());
    let run = handle.run().clone();
    let question = shown(&desk, 1).await.remove(0);
    world.engine.consent().answer(&question.id, yes(&question)).unwrap();
    let outcome = handle.wait().await.unwrap().remove(0);
    assert_eq!(outcome.arguments, question.arguments);
    assert_eq!(outcome.result.text(), serde_json::to_string(&json!({"size": 7, "text": "b"})).unwrap());
    let file = format!("tool-args/{}.json", question.call_id.file_stem());
    let stored = world.store.file(&run, &file).await.unwrap().unwrap().bytes.unwrap();
    assert_eq!(Digest::of(&stored), question.digest);
}

// Pains 14: questions of nested agents go to the surface of the root run, never to "the agent that is looked at".
#[tokio::test(start_paused = true)]
async fn complaint_14_questions_of_nested_agents_reach_the_root() {
    let service = Arc::new(ConsentService::default());
    let [by_run, by_session, other] = [(); 3].map(|()| Arc::new(Desk::default()));
    service.attach_to(by_run.clone(), Audience::Run("r_root".into()));
    let moving = service.attach_to(by_session.clone(), Audience::Session("s_1".into()));
    service.attach_to(other.clone(), Audience::Run("r_other".into()));
    let nested = question("q_1", "s_1", "r_root", None);
    let handle = asked(&service, &nested, GRACE);
    settle().await;
    assert_eq!(
        (by_run.ids(), by_session.ids(), other.ids()),
        (vec!["q_1".into()], vec!["q_1".into()], vec![])
    );
    // A surface that looks at another session sees what is open there, and comes back to what still is here (APR-20).
    assert!(service.bind(moving, Audience::Session("s_2".into())));
    assert!(service.bind(moving, Audience::Session("s_1".into())));
    assert_eq!(by_session.ids(), ["q_1", "q_1"]);
    service.answer(&nested.id, yes(&nested)).unwrap();
    assert!(matches!(handle.await.unwrap(), Closing::Answered { .. }));
    assert_eq!((by_run.closings().len(), by_session.closings().len(), other.closings().len()), (1, 1, 0));
}

// Pains 15: nobody there means an immediate, explained answer.
#[tokio::test(start_paused = true)]
async fn complaint_15_a_process_without_a_surface_refuses_at_once() {
    let world = World::new();
    let session = world.session().await;
    let before = tokio::time::Instant::now();
    let outcomes = session.calls(vec![call("asks", json!({}))], world.options()).wait().await.unwrap();
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(outcomes[0].result.error_code, Some(ErrorCode::TOOL_DENIED));
    assert_eq!(
        outcomes[0].result.text(),
        "`asks` was refused: it needs a person's yes, and nobody is there to ask."
    );
}

// APR-04: a surface that went away is waited for, and for so long alone.
#[tokio::test(start_paused = true)]
async fn a_lost_surface_may_come_back_within_the_grace() {
    let service = Arc::new(ConsentService::default());
    let desk = Arc::new(Desk::default());
    let first = service.attach(desk.clone());
    service.detach(first);
    let one = question("q_1", "s_1", "r_1", None);
    let handle = asked(&service, &one, GRACE);
    settle().await;
    tokio::time::advance(Duration::from_secs(20)).await;
    // Another session's surface does not make the wait begin anew.
    service.attach_to(Arc::new(Desk::default()), Audience::Session("s_9".into()));
    settle().await;
    tokio::time::advance(Duration::from_secs(9)).await;
    settle().await;
    assert!(!handle.is_finished());
    // It comes back, is shown what is open, and may take its time.
    let back = service.attach(desk.clone());
    assert_eq!(desk.ids(), ["q_1"]);
    tokio::time::advance(Duration::from_secs(1_000)).await;
    settle().await;
    assert!(!handle.is_finished());
    service.detach(back);
    let before = tokio::time::Instant::now();
    assert_eq!(handle.await.unwrap(), Closing::NoSurface);
    assert_eq!(before.elapsed().as_secs(), 30);
    // Without grace nobody is waited for.
    let two = question("q_2", "s_1", "r_1", None);
    assert_eq!(asked(&service, &two, Duration::ZERO).await.unwrap(), Closing::NoSurface);
}

// Pains 16: a question always has an end: its deadline, or the stop.
#[tokio::test(start_paused = true)]
async fn complaint_16_stop_and_deadline_always_resolve_a_question() {
    let (world, desk) = world_with_desk();
    let session = world.session().await;
    let handle = session.calls(vec![call("asks", json!({})), call("asks", json!({}))], world.options());
    shown(&desk, 1).await;
    handle.stop();
    let outcomes = handle.wait().await.unwrap();
    assert!(outcomes.iter().all(|one| one.result.error_code == Some(ErrorCode::CALL_CANCELLED)));
    assert!(world.engine.consent().open().is_empty());
    assert_eq!(desk.closings(), [Closing::Cancelled]);

    let handle = session.calls(vec![call("asks", json!({}))], world.options());
    let run = handle.run().clone();
    let outcomes = handle.wait().await.unwrap();
    assert_eq!(outcomes[0].result.error_code, Some(ErrorCode::TOOL_DENIED));
    assert_eq!(desk.closings()[1], Closing::Expired);
    let kinds = world.kinds(&run).await;
    assert_eq!(
        kinds[2..],
        ["tool_call_requested", "consent_opened", "consent_closed", "tool_call_failed", "run_ended"]
    );
    // A wait that is dropped in the middle leaves nothing open either.
    let service = world.engine.consent();
    let one = question("q_1", "s_1", "r_1", None);
    let handle = asked(service, &one, GRACE);
    settle().await;
    assert_eq!(service.open().len(), 1);
    handle.abort();
    settle().await;
    assert!(service.open().is_empty());
    assert_eq!(desk.closings()[2], Closing::Cancelled);
}

// Pains 17: open questions are state. Whoever comes later is shown them, and told of their end.
#[tokio::test]
async fn complaint_17_a_surface_that_comes_back_sees_what_is_open() {
    let service = Arc::new(ConsentService::default());
    let first = service.attach(Arc::new(Desk::default()));
    let questions = ["q_1", "q_2"].map(|id| question(id, "s_1", "r_1", None));
    let handles = questions.each_ref().map(|one| asked(&service, one, GRACE));
    settle().await;
    service.detach(first);
    let later = Arc::new(Desk::default());
    service.attach(later.clone());
    let mut ids = later.ids();
    ids.sort();
    assert_eq!(ids, ["q_1", "q_2"]);
    for (question, handle) in questions.iter().zip(handles) {
        service.answer(&question.id, yes(question)).unwrap();
        assert!(matches!(handle.await.unwrap(), Closing::Answered { .. }));
    }
    assert_eq!(later.closings().len(), 2);
}

// Pains 18: one question that nobody answers blocks no other session.
#[tokio::test]
async fn complaint_18_two_sessions_never_block_each_other() {
    let (world, desk) = world_with_desk();
    let (silent, busy) = (world.session().await, world.session().await);
    let stuck = silent.calls(vec![call("asks", json!({"text": "never"}))], world.options());
    let unanswered = shown(&desk, 1).await.remove(0);
    for number in 0..5 {
        let calls = vec![call("asks", json!({"text": number.to_string()})), call("echo", json!({}))];
        let handle = busy.calls(calls, world.options());
        let question = shown(&desk, number + 2).await.pop().unwrap();
        assert_eq!(question.session, *busy.id());
        world.engine.consent().answer(&question.id, yes(&question)).unwrap();
        assert!(handle.wait().await.unwrap().iter().all(|one| !one.result.is_error));
    }
    assert_eq!(world.engine.consent().open()[0].id, unanswered.id);
    stuck.stop();
    stuck.wait().await.unwrap();
}

// Pains 19, CONFLICT-13: every surface learns the state; the first valid answer wins and later ones are told what happened.
#[tokio::test(start_paused = true)]
async fn complaint_19_every_surface_learns_how_it_ended_and_late_answers_are_told() {
    let service = Arc::new(ConsentService::default());
    let desks = [(); 2].map(|()| Arc::new(Desk::default()));
    for desk in &desks {
        service.attach(desk.clone());
    }
    let late = |question: &Question| service.answer(&question.id, yes(question)).unwrap_err().to_string();
    let one = question("q_1", "s_1", "r_1", None);
    let handle = asked(&service, &one, GRACE);
    settle().await;
    service.answer(&one.id, yes(&one)).unwrap();
    let told = "this answer came too late and changes nothing: it was answered with yes by anna (desk)";
    assert_eq!(late(&one), told);
    let how = handle.await.unwrap();
    assert_eq!(late(&one), told);
    assert!(desks.iter().all(|desk| desk.closings() == [how.clone()]));

    let two = question("q_2", "s_1", "r_1", Some(Timestamp(2_000)));
    assert_eq!(asked(&service, &two, GRACE).await.unwrap(), Closing::Expired);
    assert_eq!(late(&two), "this answer came too late and changes nothing: nobody answered in time");
    // What ended long ago is forgotten, and nothing grows.
    for number in 0..2_000 {
        let old = question(&format!("q_old_{number}"), "s_1", "r_1", Some(Timestamp(0)));
        asked(&service, &old, GRACE).await.unwrap();
    }
    assert_eq!(service.answer(&one.id, yes(&one)), Err(AnswerError::Unknown(one.id.clone())));
}

/// Is called off in the very moment in which a yes is accepted.
struct StopAtYes {
    service: Arc<ConsentService>,
    question: Arc<Question>,
}

impl Cancel for StopAtYes {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.service.answer(&self.question.id, yes(&self.question)).unwrap() })
    }
}

// Whoever was told that an answer counts was told the truth, whatever ends the question in the same moment.
#[tokio::test]
async fn complaint_19_an_accepted_answer_counts_though_the_run_stops_in_the_same_moment() {
    let service = Arc::new(ConsentService::default());
    service.attach(Arc::new(Desk::default()));
    let question = question("q_1", "s_1", "r_1", None);
    let stop = StopAtYes { service: service.clone(), question: question.clone() };
    let closing = service.ask(&question, GRACE, &stop, &TestClock::default()).await;
    assert!(matches!(closing, Closing::Answered { answer: Answer::Once, .. }), "{closing:?}");
    assert!(matches!(service.answer(&question.id, yes(&question)), Err(AnswerError::Late { .. })));
}

// Pains 22, 23: an answer names the bytes that were shown, and is used once.
#[tokio::test]
async fn complaint_22_an_answer_for_other_bytes_does_not_count() {
    let service = Arc::new(ConsentService::default());
    service.attach(Arc::new(Desk::default()));
    let one = question("q_1", "s_1", "r_1", None);
    let handle = asked(&service, &one, GRACE);
    settle().await;
    let other = Reply { shown: Digest::of(b"{}"), ..yes(&one) };
    assert_eq!(service.answer(&one.id, other), Err(AnswerError::OtherDigest(one.id.clone())));
    let wide = Reply::to(&one, Answer::Session { scope: Scope::Tool }, "desk");
    assert_eq!(service.answer(&one.id, wide), Err(AnswerError::NotOffered(one.id.clone())));
    assert_eq!(service.open().len(), 1, "it still waits");
    let offered = Answer::Until { scope: one.scopes[0].clone(), time: Timestamp(9_000) };
    service.answer(&one.id, Reply::to(&one, offered.clone(), "desk")).unwrap();
    let Closing::Answered { answer, shown, .. } = handle.await.unwrap() else { panic!() };
    assert_eq!((answer, shown), (offered, Some(one.digest)));
}

// Pains 23: a retry of the very same call asks again.
#[tokio::test]
async fn complaint_23_a_retry_never_reuses_a_yes() {
    let (world, desk) = world_with_desk();
    let session = world.session().await;
    for number in 1..4 {
        let handle = session.calls(vec![call("asks", json!({"text": "same"}))], world.options());
        let question = shown(&desk, number).await.pop().unwrap();
        world.engine.consent().answer(&question.id, yes(&question)).unwrap();
        let outcome = handle.wait().await.unwrap().remove(0);
        assert_eq!(outcome.granted_by.as_deref(), Some("desk"));
        assert_eq!(outcome.result.error_code, None);
    }
    let ids = desk.ids();
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    // A yes to one call is in the journal, used up, and never stands in for another answer.
    assert!(session.grants().is_empty());
    let history = grants_of(world.store.as_ref(), session.id()).await.unwrap();
    assert_eq!(history.len(), 3);
    for (record, question) in history.iter().zip(desk.shown.lock().unwrap().iter()) {
        assert_eq!(record.grant.lifetime, Lifetime::Once);
        assert_eq!((record.grant.by.as_deref(), record.uses), (Some("anna"), 0));
        assert_eq!(record.grant.question.as_ref(), Some(&question.id));
    }
}

struct Rules(AtomicBool, Digest);
impl CurrentPolicy for Rules {
    fn version(&self) -> Result<Digest, String> {
        if self.0.load(Ordering::SeqCst) { Ok(self.1) } else { Err("haft.toml:3 is unreadable".into()) }
    }
}

// Pains §4.2: an answer counts only under the rules under which it was asked; a guard that fails, refuses.
#[tokio::test]
async fn an_answer_under_other_rules_must_be_asked_again() {
    let (world, desk) = world_with_desk();
    let session = world.session().await;
    let unreadable = "it needs care";
    for (number, readable, told) in
        [(1, true, "the rules changed while the question stood"), (2, false, "the rules cannot be read")]
    {
        let mut options = world.options();
        options.policy_now = Some(Arc::new(Rules(AtomicBool::new(readable), Digest::of(b"new rules"))));
        let handle = session.calls(vec![call("asks", json!({}))], options);
        let run = handle.run().clone();
        let question = shown(&desk, number).await.pop().unwrap();
        world.engine.consent().answer(&question.id, yes(&question)).unwrap();
        let result = handle.wait().await.unwrap().remove(0).result;
        assert_eq!(result.error_code, Some(ErrorCode::TOOL_DENIED), "{unreadable}");
        assert!(result.text().contains(told), "{}", result.text());
        assert!(!world.kinds(&run).await.contains(&"grant_given".to_owned()));
    }
    assert!(world.logged().is_empty());
}

// The working folder is part of what a yes is bound to: where it is another one, or cannot be looked up, nothing runs.
#[tokio::test]
async fn an_answer_in_another_folder_or_an_unknown_one_does_not_count() {
    for (unknown, told) in
        [(false, "the working folder changed"), (true, "the working folder cannot be looked up")]
    {
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new()), u32::MAX));
        let world = World::over(store.clone());
        let desk = Arc::new(Desk::default());
        world.engine.consent().attach(desk.clone());
        let at = |path: &str| ProjectRow { id: "p".into(), path: path.into(), added: Timestamp(1) };
        store.put_project(&at("/p/old")).await.unwrap();
        let environment = ConsentEnvironment {
            project: Some("p".into()),
            project_folder: Some("/p/old".into()),
            attended: true,
            ..ConsentEnvironment::default()
        };
        let project = Some("p".into());
        let session = world.engine.open(SessionChoice::New, "test", project, environment).await.unwrap();
        let handle = session.calls(vec![call("asks", json!({}))], world.options());
        let question = shown(&desk, 1).await.remove(0);
        if unknown {
            store.lost.store(true, Ordering::SeqCst);
        } else {
            store.put_project(&at("/p/new")).await.unwrap();
        }
        world.engine.consent().answer(&question.id, yes(&question)).unwrap();
        let result = handle.wait().await.unwrap().remove(0).result;
        assert_eq!(result.error_code, Some(ErrorCode::TOOL_DENIED));
        assert!(result.text().contains(told), "{}", result.text());
        assert!(world.logged().is_empty());
    }
}

#[tokio::test]
async fn a_surface_that_panics_opens_nothing_and_is_gone() {
    let mut world = World::new();
    world.profile.consent.grace_s = 0;
    let service = world.engine.consent().clone();
    service.attach(Arc::new(Panics));
    let session = world.session().await;
    let ask = || session.calls(vec![call("asks", json!({}))], world.options());
    let outcomes = ask().wait().await.unwrap();
    assert_eq!(outcomes[0].result.error_code, Some(ErrorCode::TOOL_DENIED));
    // Nothing is poisoned: another surface works as ever, beside a second broken one.
    let desk = Arc::new(Desk::default());
    service.attach(desk.clone());
    service.attach(Arc::new(Panics));
    let handle = ask();
    let question = shown(&desk, 1).await.remove(0);
    service.answer(&question.id, yes(&question)).unwrap();
    assert!(!handle.wait().await.unwrap()[0].result.is_error);
}

// APR-26: a restart closes what stood open, and model and user learn of it. Grants do not come back (APR-17).
#[tokio::test]
async fn a_restart_closes_open_questions_as_expired() {
    let memory: Arc<MemoryStore> = Arc::new(MemoryStore::new());
    let (first, desk) = (World::over(memory.clone()), Arc::new(Desk::default()));
    first.engine.consent().attach(desk.clone());
    let session = first.session().await;
    let id = session.id().clone();
    let model = FakeModel::new(vec![says("", vec![call("asks", json!({"text": "x"}))])]);
    let handle = session.prompt("Do it.".into(), model, first.options());
    let run = handle.run().clone();
    let question = shown(&desk, 1).await.remove(0);
    // The process dies: its store sees no more of it, and its lease runs out.
    let second = World::over(memory);
    second.clock.pass(3_600);
    let again = second.reopen(SessionChoice::Id(id)).await;
    let recovered = again.recovered();
    assert_eq!(recovered.len(), 1);
    assert_eq!((recovered[0].unknown.len(), recovered[0].unanswered.clone()), (0, vec!["asks".to_owned()]));
    let kinds = second.kinds(&run).await;
    assert_eq!(kinds[kinds.len() - 3..], ["consent_closed", "tool_call_failed", "run_ended"]);
    let payloads = second.payloads(&run).await;
    let closed = payloads.iter().find_map(|payload| match payload {
        Payload::ConsentClosed(body) => Some((body.consent.clone(), body.closing.clone())),
        _ => None,
    });
    assert_eq!(closed, Some((question.id, Closing::Expired)));
    assert!(again.grants().is_empty());
    let model = FakeModel::new(vec![says("Sorry.", vec![])]);
    again.prompt("Well?".into(), model.clone(), second.options()).wait().await.unwrap();
    let told = format!("{:?}", model.requests.lock().unwrap()[0].messages);
    assert!(told.contains("Haft ended before the person answered"), "{told}");
    handle.stop();
    drop(handle.wait().await);
}

fn granted(id: &str, session: &SessionId) -> Grant {
    let lifetime = Lifetime::Session(session.clone());
    Grant::new(GrantId::new(id), ToolId::builtin("look_asks"), Scope::Tool, lifetime, "--allow", Timestamp(7))
}

// Pains §4.1: a grant is shown as what it is, with what it has allowed.
#[tokio::test]
async fn uses_are_counted_here_and_in_the_journal() {
    let world = World::new();
    let session = world.session().await;
    session.grant(granted("g_1", session.id()));
    for _ in 0..2 {
        session.calls(vec![call("look_asks", json!({"text": "a"}))], world.options()).wait().await.unwrap();
    }
    let held = &session.grants()[0];
    assert_eq!(held.uses, 2);
    let history = grants_of(world.store.as_ref(), session.id()).await.unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].grant.clone(), history[0].uses), (granted("g_1", session.id()), 2));
    assert!(history[0].last_use.is_some() && history[0].revoked.is_none() && history[0].epoch == 1);
}

// A yes that is taken back while its call runs: the call ends, and its result answers no other one.
#[tokio::test]
async fn what_was_taken_back_while_its_call_ran_is_given_to_nobody_again() {
    let mut world = World::new();
    world.profile.reuse.history = true;
    let tool = ToolId::builtin("pair");
    world.profile.tools.permission.insert(tool.clone(), Permission::Ask);
    let session = world.session().await;
    let ran = async |times: usize| {
        for _ in 0..10_000 {
            if world.logged().len() == times {
                return true;
            }
            tokio::task::yield_now().await;
        }
        false
    };
    let calls = || vec![call("pair", json!({"text": "a"}))];
    for (number, id) in (1..).zip(["g_1", "g_2"]) {
        session.grant(Grant { tool: tool.clone(), ..granted(id, session.id()) });
        let handle = session.calls(calls(), world.options());
        assert!(ran(number).await, "{id}: the tool is asked itself");
        assert!(session.revoke(&GrantId::new(id)).await.unwrap());
        world.cells.pair.meet().await;
        let outcome = handle.wait().await.unwrap().remove(0);
        assert_eq!((outcome.result.is_error, outcome.result.skipped), (false, false), "{id}");
    }
}

// APR-17: taken back from here or from another process, a grant stands in for nothing, and so does what rests on it.
#[tokio::test]
async fn what_was_taken_back_answers_nothing_and_neither_do_its_results() {
    for elsewhere in [false, true] {
        let mut world = World::new();
        world.profile.reuse.history = true;
        world.profile.consent.grace_s = 0;
        let session = world.session().await;
        session.grant(granted("g_1", session.id()));
        let ask = async || {
            let calls = vec![call("look_asks", json!({"text": "a"}))];
            session.calls(calls, world.options()).wait().await.unwrap().remove(0)
        };
        assert!(!ask().await.result.skipped);
        assert!(ask().await.result.skipped, "an earlier result, under a live grant");
        let id = GrantId::new("g_1");
        if elsewhere {
            world.store.revoke_grant(session.id(), &id, Timestamp(99)).await.unwrap();
        } else {
            assert!(session.revoke(&id).await.unwrap());
            assert!(!session.revoke(&id).await.unwrap());
        }
        let refused = ask().await;
        assert_eq!(refused.result.error_code, Some(ErrorCode::TOOL_DENIED));
        // Another yes for the same call: what rested on the first is not given again.
        session.grant(granted("g_2", session.id()));
        let anew = ask().await;
        assert_eq!((anew.result.skipped, anew.result.is_error), (false, false), "elsewhere: {elsewhere}");
        assert_eq!(world.logged().len(), 2);
        let history = grants_of(world.store.as_ref(), session.id()).await.unwrap();
        let revoked: Vec<bool> = history.iter().map(|one| one.revoked.is_some()).collect();
        assert_eq!((revoked, history[0].uses), (vec![true, false], 2));
        let records = world.payloads(&refused.run).await;
        let told = |payload: &Payload| matches!(payload, Payload::GrantRevoked(body) if body.grant == id);
        assert_eq!(records.iter().filter(|payload| told(payload)).count(), 1);
        // Another process that reads the journal gives no result that rests on it either.
        session.close().await.unwrap();
        let again = world.reopen(SessionChoice::Last).await;
        world.store.revoke_grant(again.id(), &GrantId::new("g_2"), Timestamp(99)).await.unwrap();
        let mut options = world.options();
        options.yes = true;
        let calls = vec![call("look_asks", json!({"text": "a"}))];
        assert!(!again.calls(calls, options).wait().await.unwrap()[0].result.skipped);
    }
}

// Guards fail closed: where it cannot be seen whether a yes still holds, it does not.
#[tokio::test]
async fn a_store_that_cannot_tell_what_was_taken_back_refuses() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new()), u32::MAX));
    let world = World::over(store.clone());
    let session = world.session().await;
    session.grant(granted("g_1", session.id()));
    store.blind.store(true, Ordering::SeqCst);
    let calls = vec![call("look_asks", json!({"text": "a"}))];
    let outcome = session.calls(calls.clone(), world.options()).wait().await.unwrap().remove(0);
    assert_eq!(outcome.result.error_code, Some(ErrorCode::TOOL_DENIED));
    assert!(outcome.result.text().contains("it cannot be seen whether the yes still holds"));
    store.blind.store(false, Ordering::SeqCst);
    let outcome = session.calls(calls, world.options()).wait().await.unwrap().remove(0);
    assert_eq!(outcome.granted_by.as_deref(), Some("--allow"));
}

// APR-05, APR-10, APR-18: lifetimes end where they say, and a call that is asked every time is never remembered.
#[tokio::test]
async fn a_run_yes_ends_with_the_run_and_every_time_is_every_time() {
    let (mut world, desk) = world_with_desk();
    world.profile.tools.permission.insert(ToolId::builtin("every_time"), Permission::Ask);
    let session = world.session().await;
    let two = || vec![call("asks", json!({"text": "a"})), call("asks", json!({"text": "b"}))];
    let handle = session.calls(two(), world.options());
    let question = shown(&desk, 1).await.remove(0);
    let for_run = Answer::Run { scope: Scope::Tool };
    world.engine.consent().answer(&question.id, Reply::to(&question, for_run, "desk")).unwrap();
    assert!(handle.wait().await.unwrap().iter().all(|one| !one.result.is_error));
    assert_eq!(session.grants()[0].uses, 1);
    let handle = session.calls(vec![call("every_time", json!({})), call("asks", json!({}))], world.options());
    let question = shown(&desk, 2).await.pop().unwrap();
    assert_eq!((question.every_time, question.scopes.len()), (true, 0));
    world.engine.consent().answer(&question.id, yes(&question)).unwrap();
    let next = shown(&desk, 3).await.pop().unwrap();
    assert_eq!(next.alias, "asks", "the yes for the run before is over");
    handle.stop();
    handle.wait().await.unwrap();
}
