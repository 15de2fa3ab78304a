//! JSON Schema as Haft reads it: resolved views, coercion of text to typed values, canonical bytes and
//! digests, and (feature `validate`) compiled validation with messages a model can act on.
//!
//! Pure: no I/O, no clock, no environment. Nothing here knows tools, calls or dialects, and nothing panics on
//! foreign schemas or foreign text. Recursion is bounded everywhere.
//!
//! Start with [`Schema`] and [`View`]; [`coerce()`] and [`Defaults`] prepare arguments, [`json`] reads what
//! models write, [`canonical`] and [`Digest`] name bytes.

pub mod canonical;
mod coerce;
mod digest;
mod itself;
pub mod json;
#[cfg(feature = "validate")]
mod meant;
mod project;
mod schema;
mod text;
mod types;
#[cfg(feature = "validate")]
mod validate;
mod view;

pub use coerce::{Defaults, coerce, coerce_value};
pub use digest::{Digest, DigestError};
pub use schema::{Schema, SchemaError};
pub use types::{Type, TypeSet};
#[cfg(feature = "validate")]
pub use validate::{Validator, Violation, ViolationKind, Violations};
pub use view::{Property, View};
