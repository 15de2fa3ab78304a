//! What the journal must show of any sequence, whatever the model says: read by itself, record by record.

use std::collections::HashMap;

use haft_core::consent::{Answer, Closing};
use haft_core::ports::{Store, Timestamp};
use haft_core::{CallId, ConsentId, Digest, Grant, GrantId, Payload, Question};
use haft_store::verify::{Class, verify_store};

use crate::world::World;

#[derive(Default)]
struct Seen {
    digest: Option<Digest>,
    decision: Option<String>,
    granted_by: Option<String>,
    grant: Option<GrantId>,
    question: Option<Question>,
    closings: u32,
    yes: bool,
    starts: u32,
    ends: u32,
}

/// Panics where a law is broken.
pub(crate) async fn hold(world: &World, limit: u32) {
    assert!(world.open_questions().is_empty(), "a consent is left open");
    let store: &dyn Store = world.memory.as_ref();
    let mut grants: HashMap<GrantId, (Grant, Option<Timestamp>)> = HashMap::new();
    let mut started: Vec<CallId> = Vec::new();
    for run in store.runs(None).await.unwrap() {
        assert!(run.ended, "the run {} has no end", run.id);
        let mut calls: HashMap<CallId, Seen> = HashMap::new();
        let mut asked: HashMap<ConsentId, CallId> = HashMap::new();
        for record in store.records(&run.id).await.unwrap() {
            let payload = Payload::read(&record.kind, record.payload.as_deref().unwrap()).unwrap();
            match payload {
                Payload::ToolCallRequested(body) => {
                    let seen = calls.entry(body.call_id.clone()).or_default();
                    assert!(seen.decision.is_none() && seen.digest.is_none(), "requested twice");
                    seen.digest = body.arguments_digest;
                    (seen.decision, seen.granted_by) = (body.decision, body.granted_by);
                    seen.grant = body.grant;
                }
                Payload::ConsentOpened(question) => {
                    asked.insert(question.id.clone(), question.call_id.clone());
                    let seen = calls.get_mut(&question.call_id).unwrap();
                    assert!(seen.question.replace(question).is_none(), "a call is asked about twice");
                }
                Payload::ConsentClosed(body) => {
                    assert_eq!(asked.get(&body.consent), Some(&body.call_id));
                    let seen = calls.get_mut(&body.call_id).unwrap();
                    seen.closings += 1;
                    if let Closing::Answered { answer, shown, .. } = body.closing {
                        seen.yes = !matches!(answer, Answer::Deny { .. }) && shown == seen.digest;
                    }
                }
                Payload::GrantGiven(body) => {
                    grants.insert(body.grant.id.clone(), (body.grant, None));
                }
                Payload::GrantRevoked(body) => {
                    grants.get_mut(&body.grant).unwrap().1 = Some(body.revoked);
                }
                Payload::ToolCallStarted(body) => {
                    let seen = calls.get_mut(&body.call_id).unwrap();
                    seen.starts += 1;
                    assert_eq!(seen.ends, 0, "it started after its end");
                    may_run(seen, &grants);
                    started.push(body.call_id);
                }
                Payload::ToolCallCompleted(body) => {
                    let seen = calls.get_mut(&body.call_id).unwrap();
                    seen.ends += 1;
                    if body.reused_from.is_some() {
                        // An earlier result is given under the same law as a call that runs.
                        assert!(seen.question.is_none(), "a yes to a call was used for an earlier result");
                        may_run(seen, &grants);
                    }
                }
                Payload::ToolCallFailed(body) => calls.get_mut(&body.call_id).unwrap().ends += 1,
                _ => {}
            }
        }
        for (id, seen) in &calls {
            assert_eq!(seen.ends, 1, "{id} has {} ends", seen.ends);
            assert!(seen.starts <= 1, "{id} was run {} times", seen.starts);
            assert_eq!(seen.closings, u32::from(seen.question.is_some()), "{id}: a question and its end");
        }
        let ran = calls.values().filter(|seen| seen.starts > 0).count();
        assert!(ran <= limit as usize, "{ran} calls ran with a budget of {limit}");
    }
    let mut reached = world.log.lock().unwrap().clone();
    reached.sort();
    started.sort();
    assert_eq!(reached, started, "tools are reached by started calls, once each");
    let report = verify_store(world.memory.as_ref(), &[], Timestamp(u64::MAX)).unwrap();
    let findings = report.runs.iter().flat_map(|run| &run.findings).chain(&report.findings);
    let damage: Vec<_> = findings.filter(|finding| !matches!(finding.class(), Class::Loose)).collect();
    assert!(damage.is_empty(), "{damage:?}");
}

/// A call runs by policy, by a live grant that is known, by `--yes`, or by a yes to its own bytes.
fn may_run(seen: &Seen, grants: &HashMap<GrantId, (Grant, Option<Timestamp>)>) {
    match (seen.decision.as_deref(), &seen.question) {
        (Some("allow"), None) => {}
        (Some("ask"), Some(question)) => {
            assert!(seen.yes, "it ran without a yes to its own bytes");
            assert_eq!(Some(question.digest), seen.digest);
        }
        (Some("ask"), None) => match &seen.grant {
            Some(id) => {
                let (grant, revoked) = grants.get(id).unwrap_or_else(|| panic!("{id} was never given"));
                assert!(revoked.is_none(), "{} was taken back", grant.id);
            }
            None => assert_eq!(seen.granted_by.as_deref(), Some("--yes")),
        },
        other => panic!("it ran by {other:?}"),
    }
}
