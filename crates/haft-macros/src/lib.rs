//! `#[tool]`: a documented async function becomes a tool, its schema derived from its arguments (REG-02).
//!
//! It reads the function (`function`), the options of the attribute (`options`) and writes a constructor on top of
//! `haft::ToolBuilder` (`generate`). It decides nothing itself: whatever can be said at run time, the builder says.
//! It must not be used alone: the code that it writes names the crate `haft`, which re-exports it.

mod doc;
mod function;
mod generate;
mod options;
mod words;

use proc_macro::TokenStream;

/// Turns a documented async function into a tool.
///
/// The function stays as it is and can be called and tested directly. Beside it stands a type of the same name, whose
/// `tool()` gives the tool for a registry:
///
/// ```
/// # use haft::ToolRegistry;
/// /// Says how long a text is.
/// #[haft::tool(effect = "read")]
/// async fn text_length(
///     /// The text to measure.
///     text: String,
/// ) -> String {
///     text.chars().count().to_string()
/// }
///
/// let mut registry = ToolRegistry::default();
/// registry.register(text_length::tool()?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The doc comment is the description by which a model chooses the tool; doc comments on parameters describe them.
///
/// # Options
///
/// | option | meaning | if left out |
/// |---|---|---|
/// | `effect = "read"` | what it does to the world: `read`, `write`, `control` or `write_control` (DES-06) | an error |
/// | `name = "db_query"` | native name | the function's name |
/// | `title = "Database"` | name for people | made from the name |
/// | `alias = "query"` | name for models | made from the name |
/// | `category = "database"` | group for listings | `other` |
/// | `permission = "ask"` | `allow`, `ask` or `deny` where the profile says nothing | `allow` |
/// | `placement = "must_be_last"` | place in a batch: `anywhere`, `defer_last` or `must_be_last` | `anywhere` |
/// | `result_cap = 8000` | longest result in characters before it is spilled, or `"unlimited"` | the profile's |
/// | `ask = path::to::function` | what a call means to a person: `fn(&PreparedArguments, &ConsentEnvironment) -> Result<Ask, ToolError>` | asks nothing |
/// | `idempotent` | the same call twice does no more than once | no |
/// | `open_world` | it can carry data off the machine | no |
/// | `plain_search` | though it leaves the machine, it only sends a few words to a search engine | no |
/// | `secret` | its results are secrets: shown to the model, and never stored, spilled or reused | no |
/// | `fast_path` | offered in fast-path mode | no |
/// | `no_compress` | its output must reach the model verbatim | no |
/// | `closed` | unknown parameters are refused | they are dropped |
/// | `crate = path` | where the crate `haft` is | `::haft` |
///
/// # Parameters
///
/// Each is owned, of a type that is `serde::Deserialize` and `schemars::JsonSchema`. An `Option` may be left out. A parameter of
/// type `&dyn ToolContext` is no argument: it receives what the running call may use.
///
/// | on a parameter | meaning |
/// |---|---|
/// | `#[tool(default = 10)]` | the value if it is left out; it stands in the schema |
/// | `#[tool(name = "maxResults")]` | its name for the model |
/// | `#[tool(command)]` | it holds a command line of a shell: rules and grants look at every command in it |
/// | `#[tool(inject = "project_id")]` | the host gives it (`project_id` or `model`); the model does not see it. An `Option` is none where the host has no value |
///
/// # Result
///
/// Anything that is `haft::IntoToolOutput`: text, a JSON value or map, `haft::Json` around any `Serialize`, a
/// `haft::ToolOutput`, nothing, or a `Result` of one of these with an error that is `Into<ToolError>`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    generate::expand(options.into(), item.into()).into()
}
