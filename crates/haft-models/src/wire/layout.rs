//! The order of the parts of an answer, kept as opaque data where the provider wants them back as they came: its own parts
//! (thoughts with signatures …) verbatim, texts and calls as marks that are filled again.

use serde_json::{Map, Value, json};

/// The parts in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Layout(Vec<Value>);

/// One part that goes back.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    /// Text, with the fields that stood beside it.
    Text(&'a str, Option<&'a Map<String, Value>>),
    /// The call at this place.
    Call(usize),
    /// A part of the provider, unchanged.
    Own(&'a Value),
}

impl Layout {
    /// Text of so many bytes; `beside` goes back with it. Neighbours without anything beside them are one text.
    pub(crate) fn text(&mut self, bytes: usize, beside: Map<String, Value>) {
        if beside.is_empty() && bytes == 0 {
            return;
        }
        if beside.is_empty()
            && let Some(last) = self.0.last_mut()
            && last.get("beside").is_none()
            && let Some(before) = last.get("text").and_then(Value::as_u64)
        {
            last["text"] = json!(before + bytes as u64);
            return;
        }
        let mut mark = Map::from_iter([("text".to_owned(), json!(bytes))]);
        if !beside.is_empty() {
            mark.insert("beside".into(), Value::Object(beside));
        }
        self.0.push(Value::Object(mark));
    }

    /// The next call.
    pub(crate) fn call(&mut self) {
        self.0.push(json!({"call": true}));
    }

    /// A part of the provider itself.
    pub(crate) fn own(&mut self, part: Value) {
        self.0.push(Value::Object(Map::from_iter([("own".to_owned(), part)])));
    }

    /// What must be kept; none where text before calls says it all.
    pub(crate) fn into_value(self) -> Option<Value> {
        let plain = |mark: &Value| mark.get("own").is_none() && mark.get("beside").is_none();
        let first_call = self.0.iter().position(|mark| mark.get("call").is_some()).unwrap_or(self.0.len());
        let in_order = self.0.iter().skip(first_call).all(|mark| mark.get("text").is_none());
        let needed = !self.0.iter().all(plain) || !in_order;
        needed.then_some(Value::Array(self.0))
    }
}

/// The parts of a message with `text` and so many calls, in the order of `layout`; where that is lost or does not fit the
/// message, the provider's own parts, then the text, then the calls.
pub(crate) fn pieces<'a>(layout: Option<&'a Value>, text: &'a str, calls: usize) -> Vec<Piece<'a>> {
    let marks = layout.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if let Some(pieces) = laid_out(marks, text, calls) {
        return pieces;
    }
    let own = marks.iter().filter_map(|mark| mark.get("own")).map(Piece::Own);
    let text = (!text.is_empty()).then_some(Piece::Text(text, None));
    own.chain(text).chain((0..calls).map(Piece::Call)).collect()
}

fn laid_out<'a>(marks: &'a [Value], text: &'a str, calls: usize) -> Option<Vec<Piece<'a>>> {
    let (mut rest, mut next) = (text, 0);
    let mut pieces = Vec::with_capacity(marks.len());
    for mark in marks {
        pieces.push(if let Some(bytes) = mark.get("text") {
            let (now, later) = rest.split_at_checked(usize::try_from(bytes.as_u64()?).ok()?)?;
            rest = later;
            Piece::Text(now, mark.get("beside").and_then(Value::as_object))
        } else if let Some(part) = mark.get("own") {
            Piece::Own(part)
        } else {
            next += 1;
            Piece::Call(next - 1)
        });
    }
    (rest.is_empty() && next == calls).then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_in_their_order_or_with_their_own_first() {
        let mut layout = Layout::default();
        layout.own(json!({"thought": 1}));
        layout.text("Grüße".len(), Map::new());
        layout.call();
        layout.own(json!({"thought": 2}));
        layout.text(1, Map::from_iter([("signature".to_owned(), json!("s"))]));
        layout.call();
        let kept = layout.into_value().unwrap();
        let (one, two) = (json!({"thought": 1}), json!({"thought": 2}));
        let beside = Map::from_iter([("signature".to_owned(), json!("s"))]);
        assert_eq!(
            pieces(Some(&kept), "Grüße!", 2),
            [
                Piece::Own(&one),
                Piece::Text("Grüße", None),
                Piece::Call(0),
                Piece::Own(&two),
                Piece::Text("!", Some(&beside)),
                Piece::Call(1),
            ]
        );
        // Another text, or calls that are gone.
        let own_first = [Piece::Own(&one), Piece::Own(&two), Piece::Text("Gruß", None), Piece::Call(0)];
        assert_eq!(pieces(Some(&kept), "Gruß", 1), own_first);
        assert_eq!(pieces(None, "", 1), [Piece::Call(0)]);
        assert_eq!(pieces(Some(&json!("broken")), "x", 0), [Piece::Text("x", None)]);
    }

    #[test]
    fn nothing_is_kept_where_text_before_calls_says_it_all() {
        let mut layout = Layout::default();
        layout.text(3, Map::new());
        layout.call();
        layout.call();
        assert_eq!(layout.into_value(), None);
        let mut layout = Layout::default();
        layout.call();
        layout.text(3, Map::new());
        assert!(layout.into_value().is_some());
    }
}
