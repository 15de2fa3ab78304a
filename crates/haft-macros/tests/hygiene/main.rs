//! What `#[tool]` takes, written with no crate but `haft` and nothing of it imported.

mod every_option;
mod own_types;
