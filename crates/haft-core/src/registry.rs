//! Tools by id: register, get, list (REG-01, REG-03), and the rules of names that clash (REG-07, REG-08, CONFLICT-21).

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use crate::catalog::ToolCatalog;
use crate::declaration::ToolDeclaration;
use crate::ids::ToolId;
use crate::ports::Tool;

/// Aliases that no custom tool may take, whether or not those tools are there yet (REG-08).
pub const RESERVED_NAMES: [&str; 5] =
    ["create_artifact", "update_artifact", "rewrite_artifact", "read_artifact", "grep_artifact"];

/// Why a tool cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// The id is taken (CAT-06).
    #[error("there is a tool `{0}` already; give the new one another name, or set `registry.allow_override`")]
    Duplicate(ToolId),
    /// The name of a builtin (REG-07).
    #[error(
        "`{name}` is the name of the builtin `{builtin}`; give your tool another name, or set `registry.allow_override`"
    )]
    NameOfBuiltin {
        /// The name.
        name: String,
        /// Whose it is.
        builtin: ToolId,
    },
    /// A reserved name (REG-08).
    #[error("`{0}` is reserved for the artifact tools; give your tool another name")]
    Reserved(String),
}

/// All tools that current providers contribute.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: IndexMap<ToolId, Arc<dyn Tool>>,
    allow_override: bool,
}

impl ToolRegistry {
    /// An empty registry in which a later tool may take the place of an earlier one with the same id (CONFLICT-21).
    pub fn with_override() -> Self {
        Self { tools: IndexMap::new(), allow_override: true }
    }

    /// Adds one tool. One that is not builtin may not take the name of a builtin or a reserved one.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistrationError> {
        let id = tool.declaration().id().clone();
        if !self.allow_override {
            if self.tools.contains_key(&id) {
                return Err(RegistrationError::Duplicate(id));
            }
            self.check_name(&id, &tool.declaration().alias())?;
        }
        self.tools.insert(id, tool);
        Ok(())
    }

    /// Adds several tools, in order: builtins first, then one's own (REG-07).
    pub fn register_all(
        &mut self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<(), RegistrationError> {
        tools.into_iter().try_for_each(|tool| self.register(tool))
    }

    /// The tool with that id.
    pub fn get(&self, id: &ToolId) -> Option<&Arc<dyn Tool>> {
        self.tools.get(id)
    }

    /// All tools, in the order of registration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// The catalog, built from the declarations alone (CAT-07). Ids are unique here, so it cannot fail.
    pub fn catalog(&self) -> ToolCatalog {
        ToolCatalog::new(self.iter().map(|tool| tool.declaration().descriptor.clone())).unwrap_or_default()
    }

    /// All definitions in OpenAI's form, under their own aliases (REG-03).
    pub fn list_all(&self) -> Vec<Value> {
        self.iter()
            .map(|tool| tool.declaration().descriptor.to_openai_format(&tool.declaration().alias()))
            .collect()
    }

    /// The id that `name` means: a tool id (`builtin:` may be left out), else the alias that a tool would have. Where several
    /// would have it, the one that was registered first is meant: a project's files before the machine's (CONFLICT-09).
    pub fn resolve(&self, name: &str) -> Option<ToolId> {
        let full = name.parse::<ToolId>().unwrap_or_else(|_| ToolId::builtin(name));
        if self.tools.contains_key(&full) {
            return Some(full);
        }
        self.with_alias(name).next().cloned()
    }

    /// The ids of all tools that would have that alias, in the order of registration.
    pub fn with_alias<'a>(&'a self, alias: &'a str) -> impl Iterator<Item = &'a ToolId> {
        self.iter()
            .map(|tool| tool.declaration())
            .filter(move |declaration| declaration.alias() == alias)
            .map(ToolDeclaration::id)
    }

    fn check_name(&self, id: &ToolId, alias: &str) -> Result<(), RegistrationError> {
        if matches!(id.provider(), crate::ids::Provider::Builtin) {
            return Ok(());
        }
        if RESERVED_NAMES.contains(&alias) {
            return Err(RegistrationError::Reserved(alias.to_owned()));
        }
        let builtin = self.iter().map(|tool| tool.declaration()).find(|declaration| {
            matches!(declaration.id().provider(), crate::ids::Provider::Builtin)
                && declaration.alias() == alias
        });
        match builtin {
            Some(found) if id.is_own() => {
                Err(RegistrationError::NameOfBuiltin { name: alias.to_owned(), builtin: found.id().clone() })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}
