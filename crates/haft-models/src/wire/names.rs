//! Names of tools as every provider permits them: letters, digits, `_` and `-`, at most 64, a letter or `_` in front.
//!
//! An alias that fits is its own name. Any other gets one that is made of it and leads back to it inside the same request
//! (ALI-06); what is no name of this request stays as it is and is refused above.

use haft_core::ModelTool;
use haft_schema::Digest;

/// Longest name.
const LONGEST: usize = 64;
/// Characters of an alias that its name keeps, before the mark that tells it from others.
const KEPT: usize = 48;

/// The tools of one request under the names that the provider sees.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    tools: &'a [ModelTool],
    names: Vec<String>,
}

impl<'a> Names<'a> {
    /// Names `tools`.
    pub(crate) fn new(tools: &'a [ModelTool]) -> Self {
        let names = tools.iter().map(|tool| {
            if fits(&tool.alias) {
                return tool.alias.clone();
            }
            let mark = Digest::of(tool.alias.as_bytes()).to_string();
            let kept: String = plain(&tool.alias).chars().take(KEPT).collect();
            format!("{kept}_{}", mark.get(..12).unwrap_or(&mark))
        });
        Self { tools, names: names.collect() }
    }

    /// The tools with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a ModelTool, &str)> {
        self.tools.iter().zip(self.names.iter().map(String::as_str))
    }

    /// The name of `alias`; of one that no tool of this request has, in the letters that providers take.
    pub(crate) fn name(&self, alias: &str) -> String {
        let known = self.iter().find(|(tool, _)| tool.alias == alias);
        known.map_or_else(|| plain(alias), |(_, name)| name.to_owned())
    }

    /// The tool behind a name.
    pub(crate) fn tool(&self, name: &str) -> Option<&'a ModelTool> {
        self.iter().find(|(_, known)| *known == name).map(|(tool, _)| tool)
    }

    /// The alias behind a name that the model wrote; another name is left as it is.
    pub(crate) fn alias(&self, name: &str) -> String {
        self.tool(name).map_or(name, |tool| tool.alias.as_str()).to_owned()
    }
}

fn permitted(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

fn first(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn fits(name: &str) -> bool {
    name.len() <= LONGEST && name.starts_with(first) && name.chars().all(permitted)
}

/// `text` with everything replaced that no name may hold.
fn plain(text: &str) -> String {
    let mut out = String::new();
    if !text.starts_with(first) {
        out.push('_');
    }
    let letters = text.chars().map(|letter| if permitted(letter) { letter } else { '_' });
    out.extend(letters.take(LONGEST - out.len()));
    out
}

#[cfg(test)]
mod tests {
    use haft_core::ToolId;
    use haft_schema::Schema;
    use proptest::prelude::*;

    use super::*;

    fn tool(alias: &str) -> ModelTool {
        ModelTool {
            tool_id: ToolId::own(alias),
            alias: alias.to_owned(),
            description: String::new(),
            input_schema: Schema::empty_object(),
            example: None,
        }
    }

    #[test]
    fn what_fits_stays_and_the_rest_is_told_apart() {
        let tools = [tool("file_read"), tool("file.read"), tool("file read"), tool("3d"), tool("")];
        let names = Names::new(&tools);
        let given: Vec<&str> = names.iter().map(|(_, name)| name).collect();
        assert_eq!(given[0], "file_read");
        assert!(given[1].starts_with("file_read_") && given[2].starts_with("file_read_"), "{given:?}");
        assert!(given[3].starts_with("_3d_") && given[4].starts_with("__"), "{given:?}");
        assert_eq!(names.alias("file_read"), "file_read");
        assert_eq!(names.alias("no such tool"), "no such tool");
        assert_eq!(names.name("no such tool"), "no_such_tool");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        // PRV-01, ALI-06
        #[test]
        fn every_name_is_permitted_and_leads_back(aliases in proptest::collection::btree_set("\\PC{0,80}|[a-c.]{1,3}", 1..8)) {
            let tools: Vec<ModelTool> = aliases.iter().map(|alias| tool(alias)).collect();
            let names = Names::new(&tools);
            for alias in &aliases {
                let name = names.name(alias);
                prop_assert!(fits(&name), "{}", name);
                prop_assert_eq!(&names.alias(&name), alias);
            }
        }
    }
}
