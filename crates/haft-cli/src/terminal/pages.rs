//! A long text page by page: every line is printed, none is cut, and nothing can be answered before the last one was shown.

use std::io;

use crossterm::event::KeyCode;

use super::keys::{self, Pressed, Raw};

/// What a person does while a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Forward,
    Line,
    Back,
    Top,
    End,
}

/// Which lines are to be printed, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pages {
    lines: usize,
    /// Lines of one page.
    height: usize,
    /// The line behind the last one that stands on the screen.
    at: usize,
}

impl Pages {
    fn new(lines: usize, height: usize) -> Self {
        Self { lines, height: height.max(1), at: 0 }
    }

    fn is_over(&self) -> bool {
        self.at >= self.lines
    }

    /// The lines that a move prints.
    fn go(&mut self, step: Move) -> std::ops::Range<usize> {
        let from = match step {
            Move::Forward | Move::Line | Move::End => self.at,
            // The page before the one that stands.
            Move::Back => self.at.saturating_sub(2 * self.height),
            Move::Top => 0,
        };
        let length = match step {
            Move::Forward | Move::Back | Move::Top => self.height,
            Move::Line => 1,
            Move::End => self.lines,
        };
        self.at = from.saturating_add(length).min(self.lines);
        from..self.at
    }
}

/// Prints `text` (its last line ended) and waits for keys as long as there is more of it than `rows`. Gives what ended it: `n` and Ctrl-C
/// may come at any time; a line typed ahead is dropped.
pub(crate) fn show(
    text: &str,
    rows: Option<usize>,
    closed: &dyn Fn() -> bool,
) -> io::Result<Option<Pressed>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // One row for the mark. A terminal that does not tell its size scrolls by itself.
    let height = rows.map_or(usize::MAX, |rows| rows.saturating_sub(1));
    if lines.len() <= height {
        keys::echo(text)?;
        return Ok(None);
    }
    let raw = Raw::enter()?;
    keys::drop_typed()?;
    let mut pages = Pages::new(lines.len(), height);
    let mut step = Move::Forward;
    let ended = loop {
        for line in lines.get(pages.go(step)).unwrap_or_default() {
            keys::echo(&line.replace('\n', "\r\n"))?;
        }
        if pages.is_over() {
            break None;
        }
        let mark =
            format!("--- {} of {} lines: Space goes on, PgUp goes back, n is no ---", pages.at, lines.len());
        keys::echo(&mark)?;
        let pressed = loop {
            match keys::next_key(closed)? {
                Err(ended) => break Err(ended),
                Ok(KeyCode::Char(' ') | KeyCode::PageDown) => break Ok(Move::Forward),
                Ok(KeyCode::Down) => break Ok(Move::Line),
                Ok(KeyCode::PageUp | KeyCode::Up) => break Ok(Move::Back),
                Ok(KeyCode::Home) => break Ok(Move::Top),
                Ok(KeyCode::End) => break Ok(Move::End),
                Ok(KeyCode::Char('n' | 'N')) => break Err(Pressed::Key('n')),
                Ok(_) => {}
            }
        };
        // The mark gives way to what follows.
        keys::echo(&format!("\r{}\r", " ".repeat(mark.len())))?;
        match pressed {
            Ok(next) => step = next,
            Err(ended) => break Some(ended),
        }
    };
    drop(raw);
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Pains 22: no text is cut, whatever its length and whatever is pressed.
    #[test]
    fn every_line_is_printed_before_the_end() {
        for (lines, height) in [(340, 12), (25, 24), (3, 1), (1, 0), (24, 24)] {
            let mut pages = Pages::new(lines, height);
            let mut shown = vec![false; lines];
            let steps = [Move::Forward, Move::Line, Move::Back, Move::Forward, Move::Top, Move::Forward];
            let mut steps = steps.into_iter().chain(std::iter::repeat(Move::Forward));
            while !pages.is_over() {
                let range = pages.go(steps.next().unwrap());
                assert!(range.len() <= height.max(1), "a page fits");
                shown[range].iter_mut().for_each(|line| *line = true);
            }
            assert!(shown.iter().all(|line| *line), "{lines} {height}");
            let mut rest = Pages::new(lines, height);
            rest.go(Move::Forward);
            assert_eq!(rest.go(Move::End).end, lines);
        }
    }
}
