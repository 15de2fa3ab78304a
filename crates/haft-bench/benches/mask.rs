//! What masking adds to a call that holds no secret, and to long text.
#![allow(clippy::unwrap_used, reason = "a bench that cannot set up has nothing to measure")]

use std::hint::black_box;
use std::process::ExitCode;

use haft_bench::{Comparison, Goals};
use haft_core::mask::{Mask, View};
use haft_core::{ToolId, ToolOutput, ToolResult};
use serde_json::json;

const CALLS: usize = 1_000;

fn main() -> ExitCode {
    let secrets =
        ["weather", "mail", "store"].map(|name| (name.to_owned(), format!("{name}-0123456789-abcdef")));
    let (plain, knowing) = (Mask::default(), Mask::new(secrets).unwrap());
    let arguments = json!({"a": 19, "b": 23});
    let result = ToolResult {
        call_id: "c_i_0001_1_1".into(),
        tool_id: Some(ToolId::builtin("bench.add")),
        alias: "bench_add".into(),
        content: ToolOutput::of_text("42").content,
        structured: None,
        is_error: false,
        error_code: None,
        resource_refs: Vec::new(),
        ui: None,
        metadata: serde_json::Map::new(),
        duration_ms: 1,
        skipped: false,
    };
    let rule = "permission of `bench_add`: allow";
    let call = |mask: &Mask| {
        for _ in 0..CALLS {
            assert!(mask.masked(black_box(&arguments), View::Record).is_none());
            assert!(!mask.finds(black_box(rule), View::Record));
            assert!(mask.result(black_box(&result), View::Record).is_none());
        }
    };
    let text = include_str!("path.rs").repeat(50);
    let measured = Comparison::new()
        .case("call, forms", || call(&plain))
        .case("call, known", || call(&knowing))
        .case("text", || assert!(!knowing.finds(black_box(&text), View::Record)))
        .run();
    let mut goals = Goals::new("mask");
    let each = CALLS as f64;
    goals.at_most("a call without secrets, forms alone", measured.micros("call, forms") / each, 0.2, "µs");
    goals.at_most("a call without secrets, three known", measured.micros("call, known") / each, 0.2, "µs");
    goals.note("source text, both", text.len() as f64 / measured.micros("text") / 1_000.0, "GB/s");
    goals.finish()
}
