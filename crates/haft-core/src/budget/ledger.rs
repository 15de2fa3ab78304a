//! The ledgers of one run: the root's and those of its children. A reservation takes from its own ledger and from the root's in
//! one step, from both or from neither, so that children together never use more than the run has.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Amounts, Limits, Money, Resource};
use crate::ports::Timestamp;

/// Names one ledger of a [`RunBudget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LedgerId(usize);

/// Whose limit it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whose {
    /// The ledger's own.
    Own,
    /// The root's, which all share.
    Root,
}

/// There is not enough left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} is used up (`{}`)", .resource.noun(), .resource.key())]
pub struct Exhausted {
    /// What is used up.
    pub resource: Resource,
    /// Whose limit it was.
    pub whose: Whose,
}

/// What was taken before it was used. It is given back, as far as it was not used, by [`RunBudget::settle`]; one that is lost
/// stays taken.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is reserved stays taken until it is settled"]
pub struct Reservation {
    ledger: LedgerId,
    amounts: Amounts,
}

impl Reservation {
    /// What was taken.
    pub fn amounts(&self) -> Amounts {
        self.amounts
    }
}

#[derive(Debug, Clone)]
struct Account {
    limits: Limits,
    /// When its time is over.
    ends_at: Option<Timestamp>,
    spent: Amounts,
    reserved: Amounts,
}

impl Account {
    fn open(limits: Limits, now: Timestamp) -> Self {
        let ends_at = limits.wall_ms.map(|limit| now.plus(limit));
        Self { limits, ends_at, spent: Amounts::default(), reserved: Amounts::default() }
    }

    /// What is neither spent nor reserved.
    fn left(&self) -> Limits {
        let gone = self.spent.each(self.reserved, u64::saturating_add);
        let left = |limit: Option<u64>, gone: u64| limit.map(|limit| limit.saturating_sub(gone));
        Limits {
            calls: left(self.limits.calls, gone.calls),
            wall_ms: self.limits.wall_ms,
            output_bytes: left(self.limits.output_bytes, gone.output_bytes),
            model_tokens: left(self.limits.model_tokens, gone.model_tokens),
            money: left(self.limits.money.map(|money| money.0), gone.money.0).map(Money),
        }
    }

    /// The first resource of which `wanted` is more than is left.
    fn lacks(&self, wanted: &Amounts) -> Option<Resource> {
        let left = self.left();
        let lacks = |left: Option<u64>, wanted: u64| left.is_some_and(|left| wanted > left);
        if lacks(left.calls, wanted.calls) {
            Some(Resource::Calls)
        } else if lacks(left.output_bytes, wanted.output_bytes) {
            Some(Resource::OutputBytes)
        } else if lacks(left.model_tokens, wanted.model_tokens) {
            Some(Resource::ModelTokens)
        } else if lacks(left.money.map(|money| money.0), wanted.money.0) {
            Some(Resource::Money)
        } else {
            None
        }
    }
}

/// The ledgers of one run.
///
/// ```
/// use haft_core::Timestamp;
/// use haft_core::budget::{Amounts, Limits, RunBudget};
/// let calls = |calls| Limits { calls: Some(calls), ..Limits::default() };
/// let mut budget = RunBudget::new(calls(3), Timestamp(0));
/// let child = budget.open_child(calls(2), Timestamp(0));
/// for _ in 0..2 {
///     budget.charge(child, Amounts::ONE_CALL)?;
/// }
/// assert!(budget.charge(child, Amounts::ONE_CALL).is_err()); // its own is used up
/// assert_eq!(budget.left(RunBudget::ROOT).calls, Some(1)); // and the root's has paid for it
/// # Ok::<(), haft_core::budget::Exhausted>(())
/// ```
#[derive(Debug, Clone)]
pub struct RunBudget {
    root: Account,
    children: Vec<Account>,
}

impl RunBudget {
    /// The root's ledger.
    pub const ROOT: LedgerId = LedgerId(0);

    /// A budget whose root has `limits` from `now` on.
    pub fn new(limits: Limits, now: Timestamp) -> Self {
        Self { root: Account::open(limits, now), children: Vec::new() }
    }

    /// A ledger for a child. What it uses is used of the root's as well, whoever called it.
    pub fn open_child(&mut self, limits: Limits, now: Timestamp) -> LedgerId {
        self.children.push(Account::open(limits, now));
        LedgerId(self.children.len())
    }

    /// Takes `wanted` from the ledger and from the root's, from both or from neither (GAT-02).
    ///
    /// # Errors
    /// [`Exhausted`] if either has not enough left; nothing is taken then.
    pub fn reserve(&mut self, ledger: LedgerId, wanted: Amounts) -> Result<Reservation, Exhausted> {
        let own = self.child(ledger).and_then(|own| own.lacks(&wanted));
        if let Some(resource) = own {
            return Err(Exhausted { resource, whose: Whose::Own });
        }
        if let Some(resource) = self.root.lacks(&wanted) {
            let whose = if ledger == Self::ROOT { Whose::Own } else { Whose::Root };
            return Err(Exhausted { resource, whose });
        }
        self.each_account(ledger, |account| {
            account.reserved = account.reserved.each(wanted, u64::saturating_add);
        });
        Ok(Reservation { ledger, amounts: wanted })
    }

    /// Takes as much of `wanted` bytes of results as there is.
    ///
    /// # Errors
    /// [`Exhausted`] if nothing is left.
    pub fn reserve_output(&mut self, ledger: LedgerId, wanted: u64) -> Result<Reservation, Exhausted> {
        let left = self.left(ledger).output_bytes.unwrap_or(u64::MAX);
        let bytes = if left == 0 { 1 } else { wanted.min(left) };
        self.reserve(ledger, Amounts::output(bytes))
    }

    /// Takes and uses `wanted` at once, for what is known before.
    ///
    /// # Errors
    /// As [`RunBudget::reserve`].
    pub fn charge(&mut self, ledger: LedgerId, wanted: Amounts) -> Result<(), Exhausted> {
        let reservation = self.reserve(ledger, wanted)?;
        self.settle(reservation, wanted);
        Ok(())
    }

    /// Ends a reservation: `used` is spent, the rest is free again. What was used beyond it (an estimate that was too low) is
    /// counted whole, and then missing for what comes next.
    #[expect(clippy::needless_pass_by_value, reason = "a reservation is settled once")]
    pub fn settle(&mut self, reservation: Reservation, used: Amounts) {
        let Reservation { ledger, amounts } = reservation;
        self.each_account(ledger, |account| {
            account.reserved = account.reserved.each(amounts, u64::saturating_sub);
            account.spent = account.spent.each(used, u64::saturating_add);
        });
    }

    /// What can still be reserved: the less of the ledger's own and the root's.
    pub fn left(&self, ledger: LedgerId) -> Limits {
        let root = self.root.left();
        let Some(own) = self.child(ledger).map(Account::left) else { return root };
        Limits {
            calls: less(own.calls, root.calls),
            wall_ms: less(own.wall_ms, root.wall_ms),
            output_bytes: less(own.output_bytes, root.output_bytes),
            model_tokens: less(own.model_tokens, root.model_tokens),
            money: less(own.money, root.money),
        }
    }

    /// What the ledger has spent, children of the root included in the root's.
    pub fn spent(&self, ledger: LedgerId) -> Amounts {
        self.child(ledger).unwrap_or(&self.root).spent
    }

    /// When the time is over: the earlier of the ledger's own and the root's.
    pub fn ends_at(&self, ledger: LedgerId) -> Option<Timestamp> {
        less(self.child(ledger).and_then(|own| own.ends_at), self.root.ends_at)
    }

    fn child(&self, ledger: LedgerId) -> Option<&Account> {
        self.children.get(ledger.0.checked_sub(1)?)
    }

    /// The root's account, and the child's where it is one.
    fn each_account(&mut self, ledger: LedgerId, change: impl Fn(&mut Account)) {
        change(&mut self.root);
        if let Some(child) = ledger.0.checked_sub(1).and_then(|at| self.children.get_mut(at)) {
            change(child);
        }
    }
}

/// The less of two limits.
fn less<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// One invocation's hold on the budget of its run. All holds on one run share its ledgers; each step is one lock.
#[derive(Clone)]
pub struct Ledger {
    budget: Arc<Mutex<RunBudget>>,
    id: LedgerId,
}

impl Ledger {
    /// The ledger of a run's root, open from `now` on.
    pub fn root(limits: Limits, now: Timestamp) -> Self {
        Self { budget: Arc::new(Mutex::new(RunBudget::new(limits, now))), id: RunBudget::ROOT }
    }

    /// A ledger for a child of this run.
    #[must_use]
    pub fn child(&self, limits: Limits, now: Timestamp) -> Self {
        let id = self.lock().open_child(limits, now);
        Self { budget: self.budget.clone(), id }
    }

    /// As [`RunBudget::reserve`].
    ///
    /// # Errors
    /// [`Exhausted`] if there is not enough left.
    pub fn reserve(&self, wanted: Amounts) -> Result<Reservation, Exhausted> {
        self.lock().reserve(self.id, wanted)
    }

    /// As [`RunBudget::reserve_output`].
    ///
    /// # Errors
    /// [`Exhausted`] if nothing is left.
    pub fn reserve_output(&self, bytes: u64) -> Result<Reservation, Exhausted> {
        self.lock().reserve_output(self.id, bytes)
    }

    /// As [`RunBudget::charge`].
    ///
    /// # Errors
    /// [`Exhausted`] if there is not enough left.
    pub fn charge(&self, wanted: Amounts) -> Result<(), Exhausted> {
        self.lock().charge(self.id, wanted)
    }

    /// As [`RunBudget::settle`].
    pub fn settle(&self, reservation: Reservation, used: Amounts) {
        self.lock().settle(reservation, used);
    }

    /// As [`RunBudget::left`].
    pub fn left(&self) -> Limits {
        self.lock().left(self.id)
    }

    /// As [`RunBudget::spent`].
    pub fn spent(&self) -> Amounts {
        self.lock().spent(self.id)
    }

    /// As [`RunBudget::ends_at`].
    pub fn ends_at(&self) -> Option<Timestamp> {
        self.lock().ends_at(self.id)
    }

    fn lock(&self) -> MutexGuard<'_, RunBudget> {
        // No step of the ledgers panics half-way, so what a poisoned lock holds is whole.
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("id", &self.id).field("left", &self.left()).finish()
    }
}
