// The proof of a commit is made from a batch alone.
use haft_core::Committed;
use haft_core::journal::Head;

fn forge() -> Committed {
    Committed { run: "r".into(), records: Vec::new(), head: Head::empty(), started: vec!["c".into()] }
}

fn main() {}
