//! Results of calls as text in any dialect (RES-02, DIA-16).
//! No content can close the element it stands in or begin another result: its marks are neutralised.

use std::borrow::Cow;

use super::call::is_plain_name;
use super::escape::{escaped, neutralised};
use super::values::push_json_string;
use crate::Dialect;

/// A result to write.
#[derive(Debug, Clone, Copy)]
pub struct WrittenResult<'a> {
    /// The name of the tool that was called.
    pub name: &'a str,
    /// The id of the call on the wire, if it has one.
    pub id: Option<&'a str>,
    /// Whether the call succeeded.
    pub success: bool,
    /// What came out.
    pub content: &'a str,
}

/// How a dialect writes results.
#[derive(Debug)]
struct ResultForm {
    /// Before the first result.
    open: &'static str,
    /// One result.
    success: &'static [Piece],
    /// One failed result, where that has a form of its own.
    failure: Option<&'static [Piece]>,
    /// Between two results.
    between: &'static str,
    /// Behind the last result.
    close: &'static str,
    /// What no content may hold.
    marks: &'static [&'static str],
}

#[derive(Debug)]
enum Piece {
    Text(&'static str),
    /// The tool's name, with XML's entities and on one line.
    Name,
    /// The id that the model wrote, else the name and place as Kimi counts them.
    KimiId,
    /// The id that the model wrote, else one made of the place.
    Id,
    /// The place among the results, from 0.
    Index,
    /// `true` or `false`.
    Success,
    Content,
    ContentJson,
}

use Piece::{Content, ContentJson, Id, Index, KimiId, Name, Success, Text as T};

/// Results on lines of their own.
const fn lines(success: &'static [Piece], marks: &'static [&'static str]) -> ResultForm {
    ResultForm { open: "", success, failure: None, between: "\n", close: "", marks }
}

const ARTIFACT_XML: ResultForm = ResultForm {
    open: "",
    success: &[
        T("<tool_result name=\""),
        Name,
        T("\" success=\"true\">\n<data>\n"),
        Content,
        T("\n</data>\n</tool_result>"),
    ],
    failure: Some(&[
        T("<tool_result name=\""),
        Name,
        T("\" success=\"false\">\n<error>"),
        Content,
        T("</error>\n</tool_result>"),
    ]),
    between: "\n",
    close: "",
    marks: &["</data", "</error", "</tool_result"],
};

/// Where a model's own form is a message of its template and no text.
const GENERAL: ResultForm = lines(
    &[
        T("<tool_result name=\""),
        Name,
        T("\" success=\""),
        Success,
        T("\">\n"),
        Content,
        T("\n</tool_result>"),
    ],
    &["</tool_result", "<tool_result"],
);
const TOOL_RESPONSE: ResultForm = lines(
    &[T("<tool_response>\n"), Content, T("\n</tool_response>")],
    &["</tool_response", "<tool_response"],
);
const RESPONSE: ResultForm =
    lines(&[T("<response>"), Content, T("</response>")], &["</response", "<response>"]);
const DEEPSEEK_V3: ResultForm = ResultForm {
    open: "<｜tool▁outputs▁begin｜>",
    success: &[T("<｜tool▁output▁begin｜>"), Content, T("<｜tool▁output▁end｜>")],
    failure: None,
    between: "\n",
    close: "<｜tool▁outputs▁end｜>",
    marks: &["<｜tool▁output"],
};
const DEEPSEEK_V31: ResultForm =
    lines(&[T("<｜tool▁output▁begin｜>"), Content, T("<｜tool▁output▁end｜>")], &["<｜tool▁output"]);
const DEEPSEEK_DSML: ResultForm = ResultForm {
    open: "<function_results>\n",
    success: &[T("<result>"), Content, T("</result>")],
    failure: None,
    between: "\n",
    close: "\n</function_results>",
    marks: &["</result", "<result", "</function_results", "<function_results"],
};
const KIMI_K2: ResultForm = lines(&[T("## Return of "), KimiId, T("\n"), Content], &["\n## Return of"]);
const LFM2: ResultForm =
    lines(&[T("<|tool_response_start|>"), Content, T("<|tool_response_end|>")], &["<|tool_response"]);
const MISTRAL: ResultForm = lines(
    &[T("[TOOL_RESULTS] {\"content\": "), ContentJson, T(", \"call_id\": "), Id, T("}[/TOOL_RESULTS]")],
    &["[/TOOL_RESULTS", "[TOOL_RESULTS"],
);
const COMMAND_R: ResultForm = ResultForm {
    open: "<results>\n",
    success: &[T("Document: "), Index, T("\n"), Name, T(":\n"), Content],
    failure: None,
    between: "\n\n",
    close: "\n</results>",
    marks: &["</results", "<results", "\nDocument:"],
};
const COHERE_ACTION: ResultForm = ResultForm {
    open: "<|START_TOOL_RESULT|>[\n",
    success: &[
        T("    {\"tool_call_id\": \""),
        Index,
        T("\", \"results\": {\"0\": "),
        ContentJson,
        T("}, \"is_error\": null}"),
    ],
    failure: Some(&[
        T("    {\"tool_call_id\": \""),
        Index,
        T("\", \"results\": {\"0\": "),
        ContentJson,
        T("}, \"is_error\": true}"),
    ]),
    between: ",\n",
    close: "\n]<|END_TOOL_RESULT|>",
    marks: &["<|START_", "<|END_"],
};
const GEMMA4: ResultForm = lines(
    &[T("<|tool_response>response:"), Name, T("{value:<|\"|>"), Content, T("<|\"|>}<tool_response|>")],
    &["<|\"|>", "<tool_response|", "<|tool_response"],
);
const FUNCTION_GEMMA: ResultForm = lines(
    &[
        T("<start_function_response>response:"),
        Name,
        T("{value:<escape>"),
        Content,
        T("<escape>}<end_function_response>"),
    ],
    &["<escape", "<end_function", "<start_function"],
);
const HARMONY: ResultForm = ResultForm {
    open: "",
    success: &[
        T("<|start|>functions."),
        Name,
        T(" to=assistant<|channel|>commentary<|message|>"),
        Content,
        T("<|end|>"),
    ],
    failure: None,
    between: "",
    close: "",
    marks: &["<|end|", "<|start|", "<|channel|", "<|message|", "<|call|", "<|return|"],
};
const ANTHROPIC_XML: ResultForm = ResultForm {
    open: "<function_results>\n",
    success: &[
        T("<result>\n<tool_name>"),
        Name,
        T("</tool_name>\n<stdout>\n"),
        Content,
        T("\n</stdout>\n</result>"),
    ],
    failure: Some(&[
        T("<result>\n<tool_name>"),
        Name,
        T("</tool_name>\n<stderr>\n"),
        Content,
        T("\n</stderr>\n</result>"),
    ]),
    between: "\n",
    close: "\n</function_results>",
    marks: &["</stdout", "</stderr", "</result", "<result", "</function_results", "<function_results"],
};
const CLINE_XML: ResultForm = ResultForm {
    open: "",
    success: &[T("["), Name, T("] Result:\n"), Content],
    failure: None,
    between: "\n\n",
    close: "",
    marks: &["] Result:"],
};
const REACT: ResultForm = lines(&[T("Observation: "), Content], &["\nObservation:"]);

const fn form(dialect: Dialect) -> &'static ResultForm {
    match dialect {
        Dialect::Auto | Dialect::ArtifactXml => &ARTIFACT_XML,
        Dialect::Hermes | Dialect::Ernie45 | Dialect::Qwen3Coder | Dialect::Glm45 | Dialect::Glm47 => {
            &TOOL_RESPONSE
        }
        Dialect::MinimaxM2 => &RESPONSE,
        Dialect::DeepseekV3 => &DEEPSEEK_V3,
        Dialect::DeepseekV31 => &DEEPSEEK_V31,
        Dialect::DeepseekDsml => &DEEPSEEK_DSML,
        Dialect::KimiK2 => &KIMI_K2,
        Dialect::Lfm2 => &LFM2,
        Dialect::Mistral | Dialect::MistralV11 => &MISTRAL,
        Dialect::CommandR => &COMMAND_R,
        Dialect::CohereAction => &COHERE_ACTION,
        Dialect::Gemma4 => &GEMMA4,
        Dialect::FunctionGemma => &FUNCTION_GEMMA,
        Dialect::Harmony => &HARMONY,
        Dialect::AnthropicXml => &ANTHROPIC_XML,
        Dialect::ClineXml => &CLINE_XML,
        Dialect::React => &REACT,
        Dialect::HunyuanV3
        | Dialect::Hunyuan
        | Dialect::MinimaxM3
        | Dialect::KimiK3
        | Dialect::Llama3Json
        | Dialect::Llama3Builtin
        | Dialect::Pythonic
        | Dialect::Olmo3
        | Dialect::Granite
        | Dialect::Granite20b
        | Dialect::FunctionaryV31
        | Dialect::FunctionaryV32
        | Dialect::Phi4
        | Dialect::Gemma3
        | Dialect::MuseGlimmer
        | Dialect::JsonFence
        | Dialect::SeedOss
        | Dialect::Step3
        | Dialect::Minicpm5
        | Dialect::Apertus
        | Dialect::Inkling
        | Dialect::Gigachat3
        | Dialect::Nemotron
        | Dialect::Longcat
        | Dialect::Internlm2
        | Dialect::Xlam
        | Dialect::LmStudio => &GENERAL,
    }
}

/// Whether failure has a form of its own.
pub(super) fn says_success(dialect: Dialect) -> bool {
    let form = form(dialect);
    form.failure.is_some() || form.success.iter().any(|piece| matches!(piece, Success))
}

/// The results of one batch in the form of `dialect`, in order.
pub(super) fn write(dialect: Dialect, results: &[WrittenResult<'_>]) -> String {
    if results.is_empty() {
        return String::new();
    }
    let form = form(dialect);
    let mut text = form.open.to_owned();
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            text.push_str(form.between);
        }
        push_result(form, result, index, &mut text);
    }
    text.push_str(form.close);
    text
}

fn push_result(form: &ResultForm, result: &WrittenResult<'_>, index: usize, into: &mut String) {
    let pieces = match form.failure {
        Some(failure) if !result.success => failure,
        _ => form.success,
    };
    for piece in pieces {
        match piece {
            T(text) => into.push_str(text),
            Name => into.push_str(&in_a_line(&escaped(result.name))),
            KimiId => match result.id.filter(|id| is_kimi_id(id)) {
                Some(id) => into.push_str(id),
                None => into.push_str(&format!("functions.{}:{index}", in_a_line(&escaped(result.name)))),
            },
            Id => match result.id.filter(|id| is_short_id(id)) {
                Some(id) => push_json_string(id, into),
                None => push_json_string(&format!("call{index:05}"), into),
            },
            Index => into.push_str(&index.to_string()),
            Success => into.push_str(if result.success { "true" } else { "false" }),
            Content => into.push_str(&neutralised(result.content, form.marks)),
            ContentJson => push_json_string(&neutralised(result.content, form.marks), into),
        }
    }
}

/// `functions.N:0` or `N:0`, as the model itself wrote it; what another wire gave is no name there.
fn is_kimi_id(id: &str) -> bool {
    id.rsplit_once(':').is_some_and(|(name, place)| {
        is_plain_name(name) && !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Nine letters and digits.
fn is_short_id(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Names and ids of a model's making stand on one line.
fn in_a_line(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        Cow::Owned(text.replace(char::is_control, " "))
    } else {
        Cow::Borrowed(text)
    }
}
