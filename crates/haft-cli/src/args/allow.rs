//! `--allow TOOL[=SCOPE]`: a yes given in advance.

use std::fmt;

use haft_core::Scope;

/// A yes for a tool, or for a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allow {
    /// The tool as named.
    pub(crate) tool: String,
    /// The part.
    pub(crate) scope: Scope,
}

impl Allow {
    /// Reads `TOOL` or `TOOL=SCOPE`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (tool, scope) = match text.split_once('=') {
            None => (text, Scope::Tool),
            Some((_, "")) => return Err(format!("`{text}` names no scope after `=`")),
            Some((tool, scope)) => (tool, scope.parse::<Scope>().map_err(|error| error.to_string())?),
        };
        if tool.is_empty() {
            return Err("the tool is missing; write TOOL or TOOL=SCOPE".to_owned());
        }
        Ok(Self { tool: tool.to_owned(), scope })
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::Tool => f.write_str(&self.tool),
            scope => write!(f, "{}={scope}", self.tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_names_a_tool_and_perhaps_a_part() {
        let allow = Allow::parse("file_write=path:/a=b").unwrap();
        assert_eq!((allow.tool.as_str(), &allow.scope), ("file_write", &Scope::Path("/a=b".into())));
        assert_eq!(Allow::parse("builtin:x.y").unwrap().scope, Scope::Tool);
        for bad in ["", "=path:/a", "x=", "x=/a", "x=path:"] {
            assert!(Allow::parse(bad).is_err(), "{bad}");
        }
    }
}
