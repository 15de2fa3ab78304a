/// A shelf.
#[haft::tool(effect = "read")]
struct Shelf;

fn main() {}
