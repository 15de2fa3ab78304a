//! `text_process`: counting and changing a text (DAT-03).

use std::collections::HashSet;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    text: &'a str,
    operation: Operation,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Count,
    Lines,
    Words,
    Upper,
    Lower,
    Reverse,
    Trim,
    UniqueLines,
    SortLines,
}

pub(super) struct TextProcess {
    declaration: ToolDeclaration,
}

impl TextProcess {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "The text to work on"},
                "operation": {
                    "type": "string",
                    "enum": [
                        "count", "lines", "words", "upper", "lower", "reverse", "trim", "unique_lines", "sort_lines",
                    ],
                    "description": "count, lines, words: how many characters, lines or words; upper, lower, reverse: the \
                        changed text; trim: without blanks at line ends and around the text; unique_lines: each line \
                        once, in order; sort_lines: lines in order of their characters",
                },
            },
            "required": ["text", "operation"],
        });
        let description = "Count or change a text exactly, where guessing would be unsure: characters, lines, words, \
            capitals, order of lines.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("data.text_process"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("text_process".to_owned());
            facts.category = "data".to_owned();
            facts.idempotent = true;
            facts.example = json!({"text": "one two\nthree", "operation": "words"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for TextProcess {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        _context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments { text, operation } = arguments(call)?;
            let result = process(text, operation);
            let shown = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
            Ok(ToolOutput::of_text(shown).with_structured(json!({"result": result})))
        })
    }
}

fn process(text: &str, operation: Operation) -> Value {
    match operation {
        Operation::Count => json!(text.chars().count()),
        Operation::Lines => json!(text.lines().count()),
        Operation::Words => json!(text.split_whitespace().count()),
        Operation::Upper => json!(text.to_uppercase()),
        Operation::Lower => json!(text.to_lowercase()),
        // By what a reader calls a character, so that accents stay on their letters.
        Operation::Reverse => json!(text.graphemes(true).rev().collect::<String>()),
        Operation::Trim => {
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            json!(lines.join("\n").trim())
        }
        Operation::UniqueLines => {
            let mut seen = HashSet::new();
            json!(text.lines().filter(|line| seen.insert(*line)).collect::<Vec<_>>().join("\n"))
        }
        Operation::SortLines => {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            json!(lines.join("\n"))
        }
    }
}
