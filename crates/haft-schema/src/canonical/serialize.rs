//! Canonical bytes straight from a `Serialize` type, without a [`Value`](serde_json::Value) in between: records are written
//! for every call, and a tree of values would cost more than all the rest.
//!
//! The bytes are those of [`super::to_bytes`] of the same data; a property test holds the two together.

use std::fmt;

use serde::ser::{self, Serialize};
use serde_json::Number;

use super::{number_text, write_string};

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

impl Writer<'_> {
    fn number(self, number: &Number) {
        self.0.extend_from_slice(number_text(number).as_bytes());
    }

    fn digits(self, digits: impl fmt::Display) {
        use std::io::Write;
        // Writing to a vector cannot fail.
        let _whole = write!(self.0, "{digits}");
    }
}

/// Opens `{"variant":` and gives what closes it.
fn open_variant(bytes: &mut Vec<u8>, variant: &str) {
    bytes.push(b'{');
    write_string(variant, bytes);
    bytes.push(b':');
}

macro_rules! digits {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), NoJsonForm> {
            self.digits(value);
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
            Some(number) => self.number(&number),
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

    fn serialize_map(self, length: Option<usize>) -> Result<Fields<'a>, NoJsonForm> {
        Ok(Fields::open(self.0, length.unwrap_or_default(), "}"))
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Fields<'a>, NoJsonForm> {
        Ok(Fields::open(self.0, length, "}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Fields<'a>, NoJsonForm> {
        open_variant(self.0, variant);
        Ok(Fields::open(self.0, length, "}}"))
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
    fields: Vec<Field>,
    close: &'static str,
}

/// Where a field begins, and the length of its key in quotes.
struct Field {
    start: usize,
    key_length: usize,
}

impl<'a> Fields<'a> {
    fn open(bytes: &'a mut Vec<u8>, length: usize, close: &'static str) -> Self {
        bytes.push(b'{');
        let start = bytes.len();
        Self { bytes, start, fields: Vec::with_capacity(length), close }
    }

    fn begin(&mut self) {
        if !self.fields.is_empty() {
            self.bytes.push(b',');
        }
        self.fields.push(Field { start: self.bytes.len(), key_length: 0 });
    }

    fn end_key(&mut self) {
        if let Some(field) = self.fields.last_mut() {
            field.key_length = self.bytes.len() - field.start;
        }
        self.bytes.push(b':');
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), NoJsonForm> {
        self.begin();
        write_string(key, self.bytes);
        self.end_key();
        value.serialize(Writer(self.bytes))
    }

    /// Puts the fields in the order of their keys.
    fn close(self) -> Result<(), NoJsonForm> {
        let Self { bytes, start, fields, close } = self;
        let written =
            |field: &Field| bytes.get(field.start..field.start + field.key_length).unwrap_or_default();
        // Keys in quotes sort as their texts do if every character sorts above the quote and none is escaped.
        let plain = |field: &Field| {
            let key = written(field);
            key.get(1..key.len().saturating_sub(1))
                .unwrap_or_default()
                .iter()
                .all(|&b| b > b'"' && b != b'\\')
        };
        let simple = fields.iter().all(plain);
        if !(simple && fields.is_sorted_by(|left, right| written(left) < written(right))) {
            let mut order: Vec<usize> = (0..fields.len()).collect();
            if simple {
                order.sort_unstable_by_key(|&index| fields.get(index).map(written));
            } else {
                let texts = fields
                    .iter()
                    .map(|field| serde_json::from_slice::<String>(written(field)))
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| NoJsonForm(error.to_string()))?;
                order.sort_by_key(|&index| texts.get(index));
            }
            let mut ordered = Vec::with_capacity(bytes.len() - start);
            for index in order {
                if !ordered.is_empty() {
                    ordered.push(b',');
                }
                let from = fields.get(index).map_or(start, |field| field.start);
                let to = fields.get(index + 1).map_or(bytes.len(), |next| next.start - 1);
                ordered.extend_from_slice(bytes.get(from..to).unwrap_or_default());
            }
            bytes.truncate(start);
            bytes.extend_from_slice(&ordered);
        }
        bytes.extend_from_slice(close.as_bytes());
        Ok(())
    }
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
        self.end_key();
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
