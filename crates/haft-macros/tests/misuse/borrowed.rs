/// Says the same again.
#[haft::tool(effect = "read")]
async fn echo(text: &str, names: &[String]) -> String {
    format!("{text} {names:?}")
}

/// Says the same again.
#[haft::tool(effect = "read")]
async fn twice(one: &dyn haft::ToolContext, two: &dyn haft::ToolContext) -> String {
    format!("{} {}", one.session(), two.session())
}

fn main() {}
