//! From literals to values: the schema decides whether a number's text is kept.

use serde_json::{Map, Number, Value};

use super::Literal;
use crate::{Type, View};

impl Literal<'_> {
    /// The value, read with the schema of its place if there is one.
    ///
    /// Integers beyond 64 bits and numbers beyond a double become text of their digits; so does every number where the
    /// schema takes text and no number.
    pub fn into_value(self, schema: Option<View<'_>>) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(digits) => {
                let wants_text = schema.is_some_and(|view| {
                    let types = view.types();
                    types.has(Type::String) && !types.has_numeric()
                });
                if wants_text {
                    return Value::String(digits.into_owned());
                }
                number(&digits).map_or_else(|| Value::String(digits.into_owned()), Value::Number)
            }
            Self::String(text) => Value::String(text.into_owned()),
            Self::Array(items) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| item.into_value(schema.and_then(|view| view.item(index))))
                .collect(),
            Self::Object(entries) => Value::Object(
                entries
                    .into_iter()
                    .map(|(name, literal)| {
                        let view = schema.and_then(|view| view.property(&name).or_else(|| view.additional()));
                        (name.into_owned(), literal.into_value(view))
                    })
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// The same literal, borrowing nothing.
    pub fn into_owned(self) -> Literal<'static> {
        match self {
            Self::Null => Literal::Null,
            Self::Bool(value) => Literal::Bool(value),
            Self::Number(digits) => Literal::Number(digits.into_owned().into()),
            Self::String(text) => Literal::String(text.into_owned().into()),
            Self::Array(items) => Literal::Array(items.into_iter().map(Literal::into_owned).collect()),
            Self::Object(entries) => Literal::Object(
                entries
                    .into_iter()
                    .map(|(name, value)| (name.into_owned().into(), value.into_owned()))
                    .collect(),
            ),
        }
    }

    /// Whether two literals mean the same value (`1` and `1.0` do).
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => {
                left == right
                    || match (number(left), number(right)) {
                        (Some(left), Some(right)) => {
                            left == right
                                || crate::canonical::number_text(&left)
                                    == crate::canonical::number_text(&right)
                        }
                        (Some(_), None) | (None, Some(_) | None) => false,
                    }
            }
            (Self::Array(left), Self::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.same(right))
            }
            (Self::Object(left), Self::Object(right)) => {
                // Written order is compared first; other orders of the same keys count as different, which only
                // ever refuses more.
                left.len() == right.len()
                    && left.iter().zip(right).all(|((left_name, left), (right_name, right))| {
                        left_name == right_name && left.same(right)
                    })
            }
            (left, right) => left == right,
        }
    }
}

fn number(digits: &str) -> Option<Number> {
    let whole = !digits.contains(['.', 'e', 'E']);
    if whole {
        return digits
            .parse::<i64>()
            .map(Number::from)
            .or_else(|_| digits.parse::<u64>().map(Number::from))
            .ok();
    }
    digits.parse::<f64>().ok().and_then(Number::from_f64)
}
