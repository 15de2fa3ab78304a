//! Text dialects of tool calls: push parsers, writers and prompt instructions.
