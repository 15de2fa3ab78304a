//! Doc comments as text: what a model reads as a description.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text of the doc comments among `attributes`, as written but for the blank after `///`; empty if there is none.
pub(crate) fn text_of(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes.iter().filter_map(line_of).collect();
    let lines = lines.iter().flat_map(|text| text.split('\n'));
    let unindented = lines.map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    unindented.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// True for a doc comment.
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn line_of(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn doc_comments_are_text_without_their_markers() {
        let attributes: Vec<Attribute> = vec![
            parse_quote!(#[doc = " One."]),
            parse_quote!(#[inline]),
            parse_quote!(#[doc = ""]),
            parse_quote!(#[doc = "   - indented "]),
        ];
        assert_eq!(text_of(&attributes), "One.\n\n  - indented");
        assert_eq!(text_of(&[]), "");
    }
}
