//! The instructions for a model, compared with the example in ArtifactFlow's document.

#![allow(clippy::unwrap_used, reason = "a broken schema fails the test")]

use haft_dialect::Tags;
use haft_dialect::artifact_xml::{ExecutionMode, ToolInfo, instructions};
use haft_schema::Schema;
use serde_json::{Value, json};

/// The block that stands in the document, letter by letter.
const DOCUMENT: &str = "<tool_instructions>
<format>
You may make one or more tool calls per turn. They execute sequentially.
Wrap ALL parameter values in <![CDATA[...]]>.
</format>

<tool name=\"web_search\">
Web search and information retrieval specialist...
Parameters:
  - query: string (required) - Search query
  - freshness: string (optional) - Time range filter. Values: noLimit, oneDay, oneWeek, oneMonth, oneYear. Default: noLimit
  - count: integer (optional) - Number of results to return (1-50). Default: 10
Example:
<tool_call>
  <name>web_search</name>
  <params>
    <query><![CDATA[your_query_here]]></query>
    <count><![CDATA[10]]></count>
  </params>
</tool_call>
</tool>

</tool_instructions>";

fn web_search() -> Schema {
    Schema::new(json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Search query"},
            "freshness": {
                "type": "string",
                "description": "Time range filter",
                "enum": ["noLimit", "oneDay", "oneWeek", "oneMonth", "oneYear"],
                "default": "noLimit",
            },
            "count": {"type": "integer", "description": "Number of results to return (1-50)", "default": 10},
        },
        "required": ["query"],
    }))
    .unwrap()
}

fn example() -> Value {
    json!({"query": "your_query_here", "count": 10})
}

// DIA-13, CONFLICT-27
#[test]
fn serial_instructions_are_those_of_the_document() {
    let schema = web_search();
    let example = example();
    let tool = ToolInfo {
        name: "web_search",
        description: "Web search and information retrieval specialist...",
        schema: &schema,
        example: example.as_object(),
    };
    assert_eq!(instructions(&[tool], ExecutionMode::Serial, &Tags::default()), DOCUMENT);
}

// CONFLICT-27
#[test]
fn parallel_instructions_differ_in_one_sentence() {
    let schema = web_search();
    let example = example();
    let tool = ToolInfo {
        name: "web_search",
        description: "Web search and information retrieval specialist...",
        schema: &schema,
        example: example.as_object(),
    };
    let expected = DOCUMENT
        .replace("They execute sequentially.", "They may execute in parallel; do not rely on their order.");
    assert_eq!(instructions(&[tool], ExecutionMode::Parallel, &Tags::default()), expected);
}

// DIA-13, DIA-12, DIA-14
#[test]
fn other_shapes_of_tools() {
    let schema = Schema::new(json!({
        "properties": {
            "path": {"type": "string", "description": "Where to look."},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Marks\n  to set"},
            "options": {"type": "object"},
            "depth": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
            "unit": {"$ref": "#/$defs/Unit"},
            "deep": {"type": "boolean"},
        },
        "required": ["path", "tags", "unit", "deep"],
        "$defs": {"Unit": {"enum": ["m", "ft"]}},
    }))
    .unwrap();
    let empty = Schema::empty_object();
    let tools = [
        ToolInfo { name: "look", description: "Looks.\n", schema: &schema, example: None },
        ToolInfo { name: "ping", description: "Says pong.", schema: &empty, example: None },
    ];
    let text = instructions(&tools, ExecutionMode::Serial, &Tags { call: "function_call".to_owned() });
    let (_, body) = text.split_once("</format>\n\n").unwrap();
    assert_eq!(
        body,
        "<tool name=\"look\">
Looks.
Parameters:
  - path: string (required) - Where to look.
  - tags: array of string (required) - Marks to set
  - options: object (optional)
  - depth: integer (optional)
  - unit: string (required) - Values: m, ft
  - deep: boolean (required)
Example:
<function_call>
  <name>look</name>
  <params>
    <path><![CDATA[your_path_here]]></path>
    <tags><![CDATA[[\"your_tags_here\"]]]></tags>
    <unit><![CDATA[m]]></unit>
    <deep><![CDATA[true]]></deep>
  </params>
</function_call>
</tool>

<tool name=\"ping\">
Says pong.
Parameters: none
Example:
<function_call>
  <name>ping</name>
  <params>
  </params>
</function_call>
</tool>

</tool_instructions>"
    );
}
