//! Policy: the order of layers, attacks on rules, a reference model, and what is told of bad rules.
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, reason = "helpers of tests")]

mod attacks;
mod check;
mod layers;
mod model;
mod order;
mod world;
