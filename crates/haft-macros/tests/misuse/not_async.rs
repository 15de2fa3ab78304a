/// Says the same again.
#[haft::tool(effect = "read")]
fn echo(text: String) -> String {
    text
}

fn main() {}
