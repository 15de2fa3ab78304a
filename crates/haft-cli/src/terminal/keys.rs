//! Single keys from the terminal, for questions: what was typed before the question is thrown away, and Enter is no answer.

use std::io::{self, Write};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal;

use super::fold::cells_of;

/// How often it is looked whether the question was closed elsewhere.
const LOOK: Duration = Duration::from_millis(100);

/// What came from the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// One of the keys that were offered.
    Key(char),
    /// A line that was typed.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// `closed` became true.
    Closed,
}

/// The terminal in raw mode, for as long as this lives. It is entered before a prompt is shown, so that no key which answers it
/// goes through the terminal's own line editing.
pub(super) struct Raw;

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        Ok(Self)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        drop(terminal::disable_raw_mode());
    }
}

/// Offers keys by `prompt`, whose last line has no end, and waits for one of them; the key is echoed. What was typed before the
/// prompt is dropped.
pub(crate) fn one_of(prompt: &str, offered: &[char], closed: &dyn Fn() -> bool) -> io::Result<Pressed> {
    let raw = Raw::enter()?;
    drop_typed()?;
    echo(&prompt.replace('\n', "\r\n"))?;
    let pressed = loop {
        match next(closed)? {
            Next::Closed => break Pressed::Closed,
            Next::Interrupt => break Pressed::Interrupt,
            Next::Key(KeyCode::Char(key)) => {
                let key = key.to_ascii_lowercase();
                if offered.contains(&key) {
                    break Pressed::Key(key);
                }
            }
            Next::Key(_) => {}
        }
    };
    drop(raw);
    match &pressed {
        Pressed::Key(key) => echo(&format!("{key}\n"))?,
        Pressed::Line(_) | Pressed::Interrupt | Pressed::Closed => echo("\n")?,
    }
    Ok(pressed)
}

/// Forgets what was typed so far; the terminal is in raw mode.
pub(super) fn drop_typed() -> io::Result<()> {
    while event::poll(Duration::ZERO)? {
        drop(event::read()?);
    }
    Ok(())
}

/// The next key, or what came in its place; the terminal is in raw mode.
pub(super) fn next_key(closed: &dyn Fn() -> bool) -> io::Result<Result<KeyCode, Pressed>> {
    Ok(match next(closed)? {
        Next::Key(code) => Ok(code),
        Next::Interrupt => Err(Pressed::Interrupt),
        Next::Closed => Err(Pressed::Closed),
    })
}

/// Reads one line after `prompt`, with backspace; Escape and an empty line give an empty text.
pub(crate) fn line(prompt: &str, closed: &dyn Fn() -> bool) -> io::Result<Pressed> {
    let raw = Raw::enter()?;
    echo(prompt)?;
    let mut text = String::new();
    let pressed = loop {
        match next(closed)? {
            Next::Closed => break Pressed::Closed,
            Next::Interrupt => break Pressed::Interrupt,
            Next::Key(KeyCode::Enter) => break Pressed::Line(text.trim().to_owned()),
            Next::Key(KeyCode::Esc) => break Pressed::Line(String::new()),
            Next::Key(KeyCode::Backspace) => {
                // A mark that takes no column goes with the character below it.
                while let Some(gone) = text.pop() {
                    let cells = cells_of(gone);
                    if cells > 0 {
                        let back = "\u{8}".repeat(cells);
                        echo(&format!("{back}{}{back}", " ".repeat(cells)))?;
                        break;
                    }
                }
            }
            Next::Key(KeyCode::Char(key)) => {
                text.push(key);
                echo(&key.to_string())?;
            }
            Next::Key(_) => {}
        }
    };
    drop(raw);
    echo("\n")?;
    Ok(pressed)
}

/// How many columns of a line may be filled, one less than the terminal has; 79 where it does not say.
pub(crate) fn columns() -> usize {
    match terminal::size() {
        Ok((columns @ 1.., _)) => usize::from(columns) - 1,
        _ => 79,
    }
}

/// How many rows the terminal has, where it says.
pub(crate) fn rows() -> Option<usize> {
    match terminal::size() {
        Ok((_, rows @ 1..)) => Some(usize::from(rows)),
        _ => None,
    }
}

/// Says that a second Ctrl-C leaves, and stays in raw mode, so that it is not taken for a signal.
pub(crate) fn tell_twice() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    echo("(Ctrl-C again leaves)\r\n")
}

enum Next {
    Key(KeyCode),
    Interrupt,
    Closed,
}

fn next(closed: &dyn Fn() -> bool) -> io::Result<Next> {
    loop {
        if closed() {
            return Ok(Next::Closed);
        }
        if !event::poll(LOOK)? {
            continue;
        }
        if let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event::read()? {
            if modifiers.contains(KeyModifiers::CONTROL) {
                if code == KeyCode::Char('c') {
                    return Ok(Next::Interrupt);
                }
                continue;
            }
            return Ok(Next::Key(code));
        }
    }
}

pub(super) fn echo(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes())?;
    stderr.flush()
}
