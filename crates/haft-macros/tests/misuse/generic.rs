/// Says the same again.
#[haft::tool(effect = "read")]
async fn echo<T>(text: T) -> String
where
    T: ToString,
{
    text.to_string()
}

/// Says the same again.
#[haft::tool(effect = "read")]
async fn echo_impl(text: impl ToString) -> impl ToString {
    text.to_string()
}

fn main() {}
