/// Says the same again.
#[haft::tool]
async fn echo(text: String) -> String {
    text
}

fn main() {}
