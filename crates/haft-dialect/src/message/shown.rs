//! Which dialect the text of a call shows, and what in that dialect is no repair.
//! It must not read calls.

use super::{Output, Reader};
use crate::{Dialect, Engine, Repair, Span};

/// Bytes of a call in which its dialect is looked for.
const WINDOW: usize = 240;

/// Texts that only one form of tags has, in the order in which they decide.
const SHOWN: [(&str, Dialect); 16] = [
    ("DSML", Dialect::DeepseekDsml),
    ("]minimax[", Dialect::MinimaxM3),
    ("<minimax:", Dialect::MinimaxM2),
    ("<seed:", Dialect::SeedOss),
    ("<steptml:", Dialect::Step3),
    ("<atem:", Dialect::MuseGlimmer),
    ("<tool_sep>", Dialect::HunyuanV3),
    ("<arg_key>", Dialect::Glm45),
    ("<TOOLCALL>", Dialect::Nemotron),
    ("<longcat_", Dialect::Longcat),
    ("<invoke", Dialect::AnthropicXml),
    ("<param name", Dialect::Minicpm5),
    ("<function=", Dialect::Qwen3Coder),
    ("<function name", Dialect::Qwen3Coder),
    ("<name>", Dialect::ArtifactXml),
    ("<params", Dialect::ArtifactXml),
];

impl<O: Output> Reader<'_, '_, '_, O> {
    /// The dialect of a call whose engine knows only the kind of form.
    pub(super) fn shown_form(&self, form: Dialect, span: Span) -> Dialect {
        if self.names.dialect != Dialect::Auto || !matches!(form, Dialect::ArtifactXml | Dialect::Hermes) {
            return form;
        }
        let end = span.end.min(span.start + WINDOW);
        let end = (span.start..=end).rev().find(|end| self.source.is_boundary(*end)).unwrap_or(span.start);
        let text = self.source.slice(span.start, end);
        // The wrapper may stand before the span.
        let before = self.source.slice_back(span.start, 40);
        if form == Dialect::Hermes {
            return match text {
                _ if text.starts_with("<TOOLCALL") => Dialect::Nemotron,
                _ if text.starts_with("<longcat_") => Dialect::Longcat,
                _ if text.starts_with("<tool_calls>") => Dialect::Hunyuan,
                _ if text.starts_with("<function_calls>") => Dialect::Olmo3,
                _ if text.starts_with("<function_call>") => Dialect::Granite20b,
                _ => Dialect::Hermes,
            };
        }
        if text.starts_with("<function=")
            && text
                .find('>')
                .is_some_and(|end| text.get(end + 1..).is_some_and(|rest| rest.trim_start().starts_with('{')))
        {
            return Dialect::FunctionaryV31;
        }
        let found = SHOWN
            .iter()
            .find(|(mark, _)| text.contains(mark) || before.ends_with(mark))
            .map(|(_, form)| *form);
        match found {
            Some(Dialect::Glm45) if !text.contains("\n<arg_key>") => Dialect::Glm47,
            Some(found) => found,
            None if text.starts_with("<tool_call>") => Dialect::Glm47,
            None => Dialect::ClineXml,
        }
    }
}

/// Whether a repair only says that a call has the form of its own dialect, which was asked for or left open.
pub(super) fn is_native(repair: Repair, form: Dialect, named: Dialect) -> bool {
    if named == Dialect::ArtifactXml {
        return false;
    }
    match repair {
        Repair::NameFromAttribute | Repair::NameFromText | Repair::NameFromTag | Repair::ParamsMerged => {
            named != Dialect::Auto || form != Dialect::ArtifactXml
        }
        Repair::ParamsFromJson => named == Dialect::FunctionaryV31,
        Repair::WrapperAdded | Repair::FenceRemoved => {
            named == Dialect::Auto && form != Dialect::ArtifactXml
                || named.form().engine == Engine::Markerless && named != Dialect::Auto
                || matches!(
                    named,
                    Dialect::FunctionaryV31
                        | Dialect::Minicpm5
                        | Dialect::Pythonic
                        | Dialect::Olmo3
                        | Dialect::Step3
                )
        }
        _ => false,
    }
}
