//! What is known of many files, by name: the read-state of an invocation or of a session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::known::KnownFile;
use super::patch::{Manner, NextRead, PatchError};

/// Files that are known at once. Of the one that was not used for longest nothing is known any more, which is safe: it must be
/// read again.
const MAX_FILES: usize = 256;

/// Known files by name.
#[derive(Debug, Default)]
pub(crate) struct FileReads(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    files: HashMap<String, Entry>,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    known: Arc<KnownFile>,
    used: u64,
}

impl FileReads {
    /// What is known of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<KnownFile>> {
        let mut state = self.lock();
        state.uses += 1;
        let uses = state.uses;
        let entry = state.files.get_mut(name)?;
        entry.used = uses;
        Some(entry.known.clone())
    }

    /// Notes what is known of `name` now.
    pub(crate) fn set(&self, name: &str, known: KnownFile) {
        let mut state = self.lock();
        state.uses += 1;
        let entry = Entry { known: Arc::new(known), used: state.uses };
        state.files.insert(name.to_owned(), entry);
        if state.files.len() > MAX_FILES {
            let oldest = state.files.iter().min_by_key(|(_, entry)| entry.used).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                state.files.remove(&oldest);
            }
        }
    }

    /// Notes that the lines `first` to `last` of `text` were read.
    pub(crate) fn read(&self, name: &str, text: &str, first: usize, last: usize) {
        let known = KnownFile::read(self.get(name).as_deref(), text, first, last);
        self.set(name, known);
    }

    /// Notes that a patch of `name` failed and says what must be read before the next one.
    pub(crate) fn failed(&self, name: &str, error: &PatchError, manner: Manner) -> NextRead {
        let by_arguments_alone = match error {
            PatchError::EmptyOld | PatchError::NoChange => true,
            PatchError::NotRead
            | PatchError::NotReadHere { .. }
            | PatchError::AfterFailure
            | PatchError::AllUnread { .. }
            | PatchError::Stale { .. }
            | PatchError::NotFound(_)
            | PatchError::NotUnique { .. } => false,
        };
        let Some(known) = self.get(name) else { return NextRead::Passage };
        match manner {
            Manner::Strict if known.is_whole() || by_arguments_alone => NextRead::Passage,
            Manner::Strict => {
                self.set(name, known.doubted());
                NextRead::Whole
            }
            Manner::Anchored if matches!(error, PatchError::AllUnread { .. }) => NextRead::Whole,
            Manner::Anchored => NextRead::Passage,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_was_not_used_for_longest_is_forgotten() {
        let reads = FileReads::default();
        for number in 0..MAX_FILES {
            reads.set(&number.to_string(), KnownFile::whole("x"));
        }
        assert!(reads.get("0").is_some());
        reads.set("new", KnownFile::whole("x"));
        assert_eq!(
            (reads.get("0").is_some(), reads.get("1").is_some(), reads.get("new").is_some()),
            (true, false, true)
        );
    }
}
