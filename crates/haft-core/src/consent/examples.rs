//! What a scope would allow and what not, as examples that a person sees before a yes.
//!
//! Pure: made from the scope and from the scopes of the very call. No example claims more than [`Scope::covers`] does.

use serde::{Deserialize, Serialize};

use crate::scope::Scope;

/// Examples of one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examples {
    /// One or two that a yes for this scope would allow.
    pub allows: Vec<String>,
    /// One that it would not; none where nothing of the kind is left out.
    pub refuses: Option<String>,
}

impl Examples {
    /// Examples of `scope` for a call of `alias` whose own scopes are `wanted`.
    ///
    /// ```
    /// use haft_core::Scope;
    /// use haft_core::consent::Examples;
    /// let wanted = [Scope::File("/p/notes/a.md".into()), Scope::Path("/p/notes".into())];
    /// let folder = Examples::of(&wanted[1], &wanted, "file_write");
    /// assert_eq!(folder.allows, ["/p/notes/a.md", "/p/notes/other.md"]);
    /// assert_eq!(folder.refuses.as_deref(), Some("/p/notes-old/a.md"));
    /// ```
    pub fn of(scope: &Scope, wanted: &[Scope], alias: &str) -> Self {
        match scope {
            Scope::Tool => Self {
                allows: vec![format!("`{alias}` with whatever arguments, now and later")],
                refuses: Some("any other tool".to_owned()),
            },
            Scope::Path(folder) => Self::of_folder(folder, wanted),
            Scope::File(file) => Self::of_file(file),
            Scope::Host(host) => Self {
                allows: vec![format!("https://{host}/…")],
                refuses: Some(format!("https://other.{host}/…")),
            },
            Scope::Command(shape) => {
                Self { allows: vec![shape.clone()], refuses: Some(format!("{shape} && another command")) }
            }
        }
    }

    fn of_folder(folder: &str, wanted: &[Scope]) -> Self {
        let folder = folder.trim_end_matches('/');
        let itself = wanted.iter().find_map(|one| match one {
            Scope::File(file) => Some(file.as_str()),
            Scope::Tool | Scope::Path(_) | Scope::Host(_) | Scope::Command(_) => None,
        });
        let scope = Scope::Path(if folder.is_empty() { "/".to_owned() } else { folder.to_owned() });
        let itself = itself.filter(|file| scope.covers(&Scope::File((*file).to_owned())));
        let name = itself.map_or("x", file_name);
        let other = format!("{folder}/{}", other_name(name));
        let allows = itself.map(str::to_owned).into_iter().chain([other]).collect();
        // Beside the root of the machine there is nothing.
        let refuses = (!folder.is_empty()).then(|| format!("{folder}-old/{name}"));
        Self { allows, refuses }
    }

    fn of_file(file: &str) -> Self {
        let folder = file.strip_suffix(file_name(file)).unwrap_or("");
        Self {
            allows: vec![file.to_owned()],
            refuses: Some(format!("{folder}{}", other_name(file_name(file)))),
        }
    }
}

fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// A name like `name` that is another one: `other.md` beside `a.md`.
fn other_name(name: &str) -> String {
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, ending)| ending);
    let dot = if ending.is_empty() { "" } else { "." };
    let other = format!("other{dot}{ending}");
    if other == name { format!("another{dot}{ending}") } else { other }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Pains 2: each scope with what it would allow and what not.
    #[test]
    fn every_kind_of_scope_has_examples() {
        let of = |scope: &Scope, wanted: &[Scope]| Examples::of(scope, wanted, "x");
        let file = Scope::File("/p/notes/other.md".into());
        assert_eq!(of(&file, &[]).refuses.as_deref(), Some("/p/notes/another.md"));
        let root = of(&Scope::Path("/".into()), &[]);
        assert_eq!((root.allows, root.refuses), (vec!["/other".to_owned()], None));
        let host = of(&Scope::Host("h.example".into()), &[]);
        assert_eq!(host.allows, ["https://h.example/…"]);
        assert_eq!(host.refuses.as_deref(), Some("https://other.h.example/…"));
        assert_eq!(of(&Scope::Tool, &[]).allows.len(), 1);
        assert_eq!(of(&Scope::Command("git status".into()), &[]).allows, ["git status"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        // APR-18: what the examples say is what a grant does.
        #[test]
        fn examples_say_what_a_grant_covers(parts in prop::collection::vec("[a-zé. -]{1,8}", 1..5), slash in any::<bool>()) {
            prop_assume!(parts.iter().all(|part| part != "." && part != ".."));
            let file = format!("/{}", parts.join("/"));
            let folder = parts[..parts.len() - 1].join("/");
            let folder = format!("/{folder}{}", if slash && parts.len() > 1 { "/" } else { "" });
            let wanted = [Scope::File(file.clone()), Scope::Path(folder.clone())];
            for scope in &wanted {
                let examples = Examples::of(scope, &wanted, "x");
                for allowed in &examples.allows {
                    prop_assert!(scope.covers(&Scope::File(allowed.clone())), "{scope} {allowed}");
                }
                if let Some(refused) = &examples.refuses {
                    prop_assert!(!scope.covers(&Scope::File(refused.clone())), "{scope} {refused}");
                }
            }
        }
    }
}
