//! Canonical bytes straight from a `Serialize` type, without a [`Value`](serde_json::Value) in between: records are written
//! for every call, and a tree of values would cost more than all the rest.
//!
//! The bytes are those of [`super::to_bytes`] of the same data; a property test holds the two together.

use std::fmt;
use std::ops::Range;

use serde::ser::{self, Serialize};
use serde_json::Number;

use super::{write_digits, write_number, write_string};

/// Data that has no JSON form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this data has no JSON form: {0}")]
pub struct NoJsonForm(String);

impl ser::Error for NoJsonForm {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// The canonical bytes of `value`.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Point { y: f64, x: i32 }
/// let bytes = haft_schema::canonical::serialize(&Point { y: 2.0, x: 1 })?;
/// assert_eq!(bytes, br#"{"x":1,"y":2}"#);
/// # Ok::<(), haft_schema::canonical::NoJsonForm>(())
/// ```
pub fn serialize<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, NoJsonForm> {
    let mut bytes = Vec::with_capacity(768);
    value.serialize(Writer(&mut bytes))?;
    Ok(bytes)
}

struct Writer<'a>(&'a mut Vec<u8>);

/// Opens `{"variant":` and gives what closes it.
fn open_variant(bytes: &mut Vec<u8>, variant: &str) {
    bytes.push(b'{');
    write_string(variant, bytes);
    bytes.push(b':');
}

macro_rules! digits {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), NoJsonForm> {
            write_digits(value, self.0);
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = NoJsonForm;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Fields<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Fields<'a>;

    digits!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);
    digits!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);

    fn serialize_bool(self, value: bool) -> Result<(), NoJsonForm> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), NoJsonForm> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), NoJsonForm> {
        match Number::from_f64(value) {
            Some(number) => write_number(&number, self.0),
            None => self.0.extend_from_slice(b"null"),
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), NoJsonForm> {
        write_string(value.encode_utf8(&mut [0; 4]), self.0);
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), NoJsonForm> {
        write_string(value, self.0);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), NoJsonForm> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), NoJsonForm> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NoJsonForm> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), NoJsonForm> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), NoJsonForm> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), NoJsonForm> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NoJsonForm> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NoJsonForm> {
        open_variant(self.0, variant);
        value.serialize(Writer(self.0))?;
        self.0.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, NoJsonForm> {
        self.0.push(b'[');
        Ok(Items { bytes: self.0, first: true, close: "]" })
    }

    fn serialize_tuple(self, length: usize) -> Result<Items<'a>, NoJsonForm> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items<'a>, NoJsonForm> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>, NoJsonForm> {
        open_variant(self.0, variant);
        self.0.push(b'[');
        Ok(Items { bytes: self.0, first: true, close: "]}" })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'a>, NoJsonForm> {
        Ok(Fields::open(self.0, "}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'a>, NoJsonForm> {
        Ok(Fields::open(self.0, "}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'a>, NoJsonForm> {
        open_variant(self.0, variant);
        Ok(Fields::open(self.0, "}}"))
    }
}

/// The items of an array.
struct Items<'a> {
    bytes: &'a mut Vec<u8>,
    first: bool,
    close: &'static str,
}

impl Items<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoJsonForm> {
        if !std::mem::take(&mut self.first) {
            self.bytes.push(b',');
        }
        value.serialize(Writer(self.bytes))
    }

    fn close(self) {
        self.bytes.extend_from_slice(self.close.as_bytes());
    }
}

/// The fields of an object: written as they come, put in order at the end if they came in another.
struct Fields<'a> {
    bytes: &'a mut Vec<u8>,
    /// Where the first field begins.
    start: usize,
    /// Where the last key stands, without its quotes; nothing before the first.
    last_key: Range<usize>,
    /// They came in the order of their keys so far, and no key holds an escape: without escapes keys sort as they are written.
    in_order: bool,
    close: &'static str,
}

impl<'a> Fields<'a> {
    fn open(bytes: &'a mut Vec<u8>, close: &'static str) -> Self {
        bytes.push(b'{');
        let start = bytes.len();
        Self { bytes, start, last_key: 0..0, in_order: true, close }
    }

    fn begin(&mut self) {
        if self.bytes.len() > self.start {
            self.bytes.push(b',');
        }
    }

    /// Ends the key that is written from `from` on, in quotes.
    fn end_key(&mut self, from: usize, escaped: bool) {
        let key = from + 1..self.bytes.len() - 1;
        let written = self.bytes.get(key.clone()).unwrap_or_default();
        let before = self.bytes.get(self.last_key.clone()).unwrap_or_default();
        // Most keys differ in their first byte.
        let follows = match (before.first(), written.first()) {
            (Some(before), Some(written)) if before != written => before < written,
            _ => before < written,
        };
        self.in_order &= follows && !escaped;
        self.last_key = key;
        self.bytes.push(b':');
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), NoJsonForm> {
        self.begin();
        let from = self.bytes.len();
        write_string(key, self.bytes);
        self.end_key(from, self.bytes.len() - from > key.len() + 2);
        value.serialize(Writer(self.bytes))
    }

    /// Puts the fields in the order of their keys.
    fn close(self) -> Result<(), NoJsonForm> {
        let Self { bytes, start, in_order, close, .. } = self;
        if !in_order {
            let mut fields = fields_of(bytes.get(start..).unwrap_or_default())?;
            fields.sort_by(|(left, _), (right, _)| left.cmp(right));
            let ordered = fields.into_iter().map(|(_, field)| field).collect::<Vec<_>>().join(&b',');
            bytes.truncate(start);
            bytes.extend_from_slice(&ordered);
        }
        bytes.extend_from_slice(close.as_bytes());
        Ok(())
    }
}

/// The fields between the brackets of an object, each with the text of its key.
fn fields_of(inside: &[u8]) -> Result<Vec<(String, &[u8])>, NoJsonForm> {
    let mut fields = Vec::new();
    let (mut start, mut key_end, mut depth) = (0, None, 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in inside.iter().chain(b",").enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => key_end = key_end.or(Some(at)),
            b',' if depth == 0 => {
                let key = inside.get(start..key_end.take().unwrap_or(at)).unwrap_or_default();
                let key = serde_json::from_slice(key).map_err(|error| NoJsonForm(error.to_string()))?;
                fields.push((key, inside.get(start..at).unwrap_or_default()));
                start = at + 1;
            }
            _ => {}
        }
    }
    Ok(fields)
}

macro_rules! items {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = NoJsonForm;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoJsonForm> {
                self.item(value)
            }

            fn end(self) -> Result<(), NoJsonForm> {
                self.close();
                Ok(())
            }
        })*
    };
}

items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Fields<'_> {
            type Ok = ();
            type Error = NoJsonForm;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), NoJsonForm> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), NoJsonForm> {
                self.close()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Fields<'_> {
    type Ok = ();
    type Error = NoJsonForm;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NoJsonForm> {
        self.begin();
        let start = self.bytes.len();
        key.serialize(Writer(self.bytes))?;
        // A key that is no text (a number, say) is written as the text of it, as JSON wants.
        match self.bytes.get(start) {
            Some(b'"') => {}
            Some(b'{' | b'[') | None => return Err(NoJsonForm("a key of an object is no text".to_owned())),
            Some(_) => {
                self.bytes.insert(start, b'"');
                self.bytes.push(b'"');
            }
        }
        let escaped = self.bytes.get(start..).is_some_and(|key| key.contains(&b'\\'));
        self.end_key(start, escaped);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoJsonForm> {
        value.serialize(Writer(self.bytes))
    }

    fn end(self) -> Result<(), NoJsonForm> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::serialize;
    use crate::canonical::to_bytes;

    fn value() -> impl Strategy<Value = Value> {
        let text = "[a-c\"\\\\ !\u{1}\n\u{e9}]{0,4}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map(text, inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_the_value(value in value()) {
            prop_assert_eq!(serialize(&value).unwrap(), to_bytes(&value));
        }
    }

    #[test]
    fn enums_options_and_tuples_are_written_as_serde_json_does() {
        #[derive(serde::Serialize)]
        enum Shape {
            Dot,
            Line(u8),
            Pair(u8, u8),
            Box { w: u8, h: Option<char> },
        }
        #[derive(serde::Serialize)]
        #[serde(tag = "kind", content = "value")]
        enum Tagged {
            Word(&'static str),
        }
        let all = (
            Shape::Dot,
            Shape::Line(1),
            Shape::Pair(1, 2),
            Shape::Box { w: 1, h: Some('x') },
            Tagged::Word("z"),
            (),
        );
        assert_eq!(serialize(&all).unwrap(), to_bytes(&serde_json::to_value(&all).unwrap()));
        let map = std::collections::HashMap::from([(10, "ten"), (9, "nine")]);
        assert_eq!(serialize(&map).unwrap(), to_bytes(&json!({"10": "ten", "9": "nine"})));
    }
}
