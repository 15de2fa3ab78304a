//! Server-sent events out of bytes, cut anywhere.
//!
//! It reads framing alone and knows nothing of what the events say. Memory is bounded by the caller's limit on the whole
//! answer; every byte is looked at once.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The event's name; empty if it has none.
    pub(crate) name: String,
    /// Its data, lines joined by a line feed.
    pub(crate) data: String,
}

/// The reader.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    after_carriage_return: bool,
    begun: bool,
    name: String,
    data: Option<String>,
}

impl SseReader {
    /// Takes the next bytes and gives the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_carriage_return = std::mem::replace(&mut self.after_carriage_return, byte == b'\r');
            match byte {
                b'\n' if after_carriage_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    /// The event that the end of the stream completes: servers forget the last blank line.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            let done = self.end_line();
            debug_assert!(done.is_none(), "a line with text ends no event");
        }
        self.dispatch()
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut text = String::from_utf8_lossy(&line);
        if !self.begun {
            self.begun = true;
            if let Some(rest) = text.strip_prefix('\u{feff}') {
                text = rest.to_owned().into();
            }
        }
        if text.is_empty() {
            return self.dispatch();
        }
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            // A comment (an empty field), `id`, `retry` and what the standard does not know.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, cut: usize) -> Vec<(String, String)> {
        let mut reader = SseReader::default();
        let mut events: Vec<Event> =
            text.as_bytes().chunks(cut).flat_map(|bytes| reader.feed(bytes)).collect();
        events.extend(reader.finish());
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    #[test]
    fn events_are_read_by_the_standard_at_every_cut() {
        let text = "\u{feff}data: one\n\n: comment\r\nevent: error\r\ndata:two\r\ndata\r\ndata:  3\r\n\r\nid: 7\rdata: ä\r\rretry: 1\n\nevent: x\n\ndata: [DONE]";
        let expected: Vec<(String, String)> =
            [("", "one"), ("error", "two\n\n 3"), ("", "ä"), ("", "[DONE]")]
                .map(|(name, data)| (name.to_owned(), data.to_owned()))
                .into();
        for cut in 1..text.len() {
            assert_eq!(all(text, cut), expected, "in pieces of {cut}");
        }
    }
}
