//! The ledgers of a run against a small model of themselves: random trees, reservations, settlements and cancellations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use haft_core::Timestamp;
use haft_core::budget::{Amounts, Ledger, Limits, Money, Reservation, Resource, RunBudget, Whose};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Child(Limits),
    /// Reserves in the ledger of that place among those that there are.
    Reserve(usize, Amounts),
    /// Takes bytes of results, as many as there are.
    Output(usize, u64),
    /// Uses that many hundredths of an open reservation.
    Settle(usize, u64),
    /// An open reservation that came to nothing.
    Cancel(usize),
}

fn limit(most: u64) -> impl Strategy<Value = Option<u64>> {
    prop_oneof![1 => Just(None), 3 => (0..most).prop_map(Some)]
}

fn limits() -> impl Strategy<Value = Limits> {
    (limit(8), limit(400), limit(400), limit(400)).prop_map(|(calls, bytes, tokens, money)| Limits {
        calls,
        wall_ms: None,
        output_bytes: bytes,
        model_tokens: tokens,
        money: money.map(Money),
    })
}

fn amounts() -> impl Strategy<Value = Amounts> {
    (0u64..3, 0u64..90, 0u64..90, 0u64..90).prop_map(|(calls, output_bytes, model_tokens, money)| Amounts {
        calls,
        output_bytes,
        model_tokens,
        money: Money(money),
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => limits().prop_map(Step::Child),
        4 => (0usize..6, amounts()).prop_map(|(at, wanted)| Step::Reserve(at, wanted)),
        1 => (0usize..6, 0u64..200).prop_map(|(at, bytes)| Step::Output(at, bytes)),
        3 => (0usize..9, 0u64..=100).prop_map(|(at, part)| Step::Settle(at, part)),
        1 => (0usize..9).prop_map(Step::Cancel),
    ]
}

fn numbers(amounts: Amounts) -> [u64; 4] {
    [amounts.calls, amounts.output_bytes, amounts.model_tokens, amounts.money.0]
}

fn caps(limits: Limits) -> [Option<u64>; 4] {
    [limits.calls, limits.output_bytes, limits.model_tokens, limits.money.map(|money| money.0)]
}

/// The model: every amount that was ever taken, with the ledger that took it, as it counts now.
#[derive(Default)]
struct Book {
    limits: Vec<Limits>,
    taken: Vec<(usize, [u64; 4])>,
}

impl Book {
    fn gone(&self, ledger: usize) -> [u64; 4] {
        let of = |who: usize| ledger == 0 || who == ledger;
        self.taken
            .iter()
            .filter(|(who, _)| of(*who))
            .fold([0; 4], |sum, (_, one)| std::array::from_fn(|at| sum[at] + one[at]))
    }

    fn fits(&self, ledger: usize, wanted: [u64; 4]) -> bool {
        [ledger, 0].into_iter().all(|who| {
            let gone = self.gone(who);
            let caps = caps(self.limits[who]);
            (0..4).all(|at| caps[at].is_none_or(|cap| gone[at] + wanted[at] <= cap))
        })
    }

    fn left(&self, ledger: usize) -> [Option<u64>; 4] {
        let of = |who: usize| -> [Option<u64>; 4] {
            let gone = self.gone(who);
            let caps = caps(self.limits[who]);
            std::array::from_fn(|at| caps[at].map(|cap| cap - gone[at]))
        };
        let (own, root) = (of(ledger), of(0));
        std::array::from_fn(|at| [own[at], root[at]].into_iter().flatten().min())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // GAT-02, CONFLICT-30: own and root, both or neither, and never more than either has.
    #[test]
    fn no_ledger_and_no_root_ever_uses_more_than_it_has(
        root in limits(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut budget = RunBudget::new(root, Timestamp(0));
        let mut ledgers = vec![RunBudget::ROOT];
        let mut book = Book { limits: vec![root], taken: Vec::new() };
        let mut open: Vec<(Reservation, usize)> = Vec::new();
        for step in steps {
            match step {
                Step::Child(limits) => {
                    ledgers.push(budget.open_child(limits, Timestamp(0)));
                    book.limits.push(limits);
                }
                Step::Reserve(at, wanted) => {
                    let at = at % ledgers.len();
                    let reserved = budget.reserve(ledgers[at], wanted);
                    prop_assert_eq!(reserved.is_ok(), book.fits(at, numbers(wanted)));
                    if let Ok(reservation) = reserved {
                        open.push((reservation, book.taken.len()));
                        book.taken.push((at, numbers(wanted)));
                    }
                }
                Step::Output(at, bytes) => {
                    let at = at % ledgers.len();
                    let left = book.left(at)[1].unwrap_or(u64::MAX);
                    match budget.reserve_output(ledgers[at], bytes) {
                        Ok(reservation) => {
                            prop_assert!(left > 0);
                            prop_assert_eq!(reservation.amounts(), Amounts::output(bytes.min(left)));
                            open.push((reservation, book.taken.len()));
                            book.taken.push((at, [0, bytes.min(left), 0, 0]));
                        }
                        Err(exhausted) => {
                            prop_assert_eq!((left, exhausted.resource), (0, Resource::OutputBytes));
                        }
                    }
                }
                Step::Settle(at, part) if !open.is_empty() => {
                    let (reservation, entry) = open.swap_remove(at % open.len());
                    let held = numbers(reservation.amounts());
                    let used: [u64; 4] = held.map(|one| one * part / 100);
                    let [calls, output_bytes, model_tokens, money] = used;
                    let money = Money(money);
                    budget.settle(reservation, Amounts { calls, output_bytes, model_tokens, money });
                    book.taken[entry].1 = used;
                }
                Step::Cancel(at) if !open.is_empty() => {
                    let (reservation, entry) = open.swap_remove(at % open.len());
                    budget.settle(reservation, Amounts::default());
                    book.taken[entry].1 = [0; 4];
                }
                Step::Settle(..) | Step::Cancel(_) => {}
            }
            for (at, ledger) in ledgers.iter().enumerate() {
                // What is left is what the book says; the book subtracts, so that using too much would panic.
                prop_assert_eq!(caps(budget.left(*ledger)), book.left(at));
                let spent = numbers(budget.spent(*ledger));
                let limit = caps(book.limits[at]);
                prop_assert!((0..4).all(|one| limit[one].is_none_or(|cap| spent[one] <= cap)));
            }
        }
    }
}

#[test]
fn an_estimate_that_was_too_low_is_counted_whole_and_missing_afterwards() {
    let tokens = |tokens| Limits { model_tokens: Some(tokens), ..Limits::default() };
    let mut budget = RunBudget::new(tokens(100), Timestamp(0));
    let child = budget.open_child(tokens(500), Timestamp(0));
    let reservation = budget.reserve(child, Amounts::model(60, Money(0))).unwrap();
    budget.settle(reservation, Amounts::model(130, Money(0)));
    assert_eq!(budget.spent(RunBudget::ROOT).model_tokens, 130);
    assert_eq!(budget.left(child).model_tokens, Some(0));
    let refused = budget.reserve(child, Amounts::model(1, Money(0))).unwrap_err();
    assert_eq!((refused.resource, refused.whose), (Resource::ModelTokens, Whose::Root));
    assert_eq!(refused.to_string(), "the number of model tokens is used up (`budget.model_tokens`)");
}

#[test]
fn a_reservation_that_is_lost_stays_taken() {
    let ledger = Ledger::root(Limits { output_bytes: Some(10), ..Limits::default() }, Timestamp(0));
    drop(ledger.reserve_output(100).unwrap());
    assert_eq!(ledger.left().output_bytes, Some(0));
    assert!(ledger.reserve_output(1).is_err());
}

#[test]
fn the_earlier_end_of_own_and_root_holds() {
    let seconds = |seconds: u64| Limits { wall_ms: Some(seconds * 1_000), ..Limits::default() };
    let root = Ledger::root(seconds(60), Timestamp(1_000));
    let early = root.child(seconds(10), Timestamp(5_000));
    let late = root.child(seconds(600), Timestamp(5_000));
    let ends = [&root, &early, &late].map(|ledger| ledger.ends_at().unwrap().0);
    assert_eq!(ends, [61_000, 15_000, 61_000]);
    assert_eq!(Ledger::root(Limits::default(), Timestamp(0)).ends_at(), None);
}

// Two children that run at once share the root's calls to the last one.
#[test]
fn children_in_threads_never_share_a_call() {
    let calls = |calls| Limits { calls: Some(calls), ..Limits::default() };
    let root = Ledger::root(calls(100), Timestamp(0));
    let children: Vec<Ledger> = (0..4).map(|_| root.child(calls(40), Timestamp(0))).collect();
    let got: Vec<u64> = std::thread::scope(|scope| {
        let work = |ledger: &Ledger| {
            let ledger = ledger.clone();
            scope.spawn(move || (0..60).filter(|_| ledger.charge(Amounts::ONE_CALL).is_ok()).count() as u64)
        };
        let threads: Vec<_> = children.iter().map(work).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(got.iter().sum::<u64>(), 100);
    assert!(got.iter().all(|one| *one <= 40), "{got:?}");
    assert_eq!((root.left().calls, root.spent().calls), (Some(0), 100));
}
