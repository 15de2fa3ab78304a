//! Where a value in CDATA ends: at the `]]>` behind which the grammar goes on, not at the first one.
//! It must not look for the ends of values without CDATA; `value` does.

use std::borrow::Cow;

use memchr::memmem;

use super::names::same_tag;
use super::opened::Opened;
use super::tag::{Tag, TagKind, cdata_at, skip_filling, skip_short_comments, tag_at};
use super::value::{Value, ValueReader, next_bracket};
use crate::Repair;
use crate::scan::{Reads, Source};
use crate::tools::Tool;

/// The next `]]>`, found once for all searches before it; a search without a find goes on where it stopped.
#[derive(Debug)]
pub(crate) struct SectionEnds {
    finder: memmem::Finder<'static>,
    from: usize,
    to: usize,
    found: Option<usize>,
    /// Bytes that were read beyond calls whose values have no end.
    pub(crate) overread: usize,
}

impl Default for SectionEnds {
    fn default() -> Self {
        Self { finder: memmem::Finder::new(b"]]>"), from: 0, to: 0, found: None, overread: 0 }
    }
}

impl SectionEnds {
    pub(crate) fn next(&mut self, source: Source<'_>, from: usize) -> Option<usize> {
        let known = from >= self.from && from <= self.to;
        match self.found {
            Some(found) if known && found >= from => return self.found,
            Some(_) | None => {}
        }
        // In a flood of ends the next one is right here.
        if source.bytes().get(from..).is_some_and(|rest| rest.starts_with(b"]]>")) {
            (self.from, self.to, self.found) = (from, source.len(), Some(from));
            return self.found;
        }
        // The last two bytes seen may begin an end.
        let unseen = if known && self.found.is_none() { self.to.saturating_sub(2).max(from) } else { from };
        let rest = source.bytes().get(unseen..).unwrap_or_default();
        self.found = self.finder.find(rest).map(|offset| unseen + offset);
        self.from = from;
        self.to = source.len();
        self.found
    }
}

/// What a `]]>` with a tag behind it is.
enum SectionEnd {
    /// The end of the value, with the offset after what belongs to it.
    At(usize, Option<Repair>),
    /// The end only if none follows that fits better.
    Unfit,
    /// Part of the value.
    Nowhere,
}

impl<'a> ValueReader<'a, '_> {
    pub(crate) fn sections(
        &mut self,
        name: &'a str,
        start: usize,
        tool: Option<&Tool>,
        ends: &mut SectionEnds,
    ) -> Reads<Value<'a>> {
        let source = self.source;
        let mut whole: Cow<'a, str> = Cow::Borrowed("");
        let mut from = start;
        let mut at = start;
        let mut opened = Opened::default();
        // The first end behind which the own close tag stands, but nothing that fits behind that.
        let mut unfit: Option<(usize, usize)> = None;
        loop {
            let Some(end) = ends.next(source, at) else {
                source.ends_at(source.len())?;
                return Ok(Value::Cut { resume: self.unclosed_section(name, from, tool)? });
            };
            let after = end + 3;
            let next = skip_short_comments(source, after)?;
            // Without any mark behind it the section may go on.
            if source.ends_at(next)? {
                return Ok(Value::Cut { resume: source.len() });
            }
            if let Some(content) = cdata_at(source, next)? {
                let whole = whole.to_mut();
                whole.push_str(source.slice(from, end));
                whole.push_str(source.slice(after, source.skip_blanks(after)));
                from = content;
                at = content;
                opened = Opened::default();
                unfit = None;
                continue;
            }
            if matches!(source.byte(next), Some(b'<' | 0xEF))
                && let Some(tag) = tag_at(source, next)?
            {
                match self.ends_section(name, tool, &tag, next, from..end, &mut opened)? {
                    SectionEnd::At(after, _)
                        if source.is_complete()
                            && source.ends_at(skip_filling(source, after)?)?
                            && self.quotes_section(from, end) =>
                    {
                        return Ok(Value::Cut { resume: source.len() });
                    }
                    // The end of this section may be missing, or stand behind the close tag.
                    SectionEnd::At(_, Some(_)) if may_hold_two(name, source.slice(from, end)) => {
                        return Ok(Value::Ambiguous);
                    }
                    SectionEnd::At(after, repair) => {
                        return Ok(joined(whole, source.slice(from, end), after, repair));
                    }
                    SectionEnd::Unfit => unfit = unfit.or(Some((end, tag.end))),
                    SectionEnd::Nowhere => {}
                }
            }
            if let Some((unfit_end, behind)) = unfit
                && !self.section_goes_on(behind.max(after), ends)?
            {
                if self.quotes_section(from, unfit_end) {
                    return Ok(Value::Cut { resume: self.unclosed_section(name, from, tool)? });
                }
                return Ok(joined(whole, source.slice(from, unfit_end), behind, None));
            }
            at = end + 1;
        }
    }

    /// Whether the tag after `]]>` ends the value.
    fn ends_section(
        &self,
        name: &'a str,
        tool: Option<&Tool>,
        tag: &Tag<'a>,
        at: usize,
        value: std::ops::Range<usize>,
        opened: &mut Opened<'a>,
    ) -> Reads<SectionEnd> {
        let own = tag.kind == TagKind::Close && (same_tag(tag.name, name) || tag.cut);
        if own && (tag.cut || self.goes_on(tag.end, name, tool, false)?) {
            return Ok(SectionEnd::At(tag.end, None));
        }
        // What a section opens counts only where another section stands in it, whose end this may be.
        if tag.kind == TagKind::Close && self.quotes_section(value.start, value.end) {
            opened.scan(self.source, value);
            if opened.count(tag.name) > 0 {
                return Ok(SectionEnd::Nowhere);
            }
        }
        if own {
            return Ok(SectionEnd::Unfit);
        }
        if self.is_structure(tag, tool) {
            return Ok(SectionEnd::At(at, Some(Repair::ValueClosed)));
        }
        let wrong_closer = tag.kind == TagKind::Close && self.goes_on(tag.end, name, tool, false)?;
        Ok(if wrong_closer {
            SectionEnd::At(tag.end, Some(Repair::ValueClosed))
        } else {
            SectionEnd::Nowhere
        })
    }

    /// Whether a value at whose end the text ends may only quote a section, whose end it then is.
    fn quotes_section(&self, from: usize, to: usize) -> bool {
        memmem::find(self.source.bytes().get(from..to).unwrap_or_default(), b"<![").is_some()
    }

    /// Whether another `]]>` follows that can belong to the section at hand, because no other section opens before it.
    fn section_goes_on(&self, from: usize, ends: &mut SectionEnds) -> Reads<bool> {
        let Some(next) = ends.next(self.source, from) else {
            self.source.ends_at(self.source.len())?;
            return Ok(false);
        };
        let between = self.source.bytes().get(from..next).unwrap_or_default();
        Ok(memmem::find(between, b"<![").is_none())
    }

    /// Where parsing may go on after a section without end: behind the call, if the value's own close tag stands there as
    /// the grammar wants it and nothing inside the value opened it; else nowhere.
    fn unclosed_section(&self, name: &str, from: usize, tool: Option<&Tool>) -> Reads<usize> {
        let source = self.source;
        let mut opens = 0_usize;
        for at in
            memchr::memchr_iter(b'<', source.bytes().get(from..).unwrap_or_default()).map(|at| from + at)
        {
            let Some(tag) = tag_at(source, at)? else { continue };
            if !same_tag(tag.name, name) {
                continue;
            }
            match tag.kind {
                TagKind::Open => opens += 1,
                TagKind::Close if opens > 0 => opens -= 1,
                TagKind::Close if self.goes_on(tag.end, name, tool, false)? => {
                    return self.behind_wrapper(tag.end);
                }
                TagKind::Close | TagKind::Empty => {}
            }
        }
        source.ends_at(source.len())?;
        Ok(source.len())
    }

    /// The offset behind the close tag of the wrapper; the end of the text if there is none before the next open one, which the section may quote.
    fn behind_wrapper(&self, from: usize) -> Reads<usize> {
        let mut at = from;
        while let Some(found) = next_bracket(self.source, at) {
            if let Some(tag) = tag_at(self.source, found)?
                && self.names.wrapper(tag.name).is_some()
            {
                return Ok(if tag.kind == TagKind::Close { tag.end } else { self.source.len() });
            }
            at = found + self.source.char_at(found).map_or(1, char::len_utf8);
        }
        self.source.ends_at(self.source.len())?;
        Ok(self.source.len())
    }
}

/// Whether a section may have lost its end, and go on into the section of the next value: its own close tag stands in it before another one opens.
fn may_hold_two(name: &str, value: &str) -> bool {
    let closer = format!("</{name}");
    memmem::rfind(value.as_bytes(), b"<![")
        .is_some_and(|open| value.get(..open).is_some_and(|before| before.contains(&closer)))
}

fn joined<'a>(mut whole: Cow<'a, str>, last: &'a str, end: usize, repair: Option<Repair>) -> Value<'a> {
    let text = if whole.is_empty() {
        Cow::Borrowed(last)
    } else {
        whole.to_mut().push_str(last);
        whole
    };
    Value::Whole { text, end, repair }
}
