//! Marks that belong to no call: ends of text, turns that a model invents, names of result and think tags.
//! It must not look at tools.

use crate::scan::is_blank;

/// Texts by which models end a turn; they are never part of a value or of an answer.
const ENDS: [&str; 21] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eom|>",
    "<|eot|>",
    "<|end|>",
    "<|return|>",
    "<|end_of_turn|>",
    "<|end_of_msg|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|EOT|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
    "[EOS]",
    "<|end_of_sentence|>",
    "<|assistant_end|>",
    "</longcat_s>",
];

/// Beginnings of a turn that is not the model's to write.
const TURNS: [&str; 4] = ["<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|start|>"];

/// Lines by which a model invents the answer of a tool.
const INVENTED_LINES: [&str; 7] = [
    "observation:",
    "observation：",
    "tool result:",
    "tool output:",
    "tool response:",
    "function result:",
    "**observation:**",
];

/// Elements in which a model invents the answer of a tool (lower case, without `_` and `-`).
const RESULT_TAGS: [&str; 12] = [
    "toolresult",
    "toolresults",
    "toolresponse",
    "toolresponses",
    "tooloutput",
    "observation",
    "functionresult",
    "functionresults",
    "functionresponse",
    "functionoutput",
    "callresult",
    "result",
];

/// Elements of reasoning (lower case).
const THINK_TAGS: [&str; 4] = ["think", "thinking", "thought", "reasoning"];

/// The end of what the model meant to say: without the marks of the end, whole or begun, and the blanks round them.
pub(crate) fn effective_end(text: &str) -> usize {
    let mut end = text.len();
    loop {
        let head = text.get(..end).unwrap_or_default().trim_end_matches(is_blank);
        match ENDS.iter().find_map(|mark| head.strip_suffix(mark)) {
            Some(shorter) => end = shorter.len(),
            None => return without_begun_mark(head).map_or(end, str::len),
        }
    }
}

/// The text without a mark that it breaks off in, such as `<|im_en`.
fn without_begun_mark(text: &str) -> Option<&str> {
    let tail_from = text.char_indices().rev().take(24).find(|(_, character)| *character == '<')?.0;
    let tail = text.get(tail_from..)?;
    let begun = tail.len() >= 2 && !tail.starts_with("</") && ENDS.iter().any(|mark| mark.starts_with(tail));
    (begun && (tail.starts_with("<|") || tail.starts_with("<｜"))).then(|| text.get(..tail_from)).flatten()
}

/// What stands at a `<` of the text, as far as marks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The end of a turn, of this many bytes.
    End(usize),
    /// The beginning of somebody else's turn.
    Turn,
    /// Could still become one of them.
    Begun,
    /// None.
    Nothing,
}

/// Looks for a mark at the start of a text that begins with `<`.
pub(crate) fn mark_at(text: &str) -> Mark {
    // Few second characters begin a mark, and few third ones.
    let bytes = text.as_bytes();
    let (third, known): (_, &[u8]) = match bytes.get(1) {
        None => return Mark::Begun,
        Some(b'|') => (2, b"aiersE"),
        // `<｜`
        Some(0xEF) => (4, b"e"),
        Some(b'/') => (2, b"ls"),
        Some(b'e') => (2, b"on"),
        Some(b's') => (2, b"t"),
        Some(_) => return Mark::Nothing,
    };
    if bytes.get(third).is_some_and(|third| !known.contains(third)) {
        return Mark::Nothing;
    }
    if let Some(mark) = ENDS.iter().find(|mark| text.starts_with(*mark)) {
        return Mark::End(mark.len());
    }
    if TURNS.iter().any(|mark| text.starts_with(mark)) {
        return Mark::Turn;
    }
    if ENDS.iter().chain(&TURNS).any(|mark| mark.starts_with(text)) { Mark::Begun } else { Mark::Nothing }
}

/// Whether a line begins like an invented answer: yes, no, or not decided (`None`) while the text may go on.
pub(crate) fn invents_answer(line: &str) -> Option<bool> {
    let begins = |prefix: &&str| {
        let length = line.len().min(prefix.len());
        let (Some(head), Some(start)) = (line.get(..length), prefix.get(..length)) else { return false };
        head.eq_ignore_ascii_case(start)
    };
    match INVENTED_LINES.iter().find(|prefix| begins(prefix)) {
        Some(prefix) if line.len() >= prefix.len() => Some(true),
        Some(_) => None,
        None => Some(false),
    }
}

pub(crate) fn is_result_tag(name: &str) -> bool {
    name.len() >= 6 && RESULT_TAGS.contains(&plain_key(name).as_str())
}

pub(crate) fn is_think_tag(name: &str) -> bool {
    let name = name.rsplit_once('_').map_or(name, |(_, last)| last);
    THINK_TAGS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
}

/// A tag name in lower case, without `_` and `-`.
pub(crate) fn plain_key(name: &str) -> String {
    name.chars()
        .filter(|character| !matches!(character, '_' | '-') && !is_blank(*character))
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_end() {
        for text in
            ["a b", "a b<|im_end|>", "a b\n<|im_end|>\n</s> ", "a b<|im_e", "a b<|", "a b<｜end▁of▁sent"]
        {
            assert_eq!(text.get(..effective_end(text)).unwrap().trim_end(), "a b", "{text}");
        }
        for text in ["a </", "a <", "a <b", "a <end", "a </s"] {
            assert_eq!(effective_end(text), text.len(), "{text}");
        }
    }

    #[test]
    fn knows_marks() {
        assert_eq!(mark_at("<|im_end|>x"), Mark::End(10));
        assert_eq!(mark_at("<|im_start|>user"), Mark::Turn);
        assert_eq!(mark_at("<|im"), Mark::Begun);
        assert_eq!(mark_at("<|x"), Mark::Nothing);
        assert_eq!(invents_answer("Observation: high"), Some(true));
        assert_eq!(invents_answer("Obser"), None);
        assert_eq!(invents_answer("Observed"), Some(false));
        assert!(
            is_result_tag("Tool_Result") && is_result_tag("observation") && !is_result_tag("results_page")
        );
    }
}
