struct Shelf;

impl Shelf {
    /// Looks something up.
    #[haft::tool(effect = "read")]
    async fn look_up(&self, query: String) -> String {
        query
    }
}

fn main() {}
