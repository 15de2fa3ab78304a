//! Types of one's own as arguments and results, with no crate but `haft`; a function inside a function; one that is compiled out.

use haft::schemars::JsonSchema;
use haft::serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "haft::serde")]
#[schemars(crate = "haft::schemars")]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Serialize)]
#[serde(crate = "haft::serde")]
struct Length {
    length: f64,
}

/// Is not there.
#[haft::tool(effect = "read")]
#[cfg(any())]
async fn absent() {}

#[test]
fn own_types_are_arguments_and_results() -> Result<(), haft::ToolBuildError> {
    /// How far a point is from the origin.
    #[haft::tool(effect = "read")]
    async fn distance(to: Point) -> haft::Json<Length> {
        haft::Json(Length { length: to.x.hypot(to.y) })
    }

    /// Does nothing.
    #[haft::tool(effect = "read", closed)]
    async fn rest() {}

    distance::tool()?;
    rest::tool().map(|_| ())
}
