//! Every option, on a function and on parameters; nothing of `haft` is imported.

/// Says what a call means.
fn question(
    _: &haft::core::PreparedArguments,
    _: &haft::core::consent::ConsentEnvironment,
) -> Result<haft::core::consent::Ask, haft::ToolError> {
    Ok(haft::core::consent::Ask::default())
}

/// Looks something up.
///
/// In several lines.
#[haft::tool(
    name = "shelf.look_up", title = "Shelf", alias = "look_up", category = "books", effect = "read", permission = "ask",
    placement = "defer_last", result_cap = 8000, ask = question, idempotent, open_world, plain_search, secret, fast_path, no_compress, closed,
    crate = haft
)]
pub(crate) async fn look_up(
    /// What to look for.
    mut query: String,
    #[tool(name = "maxResults", default = 10)] max_results: u32,
    r#type: Option<String>,
    #[tool(inject = "project_id")] project: Option<String>,
    context: &dyn haft::ToolContext,
) -> Result<haft::ToolOutput, haft::ToolError> {
    query.push_str(context.session().as_str());
    Ok(format!("{query} {max_results} {type:?} {project:?}").into())
}

#[test]
fn every_option_is_taken() -> Result<(), haft::ToolBuildError> {
    let tool = look_up::tool()?;
    assert_eq!(tool.declaration().alias(), "look_up");
    assert!(tool.declaration().facts.secret);
    Ok(())
}
