//! What was typed in `haft chat`, for the next time: one JSON string a line in a file of the home.
//!
//! Lines are masked before they are written, like all that is stored. A history that cannot be kept must not disturb a
//! conversation: it is said once, and nothing more is kept.

use std::io;
use std::path::PathBuf;

use haft_core::mask::{Mask, View};

use crate::exit::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::{secrets, surroundings};

/// Lines that are remembered.
pub(crate) const KEPT: usize = 1_000;

/// The file in the home.
const FILE: &str = "chat_history.jsonl";

/// The history of one home.
pub(crate) struct History {
    file: PathBuf,
    mask: Mask,
    output: Output,
    /// It could not be written, and that was said.
    is_off: bool,
}

impl History {
    /// The one of the home.
    pub(crate) fn of(setup: &Setup) -> Result<Self, Failure> {
        let file = setup.home.root().join(FILE);
        Ok(Self { file, mask: secrets::mask(setup)?, output: setup.output, is_off: false })
    }

    /// What was typed before, oldest first; what cannot be read is left out. A file that has grown to twice what is remembered is
    /// cut to that.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let text = match surroundings::text_if_there(&self.file) {
            Ok(text) => text.unwrap_or_default(),
            Err(reason) => {
                self.give_up(&reason);
                return Vec::new();
            }
        };
        let all: Vec<&str> = text.lines().collect();
        let kept = &all[all.len().saturating_sub(KEPT)..];
        if all.len() > 2 * KEPT {
            let cut: String = kept.iter().flat_map(|line| [*line, "\n"]).collect();
            self.told(surroundings::write_private(&self.file, &cut));
        }
        kept.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Keeps one line, unless it says nothing or only leaves.
    pub(crate) fn add(&mut self, line: &str) {
        if self.is_off || matches!(line.trim(), "" | "/quit" | "/exit") {
            return;
        }
        let masked = self.mask.text(line, View::Record);
        let line = serde_json::Value::from(masked.as_ref());
        self.told(surroundings::append_private(&self.file, &format!("{line}\n")));
    }

    fn told(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.give_up(&error.to_string());
        }
    }

    fn give_up(&mut self, reason: &str) {
        self.is_off = true;
        self.output.warn(&format!("what you type is not remembered: {}: {reason}", self.file.display()));
    }
}
