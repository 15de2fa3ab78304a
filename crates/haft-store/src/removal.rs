//! What may be taken away from a journal, and what goes with it (design.md §4).
//!
//! Pure rules that both stores share. A payload that is gone must be told by a later record; nothing here writes one.

use haft_core::journal::{Batch, PayloadRedacted, SessionDeleted};
use haft_core::ports::{RedactionError, StoreError, Timestamp};
use haft_core::{Digest, Payload, RunId, SealedRecord, SessionId};

/// Kinds whose payloads carry text of people, models or tools.
const REDACTABLE: [&str; 21] = [
    "run_started",
    "chat_imported",
    "world_info_activated",
    "context_compacted",
    "model_request_created",
    "model_turn_completed",
    "model_request_failed",
    "tool_call_requested",
    "consent_opened",
    "consent_closed",
    "grant_given",
    "tool_call_completed",
    "tool_call_failed",
    "agent_task_created",
    "invocation_ended",
    "chat_committed",
    "direct_output_captured",
    "persist_promoted",
    "run_failed",
    "run_partial_success",
    "run_ended",
];

/// What goes when the payload of a record goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Belongings {
    pub(crate) files: Vec<String>,
    pub(crate) artifacts: Vec<(String, u32)>,
    pub(crate) blobs: Vec<Digest>,
}

/// What a readable payload speaks of.
pub(crate) fn belongings(payload: &Payload) -> Belongings {
    let artifacts = match payload {
        Payload::ToolCallCompleted(body) => {
            body.artifacts.iter().map(|made| (made.id.clone(), made.version)).collect()
        }
        _ => Vec::new(),
    };
    let files = payload.files().into_iter().map(|file| file.path.clone()).collect();
    Belongings { files, artifacts, blobs: payload.blobs() }
}

/// What goes with the payload of `record`, or why it stays.
pub(crate) fn of_record(record: &SealedRecord) -> Result<Belongings, RedactionError> {
    if !REDACTABLE.contains(&record.kind.as_str()) {
        return Err(RedactionError::NotRedactable { seq: record.seq, kind: record.kind.clone() });
    }
    let Some(bytes) = &record.payload else {
        let what =
            format!("payload in record {} of run {}: it was taken away before", record.seq, record.run);
        return Err(StoreError::Missing { what }.into());
    };
    let payload = Payload::read(&record.kind, bytes).map_err(|error| StoreError::Damaged {
        what: format!("run {}, record {}: {error}", record.run, record.seq),
    })?;
    Ok(belongings(&payload))
}

/// The batch that tells of a redaction.
pub(crate) fn redaction_batch(
    run: &RunId,
    seq: u64,
    belongings: &Belongings,
    reason: &str,
    now: Timestamp,
) -> Result<Batch, StoreError> {
    let body = PayloadRedacted {
        seq,
        files: belongings.files.clone(),
        artifacts: belongings.artifacts.clone(),
        reason: reason.to_owned(),
    };
    batch_of(run, now, &Payload::PayloadRedacted(body))
}

/// The batch that tells of a deletion.
pub(crate) fn deletion_batch(run: &RunId, session: &SessionId, now: Timestamp) -> Result<Batch, StoreError> {
    batch_of(run, now, &Payload::SessionDeleted(SessionDeleted { session: session.clone() }))
}

/// Whether a record of this kind may name blobs, so that its payload must be read to find them.
pub(crate) fn may_name_blobs(kind: &str) -> bool {
    matches!(kind, "tool_call_completed" | "tool_call_failed")
}

fn batch_of(run: &RunId, now: Timestamp, payload: &Payload) -> Result<Batch, StoreError> {
    let mut batch = Batch::new(run.clone());
    batch.record(now, payload).map_err(|error| StoreError::Damaged { what: error.to_string() })?;
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_redactable_kind_exists_and_the_rest_holds_nothing_private() {
        let kept: Vec<&str> =
            Payload::KINDS.iter().copied().filter(|kind| !REDACTABLE.contains(kind)).collect();
        assert!(REDACTABLE.iter().all(|kind| Payload::KINDS.contains(kind)));
        assert_eq!(
            kept,
            [
                "context_assembled",
                "grant_revoked",
                "tool_call_started",
                "drift_recovery_attempted",
                "payload_redacted",
                "session_deleted"
            ]
        );
    }
}
