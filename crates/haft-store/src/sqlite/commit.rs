//! Group commit: whoever comes first commits for all that wait, on its own thread.
//!
//! A writer puts its work into the queue. If nobody leads, it leads: it runs all queued work inside one transaction, each
//! piece under its own savepoint, so that one that fails takes nobody with it, and makes them durable with one sync. Then it hands
//! the lead to the first that came meanwhile. A lone writer pays no thread hop; a future that is dropped while it waits takes
//! its work out of the queue, or passes the lead on. No work may wait for anything but the disk.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::ports::{StoreError, Timestamp};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::schema::{failed, open_writer, unusable};
use crate::fault;

/// Most pieces of work in one transaction.
const GROUP: usize = 256;

/// A piece of work inside the transaction. An error undoes this piece alone.
pub(crate) type Work = Box<dyn FnOnce(&Connection) -> Result<(), StoreError> + Send>;

/// The queue of writers and the connection that the leader uses.
#[derive(Clone)]
pub(crate) struct Committer {
    shared: Arc<Shared>,
}

struct Shared {
    home: PathBuf,
    created: Timestamp,
    queue: Mutex<Queue>,
    connection: Mutex<Option<Connection>>,
    commits: AtomicU64,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_led: bool,
    next_ticket: u64,
}

struct Job {
    ticket: u64,
    work: Work,
    /// None once it was told to lead.
    wake: Option<oneshot::Sender<Wake>>,
}

enum Wake {
    Done(Result<(), StoreError>),
    Lead(Leadership),
}

/// The right to commit. Dropping it passes it on, so that it is never lost.
struct Leadership {
    shared: Arc<Shared>,
    is_held: bool,
}

/// A writer in the queue. Dropping it takes its work out, unless a leader has it already.
struct Waiting {
    shared: Arc<Shared>,
    ticket: u64,
    wake: oneshot::Receiver<Wake>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Committer {
    pub(crate) fn new(home: PathBuf, created: Timestamp) -> Self {
        let shared = Shared {
            home,
            created,
            queue: Mutex::default(),
            connection: Mutex::default(),
            commits: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Transactions that became durable so far.
    pub(crate) fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// Runs `work` in a transaction and returns when it is durable. Its value is given out only then.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let slot = Arc::new(Mutex::new(None));
        let into = Arc::clone(&slot);
        self.commit(Box::new(move |connection| {
            *lock(&into) = Some(work(connection)?);
            Ok(())
        }))
        .await?;
        lock(&slot).take().ok_or_else(|| self.shared.stopped())
    }

    async fn commit(&self, work: Work) -> Result<(), StoreError> {
        let (mut waiting, lead) = Waiting::enter(&self.shared, work);
        if let Some(lead) = lead {
            return super::blocking(|| lead.commit(waiting.ticket));
        }
        match (&mut waiting.wake).await {
            Ok(Wake::Done(outcome)) => outcome,
            Ok(Wake::Lead(lead)) => super::blocking(|| lead.commit(waiting.ticket)),
            Err(_) => Err(self.shared.stopped()),
        }
    }

    /// Copies the write-ahead log into the database and empties it, so that what was taken away is in no file any more.
    pub(crate) fn empty_log(&self) {
        if let Some(connection) = lock(&self.shared.connection).as_ref() {
            // A reader of another process may still need the log; then it is emptied later.
            drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)));
        }
    }
}

impl Waiting {
    fn enter(shared: &Arc<Shared>, work: Work) -> (Self, Option<Leadership>) {
        let (sender, wake) = oneshot::channel();
        let mut queue = lock(&shared.queue);
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.jobs.push_back(Job { ticket, work, wake: Some(sender) });
        let leads = !std::mem::replace(&mut queue.is_led, true);
        drop(queue);
        let lead = leads.then(|| Leadership { shared: Arc::clone(shared), is_held: true });
        (Self { shared: Arc::clone(shared), ticket, wake }, lead)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut queue = lock(&self.shared.queue);
        let abandoned = queue.jobs.iter().position(|job| job.ticket == self.ticket);
        let job = abandoned.and_then(|at| queue.jobs.remove(at));
        drop(queue);
        drop(job);
        // A lead that was on its way is dropped with `wake` and passes itself on.
    }
}

impl Leadership {
    /// Commits all that is queued, the leader's own work among it, and gives the leader's outcome.
    fn commit(self, own: u64) -> Result<(), StoreError> {
        let group: Vec<Job> = {
            let mut queue = lock(&self.shared.queue);
            let size = queue.jobs.len().min(GROUP);
            queue.jobs.drain(..size).collect()
        };
        let (works, wakes): (Vec<_>, Vec<_>) =
            group.into_iter().map(|job| (job.work, (job.ticket, job.wake))).unzip();
        let outcomes = self.shared.commit_group(works);
        let mut own_outcome = Err(self.shared.stopped());
        for ((ticket, wake), outcome) in wakes.into_iter().zip(outcomes) {
            if ticket == own {
                own_outcome = outcome;
            } else if let Some(wake) = wake {
                // A writer that went away does not care.
                drop(wake.send(Wake::Done(outcome)));
            }
        }
        own_outcome
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        while self.is_held {
            let next = {
                let mut queue = lock(&self.shared.queue);
                let Some(front) = queue.jobs.front_mut() else {
                    queue.is_led = false;
                    return;
                };
                match front.wake.take() {
                    Some(wake) => wake,
                    None => {
                        queue.jobs.pop_front();
                        continue;
                    }
                }
            };
            let lead = Self { shared: Arc::clone(&self.shared), is_held: true };
            match next.send(Wake::Lead(lead)) {
                Ok(()) => self.is_held = false,
                Err(Wake::Lead(mut unsent)) => unsent.is_held = false,
                Err(Wake::Done(_)) => {}
            }
        }
    }
}

impl Shared {
    fn stopped(&self) -> StoreError {
        unusable(&self.home, &"the writer stopped in the middle of its work", "Start again")
    }

    fn commit_group(&self, works: Vec<Work>) -> Vec<Result<(), StoreError>> {
        let file = self.home.join("haft.db");
        let count = works.len();
        let mut slot = lock(&self.connection);
        if slot.is_none() {
            match open_writer(&self.home, self.created) {
                Ok(connection) => *slot = Some(connection),
                Err(error) => return vec![Err(error); count],
            }
        }
        let Some(connection) = slot.as_ref() else { return vec![Err(self.stopped()); count] };
        match in_transaction(connection, works) {
            Ok((outcomes, wrote)) => {
                self.commits.fetch_add(u64::from(wrote), Ordering::Relaxed);
                outcomes
            }
            Err(error) => {
                if !connection.is_autocommit() {
                    // The error that led here is the one to tell; the connection is made anew if it stays in trouble.
                    if connection.execute_batch("ROLLBACK").is_err() {
                        *slot = None;
                    }
                }
                vec![Err(failed(&file, &error)); count]
            }
        }
    }
}

/// One transaction over all works. The error means that none of them is stored.
fn in_transaction(
    connection: &Connection,
    works: Vec<Work>,
) -> rusqlite::Result<(Vec<Result<(), StoreError>>, bool)> {
    let run = |sql: &str| connection.prepare_cached(sql)?.execute([]).map(drop);
    if !connection.is_autocommit() {
        // A leader panicked in its work; what it left is nobody's.
        run("ROLLBACK")?;
    }
    // A savepoint copies every page that changes after it; alone there is nobody to spare.
    let is_alone = works.len() == 1;
    run("BEGIN IMMEDIATE")?;
    let before = connection.total_changes();
    let mut outcomes = Vec::with_capacity(works.len());
    for work in works {
        if !is_alone {
            run("SAVEPOINT work")?;
        }
        fault::point();
        let outcome = work(connection);
        fault::point();
        if is_alone && outcome.is_err() {
            if !connection.is_autocommit() {
                run("ROLLBACK")?;
            }
            return Ok((vec![outcome], false));
        }
        if !is_alone {
            if outcome.is_err() {
                // Where SQLite itself undid the whole transaction (disk full), this fails, and so do all.
                run("ROLLBACK TO work")?;
            }
            run("RELEASE work")?;
        }
        outcomes.push(outcome);
    }
    let wrote = connection.total_changes() != before;
    run("COMMIT")?;
    fault::point();
    Ok((outcomes, wrote))
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;
