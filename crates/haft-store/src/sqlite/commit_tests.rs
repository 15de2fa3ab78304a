//! The queue of writers: groups, leads that are passed on, disks that are full.

use super::*;

fn work(sql: &'static str) -> Work {
    Box::new(move |connection| {
        connection.execute(sql, []).map(drop).map_err(|error| failed(std::path::Path::new("db"), &error))
    })
}

/// Puts a writer into the queue whose future is polled once and then held.
fn poll_once<F: Future>(future: &mut std::pin::Pin<Box<F>>) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    future.as_mut().poll(&mut context)
}

#[test]
fn a_failed_work_takes_nobody_with_it() {
    let home = tempfile::tempdir().unwrap();
    let committer = Committer::new(home.path().to_owned(), Timestamp(1));
    let (first, lead) = Waiting::enter(&committer.shared, work("INSERT INTO projects VALUES ('a', '/a', 1)"));
    let (mut second, none) =
        Waiting::enter(&committer.shared, work("INSERT INTO projects VALUES ('a', '/b', 1)"));
    let (mut third, _) =
        Waiting::enter(&committer.shared, work("INSERT INTO projects VALUES ('c', '/c', 1)"));
    assert!(none.is_none());
    lead.unwrap().commit(first.ticket).unwrap();
    assert!(matches!(second.wake.try_recv(), Ok(Wake::Done(Err(StoreError::Unusable { .. })))));
    assert!(matches!(third.wake.try_recv(), Ok(Wake::Done(Ok(())))));
    assert_eq!(committer.commits(), 1);
    let ids: String = lock(&committer.shared.connection)
        .as_ref()
        .unwrap()
        .query_row("SELECT group_concat(id || path) FROM projects", [], |row| row.get(0))
        .unwrap();
    assert_eq!(ids, "a/a,c/c");
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    let committer = Committer::new(home.path().to_owned(), Timestamp(1));
    let alone = |sql: &'static str| {
        let (waiting, lead) = Waiting::enter(&committer.shared, work(sql));
        lead.unwrap().commit(waiting.ticket)
    };
    alone("INSERT INTO projects VALUES ('a', '/a', 1)").unwrap();
    let set_limit = |pages: &str| {
        let slot = lock(&committer.shared.connection);
        let sql = format!("PRAGMA max_page_count = {pages}");
        slot.as_ref().unwrap().query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap();
    };
    set_limit("1");
    let big = "INSERT INTO projects VALUES ('big', printf('%.100000c', 'x'), 1)";
    let error = alone(big).unwrap_err();
    assert!(error.to_string().contains("Make room on the disk"), "{error}");
    // In a group: whoever is told that it is stored, is.
    let (first, lead) = Waiting::enter(&committer.shared, work("INSERT INTO projects VALUES ('b', '/b', 1)"));
    let (mut second, _) = Waiting::enter(&committer.shared, work(big));
    let (mut third, _) =
        Waiting::enter(&committer.shared, work("INSERT INTO projects VALUES ('c', '/c', 1)"));
    let outcomes = [lead.unwrap().commit(first.ticket).is_ok(), told(&mut second), told(&mut third)];
    assert!(!outcomes[1]);
    set_limit("1000000");
    alone("INSERT INTO projects VALUES ('d', '/d', 1)").unwrap();
    let stored: Vec<bool> = ["b", "big", "c"]
        .map(|id| {
            let slot = lock(&committer.shared.connection);
            let sql = "SELECT EXISTS (SELECT 1 FROM projects WHERE id = ?1)";
            slot.as_ref().unwrap().query_row(sql, [id], |row| row.get(0)).unwrap()
        })
        .into();
    assert_eq!(stored, outcomes);
}

fn told(waiting: &mut Waiting) -> bool {
    match waiting.wake.try_recv() {
        Ok(Wake::Done(outcome)) => outcome.is_ok(),
        Ok(Wake::Lead(_)) | Err(_) => panic!("it was told nothing"),
    }
}

#[test]
fn a_leader_that_panics_takes_its_group_and_nobody_else_with_it() {
    let home = tempfile::tempdir().unwrap();
    let committer = Committer::new(home.path().to_owned(), Timestamp(1));
    let (first, lead) = Waiting::enter(&committer.shared, Box::new(|_| panic!("broken work")));
    let (mut second, _) =
        Waiting::enter(&committer.shared, work("INSERT INTO projects VALUES ('b', '/b', 1)"));
    let lead = lead.unwrap();
    let ticket = first.ticket;
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lead.commit(ticket))).is_err());
    assert!(
        second.wake.try_recv().is_err(),
        "its sender is gone, and the writer learns that nothing is known"
    );
    drop((first, second));
    let mut next = Box::pin(committer.commit(work("INSERT INTO projects VALUES ('c', '/c', 1)")));
    assert!(matches!(poll_once(&mut next), std::task::Poll::Ready(Ok(()))));
}

#[test]
fn a_dropped_writer_loses_neither_the_lead_nor_the_queue() {
    let home = tempfile::tempdir().unwrap();
    let committer = Committer::new(home.path().to_owned(), Timestamp(1));
    let (first, lead) = Waiting::enter(&committer.shared, work("INSERT INTO projects VALUES ('a', '/a', 1)"));
    let lead = lead.unwrap();
    let mut dropped = Box::pin(committer.commit(work("INSERT INTO projects VALUES ('b', '/b', 1)")));
    let mut led = Box::pin(committer.commit(work("INSERT INTO projects VALUES ('c', '/c', 1)")));
    let mut last = Box::pin(committer.commit(work("INSERT INTO projects VALUES ('d', '/d', 1)")));
    assert!(poll_once(&mut dropped).is_pending());
    // The group is closed before `led` and `last` come.
    lead.commit(first.ticket).unwrap();
    assert!(poll_once(&mut led).is_ready(), "nobody leads, so it does");
    let blocked = Leadership { shared: Arc::clone(&committer.shared), is_held: true };
    lock(&committer.shared.queue).is_led = true;
    let mut gone = Box::pin(committer.commit(work("INSERT INTO projects VALUES ('e', '/e', 1)")));
    assert!(poll_once(&mut gone).is_pending() && poll_once(&mut last).is_pending());
    drop(blocked);
    drop(gone);
    assert!(poll_once(&mut last).is_ready(), "the lead went past the one that was dropped");
    assert!(!lock(&committer.shared.queue).is_led);
    let ids: String = lock(&committer.shared.connection)
        .as_ref()
        .unwrap()
        .query_row("SELECT group_concat(id) FROM projects", [], |row| row.get(0))
        .unwrap();
    assert_eq!(ids, "a,b,c,d");
}
