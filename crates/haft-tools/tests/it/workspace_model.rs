//! Two agents that read, write, append to and patch one file in any order, against a reference that keeps whole texts: a call succeeds
//! where C's sentences let it, and does then exactly what it says; else it says why and changes nothing.

use std::collections::BTreeSet;

use haft_core::ErrorClass;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::Invocation;
use crate::workspace::Run;

const PATH: &str = "output/song.md";

#[derive(Debug, Clone)]
enum Work {
    Read(Option<(usize, usize)>),
    Write(String),
    Append(String),
    Patch {
        old: String,
        new: String,
        all: bool,
    },
    /// A patch of lines as they stood when this agent read the file last.
    PatchRead {
        at: usize,
        count: usize,
        new: String,
    },
}

fn passage() -> impl Strategy<Value = String> {
    "[ab\n]{0,4}"
}

fn work() -> impl Strategy<Value = Work> {
    let text = "([ab]{0,2}\n){0,5}[ab]{0,1}";
    prop_oneof![
        3 => prop::option::of((1_usize..7, 1_usize..4)).prop_map(Work::Read),
        1 => text.prop_map(Work::Write),
        2 => passage().prop_map(Work::Append),
        2 => (passage(), passage(), any::<bool>()).prop_map(|(old, new, all)| Work::Patch { old, new, all }),
        4 => (0_usize..6, 1_usize..3, passage()).prop_map(|(at, count, new)| Work::PatchRead { at, count, new }),
    ]
}

/// What one agent knows: the text as it was, and which of its lines it saw.
#[derive(Debug, Clone)]
struct Memory {
    text: String,
    lines: BTreeSet<usize>,
    doubtful: bool,
}

fn total(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

impl Memory {
    fn whole(text: &str) -> Self {
        Self { text: text.to_owned(), lines: (1..=total(text)).collect(), doubtful: false }
    }

    fn is_whole(&self) -> bool {
        self.lines.len() == total(&self.text)
    }
}

/// What must come of a call: the file after it, or a code.
type Expected = Result<String, &'static str>;

#[derive(Default)]
struct Reference {
    file: Option<String>,
    memories: [Option<Memory>; 2],
}

impl Reference {
    fn step(&mut self, who: usize, work: &Work) -> Expected {
        match work {
            Work::Read(range) => self.read(who, *range),
            Work::Write(text) => self.write(who, text),
            Work::Append(text) => self.append(who, text),
            Work::Patch { old, new, all } => self.patch(who, old, new, *all),
            Work::PatchRead { at, count, new } => {
                let old = self.seen(who, *at, *count);
                self.patch(who, &old, new, false)
            }
        }
    }

    /// The lines from `at` of what the agent read last, or of the file if it read nothing.
    fn seen(&self, who: usize, at: usize, count: usize) -> String {
        let text = self.memories[who].as_ref().map(|memory| &memory.text).or(self.file.as_ref());
        text.map_or("", String::as_str).split_inclusive('\n').skip(at).take(count).collect()
    }

    fn read(&mut self, who: usize, range: Option<(usize, usize)>) -> Expected {
        let file = self.file.clone().ok_or("workspace.file_not_found")?;
        let lines = total(&file);
        let (first, count) = range.unwrap_or((1, usize::MAX));
        if first > lines.max(1) {
            return Err("workspace.invalid_range");
        }
        let doubtful = self.memories[who].as_ref().is_some_and(|memory| memory.doubtful);
        let mut memory = match self.memories[who].take() {
            Some(memory) if memory.text == file => memory,
            Some(_) | None => Memory { text: file.clone(), lines: BTreeSet::new(), doubtful },
        };
        memory.lines.extend(first..=lines.min(first.saturating_add(count) - 1));
        memory.doubtful &= !memory.is_whole();
        self.memories[who] = Some(memory);
        Ok(file)
    }

    fn write(&mut self, who: usize, text: &str) -> Expected {
        if let Some(file) = &self.file {
            match &self.memories[who] {
                None => return Err("workspace.write_requires_read"),
                Some(memory) if memory.text != *file => return Err("workspace.write_stale_file"),
                Some(memory) if !memory.is_whole() => return Err("workspace.write_requires_read"),
                Some(_) if file == text => return Err("workspace.write_no_change"),
                Some(_) => {}
            }
        }
        self.file = Some(text.to_owned());
        self.memories[who] = Some(Memory::whole(text));
        Ok(text.to_owned())
    }

    fn append(&mut self, who: usize, added: &str) -> Expected {
        let Some(file) = self.file.clone() else {
            self.file = Some(added.to_owned());
            self.memories[who] = Some(Memory::whole(added));
            return Ok(added.to_owned());
        };
        if added.is_empty() {
            return Err("workspace.write_no_change");
        }
        let text = file.clone() + added;
        if let Some(memory) = self.memories[who].as_mut().filter(|memory| memory.text == file) {
            // Its own lines are known to it, and no line that it had not seen.
            memory.lines.extend(total(&file) + 1..=total(&text));
            memory.text.clone_from(&text);
            memory.doubtful &= !memory.is_whole();
        }
        self.file = Some(text.clone());
        Ok(text)
    }

    fn patch(&mut self, who: usize, old: &str, new: &str, all: bool) -> Expected {
        let Some(file) = self.file.clone() else { return Err("workspace.file_not_found") };
        let outcome = self.patched(who, &file, old, new, all);
        let memory = self.memories[who].as_mut();
        match (&outcome, memory) {
            (Ok(text), Some(memory)) => {
                let at = file.find(old).unwrap_or_default();
                let lines = if all || memory.is_whole() {
                    (1..=total(text)).collect()
                } else {
                    known_after(memory, text, at, old)
                };
                *memory = Memory { text: text.clone(), lines, doubtful: false };
                self.file = Some(text.clone());
            }
            (Err("workspace.patch_empty_old_string" | "workspace.patch_no_change"), _) | (_, None) => {}
            (Err(_), Some(memory)) => {
                if !memory.is_whole() {
                    memory.doubtful = true;
                    memory.lines.clear();
                }
            }
        }
        outcome
    }

    fn patched(&self, who: usize, file: &str, old: &str, new: &str, all: bool) -> Expected {
        if old.is_empty() {
            return Err("workspace.patch_empty_old_string");
        }
        if old == new {
            return Err("workspace.patch_no_change");
        }
        let memory = self.memories[who].as_ref().ok_or("workspace.patch_requires_read")?;
        if memory.doubtful || all && !memory.is_whole() {
            return Err("workspace.patch_requires_full_read");
        }
        if memory.text != file {
            return Err("workspace.patch_stale_file");
        }
        let places: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(old)).collect();
        match places[..] {
            [] => Err("workspace.patch_old_string_not_found"),
            [at] => {
                let mut start = 0;
                for (index, line) in file.split_inclusive('\n').enumerate() {
                    let end = start + line.len();
                    if start < at + old.len() && at < end && !memory.lines.contains(&(index + 1)) {
                        return Err("workspace.patch_requires_read");
                    }
                    start = end;
                }
                Ok(file.replacen(old, new, 1))
            }
            _ if !all => Err("workspace.patch_old_string_not_unique"),
            _ => {
                let text = file.replace(old, new);
                if text == file { Err("workspace.patch_no_change") } else { Ok(text) }
            }
        }
    }
}

/// The lines that are known after a patch of what was read in part: those that were known and that it left, and those in which it had
/// a part.
fn known_after(memory: &Memory, text: &str, at: usize, old: &str) -> BTreeSet<usize> {
    let line_of = |text: &str, at: usize| text[..at].matches('\n').count() + 1;
    let first = line_of(&memory.text, at);
    let last = line_of(&memory.text, (at + old.len() - 1).max(at));
    let before = total(&memory.text);
    let after = total(text);
    let grown = |line: usize| line + after - before;
    let mut lines: BTreeSet<usize> = memory.lines.iter().copied().filter(|line| *line < first).collect();
    lines.extend(memory.lines.iter().copied().filter(|line| *line > last).map(grown));
    lines.extend((first..=grown(last)).filter(|line| *line <= after));
    lines
}

fn call_of(reference: &Reference, who: usize, work: &Work) -> (&'static str, Value) {
    let patch = |old: &str, new: &str, all: bool| {
        (
            "workspace_apply_patch",
            json!({"path": PATH, "old_string": old, "new_string": new, "replace_all": all}),
        )
    };
    match work {
        Work::Read(None) => ("workspace_read_file", json!({"path": PATH})),
        Work::Read(Some((first, count))) => {
            ("workspace_read_file", json!({"path": PATH, "start_line": first, "line_count": count}))
        }
        Work::Write(text) => ("workspace_write_file", json!({"path": PATH, "content": text})),
        Work::Append(text) => {
            ("workspace_write_file", json!({"path": PATH, "content": text, "mode": "append"}))
        }
        Work::Patch { old, new, all } => patch(old, new, *all),
        Work::PatchRead { at, count, new } => patch(&reference.seen(who, *at, *count), new, false),
    }
}

async fn walk(start: Option<String>, steps: Vec<(usize, Work)>) -> Result<(), TestCaseError> {
    let run = Run::new();
    if let Some(text) = &start {
        run.put(PATH, text.as_bytes());
    }
    let mut agents: [Invocation; 2] = [run.agent("i_1"), run.agent("i_2")];
    let mut reference = Reference { file: start, ..Reference::default() };
    for (who, work) in steps {
        let (alias, arguments) = call_of(&reference, who, &work);
        let before = run.file(PATH);
        let expected = reference.step(who, &work);
        let outcome = agents[who].call(alias, arguments).await;
        let now = run.file(PATH);
        match (&expected, &outcome) {
            (Ok(text), Ok(_)) => prop_assert_eq!(now.as_ref(), Some(text), "{:?}", work),
            (Err(code), Err(error)) => {
                prop_assert_eq!(error.class(), ErrorClass::Recoverable);
                prop_assert_eq!(error.code().as_str(), *code, "{:?}: {}", work, error);
                prop_assert_eq!(now, before, "a refused call changed the file");
            }
            _ => prop_assert!(false, "{:?} gave {:?}, not {:?}", work, outcome, expected),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    // WSP-06 to WSP-11: no lost update, no silent success, no refusal that no sentence asks for.
    #[test]
    fn two_agents_lose_no_update_and_succeed_where_they_may(
        start in prop::option::of("([ab]{0,2}\n){0,5}[ab]{0,1}"),
        steps in prop::collection::vec((0_usize..2, work()), 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(walk(start, steps))?;
    }
}
