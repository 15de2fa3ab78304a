//! The seven types of JSON Schema and small sets of them. It must not know schemas; `view` fills the sets.

use std::fmt;

use serde_json::Value;

/// One type of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Type {
    /// Text.
    String = 1,
    /// A whole number; `1.0` counts as one.
    Integer = 2,
    /// Any number.
    Number = 4,
    /// `true` or `false`.
    Boolean = 8,
    /// A list.
    Array = 16,
    /// Names with values.
    Object = 32,
    /// `null`.
    Null = 64,
}

impl Type {
    /// All seven, in the order in which messages name them.
    pub const ALL: [Self; 7] =
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Array, Self::Object, Self::Null];

    /// The name JSON Schema uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Null => "null",
        }
    }

    /// The type with this name in JSON Schema.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A set of types: what a schema lets a value be.
///
/// ```
/// use haft_schema::{Type, TypeSet};
///
/// let set = TypeSet::of(Type::Integer).with(Type::Null);
/// assert!(set.has(Type::Null) && !set.has(Type::String));
/// assert_eq!(set.to_string(), "integer or null");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeSet(u8);

impl TypeSet {
    /// No type: nothing is accepted.
    pub const NONE: Self = Self(0);
    /// Every type: nothing is said.
    pub const ANY: Self = Self(127);

    /// The set of one type.
    pub const fn of(kind: Type) -> Self {
        Self(kind as u8)
    }

    /// This set and one more type.
    #[must_use]
    pub const fn with(self, kind: Type) -> Self {
        Self(self.0 | kind as u8)
    }

    /// This set without one type.
    #[must_use]
    pub const fn without(self, kind: Type) -> Self {
        Self(self.0 & !(kind as u8))
    }

    /// Whether the type is in the set.
    pub const fn has(self, kind: Type) -> bool {
        self.0 & kind as u8 != 0
    }

    /// Whether integers are accepted, as such or as numbers.
    pub const fn has_numeric(self) -> bool {
        self.has(Type::Integer) || self.has(Type::Number)
    }

    /// Whether the set holds all types.
    pub const fn is_any(self) -> bool {
        self.0 == Self::ANY.0
    }

    /// Whether the set holds no type.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What both accept; an integer is also a number.
    pub(crate) const fn intersection(self, other: Self) -> Self {
        let mut both = self.0 & other.0;
        let number = Type::Number as u8;
        let integer = Type::Integer as u8;
        let narrowed = (self.0 & number != 0 && other.0 & integer != 0)
            || (other.0 & number != 0 && self.0 & integer != 0);
        if both & number == 0 && narrowed {
            both |= integer;
        }
        Self(both)
    }

    /// The types in the set, in the order of [`Type::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Type> {
        Type::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// The type that a value has; a whole float is an integer.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::of(Type::Null),
            Value::Bool(_) => Self::of(Type::Boolean),
            Value::Number(number) => {
                let whole = !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0);
                Self::of(if whole { Type::Integer } else { Type::Number })
            }
            Value::String(_) => Self::of(Type::String),
            Value::Array(_) => Self::of(Type::Array),
            Value::Object(_) => Self::of(Type::Object),
        }
    }

    /// Whether the set accepts a value by its type alone.
    pub fn accepts(self, value: &Value) -> bool {
        let kind = Self::of_value(value);
        self.0 & kind.0 != 0 || (kind == Self::of(Type::Integer) && self.has(Type::Number))
    }
}

impl FromIterator<Type> for TypeSet {
    fn from_iter<I: IntoIterator<Item = Type>>(types: I) -> Self {
        types.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for TypeSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_any() {
            return formatter.write_str("any");
        }
        // An integer is a number: `integer or number` would say the same thing twice.
        let shown = if self.has(Type::Number) { self.without(Type::Integer) } else { *self };
        let names: Vec<&str> = shown.iter().map(Type::name).collect();
        formatter.write_str(&names.join(" or "))
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TypeSet({self})")
    }
}
