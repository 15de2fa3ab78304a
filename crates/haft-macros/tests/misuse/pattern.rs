/// Adds two numbers.
#[haft::tool(effect = "read")]
async fn add((a, b): (i64, i64), ref c: i64, _: i64) -> String {
    (a + b + c).to_string()
}

fn main() {}
