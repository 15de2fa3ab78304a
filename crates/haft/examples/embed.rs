//! Haft inside another program: a tool of one's own, calls through the whole path, and the journal of what happened.

use haft::serde_json::{Value, json};
use haft::{Haft, ToolContext, ToolError};

/// Looks up how many pieces of a thing are in stock.
#[haft::tool(category = "shop", effect = "read")]
async fn stock(
    /// What to look for, such as `lamp`.
    thing: String,
    /// Where to look.
    #[tool(default = "main".to_owned())]
    warehouse: String,
    context: &dyn ToolContext,
) -> Result<Value, ToolError> {
    context.progress(&format!("looking in {warehouse}"));
    match thing.as_str() {
        "lamp" => Ok(json!({"thing": thing, "warehouse": warehouse, "pieces": 7})),
        _ => Err(ToolError::failed(format!("There is no `{thing}` in stock; try `lamp`."))),
    }
}

pub(crate) async fn work() -> Result<String, Box<dyn std::error::Error>> {
    let haft = Haft::builder().tool(stock::tool()).open().await?;
    let mut told = String::new();
    for arguments in [json!({"thing": "lamp"}), json!({"thing": "moon"}), json!({"colour": "red"})] {
        let outcome = haft.call("stock", arguments).await?;
        let word = if outcome.result.is_error { "failed" } else { "done" };
        told += &format!("{word}: {}\n", outcome.result.text());
    }
    for record in haft.journal().await? {
        told += &format!("{} {:<19} {}\n", record.seq, record.kind, record.hash.hex_prefix(12));
    }
    haft.close().await?;
    Ok(told)
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", work().await?);
    Ok(())
}
