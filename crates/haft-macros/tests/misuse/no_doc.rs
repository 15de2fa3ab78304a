#[haft::tool(effect = "read")]
async fn silent(text: String) -> String {
    text
}

fn main() {}
