//! The hash chain: each record carries the hash of the one before, over digests of the stored bytes.
//!
//! Since the chain covers the digest of a payload and not the payload, a payload can be taken away and the chain
//! still verifies; whether it may be gone is told by a later `payload_redacted` or `session_deleted` record.

use std::io::Write;

use haft_schema::{Digest, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ids::RunId;
use crate::ports::Timestamp;

/// Version of the record format. A newer store opens an older one; an older one refuses a newer one.
pub const FORMAT_VERSION: u32 = 1;

/// The end of a run's chain: number and hash of its last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Sequence number of the next record, from 0; so also the number of records.
    pub next: u64,
    /// Hash of the last record; all zeros before the first.
    pub hash: Digest,
}

impl Head {
    /// Before the first record.
    pub fn empty() -> Self {
        Self { next: 0, hash: Digest::from_bytes([0; 32]) }
    }
}

/// One record as it is stored.
///
/// ```
/// use haft_core::journal::{Head, SealedRecord, check_chain};
/// use haft_core::{RunId, Timestamp};
/// let run = RunId::new("r_1");
/// let (first, head) = SealedRecord::seal(&run, Head::empty(), Timestamp(1), "run_started", b"{}".to_vec());
/// let (second, _) = SealedRecord::seal(&run, head, Timestamp(2), "run_ended", b"{}".to_vec());
/// assert!(check_chain(&run, &[first.clone(), second.clone()]).is_ok());
/// assert!(check_chain(&run, &[second, first]).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRecord {
    /// Format version.
    pub version: u32,
    /// The run.
    pub run: RunId,
    /// Number in the run, from 0.
    pub seq: u64,
    /// When it was written.
    pub time: Timestamp,
    /// What it is: the name of a [`Payload`](super::Payload).
    pub kind: String,
    /// Canonical JSON of the payload; none if it was taken away.
    pub payload: Option<Vec<u8>>,
    /// SHA-256 of those bytes.
    pub payload_digest: Digest,
    /// Hash of the record before.
    pub previous: Digest,
    /// Hash of this record.
    pub hash: Digest,
}

impl SealedRecord {
    /// Seals `payload` (canonical JSON bytes) as the record after `head`; gives it and the new head.
    pub fn seal(run: &RunId, head: Head, time: Timestamp, kind: &str, payload: Vec<u8>) -> (Self, Head) {
        let payload_digest = Digest::of(&payload);
        let mut record = Self {
            version: FORMAT_VERSION,
            run: run.clone(),
            seq: head.next,
            time,
            kind: kind.to_owned(),
            payload: Some(payload),
            payload_digest,
            previous: head.hash,
            hash: head.hash,
        };
        record.hash = record.computed_hash();
        let head = Head { next: record.seq + 1, hash: record.hash };
        (record, head)
    }

    /// The hash that the record's fields give: SHA-256 of its canonical header.
    pub fn computed_hash(&self) -> Digest {
        Digest::of(&self.header())
    }

    /// The canonical header: JSON with sorted keys and no blanks. Written by hand, since it is hashed for every record.
    fn header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(320);
        header.extend_from_slice(b"{\"kind\":");
        canonical::write_string(&self.kind, &mut header);
        header.extend_from_slice(b",\"payload_sha256\":\"");
        header.extend_from_slice(&self.payload_digest.hex());
        header.extend_from_slice(b"\",\"prev\":\"");
        header.extend_from_slice(&self.previous.hex());
        header.extend_from_slice(b"\",\"run\":");
        canonical::write_string(self.run.as_str(), &mut header);
        // Writing to a vector cannot fail.
        let _whole =
            write!(header, ",\"seq\":{},\"time\":{},\"v\":{}}}", self.seq, self.time.0, self.version);
        header
    }

    /// The payload as a value, if it is there and readable.
    pub fn payload_value(&self) -> Option<Value> {
        serde_json::from_slice(self.payload.as_deref()?).ok()
    }

    /// The record as one line of an export (`docs/spec/journal.md`).
    pub fn export_line(&self) -> Value {
        let payload = self.payload.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        json!({
            "v": self.version, "run": self.run, "seq": self.seq, "time": self.time, "kind": self.kind,
            "payload_sha256": self.payload_digest, "prev": self.previous, "hash": self.hash, "payload": payload,
        })
    }
}

/// The first thing in a chain that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// A record is missing or out of order.
    #[error("run {run}: record {expected} is missing (the next one there is {found})")]
    Gap {
        /// The run.
        run: RunId,
        /// The number that should come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// A payload was changed.
    #[error("run {run}, record {seq} ({kind}): the payload was changed")]
    Payload {
        /// The run.
        run: RunId,
        /// The record.
        seq: u64,
        /// Its kind.
        kind: String,
    },
    /// A record does not follow the one before, or another field than the payload was changed.
    #[error("run {run}, record {seq} ({kind}): its hash does not fit its fields and the record before")]
    Hash {
        /// The run.
        run: RunId,
        /// The record.
        seq: u64,
        /// Its kind.
        kind: String,
    },
    /// The record belongs to another run or has an unknown format.
    #[error("run {run}, record {seq}: it is of run {found} in format {version}, which does not belong here")]
    Foreign {
        /// The run.
        run: RunId,
        /// The record.
        seq: u64,
        /// The run that it names.
        found: RunId,
        /// The format that it names.
        version: u32,
    },
}

/// Checks order, hashes and payload digests of all records of a run, from the first; gives the head.
/// A payload that is gone is no fault here: see [`super::Payload`] for the records that allow it.
pub fn check_chain(run: &RunId, records: &[SealedRecord]) -> Result<Head, ChainFault> {
    let mut head = Head::empty();
    for record in records {
        let (seq, kind) = (record.seq, record.kind.clone());
        if record.run != *run || record.version != FORMAT_VERSION {
            let (found, version) = (record.run.clone(), record.version);
            return Err(ChainFault::Foreign { run: run.clone(), seq, found, version });
        }
        if seq != head.next {
            return Err(ChainFault::Gap { run: run.clone(), expected: head.next, found: seq });
        }
        if record.payload.as_deref().is_some_and(|bytes| Digest::of(bytes) != record.payload_digest) {
            return Err(ChainFault::Payload { run: run.clone(), seq, kind });
        }
        if record.previous != head.hash || record.computed_hash() != record.hash {
            return Err(ChainFault::Hash { run: run.clone(), seq, kind });
        }
        head = Head { next: seq + 1, hash: record.hash };
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> (RunId, Vec<SealedRecord>) {
        let run = RunId::new("r_1");
        let mut head = Head::empty();
        let records = (0..4)
            .map(|n| {
                let (record, next) =
                    SealedRecord::seal(&run, head, Timestamp(n), "k", format!("{{\"n\":{n}}}").into_bytes());
                head = next;
                record
            })
            .collect();
        (run, records)
    }

    #[test]
    fn the_header_is_canonical_json() {
        let (_, records) = chain();
        for record in records {
            let value: Value = serde_json::from_slice(&record.header()).unwrap();
            assert_eq!(canonical::to_bytes(&value), record.header());
        }
    }

    #[test]
    fn every_change_is_found_at_its_record() {
        let (run, good) = chain();
        assert_eq!(check_chain(&run, &good).unwrap().next, 4);
        let changes: [fn(&mut SealedRecord); 6] = [
            |r| r.payload = Some(b"{\"n\":9}".to_vec()),
            |r| r.kind = "x".into(),
            |r| r.time = Timestamp(99),
            |r| r.payload_digest = Digest::of(b""),
            |r| r.previous = Digest::of(b""),
            |r| r.hash = Digest::of(b""),
        ];
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad[2]);
            let text = check_chain(&run, &bad).unwrap_err().to_string();
            assert!(text.contains("record 2"), "{text}");
        }
        let mut cut = good.clone();
        cut.remove(1);
        assert_eq!(check_chain(&run, &cut), Err(ChainFault::Gap { run: run.clone(), expected: 1, found: 2 }));
        let mut redacted = good;
        redacted[1].payload = None;
        assert!(check_chain(&run, &redacted).is_ok());
    }
}
