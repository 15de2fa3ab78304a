//! Tools that are known at run time: description, parameters and handler in one place (REG-02, DES-02, DES-03).
//!
//! `#[tool]` writes calls of this builder, so that both ways give the same tool. It must not know how calls are run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::{Effect, Injection, InjectionSource, Permission, Placement, ResultCap, ToolFacts};
use haft_core::{
    BoxFuture, PreparedArguments, Scope, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::{Defaults, SchemaError, Validator, ViolationKind};
use serde_json::{Map, Value};

use crate::output::IntoToolOutput;

type Arguments = Map<String, Value>;
type Hook<T> = Box<dyn Fn(&Arguments) -> T + Send + Sync>;
type AskFunction = dyn Fn(&PreparedArguments, &ConsentEnvironment) -> Result<Ask, ToolError> + Send + Sync;
type Handler = dyn for<'a> Fn(&'a StartedCall, &'a dyn ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
    + Send
    + Sync;

/// Why a tool cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolBuildError {
    /// The name or the alias cannot stand in a registry or before a model.
    #[error("`{name}` is no {what} of a tool; use 1 to 64 of the letters a-z, A-Z, digits, {others}")]
    Name {
        /// `name` or `alias`.
        what: &'static str,
        /// As it was given.
        name: String,
        /// What else may stand in it.
        others: &'static str,
    },
    /// Something that a tool must have is not there.
    #[error("the tool `{tool}` has no {what}; call `{next_step}` before `build`")]
    Missing {
        /// The tool's name.
        tool: String,
        /// What it lacks.
        what: &'static str,
        /// How to give it.
        next_step: &'static str,
    },
    /// The parameters are no schema of an object.
    #[error("the parameters of the tool `{tool}` cannot be used: {reason}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// What is wrong.
        reason: SchemaError,
    },
    /// The arguments of a call are an object, and the schema describes something else.
    #[error(
        "the parameters of the tool `{tool}` are no object; write {{\"type\": \"object\", \"properties\": {{…}}}}"
    )]
    NotAnObject {
        /// The tool's name.
        tool: String,
    },
    /// A default does not fit its own parameter.
    #[error("a default of the tool `{tool}` does not fit its parameter: {reason}")]
    Default {
        /// The tool's name.
        tool: String,
        /// What does not fit.
        reason: String,
    },
    /// Both ways of asking for consent are used.
    #[error("the tool `{tool}` has `ask` and consent hooks; use one of them")]
    TwoWaysToAsk {
        /// The tool's name.
        tool: String,
    },
}

/// D's hooks of consent (APR-08 to APR-10).
#[derive(Default)]
struct ConsentHooks {
    check: Option<Hook<Option<String>>>,
    scope: Option<Hook<Scope>>,
    always: Option<Hook<bool>>,
}

impl ConsentHooks {
    fn is_empty(&self) -> bool {
        self.check.is_none() && self.scope.is_none() && self.always.is_none()
    }

    fn ask(&self, arguments: &Arguments) -> Ask {
        Ask {
            question: self.check.as_ref().and_then(|check| check(arguments)),
            scopes: self.scope.iter().map(|scope| scope(arguments)).collect(),
            every_time: self.always.as_ref().is_some_and(|always| always(arguments)),
            ..Ask::default()
        }
    }
}

/// Builds a tool whose parameters are known at run time only.
///
/// ```
/// use haft::serde_json::{Map, Value, json};
/// use haft::{Effect, ToolBuilder};
///
/// let parameters = json!({
///     "type": "object",
///     "properties": {"sides": {"type": "integer", "minimum": 2, "default": 6}},
/// });
/// let tool = ToolBuilder::new("roll", parameters)
///     .description("Rolls a die.")
///     .category("games")
///     .effect(Effect::Read)
///     .handler(async |arguments: Map<String, Value>| format!("4 of {}", arguments["sides"]))
///     .build()?;
/// assert_eq!(tool.declaration().alias(), "roll");
/// # Ok::<(), haft::ToolBuildError>(())
/// ```
#[must_use = "a builder makes no tool before `build`"]
pub struct ToolBuilder {
    name: String,
    parameters: Value,
    description: String,
    title: Option<String>,
    effect: Option<Effect>,
    facts: ToolFacts,
    ask: Option<Box<AskFunction>>,
    hooks: ConsentHooks,
    handler: Option<Box<Handler>>,
}

impl ToolBuilder {
    /// A tool called `name` that takes `parameters`, a JSON Schema of an object. It is handed to models unchanged.
    pub fn new(name: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            parameters,
            description: String::new(),
            title: None,
            effect: None,
            facts: ToolFacts::new(Effect::Read),
            ask: None,
            hooks: ConsentHooks::default(),
            handler: None,
        }
    }

    /// What the tool does: a model chooses it by this.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// A short name for people; else made from the name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The name for models; else made from the name.
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.facts.alias = Some(alias.into());
        self
    }

    /// The group for listings; else `other`.
    pub fn category(mut self, category: impl Into<String>) -> Self {
        self.facts.category = category.into();
        self
    }

    /// What a call does to the world (DES-06). Every tool says so.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// D's flag in place of [`effect`](Self::effect): true is [`Effect::Write`], false is [`Effect::Read`].
    pub fn side_effect(self, side_effect: bool) -> Self {
        self.effect(if side_effect { Effect::Write } else { Effect::Read })
    }

    /// The permission where the profile says nothing; else allow.
    pub fn permission(mut self, permission: Permission) -> Self {
        self.facts.permission = permission;
        self
    }

    /// Where a call may stand in its batch; else anywhere.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.facts.placement = placement;
        self
    }

    /// The longest result before it is spilled; else what the profile says.
    pub fn result_cap(mut self, cap: ResultCap) -> Self {
        self.facts.result_cap = cap;
        self
    }

    /// Says whether the same call twice does no more than once.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.facts.idempotent = idempotent;
        self
    }

    /// Says whether a call can carry data off the machine, to a place that the model chose.
    pub fn open_world(mut self, open_world: bool) -> Self {
        self.facts.open_world = open_world;
        self
    }

    /// Says which parameter holds a command line of a shell: rules and grants then look at every command in it.
    pub fn command(mut self, parameter: impl Into<String>) -> Self {
        self.facts.command = Some(parameter.into());
        self
    }

    /// Says whether the results hold content from outside, which may hold instructions of strangers; else `open_world` tells.
    pub fn outside(mut self, outside: bool) -> Self {
        self.facts.outside = Some(outside);
        self
    }

    /// Says whether a call, though it leaves the machine, only sends a few words to a search engine.
    pub fn plain_search(mut self, plain_search: bool) -> Self {
        self.facts.plain_search = plain_search;
        self
    }

    /// Says whether the results are secrets: shown to the model, and never stored, spilled or reused (CONFLICT-29).
    pub fn secret(mut self, secret: bool) -> Self {
        self.facts.secret = secret;
        self
    }

    /// Says whether the tool is offered in fast-path mode (FND-01).
    pub fn fast_path(mut self, fast_path: bool) -> Self {
        self.facts.fast_path = fast_path;
        self
    }

    /// Says whether the output must reach the model verbatim (RES-30).
    pub fn no_compress(mut self, no_compress: bool) -> Self {
        self.facts.no_compress = no_compress;
        self
    }

    /// Arguments of the example call in prompts; else made from the required parameters.
    pub fn example(mut self, arguments: Map<String, Value>) -> Self {
        self.facts.example = Some(arguments);
        self
    }

    /// A parameter that the host fills in and the model does not see (CTX-05); it must not stand in the schema.
    pub fn inject(mut self, parameter: impl Into<String>, source: InjectionSource) -> Self {
        self.facts.injections.push(Injection { parameter: parameter.into(), source });
        self
    }

    /// What a call means to a person: question, scopes, whether it is asked every time. Pure and quick; an error refuses the call.
    pub fn ask(
        mut self,
        ask: impl Fn(&PreparedArguments, &ConsentEnvironment) -> Result<Ask, ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.ask = Some(Box::new(ask));
        self
    }

    /// The question to a person, or none if the call needs no consent (APR-08).
    pub fn consent_check(
        mut self,
        check: impl Fn(&Map<String, Value>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.check = Some(Box::new(check));
        self
    }

    /// What a yes covers; else the whole tool (APR-09).
    pub fn consent_scope(
        mut self,
        scope: impl Fn(&Map<String, Value>) -> Scope + Send + Sync + 'static,
    ) -> Self {
        self.hooks.scope = Some(Box::new(scope));
        self
    }

    /// Whether such a call is asked every time and a yes never remembered (APR-10).
    pub fn consent_always(
        mut self,
        always: impl Fn(&Map<String, Value>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.hooks.always = Some(Box::new(always));
        self
    }

    /// What runs, given the prepared arguments.
    pub fn handler<F, R>(self, handler: F) -> Self
    where
        F: Fn(Map<String, Value>) -> R + Send + Sync + 'static,
        R: Future<Output: IntoToolOutput> + Send + 'static,
    {
        self.handler_with_call(move |call, _| {
            let arguments = call.arguments().map().cloned().unwrap_or_default();
            let result = handler(arguments);
            Box::pin(async move { result.await.into_tool_output() })
        })
    }

    /// What runs, given the started call and what it may use: cancellation, services, progress …
    ///
    /// ```
    /// # use haft::{Effect, ToolBuilder};
    /// let tool = ToolBuilder::new("where", haft::serde_json::json!({"type": "object"}))
    ///     .description("Says in which session the conversation is.")
    ///     .effect(Effect::Read)
    ///     .handler_with_call(|_, context| Box::pin(async move { Ok(context.session().to_string().into()) }))
    ///     .build()?;
    /// # Ok::<(), haft::ToolBuildError>(())
    /// ```
    pub fn handler_with_call<F>(mut self, handler: F) -> Self
    where
        F: for<'a> Fn(&'a StartedCall, &'a dyn ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
            + Send
            + Sync
            + 'static,
    {
        self.handler = Some(Box::new(handler));
        self
    }

    /// The tool.
    ///
    /// # Errors
    /// [`ToolBuildError`] if it lacks a description, an effect or a handler, or if its name, parameters or defaults cannot be used.
    pub fn build(self) -> Result<Arc<dyn Tool>, ToolBuildError> {
        let tool = self.name;
        check_name("name", &tool, "_.-", "`_`, `.` and `-`")?;
        if let Some(alias) = &self.facts.alias {
            check_name("alias", alias, "_-", "`_` and `-`")?;
        }
        let missing = |what, next_step| ToolBuildError::Missing { tool: tool.clone(), what, next_step };
        if self.description.trim().is_empty() {
            return Err(missing("description", "description"));
        }
        let effect = self.effect.ok_or_else(|| missing("effect", "effect"))?;
        let handler = self.handler.ok_or_else(|| missing("handler", "handler"))?;
        let schema = |reason| ToolBuildError::Schema { tool: tool.clone(), reason };
        let mut declaration =
            ToolDeclaration::new(ToolId::own(&tool), self.description, self.parameters, effect)
                .map_err(schema)?;
        declaration.facts = ToolFacts { effect, ..self.facts };
        if let Some(title) = self.title {
            declaration.descriptor.title = title;
        }
        check_parameters(&tool, &declaration)?;
        let consent = match (self.ask, self.hooks) {
            (Some(_), hooks) if !hooks.is_empty() => return Err(ToolBuildError::TwoWaysToAsk { tool }),
            (Some(ask), _) => Consent::Function(ask),
            (None, hooks) => Consent::Hooks(hooks),
        };
        Ok(Arc::new(BuiltTool { declaration, consent, handler }))
    }
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

fn check_name(
    what: &'static str,
    name: &str,
    others: &str,
    in_words: &'static str,
) -> Result<(), ToolBuildError> {
    let good = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        return Err(ToolBuildError::Name { what, name: name.to_owned(), others: in_words });
    }
    Ok(())
}

/// The schema compiles, is one of an object, and its defaults fit.
fn check_parameters(tool: &str, declaration: &ToolDeclaration) -> Result<(), ToolBuildError> {
    let schema = &declaration.descriptor.input_schema;
    let tool = tool.to_owned();
    if schema.as_value().get("type").is_none_or(|name| name != "object") {
        return Err(ToolBuildError::NotAnObject { tool });
    }
    let validator = match Validator::compile(schema) {
        Ok(validator) => validator,
        Err(reason) => return Err(ToolBuildError::Schema { tool, reason }),
    };
    let mut defaults = Map::new();
    Defaults::of(schema).fill(&mut defaults);
    let Err(mut violations) = validator.validate(&Value::Object(defaults)) else { return Ok(()) };
    violations.list.retain(|violation| violation.kind != ViolationKind::Missing);
    if violations.list.is_empty() {
        return Ok(());
    }
    Err(ToolBuildError::Default { tool, reason: violations.to_string() })
}

/// How a tool says what a call means to a person.
enum Consent {
    Function(Box<AskFunction>),
    Hooks(ConsentHooks),
}

struct BuiltTool {
    declaration: ToolDeclaration,
    consent: Consent,
    handler: Box<Handler>,
}

impl Tool for BuiltTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        match &self.consent {
            Consent::Function(ask) => ask(arguments, environment),
            Consent::Hooks(hooks) => Ok(arguments.map().map(|map| hooks.ask(map)).unwrap_or_default()),
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (self.handler)(call, context)
    }
}
