//! Whether two calls touch the same, by what their tools say of them (CONFLICT-01, CONFLICT-16).
//!
//! Names of resources are compared by components, so that a folder meets what lies in it and `a/b` does not meet `a/bc`.

use haft_core::ports::Touches;

/// True if the calls must not run side by side: one may change what the other reads or changes.
pub(crate) fn meet(one: &Touches, other: &Touches) -> bool {
    match (one, other) {
        (Touches::Nothing, _) | (_, Touches::Nothing) => false,
        (Touches::Everything, _) | (_, Touches::Everything) => true,
        (
            Touches::Resources { reads, writes },
            Touches::Resources { reads: other_reads, writes: other_writes },
        ) => overlap(writes, other_writes) || overlap(writes, other_reads) || overlap(reads, other_writes),
    }
}

/// True if a call that changes something and touches `written` makes what a call saw that touched `seen` stale.
pub(crate) fn spoils(written: &Touches, seen: &Touches) -> bool {
    match (written, seen) {
        (Touches::Nothing, _) | (_, Touches::Nothing) => false,
        (Touches::Everything, _) | (_, Touches::Everything) => true,
        (Touches::Resources { writes, .. }, Touches::Resources { reads, writes: changed }) => {
            overlap(writes, reads) || overlap(writes, changed)
        }
    }
}

fn overlap(one: &[String], other: &[String]) -> bool {
    one.iter().any(|one| other.iter().any(|other| lies_on_one_line(one, other)))
}

/// True if the names are the same, or one is a folder on the way to the other.
fn lies_on_one_line(one: &str, other: &str) -> bool {
    components(one).zip(components(other)).all(|(one, other)| one == other)
}

fn components(name: &str) -> impl Iterator<Item = &str> {
    name.split('/').filter(|part| !matches!(*part, "" | "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touching(reads: &[&str], writes: &[&str]) -> Touches {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Touches::Resources { reads: owned(reads), writes: owned(writes) }
    }

    // CONFLICT-01
    #[test]
    fn calls_meet_where_one_changes_what_the_other_touches() {
        let reads = touching(&["project:p/a/b"], &[]);
        for (other, meets) in [
            (touching(&["project:p/a/b"], &[]), false),
            (touching(&[], &["project:p/a/b"]), true),
            (touching(&[], &["project:p/a"]), true),
            (touching(&[], &["project:p/a/b/c"]), true),
            (touching(&[], &["project:p/."]), true),
            (touching(&[], &["project:p//a/./b"]), true),
            (touching(&[], &["project:p/a/bc"]), false),
            (touching(&[], &["project:q/a/b"]), false),
            (touching(&[], &["artifact:a"]), false),
            (Touches::Nothing, false),
            (Touches::Everything, true),
        ] {
            assert_eq!((meet(&reads, &other), meet(&other, &reads)), (meets, meets), "{other:?}");
        }
        assert!(meet(&Touches::Everything, &Touches::Everything));
        assert!(!meet(&Touches::Everything, &Touches::Nothing));
    }

    // CONFLICT-16
    #[test]
    fn what_a_call_only_read_spoils_nothing() {
        let read = touching(&["artifact:a"], &[]);
        assert!(!spoils(&read, &read));
        assert!(!spoils(&touching(&["artifact:a"], &["artifact:b"]), &read));
        assert!(spoils(&touching(&[], &["artifact:a"]), &read));
        assert!(spoils(&touching(&[], &["artifact:a"]), &touching(&[], &["artifact:a"])));
        assert!(spoils(&Touches::Everything, &read) && spoils(&read, &Touches::Everything));
        assert!(!spoils(&Touches::Everything, &Touches::Nothing));
    }
}
