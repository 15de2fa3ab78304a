/// Says the same again.
#[haft::tool(
    effect = "reed", permission = "perhaps", name = "say it", alias = "a.b", category = 3, closed = true, title,
    result_cap = "no", ask = "question"
)]
async fn echo(text: String) -> String {
    text
}

/// Says the same again.
#[haft::tool(effect = "read")]
async fn injected(
    #[tool(inject = "project")] project: Option<String>,
    #[tool(inject = "model", default = "x".to_owned())] model: String,
) -> String {
    format!("{project:?} {model}")
}

/// Says how big it is.
#[haft::tool(effect = "read")]
async fn größe() {}

fn main() {}
