//! A look at a call that is not whole yet: its name, and its text as it comes in.
//! It must not decide anything; what it shows is a preview.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::Event;
use crate::literal::name_end;
use crate::scan::Source;

/// Bytes of a held text in which the name is looked for.
const WINDOW: usize = 256;

/// Looks for a name in one held text, at most.
const MAX_TRIES: usize = 6;

/// What was shown of the text that the parser holds.
#[derive(Debug, Default)]
pub(crate) struct Preview {
    /// Where the held text begins.
    held_at: usize,
    /// The name was shown, and the text up to here.
    shown_to: Option<usize>,
    /// How often the name was looked for.
    tries: usize,
}

impl Preview {
    /// Shows what is new of the text held from `at` on.
    pub(crate) fn show(&mut self, buffer: &str, at: usize, sink: &mut dyn FnMut(Event<'_>)) {
        if self.held_at != at {
            *self = Self { held_at: at, shown_to: None, tries: 0 };
        }
        let held = buffer.get(at..).unwrap_or_default();
        // No call begins with a close tag.
        let may_begin = held.len() <= WINDOW && !held.starts_with("</");
        if self.shown_to.is_none() && self.tries < MAX_TRIES && may_begin {
            self.tries += 1;
            if let Some((name, end)) = name_in(held) {
                sink(Event::CallStart(name));
                self.shown_to = Some(at + end);
            }
        }
        if let Some(from) = self.shown_to
            && from < buffer.len()
        {
            sink(Event::ArgumentDelta(buffer.get(from..).unwrap_or_default()));
            self.shown_to = Some(buffer.len());
        }
    }
}

/// What stands right before a name, and what must stand behind it.
static FORMS: LazyLock<[(Finder<'static>, &'static [u8]); 10]> = LazyLock::new(|| {
    let form = |before: &'static str, after: &'static [u8]| (Finder::new(before), after);
    [
        form("\"name\": \"", b"\""),
        form("\"name\":\"", b"\""),
        form("\"tool_name\": \"", b"\""),
        form("<name>", b"<"),
        form("<function=", b">"),
        form("name=\"", b"\""),
        form("tool=\"", b"\""),
        form("functions.", b":<{ "),
        form("call:", b"{"),
        form("[TOOL_CALLS]", b"["),
    ]
});

/// The name in the beginning of a call, and the offset behind it.
fn name_in(held: &str) -> Option<(&str, usize)> {
    let source = Source::new(held, true);
    let named = FORMS.iter().filter_map(|(before, after)| {
        let from = before.find(held.as_bytes())? + before.needle().len();
        let end = held
            .get(from..)?
            .find(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '-' | '.')))?
            + from;
        let behind = source.byte(end)?;
        (end > from && after.contains(&behind)).then(|| (source.slice(from, end), end))
    });
    let first = named.min_by_key(|(_, end)| *end);
    first.or_else(|| {
        // `[N(`
        let from = usize::from(held.starts_with('['));
        let end = name_end(source, from);
        (source.byte(end) == Some(b'(') && end > from).then(|| (source.slice(from, end), end))
    })
}
