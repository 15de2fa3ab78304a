//! The mark of a process, and whether the process behind a mark is surely gone.
//!
//! A mark holds the number and start time of the process and the place where that number means something (this boot,
//! this process namespace). A mark from another place, or on a system without `/proc`, tells nothing: then only time ends
//! a lease. It must never say "gone" of a process that may live.
#![expect(
    clippy::disallowed_methods,
    reason = "this room may read /proc to see whether the owner of a lease lives"
)]

use std::fs;
use std::sync::OnceLock;

/// The mark of this process: `<pid> <start> <boot id> <namespace>`; only `<pid>` where `/proc` is missing.
pub(crate) fn own_mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let pid = std::process::id();
        match (start_of(pid), place()) {
            (Some(start), Some(place)) => format!("{pid} {start} {place}"),
            _ => pid.to_string(),
        }
    })
}

/// True if the process behind `mark` ended for sure.
#[cfg(feature = "sqlite")]
pub(crate) fn is_gone(mark: &str) -> bool {
    let mut parts = mark.splitn(3, ' ');
    let (Some(pid), Some(start), Some(where_to)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Ok(pid) = pid.parse::<u32>() else { return false };
    place().is_some_and(|here| here == where_to) && start_of(pid).as_deref() != Some(start)
}

/// Boot and process namespace: where a process number means something.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// When the process began, in ticks since boot; none if it runs no more.
fn start_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold any character, so the fields are counted from the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_place_can_be_known_to_be_gone() {
        let own = own_mark();
        assert!(!is_gone(own));
        let parts: Vec<&str> = own.splitn(3, ' ').collect();
        let [pid, start, place] = parts[..] else { return };
        assert!(is_gone(&format!("{pid} {start}9 {place}")), "the number was given to another process");
        assert!(is_gone(&format!("4294967294 {start} {place}")), "nobody has this number");
        assert!(!is_gone(&format!("4294967294 {start} other-boot pid:[1]")), "another place");
        for damaged in ["", "x", "1", "1 2", "x 2 y"] {
            assert!(!is_gone(damaged), "{damaged}");
        }
    }

    #[test]
    fn a_child_that_ended_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let mark =
            place().and_then(|place| Some(format!("{} {} {place}", child.id(), start_of(child.id())?)));
        child.wait().unwrap();
        if let Some(mark) = mark {
            assert!(is_gone(&mark));
        }
    }
}
