//! The line editor of `haft chat`: history in memory, several lines by pasting, Ctrl-C and Ctrl-D.

use std::borrow::Cow;
use std::io;

use reedline::{
    FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline,
    Signal,
};

/// Lines that are remembered.
const HISTORY: usize = 1_000;

/// What the person entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entered {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
}

/// Reads lines with editing.
pub(crate) struct LineEditor(Reedline);

impl LineEditor {
    /// An editor with an empty history.
    pub(crate) fn new() -> Self {
        let editor = Reedline::create().use_bracketed_paste(true);
        let editor = match FileBackedHistory::new(HISTORY) {
            Ok(history) => editor.with_history(Box::new(history)),
            // Without a history lines can still be read.
            Err(_) => editor,
        };
        Self(editor)
    }

    /// Reads one line. It blocks the thread.
    pub(crate) fn read(&mut self) -> io::Result<Entered> {
        match self.0.read_line(&Arrow) {
            Ok(Signal::Success(line)) => Ok(Entered::Line(line)),
            Ok(Signal::CtrlC) => Ok(Entered::Interrupt),
            Ok(_) => Ok(Entered::End),
            Err(error) => Err(error),
        }
    }
}

/// The prompt: `> `.
struct Arrow;

impl Prompt for Arrow {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let state = match search.status {
            PromptHistorySearchStatus::Passing => "search",
            PromptHistorySearchStatus::Failing => "not found",
        };
        Cow::Owned(format!("({state}: {}) ", search.term))
    }
}
