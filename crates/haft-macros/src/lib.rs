//! `#[tool]`: a documented async function becomes a tool.
