// One build shows all mistakes.
#[haft::tool(effect = "read", idempotnet)]
unsafe fn echo(_text: &str) {}

fn main() {}
