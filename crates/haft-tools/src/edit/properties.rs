//! The engine against a reference that keeps whole texts and reads them naively: no lost update, no silent success.

use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;

use super::known::{KnownFile, WriteRefusal};
use super::patch::{Manner, Patch, PatchError, patch};
use super::reads::FileReads;

#[derive(Debug, Clone)]
enum Step {
    Read {
        first: usize,
        count: usize,
    },
    ReadWhole,
    /// Somebody else replaces line `at` by `line`, takes it out, or adds one before it.
    OtherReplaces {
        at: usize,
        line: String,
    },
    OtherRemoves {
        at: usize,
    },
    OtherAdds {
        at: usize,
        line: String,
    },
    Patch {
        old: String,
        new: String,
        all: bool,
    },
    /// A patch that quotes the lines from `at` as they stand or stood in what was read last.
    PatchRead {
        at: usize,
        count: usize,
        new: String,
    },
    Append {
        text: String,
    },
    Replace {
        text: String,
    },
}

fn line() -> impl Strategy<Value = String> {
    "[ab]{0,2}\n"
}

fn step() -> impl Strategy<Value = Step> {
    let text = proptest::collection::vec(line(), 0..5).prop_map(|lines| lines.concat());
    let passage = "[ab\n]{0,4}";
    prop_oneof![
        3 => (1_usize..8, 1_usize..5).prop_map(|(first, count)| Step::Read { first, count }),
        2 => Just(Step::ReadWhole),
        2 => (0_usize..8, line()).prop_map(|(at, line)| Step::OtherReplaces { at, line }),
        1 => (0_usize..8).prop_map(|at| Step::OtherRemoves { at }),
        2 => (0_usize..8, line()).prop_map(|(at, line)| Step::OtherAdds { at, line }),
        3 => (passage, passage, any::<bool>()).prop_map(|(old, new, all)| Step::Patch { old, new, all }),
        6 => (0_usize..8, 1_usize..4, passage).prop_map(|(at, count, new)| Step::PatchRead { at, count, new }),
        1 => passage.prop_map(|text| Step::Append { text }),
        1 => text.prop_map(|text| Step::Replace { text }),
    ]
}

/// What the reference knows: the text that was read last, and which of its lines.
#[derive(Debug, Clone)]
struct Memory {
    text: String,
    lines: BTreeSet<usize>,
    doubtful: bool,
}

impl Memory {
    fn total(&self) -> usize {
        self.text.split_inclusive('\n').count()
    }

    fn is_whole(&self) -> bool {
        self.lines.len() == self.total()
    }
}

struct World {
    file: String,
    memory: Option<Memory>,
    reads: FileReads,
    manner: Manner,
}

const NAME: &str = "f";

impl World {
    fn lines(&self) -> Vec<String> {
        self.file.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn others(&mut self, change: impl FnOnce(&mut Vec<String>)) {
        let mut lines = self.lines();
        change(&mut lines);
        self.file = lines.concat();
    }

    fn read(&mut self, first: usize, last: usize) {
        let total = self.lines().len();
        self.reads.read(NAME, &self.file, first, last);
        let doubtful = self.memory.as_ref().is_some_and(|memory| memory.doubtful);
        let mut memory = match self.memory.take() {
            Some(memory) if memory.text == self.file => memory,
            Some(_) | None => Memory { text: self.file.clone(), lines: BTreeSet::new(), doubtful },
        };
        memory.lines.extend((first.max(1)..=last.min(total)).filter(|line| first > 0 && *line > 0));
        memory.doubtful &= !memory.is_whole();
        self.memory = Some(memory);
    }

    /// What the strict rule says: all of C's sentences, one after another.
    fn strict(&self, old: &str, new: &str, all: bool) -> Result<String, &'static str> {
        let places: Vec<usize> =
            (0..self.file.len()).filter(|at| self.file[*at..].starts_with(old)).collect();
        if old.is_empty() {
            return Err("empty");
        }
        if old == new {
            return Err("no change");
        }
        let memory = self.memory.as_ref().ok_or("not read")?;
        if memory.doubtful {
            return Err("after failure");
        }
        if all && !memory.is_whole() {
            return Err("all unread");
        }
        if memory.text != self.file {
            return Err("stale");
        }
        let [at] = places[..] else {
            return match places.len() {
                0 => Err("not found"),
                _ if all => {
                    let text = self.file.replace(old, new);
                    if text == self.file { Err("no change") } else { Ok(text) }
                }
                _ => Err("not unique"),
            };
        };
        let mut start = 0;
        for (index, line) in self.lines().iter().enumerate() {
            let end = start + line.len();
            if start < at + old.len() && at < end && !memory.lines.contains(&(index + 1)) {
                return Err("not read here");
            }
            start = end;
        }
        Ok(self.file.replacen(old, new, 1))
    }

    fn patch(&mut self, old: &str, new: &str, all: bool) -> Result<(), TestCaseError> {
        let known = self.reads.get(NAME);
        let outcome = patch(&self.file, known.as_deref(), Patch { old, new, all }, self.manner);
        let expected = self.strict(old, new, all);
        match (self.manner, &outcome) {
            (Manner::Strict, Ok(patched)) => prop_assert_eq!(&Ok(patched.text.clone()), &expected),
            (Manner::Strict, Err(error)) => prop_assert_eq!(expected.clone(), Err(name(error))),
            (Manner::Anchored, Ok(patched)) => {
                // Nothing of what others wrote is lost, and nothing unread was changed.
                let place = self.file.replacen(old, new, 1);
                let memory = self.memory.as_ref().unwrap();
                if all {
                    prop_assert_eq!(&memory.text, &self.file);
                } else {
                    prop_assert_eq!(&patched.text, &place);
                    let read: String = memory
                        .text
                        .split_inclusive('\n')
                        .enumerate()
                        .filter(|(at, _)| memory.lines.contains(&(at + 1)))
                        .map(|(_, line)| line)
                        .collect();
                    prop_assert!(read.contains(old), "{:?} was never read", old);
                }
                prop_assert_eq!(patched.receipt.elsewhere.is_some(), memory.text != self.file);
            }
            (Manner::Anchored, Err(error)) => match &expected {
                // What the strict rule allows, the other allows too.
                Ok(_) => prop_assert!(false, "refused: {:?}", error),
                Err("stale") => {}
                Err(expected) => prop_assert_eq!(*expected, name(error)),
            },
        }
        match outcome {
            Ok(patched) => {
                prop_assert_ne!(&patched.text, &self.file);
                let at = self.file.find(old).unwrap_or_default();
                self.knows_after(&patched.text, &patched.known, all, at..at + new.len())?;
                self.file.clone_from(&patched.text);
                self.reads.set(NAME, patched.known);
            }
            Err(error) => {
                self.reads.failed(NAME, &error, self.manner);
                let counts = !matches!(error, PatchError::EmptyOld | PatchError::NoChange);
                if let (Manner::Strict, true, Some(memory)) = (self.manner, counts, &mut self.memory)
                    && !memory.is_whole()
                {
                    memory.doubtful = true;
                    memory.lines.clear();
                }
            }
        }
        Ok(())
    }

    /// After a patch no line counts as known that was neither read nor written: each known line of the new version is one of the
    /// read ones, or the patch had a part in it.
    fn knows_after(
        &mut self,
        text: &str,
        known: &KnownFile,
        all: bool,
        written: Range<usize>,
    ) -> Result<(), TestCaseError> {
        let memory = self.memory.take().unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let known_lines: BTreeSet<usize> = (1..=lines.len()).filter(|line| known.has_seen(*line)).collect();
        if memory.is_whole() && (all || memory.text == self.file) {
            prop_assert!(known.is_whole());
        } else {
            let read: Vec<&str> = memory
                .text
                .split_inclusive('\n')
                .enumerate()
                .filter(|(at, _)| memory.lines.contains(&(at + 1)))
                .map(|(_, line)| line)
                .collect();
            for line in &known_lines {
                let start: usize = lines[..line - 1].iter().map(|line| line.len()).sum();
                let end = start + lines[line - 1].len();
                // A line that the passage joins or parts is one that the patch had a part in.
                let untouched =
                    end <= written.start && lines[line - 1].ends_with('\n') || start > written.end;
                if untouched {
                    prop_assert!(
                        read.contains(&lines[line - 1]) || self.manner == Manner::Strict || memory.is_whole()
                    );
                }
            }
        }
        self.memory = Some(Memory { text: text.to_owned(), lines: known_lines, doubtful: false });
        Ok(())
    }

    fn append(&mut self, added: &str) -> Result<(), TestCaseError> {
        let known = KnownFile::appended(self.reads.get(NAME).as_deref(), &self.file, added);
        let total = self.lines().len();
        let text = format!("{}{added}", self.file);
        if let Some(memory) = &mut self.memory
            && memory.text == self.file
        {
            memory.text.clone_from(&text);
            let new_total = memory.total();
            memory.lines.extend(total + 1..=new_total);
            memory.doubtful &= !memory.is_whole();
        }
        self.file = text;
        if let Some(known) = known {
            self.reads.set(NAME, known);
        }
        Ok(())
    }

    fn replace(&mut self, text: &str) -> Result<(), TestCaseError> {
        let known = self.reads.get(NAME);
        let outcome = KnownFile::check_replace(known.as_deref(), &self.file);
        let expected = match &self.memory {
            None => Err("not read"),
            Some(memory) if memory.text != self.file => Err("stale"),
            Some(memory) if !memory.is_whole() => Err("partly read"),
            Some(_) => Ok(()),
        };
        let named = outcome.map_err(|error| match error {
            WriteRefusal::NotRead => "not read",
            WriteRefusal::PartlyRead(_) => "partly read",
            WriteRefusal::Stale(_) => "stale",
        });
        prop_assert_eq!(named, expected);
        if expected.is_ok() {
            self.reads.set(NAME, KnownFile::whole(text));
            self.file = text.to_owned();
            let mut memory = Memory { text: text.to_owned(), lines: BTreeSet::new(), doubtful: false };
            memory.lines.extend(1..=memory.total());
            self.memory = Some(memory);
        }
        Ok(())
    }
}

fn name(error: &PatchError) -> &'static str {
    match error {
        PatchError::EmptyOld => "empty",
        PatchError::NoChange => "no change",
        PatchError::NotRead => "not read",
        PatchError::NotReadHere { .. } => "not read here",
        PatchError::AfterFailure => "after failure",
        PatchError::AllUnread { .. } => "all unread",
        PatchError::Stale { .. } => "stale",
        PatchError::NotFound(_) => "not found",
        PatchError::NotUnique { .. } => "not unique",
    }
}

fn walk(file: String, steps: Vec<Step>, manner: Manner) -> Result<(), TestCaseError> {
    let mut world = World { file, memory: None, reads: FileReads::default(), manner };
    for step in steps {
        match step {
            Step::Read { first, count } => world.read(first, first + count - 1),
            Step::ReadWhole => {
                let total = world.lines().len();
                world.read(total.min(1), total);
            }
            Step::OtherReplaces { at, line } => world.others(|lines| {
                if let Some(place) = lines.get_mut(at) {
                    *place = line;
                }
            }),
            Step::OtherRemoves { at } => world.others(|lines| {
                if at < lines.len() {
                    lines.remove(at);
                }
            }),
            Step::OtherAdds { at, line } => world.others(|lines| lines.insert(at.min(lines.len()), line)),
            Step::Patch { old, new, all } => world.patch(&old, &new, all)?,
            Step::PatchRead { at, count, new } => {
                let text = world.memory.as_ref().map_or(world.file.clone(), |memory| memory.text.clone());
                let old: String = text.split_inclusive('\n').skip(at).take(count).collect();
                world.patch(&old, &new, false)?;
            }
            Step::Append { text } => world.append(&text)?,
            Step::Replace { text } => world.replace(&text)?,
        }
    }
    Ok(())
}

fn start() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 0..7).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    // WSP-08 to WSP-11, complaint 25 (openai/codex#12547)
    #[test]
    fn the_strict_engine_does_what_the_sentences_say(file in start(), steps in proptest::collection::vec(step(), 1..24)) {
        walk(file, steps, Manner::Strict)?;
    }

    // Complaint 24 (anthropics/claude-code#48390, #51361)
    #[test]
    fn the_anchored_engine_loses_no_update_and_changes_nothing_unread(file in start(), steps in proptest::collection::vec(step(), 1..24)) {
        walk(file, steps, Manner::Anchored)?;
    }
}
