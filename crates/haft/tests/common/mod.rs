//! B's `db_query` (REG-06), written in both ways, over a table of its own.

use std::sync::Arc;

use haft::serde_json::{Map, Value, json};
use haft::{Effect, Tool, ToolBuildError, ToolBuilder};

/// Whether `sql` is a query that only reads, by B's test: trimmed and in capitals it starts with SELECT.
fn only_reads(sql: &str) -> bool {
    sql.trim().to_uppercase().starts_with("SELECT")
}

fn rows_of(project_id: &str) -> Value {
    json!([{"id": 1, "project": project_id}])
}

/// Execute a read-only database query
#[haft::tool(category = "database", effect = "read")]
pub(crate) async fn db_query(
    /// SELECT query (read-only)
    sql: String,
    /// Project ID for isolation
    project_id: String,
) -> Value {
    if !only_reads(&sql) {
        return json!({"success": false, "error": "Only SELECT queries allowed"});
    }
    json!({"success": true, "rows": rows_of(&project_id)})
}

/// The parameters as B's example writes them.
pub(crate) fn db_query_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "sql": {"type": "string", "description": "SELECT query (read-only)"},
            "project_id": {"type": "string", "description": "Project ID for isolation"},
        },
        "required": ["sql", "project_id"],
    })
}

/// The same tool by the builder.
pub(crate) fn built_db_query() -> Result<Arc<dyn Tool>, ToolBuildError> {
    ToolBuilder::new("db_query", db_query_parameters())
        .description("Execute a read-only database query")
        .category("database")
        .effect(Effect::Read)
        .handler(async |arguments: Map<String, Value>| {
            let text = |name| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
            if !only_reads(text("sql")) {
                return json!({"success": false, "error": "Only SELECT queries allowed"});
            }
            json!({"success": true, "rows": rows_of(text("project_id"))})
        })
        .build()
}
