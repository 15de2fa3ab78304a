//! The line editor of `haft chat`: a history that lasts, several lines by pasting, Ctrl-C and Ctrl-D.

use std::borrow::Cow;
use std::io;

use reedline::{
    FileBackedHistory, History as _, HistoryItem, Prompt, PromptEditMode, PromptHistorySearch,
    PromptHistorySearchStatus, Reedline, Signal,
};

use super::history::{History, KEPT};

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
pub(crate) struct LineEditor {
    editor: Reedline,
    history: History,
}

impl LineEditor {
    /// An editor that remembers what `history` holds, and adds to it.
    pub(crate) fn new(mut history: History) -> Self {
        let editor = Reedline::create().use_bracketed_paste(true);
        let editor = match remembered(history.lines()) {
            Ok(lines) => editor.with_history(Box::new(lines)),
            // Without a history lines can still be read.
            Err(_) => editor,
        };
        Self { editor, history }
    }

    /// Reads one line. It blocks the thread.
    pub(crate) fn read(&mut self) -> io::Result<Entered> {
        match self.editor.read_line(&Arrow) {
            Ok(Signal::Success(line)) => {
                self.history.add(&line);
                Ok(Entered::Line(line))
            }
            Ok(Signal::CtrlC) => Ok(Entered::Interrupt),
            Ok(_) => Ok(Entered::End),
            Err(error) => Err(error),
        }
    }
}

/// `lines` as the editor keeps them in memory.
fn remembered(lines: Vec<String>) -> reedline::Result<FileBackedHistory> {
    let mut history = FileBackedHistory::new(KEPT)?;
    for line in lines {
        history.save(HistoryItem::from_command_line(line))?;
    }
    Ok(history)
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
