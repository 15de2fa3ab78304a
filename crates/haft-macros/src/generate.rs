//! Writes the constructor of the tool beside the function.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, ItemFn, LitStr, Path, parse_quote};

use crate::function::{self, Argument, Function, Parameter};
use crate::options::{Cap, ToolOptions, collect};

/// The function, and what makes a tool of it; or the function and all that is wrong with it.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut item: ItemFn = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => {
            return Error::new(error.span(), "`#[tool]` stands on an async function").to_compile_error();
        }
    };
    let mut errors = None;
    let mut options = ToolOptions::parse(options, &mut errors);
    if options.effect.is_none() && errors.is_none() {
        let message = "say what the tool does to the world: `effect = \"read\"`, \"write\", \"control\" or \"write_control\"";
        collect(&mut errors, Error::new(proc_macro2::Span::call_site(), message));
    }
    let name = options.take_name(&item.sig.ident).unwrap_or_else(|error| {
        collect(&mut errors, error);
        LitStr::new("", item.sig.ident.span())
    });
    let function = function::read(&mut item, &mut errors);
    match errors {
        Some(errors) => {
            let errors = errors.to_compile_error();
            quote! { #item #errors }
        }
        None => {
            let constructor = constructor(&item, &name, &function, &options);
            quote! { #item #constructor }
        }
    }
}

fn constructor(item: &ItemFn, name: &LitStr, function: &Function, options: &ToolOptions) -> TokenStream {
    let haft: Path = options.crate_path.clone().unwrap_or_else(|| parse_quote!(::haft));
    let ident = &item.sig.ident;
    let visibility = &item.vis;
    // What is compiled conditionally has its tool under the same condition.
    let conditions: Vec<_> = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();
    let description = &function.description;
    let arguments = arguments_struct(function, options, &haft);
    let settings = settings(function, options, &haft);
    let call = call(ident, function);
    let (read, takes) = (reads_arguments(function, &haft), closure_context(function));
    let type_doc = format!("The tool made of the function [`{}`](fn@{ident}).", ident.unraw());
    quote! {
        #(#conditions)*
        #[doc = #type_doc]
        #[derive(Debug)]
        #[allow(non_camel_case_types)]
        #visibility enum #ident {}

        #(#conditions)*
        impl #ident {
            /// The tool, ready for a registry.
            ///
            /// # Errors
            /// If its declaration cannot be used, for instance because a default does not fit its parameter.
            #visibility fn tool() -> ::core::result::Result<::std::sync::Arc<dyn #haft::Tool>, #haft::ToolBuildError> {
                #arguments
                #haft::ToolBuilder::new(#name, #haft::schema_of::<__Arguments>())
                    .description(#description)
                    #settings
                    .handler_with_call(|call, #takes| {
                        ::std::boxed::Box::pin(async move {
                            #read
                            #haft::IntoToolOutput::into_tool_output(#call)
                        })
                    })
                    .build()
            }
        }
    }
}

fn reads_arguments(function: &Function, haft: &Path) -> TokenStream {
    let name = if arguments(function).next().is_some() {
        quote! { arguments }
    } else {
        quote! { _ }
    };
    quote! { let #name: __Arguments = #haft::arguments_of(call)?; }
}

fn closure_context(function: &Function) -> TokenStream {
    let used = function.parameters.iter().any(|parameter| matches!(parameter, Parameter::Context));
    if used {
        quote! { context }
    } else {
        quote! { _ }
    }
}

fn arguments(function: &Function) -> impl Iterator<Item = &Argument> {
    function.parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument(argument) => Some(&**argument),
        Parameter::Context => None,
    })
}

/// The struct from which the schema is made and into which a call's arguments are read.
fn arguments_struct(function: &Function, options: &ToolOptions, haft: &Path) -> TokenStream {
    let serde_path = path_text(haft, "serde");
    let schemars_path = path_text(haft, "schemars");
    let closed = options.closed.then(|| quote! { #[serde(deny_unknown_fields)] });
    let fields = arguments(function).map(field);
    let defaults = arguments(function).filter_map(default_function);
    quote! {
        #[derive(#haft::serde::Deserialize, #haft::schemars::JsonSchema)]
        #[serde(crate = #serde_path)]
        #[schemars(crate = #schemars_path)]
        #closed
        struct __Arguments { #(#fields)* }
        #(#defaults)*
    }
}

fn field(argument: &Argument) -> TokenStream {
    let Argument { name, ty, description, options } = argument;
    let description = (!description.is_empty()).then(|| quote! { #[schemars(description = #description)] });
    let rename = options.name.as_ref().map(|name| quote! { #[serde(rename = #name)] });
    let default = options.default.as_ref().map(|_| {
        let function = default_name(name).to_string();
        quote! { #[serde(default = #function)] }
    });
    let hidden = options.inject.map(|_| quote! { #[schemars(skip)] });
    quote! { #description #rename #default #hidden #name: #ty, }
}

fn default_name(parameter: &Ident) -> Ident {
    format_ident!("__default_{}", parameter.unraw())
}

fn default_function(argument: &Argument) -> Option<TokenStream> {
    let expression = argument.options.default.as_ref()?;
    let (name, ty) = (default_name(&argument.name), &argument.ty);
    Some(quote! { fn #name() -> #ty { #expression } })
}

/// The calls on the builder that the options stand for.
fn settings(function: &Function, options: &ToolOptions, haft: &Path) -> TokenStream {
    let variant = |ty: &str, variant: &str| {
        let (ty, variant) = (format_ident!("{ty}"), format_ident!("{variant}"));
        quote! { #haft::core::facts::#ty::#variant }
    };
    let mut settings = TokenStream::new();
    if let Some(effect) = options.effect {
        let effect = variant("Effect", effect);
        settings.extend(quote! { .effect(#effect) });
    }
    for (method, text) in
        [("title", &options.title), ("alias", &options.alias), ("category", &options.category)]
    {
        let method = format_ident!("{method}");
        settings.extend(text.as_ref().map(|text| quote! { .#method(#text) }));
    }
    if let Some(permission) = options.permission {
        let permission = variant("Permission", permission);
        settings.extend(quote! { .permission(#permission) });
    }
    if let Some(placement) = options.placement {
        let placement = variant("Placement", placement);
        settings.extend(quote! { .placement(#placement) });
    }
    if let Some(cap) = &options.result_cap {
        let cap = match cap {
            Cap::Chars(count) => quote! { #haft::core::facts::ResultCap::Chars(#count) },
            Cap::Unlimited => quote! { #haft::core::facts::ResultCap::Unlimited },
        };
        settings.extend(quote! { .result_cap(#cap) });
    }
    if let Some(ask) = &options.ask {
        settings.extend(quote! { .ask(#ask) });
    }
    for flag in &options.flags {
        settings.extend(quote! { .#flag(true) });
    }
    for argument in arguments(function) {
        if let Some(source) = argument.options.inject {
            let source = variant("InjectionSource", source);
            let name = parameter_name(argument);
            settings.extend(quote! { .inject(#name, #source) });
        }
        if argument.options.command {
            let name = parameter_name(argument);
            settings.extend(quote! { .command(#name) });
        }
    }
    settings
}

/// The parameter's name for the model.
fn parameter_name(argument: &Argument) -> String {
    match &argument.options.name {
        Some(name) => name.value(),
        None => argument.name.unraw().to_string(),
    }
}

/// The call of the function with its arguments.
fn call(ident: &Ident, function: &Function) -> TokenStream {
    let values = function.parameters.iter().map(|parameter| match parameter {
        Parameter::Argument(argument) => {
            let name = &argument.name;
            quote! { arguments.#name }
        }
        Parameter::Context => quote! { context },
    });
    quote_spanned! { ident.span() => #ident(#(#values),*).await }
}

/// `haft::name` as text, as attributes of serde and schemars take it.
fn path_text(haft: &Path, name: &str) -> String {
    let segments: Vec<String> = haft.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let start = if haft.leading_colon.is_some() { "::" } else { "" };
    format!("{start}{}::{name}", segments.join("::"))
}
