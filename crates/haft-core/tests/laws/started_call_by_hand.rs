// No tool is reached without a started call, and only the path makes one.
use haft_core::{PreparedArguments, StartedCall, ToolCall};

fn forge(call: Box<ToolCall>, arguments: PreparedArguments) -> StartedCall {
    StartedCall { call, tool: panic!(), arguments }
}

fn main() {}
