//! The options of `#[tool(…)]` on a function, and those on a parameter.
//!
//! All mistakes are collected, so that one build shows all of them.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitInt, LitStr, Path, Token};

use crate::words;

/// What a tool does to the world, by the name of the variant of `haft::Effect`.
const EFFECTS: [(&str, &str); 4] =
    [("read", "Read"), ("write", "Write"), ("control", "Control"), ("write_control", "WriteControl")];
const PERMISSIONS: [(&str, &str); 3] = [("allow", "Allow"), ("ask", "Ask"), ("deny", "Deny")];
const PLACEMENTS: [(&str, &str); 3] =
    [("anywhere", "Anywhere"), ("defer_last", "DeferLast"), ("must_be_last", "MustBeLast")];
const SOURCES: [(&str, &str); 2] = [("project_id", "ProjectId"), ("model", "Model")];

const TOOL_OPTIONS: [&str; 17] = [
    "effect",
    "name",
    "title",
    "alias",
    "category",
    "permission",
    "placement",
    "result_cap",
    "ask",
    "idempotent",
    "open_world",
    "plain_search",
    "secret",
    "fast_path",
    "no_compress",
    "closed",
    "crate",
];
const PARAMETER_OPTIONS: [&str; 4] = ["default", "name", "inject", "command"];

/// Longest result of a tool.
#[derive(Debug, PartialEq)]
pub(crate) enum Cap {
    /// So many characters.
    Chars(u64),
    /// No limit.
    Unlimited,
}

/// Options of a tool. Words are names of variants already.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) effect: Option<&'static str>,
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) alias: Option<LitStr>,
    pub(crate) category: Option<LitStr>,
    pub(crate) permission: Option<&'static str>,
    pub(crate) placement: Option<&'static str>,
    pub(crate) result_cap: Option<Cap>,
    pub(crate) ask: Option<Path>,
    /// `idempotent`, `open_world`, `plain_search`, `secret`, `fast_path`, `no_compress`, as written.
    pub(crate) flags: Vec<Ident>,
    pub(crate) closed: bool,
    pub(crate) crate_path: Option<Path>,
}

/// Options of a parameter.
#[derive(Default)]
pub(crate) struct ParameterOptions {
    pub(crate) default: Option<Expr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) inject: Option<&'static str>,
    /// It holds a command line of a shell.
    pub(crate) command: bool,
}

/// One `key` or `key = value`.
struct Entry {
    key: Ident,
    value: Option<Expr>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.call(Ident::parse_any)?;
        let value = if input.parse::<Option<Token![=]>>()?.is_some() { Some(input.parse()?) } else { None };
        Ok(Self { key, value })
    }
}

impl Entry {
    fn text(self) -> Result<LitStr, Error> {
        let key = self.key.to_string();
        match self.value {
            Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Ok(text),
            other => Err(needs(&self.key, other.as_ref(), &format!("`{key} = \"…\"`"))),
        }
    }

    fn path(self) -> Result<Path, Error> {
        let key = self.key.to_string();
        match self.value {
            Some(Expr::Path(path)) if path.qself.is_none() => Ok(path.path),
            other => Err(needs(&self.key, other.as_ref(), &format!("`{key} = some::path`"))),
        }
    }

    fn flag(self) -> Result<Ident, Error> {
        match &self.value {
            None => Ok(self.key),
            value => Err(needs(&self.key, value.as_ref(), &format!("`{}` alone, without a value", self.key))),
        }
    }

    fn expression(self) -> Result<Expr, Error> {
        let key = self.key.to_string();
        self.value.ok_or_else(|| needs(&self.key, None, &format!("`{key} = …` with a value")))
    }

    fn cap(self) -> Result<Cap, Error> {
        let form = "`result_cap = 8000` (characters) or `result_cap = \"unlimited\"`";
        match &self.value {
            Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => characters(number).map(Cap::Chars),
            Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) if text.value() == "unlimited" => {
                Ok(Cap::Unlimited)
            }
            other => Err(needs(&self.key, other.as_ref(), form)),
        }
    }
}

fn characters(number: &LitInt) -> Result<u64, Error> {
    number.base10_parse()
}

fn needs(key: &Ident, value: Option<&Expr>, form: &str) -> Error {
    let span = value.map_or_else(|| key.span(), Spanned::span);
    Error::new(span, format!("write {form}"))
}

/// Adds `error` to those found so far.
pub(crate) fn collect(errors: &mut Option<Error>, error: Error) {
    match errors {
        Some(all) => all.combine(error),
        None => *errors = Some(error),
    }
}

/// The entries of a list, each key once and all of them known.
fn entries(tokens: TokenStream, known: &[&str], errors: &mut Option<Error>) -> Vec<Entry> {
    let parsed = match Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens) {
        Ok(parsed) => parsed,
        Err(error) => {
            collect(errors, error);
            return Vec::new();
        }
    };
    let mut good: Vec<Entry> = Vec::new();
    for entry in parsed {
        let key = entry.key.to_string();
        if !known.contains(&key.as_str()) {
            let message = format!("`#[tool]` has no option `{key}` here; {}", words::hint(&key, known));
            collect(errors, Error::new(entry.key.span(), message));
        } else if good.iter().any(|other| other.key == entry.key) {
            collect(errors, Error::new(entry.key.span(), format!("`{key}` stands here twice; keep one")));
        } else {
            good.push(entry);
        }
    }
    good
}

impl ToolOptions {
    /// Reads the options of a function.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Option<Error>) -> Self {
        let mut options = Self::default();
        for entry in entries(tokens, &TOOL_OPTIONS, errors) {
            if let Err(error) = options.take(entry) {
                collect(errors, error);
            }
        }
        options
    }

    /// The tool's native name: the one that was given, else that of its function.
    pub(crate) fn take_name(&mut self, function: &Ident) -> Result<LitStr, Error> {
        if let Some(name) = self.name.take() {
            return Ok(name);
        }
        checked_name(LitStr::new(&function.unraw().to_string(), function.span()), "_").map_err(|_| {
            let message = "models cannot write this name; give the tool another by `name = \"…\"`";
            Error::new(function.span(), message)
        })
    }

    fn take(&mut self, entry: Entry) -> Result<(), Error> {
        match entry.key.to_string().as_str() {
            "effect" => self.effect = Some(words::choose("effect", &entry.text()?, &EFFECTS)?),
            "permission" => {
                self.permission = Some(words::choose("permission", &entry.text()?, &PERMISSIONS)?);
            }
            "placement" => self.placement = Some(words::choose("placement", &entry.text()?, &PLACEMENTS)?),
            "name" => self.name = Some(checked_name(entry.text()?, "_.-")?),
            "alias" => self.alias = Some(checked_name(entry.text()?, "_-")?),
            "title" => self.title = Some(entry.text()?),
            "category" => self.category = Some(entry.text()?),
            "result_cap" => self.result_cap = Some(entry.cap()?),
            "ask" => self.ask = Some(entry.path()?),
            "crate" => self.crate_path = Some(entry.path()?),
            "closed" => self.closed = entry.flag().map(|_| true)?,
            // Only the flags of the facts are left among the known keys.
            _ => self.flags.push(entry.flag()?),
        }
        Ok(())
    }
}

/// A name for a registry or a model: 1 to 64 letters, digits and `others`.
fn checked_name(name: LitStr, others: &str) -> Result<LitStr, Error> {
    let text = name.value();
    let good = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if text.is_empty() || text.len() > 64 || !text.chars().all(good) {
        let others: Vec<String> = others.chars().map(|c| format!("`{c}`")).collect();
        let message = format!("use 1 to 64 of the letters a-z, A-Z, digits, {}", others.join(", "));
        return Err(Error::new(name.span(), message));
    }
    Ok(name)
}

impl ParameterOptions {
    /// Reads the `#[tool(…)]` attributes of a parameter.
    pub(crate) fn parse(attributes: &[Attribute], errors: &mut Option<Error>) -> Self {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|attribute| is_tool(attribute)) {
            match attribute.meta.require_list() {
                Ok(list) => {
                    for entry in entries(list.tokens.clone(), &PARAMETER_OPTIONS, errors) {
                        if let Err(error) = options.take(entry) {
                            collect(errors, error);
                        }
                    }
                }
                Err(error) => collect(errors, error),
            }
        }
        options
    }

    fn take(&mut self, entry: Entry) -> Result<(), Error> {
        match entry.key.to_string().as_str() {
            "default" => self.default = Some(entry.expression()?),
            "inject" => self.inject = Some(words::choose("source of values", &entry.text()?, &SOURCES)?),
            "command" => self.command = entry.flag().map(|_| true)?,
            _ => self.name = Some(entry.text()?),
        }
        Ok(())
    }

    /// Where two options cannot stand together.
    pub(crate) fn clash(&self, span: Span) -> Option<Error> {
        let both = self.inject.is_some() && self.default.is_some();
        both.then(|| {
            Error::new(span, "a value that the host gives has no default; make the parameter an `Option`")
        })
    }
}

/// True for `#[tool(…)]`.
pub(crate) fn is_tool(attribute: &Attribute) -> bool {
    attribute.path().is_ident("tool")
}
