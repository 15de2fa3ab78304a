//! What tags of this dialect are called, with the variants that models write.
//! It must not read text; it only answers questions about names.

use super::tag::Tag;
use crate::marks::plain_key;
use crate::tools::{Tool, ToolSet};
use crate::{Dialect, Tags};

/// The names of one parser: its tools and its wrapper.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) tools: std::sync::Arc<ToolSet>,
    /// The dialect that was named.
    pub(crate) dialect: Dialect,
    /// The wrapper as configured.
    configured: String,
    /// Its key, if it is none of those that models know by heart.
    own_key: Option<String>,
}

/// Whether a wrapper is in the plural.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapper {
    Single,
    Plural,
}

/// Keys of the wrappers that models know by heart.
const KNOWN_WRAPPERS: [&str; 2] = ["toolcall", "functioncall"];
const CONTAINERS: [&str; 6] = ["params", "parameters", "arguments", "args", "tool_input", "tool_params"];
const NAME_TAGS: [&str; 3] = ["name", "tool_name", "function_name"];
/// Elements that carry the tool's name in an attribute or after `=`, in other dialects.
const NAMED_ELEMENTS: [&str; 3] = ["function", "invoke", "tool"];
/// Elements that carry a parameter's name in an attribute or after `=`, in other dialects.
const PARAMETER_ELEMENTS: [&str; 4] = ["parameter", "param", "argument", "arg"];

impl Names {
    pub(crate) fn new(tools: std::sync::Arc<ToolSet>, tags: &Tags, dialect: Dialect) -> Self {
        let own_key = (tags.call != "tool_call").then(|| plain_key(&tags.call));
        Self { tools, dialect, configured: tags.call.clone(), own_key }
    }

    /// The last letters of the configured wrapper, by which a held block notices that it may be complete.
    pub(crate) fn wrapper_tail(&self) -> &[u8] {
        let bytes = self.configured.as_bytes();
        bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()
    }

    /// Whether a text begins with the wrapper as configured.
    pub(crate) fn opens_plainly(&self, text: &[u8]) -> bool {
        text.strip_prefix(b"<").is_some_and(|text| text.starts_with(self.configured.as_bytes()))
    }

    pub(crate) fn wrapper(&self, name: &str) -> Option<Wrapper> {
        if name == self.configured {
            return Some(Wrapper::Single);
        }
        let last = name.as_bytes().last()?.to_ascii_lowercase();
        let own_last = self.own_key.as_deref().and_then(|key| key.as_bytes().last());
        if !matches!(last, b'l' | b's') && own_last != Some(&last) || name.len() < 3 {
            return None;
        }
        let key = plain_key(name);
        let known = |key: &str| KNOWN_WRAPPERS.contains(&key) || self.own_key.as_deref() == Some(key);
        if known(&key) {
            return Some(Wrapper::Single);
        }
        if key.strip_suffix('s').is_some_and(known) {
            return Some(Wrapper::Plural);
        }
        // A prefix before the name: `<longcat_tool_call>`.
        let (single, number) = match name.strip_suffix(['s', 'S']) {
            Some(single) => (single, Wrapper::Plural),
            None => (name, Wrapper::Single),
        };
        let prefixed = ["_tool_call", "-tool-call", ".tool_call", "_function_call"].iter().any(|tail| {
            let head = single.len().checked_sub(tail.len()).filter(|head| *head > 0);
            head.and_then(|head| single.get(head..)).is_some_and(|end| end.eq_ignore_ascii_case(tail))
        });
        let ours = || self.tools.resolve(name).is_none() && !self.tools.any_parameter(name);
        (prefixed && ours()).then_some(number)
    }

    /// Whether the tag holds the parameters, for this tool (all tools if it is not known yet).
    pub(crate) fn is_container(&self, name: &str, tool: Option<&Tool>) -> bool {
        if name == "params" {
            return tool.is_none_or(|tool| tool.parameter(name).is_none());
        }
        CONTAINERS.iter().any(|container| name.eq_ignore_ascii_case(container))
            && !self.is_parameter(name, tool)
    }

    /// Whether the tag is the dialect's own container, whatever parameters the tool has.
    pub(crate) fn is_own_container(name: &str) -> bool {
        name.eq_ignore_ascii_case("params")
    }

    /// Whether the tag is an element for parameters that carries the name of a declared one.
    pub(crate) fn carries_parameter(&self, tag: &Tag<'_>, tool: Option<&Tool>) -> bool {
        Self::is_parameter_element(tag.name)
            && tag.carried_name().is_some_and(|name| {
                let head = name.split_once('=').map_or(&*name, |(head, _)| head);
                self.is_parameter(head, tool)
            })
    }

    /// Whether the tag can be a declared parameter of this tool (of any tool if it is not known yet).
    pub(crate) fn is_parameter(&self, name: &str, tool: Option<&Tool>) -> bool {
        match tool {
            Some(tool) => tool.parameter(name).is_some(),
            None => self.tools.any_parameter(name),
        }
    }

    pub(crate) fn is_name_tag(name: &str) -> bool {
        NAME_TAGS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
    }

    pub(crate) fn is_named_element(name: &str) -> bool {
        NAMED_ELEMENTS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
    }

    pub(crate) fn is_parameter_element(name: &str) -> bool {
        PARAMETER_ELEMENTS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
    }
}

/// Whether a close tag belongs to an open tag: case and blanks do not count.
pub(crate) fn same_tag(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_wrappers() {
        let names = Names::new(std::sync::Arc::default(), &Tags { call: "act".to_owned() }, Dialect::Auto);
        assert_eq!(names.wrapper("act"), Some(Wrapper::Single));
        assert_eq!(names.wrapper("ACTS"), Some(Wrapper::Plural));
        assert_eq!(names.wrapper("Tool-Call"), Some(Wrapper::Single));
        assert_eq!(names.wrapper("function_calls"), Some(Wrapper::Plural));
        assert_eq!(names.wrapper("longcat_tool_call"), Some(Wrapper::Single));
        assert_eq!(names.wrapper("longcat_tool_calls"), Some(Wrapper::Plural));
        assert_eq!(names.wrapper("tool_calling"), None);
        assert_eq!(names.wrapper_tail(), b"act");
    }
}
