//! Builtin tools, one module and one cargo feature a family.
