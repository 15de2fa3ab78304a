//! The function under `#[tool]`: its parameters, and whether it can be a tool at all.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ItemFn, Pat, PatType, ReturnType, Type, TypeParamBound};

use crate::doc;
use crate::options::{ParameterOptions, collect, is_tool};

/// One parameter of the function, in order.
pub(crate) enum Parameter {
    /// An argument that the call carries.
    Argument(Box<Argument>),
    /// The running call's `&dyn ToolContext`.
    Context,
}

/// One argument.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) description: String,
    pub(crate) options: ParameterOptions,
}

/// What was read of the function.
pub(crate) struct Function {
    pub(crate) description: String,
    pub(crate) parameters: Vec<Parameter>,
}

/// Reads `item` and takes what only this macro understands off its parameters, so that the rest compiles as it is.
pub(crate) fn read(item: &mut ItemFn, errors: &mut Option<Error>) -> Function {
    check_signature(item, errors);
    let description = doc::text_of(&item.attrs);
    if description.is_empty() {
        let message = "a tool needs a doc comment: it is the description by which a model chooses the tool";
        collect(errors, Error::new(item.sig.ident.span(), message));
    }
    let mut parameters = Vec::new();
    let mut context_seen = false;
    for input in &mut item.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                let message = "a tool has no `self`; reach shared things through `context.services()`, or capture them \
                               in the handler of a `haft::ToolBuilder`";
                collect(errors, Error::new(receiver.span(), message));
            }
            FnArg::Typed(typed) if is_context(&typed.ty) => {
                if std::mem::replace(&mut context_seen, true) {
                    collect(errors, Error::new(typed.span(), "one `&dyn ToolContext` is enough"));
                }
                strip(typed);
                parameters.push(Parameter::Context);
            }
            FnArg::Typed(typed) => {
                if let Some(argument) = read_argument(typed, errors) {
                    parameters.push(Parameter::Argument(Box::new(argument)));
                }
            }
        }
    }
    Function { description, parameters }
}

fn check_signature(item: &ItemFn, errors: &mut Option<Error>) {
    let signature = &item.sig;
    let mut fail = |span: Span, message: &str| collect(errors, Error::new(span, message));
    if signature.asyncness.is_none() {
        let message = format!("a tool is an async function: write `async fn {}`", signature.ident);
        fail(signature.fn_token.span, &message);
    }
    if !signature.generics.params.is_empty() || signature.generics.where_clause.is_some() {
        let message = "a tool has no generic parameters: its schema is made once, from concrete types";
        let span = match &signature.generics.where_clause {
            Some(clause) if signature.generics.params.is_empty() => clause.span(),
            _ => signature.generics.span(),
        };
        fail(span, message);
    }
    if let Some(token) = &signature.constness {
        fail(token.span(), "a tool is no `const fn`");
    }
    if let Some(token) = &signature.unsafety {
        fail(token.span(), "a tool is a safe function: a model calls it");
    }
    if let Some(token) = &signature.abi {
        fail(token.span(), "a tool is an ordinary Rust function");
    }
    if let Some(token) = &signature.variadic {
        fail(token.span(), "a tool names all its parameters");
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && let Type::ImplTrait(found) = &**ty
    {
        fail(
            found.span(),
            "name the type of the result: text, `haft::serde_json::Value`, `haft::ToolOutput` …",
        );
    }
}

fn read_argument(typed: &mut PatType, errors: &mut Option<Error>) -> Option<Argument> {
    let options = ParameterOptions::parse(&typed.attrs, errors);
    let description = doc::text_of(&typed.attrs);
    strip(typed);
    if let Some(error) = options.clash(typed.span()) {
        collect(errors, error);
    }
    if let Some(message) = unusable(&typed.ty) {
        collect(errors, Error::new(typed.ty.span(), message));
    }
    let Pat::Ident(pattern) = &*typed.pat else {
        let message =
            "a parameter of a tool is a plain name, which the model uses: take it apart inside the function";
        collect(errors, Error::new(typed.pat.span(), message));
        return None;
    };
    if pattern.by_ref.is_some() || pattern.subpat.is_some() {
        let message = "a parameter of a tool is a plain name: write it without `ref` and `@`";
        collect(errors, Error::new(pattern.span(), message));
        return None;
    }
    Some(Argument { name: pattern.ident.clone(), ty: (*typed.ty).clone(), description, options })
}

fn unusable(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Reference(_) => Some(
            "an argument is owned: write `String` instead of `&str`, `Vec<T>` instead of `&[T]` (only `&dyn ToolContext` is borrowed)",
        ),
        Type::ImplTrait(_) => Some("name the type of the argument: its schema is made from it"),
        _ => None,
    }
}

/// `&dyn ToolContext`, under whatever path.
fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    let Type::TraitObject(object) = &*reference.elem else { return false };
    object.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            bound.path.segments.last().is_some_and(|segment| segment.ident == "ToolContext")
        }
        _ => false,
    })
}

/// Takes doc comments and `#[tool]` off a parameter, where the compiler does not want them.
fn strip(typed: &mut PatType) {
    typed.attrs.retain(|attribute| !doc::is_doc(attribute) && !is_tool(attribute));
}
