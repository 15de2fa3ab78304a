//! Who may write to a session: the rules of leases, without a place to keep them.
//!
//! A lease ends by itself after thirty seconds unless its owner appends or renews; its epoch grows with every owner, so
//! that a writer who was overtaken is refused in the transaction of its own append. Nothing here reads a clock.

use haft_core::SessionId;
use haft_core::ports::{Lease, StoreError, Timestamp};

/// How long a lease holds without a sign of life, in milliseconds.
pub(crate) const LEASE_MS: u64 = 30_000;
/// An append renews a lease only when that moves its end by so much, so that most appends write no lease row.
const RENEWAL_STEP_MS: u64 = 10_000;

/// The stored lease of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    pub(crate) epoch: u64,
    pub(crate) holder: Option<Holder>,
}

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// In words for people.
    pub(crate) owner: String,
    /// The mark of its process (`process.rs`).
    pub(crate) process: String,
    pub(crate) until: Timestamp,
}

/// The lease row after `owner` took it, or who holds it. `is_gone` says of a process mark that it surely runs no more.
pub(crate) fn take(
    row: Option<&LeaseRow>,
    session: &SessionId,
    holder: Holder,
    now: Timestamp,
    is_gone: impl Fn(&str) -> bool,
) -> Result<LeaseRow, StoreError> {
    if let Some(current) = row.and_then(|row| row.holder.as_ref())
        && now < current.until
        && !is_gone(&current.process)
    {
        let (owner, until) = (current.owner.clone(), current.until);
        return Err(StoreError::Leased { session: session.clone(), owner, until });
    }
    let epoch = row.map_or(0, |row| row.epoch).saturating_add(1);
    Ok(LeaseRow { epoch, holder: Some(holder) })
}

/// Who holds the lease at `now`, if anybody alive does.
pub(crate) fn holder(
    row: Option<&LeaseRow>,
    session: &SessionId,
    now: Timestamp,
    is_gone: impl Fn(&str) -> bool,
) -> Option<Lease> {
    let row = row?;
    let holder = row.holder.as_ref().filter(|holder| now < holder.until && !is_gone(&holder.process))?;
    Some(Lease { session: session.clone(), epoch: row.epoch, owner: holder.owner.clone() })
}

/// Refuses a writer who does not hold the lease any more; gives the holder's row otherwise.
pub(crate) fn fence<'a>(row: Option<&'a LeaseRow>, lease: &Lease) -> Result<&'a Holder, StoreError> {
    row.filter(|row| row.epoch == lease.epoch)
        .and_then(|row| row.holder.as_ref())
        .ok_or_else(|| StoreError::LeaseLost { session: lease.session.clone() })
}

/// The new end of a lease whose owner showed itself at `now` by an append, if it is worth a write.
pub(crate) fn renewed_by_append(holder: &Holder, now: Timestamp) -> Option<Timestamp> {
    let until = now.plus(LEASE_MS);
    (until >= holder.until.plus(RENEWAL_STEP_MS)).then_some(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(until: u64) -> Holder {
        Holder { owner: "process 1 (haft chat)".into(), process: "1".into(), until: Timestamp(until) }
    }

    #[test]
    fn a_lease_is_taken_when_nobody_alive_holds_it() {
        let session = SessionId::new("s_1");
        let first = take(None, &session, holder(30), Timestamp(0), |_| false).unwrap();
        assert_eq!(first, LeaseRow { epoch: 1, holder: Some(holder(30)) });
        let refused = take(Some(&first), &session, holder(50), Timestamp(29), |_| false).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the session s_1 is in use by process 1 (haft chat). End that process, or wait until 1970-01-01T00:00:00.030Z"
        );
        assert_eq!(take(Some(&first), &session, holder(60), Timestamp(30), |_| false).unwrap().epoch, 2);
        assert_eq!(take(Some(&first), &session, holder(60), Timestamp(1), |_| true).unwrap().epoch, 2);
        let owner = "process 1 (haft chat)".to_owned();
        let lease = Lease { session: session.clone(), epoch: 1, owner };
        assert_eq!(super::holder(Some(&first), &session, Timestamp(29), |_| false), Some(lease));
        assert_eq!(super::holder(Some(&first), &session, Timestamp(29), |_| true), None);
        assert_eq!(super::holder(Some(&first), &session, Timestamp(30), |_| false), None);
        assert_eq!(super::holder(None, &session, Timestamp(0), |_| false), None);
    }

    #[test]
    fn an_append_moves_the_end_in_steps() {
        assert_eq!(renewed_by_append(&holder(LEASE_MS), Timestamp(9_999)), None);
        assert_eq!(renewed_by_append(&holder(LEASE_MS), Timestamp(10_000)), Some(Timestamp(40_000)));
    }
}
