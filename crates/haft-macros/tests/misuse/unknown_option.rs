/// Says the same again.
#[haft::tool(effect = "read", catagory = "text", retries = 3, alias = "a", alias = "b")]
async fn echo(text: String) -> String {
    text
}

/// Says the same again.
#[haft::tool(effect = "read")]
async fn echo_too(#[tool(defualt = 3)] count: u32) -> String {
    count.to_string()
}

fn main() {}
