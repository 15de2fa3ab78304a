//! The table of layouts, one for each dialect. A new dialect that the pieces of `layout` can say is one more arm here.

use super::layout::Part::{IsText, Key, Text as P, TypeName};
use super::layout::Piece::{
    Arguments, Index, Keywords, Literals, Name, NameJson, NameXml, Parameters, ShortId, Tag, Text as T,
};
use super::layout::{KeyForm, Layout, Parameter, Piece, TextPlace, ValueForm};
use crate::Dialect;

/// One block for each call, blocks on lines of their own.
const fn blocks(call: &'static [Piece]) -> Layout {
    Layout {
        open: &[],
        call,
        between: "\n",
        close: "",
        text: ("", "\n"),
        place: TextPlace::Around,
        rule: None,
    }
}

/// One block for all calls.
const fn section(
    open: &'static [Piece],
    call: &'static [Piece],
    between: &'static str,
    close: &'static str,
) -> Layout {
    Layout { open, call, between, close, text: ("", "\n"), place: TextPlace::Around, rule: None }
}

/// `{"name": "N", "arguments": {…}}`
const NAMED: &[Piece] = &[T("{\"name\": "), NameJson, T(", \"arguments\": "), Arguments, T("}")];

const HERMES: Layout = blocks(&[
    T("<tool_call>\n{\"name\": "),
    NameJson,
    T(", \"arguments\": "),
    Arguments,
    T("}\n</tool_call>"),
]);

const QWEN3_CODER_PARAMETER: Parameter = Parameter {
    open: &[P("<parameter="), Key, P(">")],
    close: &[P("</parameter>\n")],
    value: ValueForm::Lines,
    key: KeyForm::Quoted,
    marks: &["</parameter", "<parameter=", "</function", "<function=", "</tool_call", "<tool_call"],
    otherwise: None,
};
const QWEN3_CODER: Layout = blocks(&[
    T("<tool_call>\n<function="),
    Name,
    T(">\n"),
    Parameters(&QWEN3_CODER_PARAMETER),
    T("</function>\n</tool_call>"),
]);

const ARG_MARKS: &[&str] = &["</arg_", "<arg_", "</tool_call", "<tool_call", "<tool_sep"];
const GLM45: Layout = blocks(&[
    T("<tool_call>"),
    Name,
    T("\n"),
    Parameters(&Parameter {
        open: &[P("<arg_key>"), Key, P("</arg_key>\n<arg_value>")],
        close: &[P("</arg_value>\n")],
        value: ValueForm::Inline,
        key: KeyForm::Quoted,
        marks: ARG_MARKS,
        otherwise: None,
    }),
    T("</tool_call>"),
]);

const ARG_PARAMETER: Parameter = Parameter {
    open: &[P("<arg_key>"), Key, P("</arg_key><arg_value>")],
    close: &[P("</arg_value>")],
    value: ValueForm::Inline,
    key: KeyForm::Quoted,
    marks: ARG_MARKS,
    otherwise: None,
};
const GLM47: Layout = blocks(&[T("<tool_call>"), Name, Parameters(&ARG_PARAMETER), T("</tool_call>")]);
const HUNYUAN_V3: Layout = section(
    &[T("<tool_calls>")],
    &[T("<tool_call>"), Name, T("<tool_sep>"), Parameters(&ARG_PARAMETER), T("</tool_call>")],
    "",
    "</tool_calls>",
);
const HUNYUAN: Layout = section(&[T("<tool_calls>[")], NAMED, ", ", "]</tool_calls>");

/// Marks of invocations, whatever stands before their names.
const INVOKE_MARKS: &[&str] = &[
    "parameter>",
    "parameter name",
    "invoke>",
    "invoke name",
    "function_calls>",
    "tool_call>",
    "tool_calls>",
    "</parameter",
    "</invoke",
];
const INVOKE_PARAMETER: Parameter = Parameter {
    open: &[P("<parameter name=\""), Key, P("\">")],
    close: &[P("</parameter>\n")],
    value: ValueForm::Inline,
    key: KeyForm::Quoted,
    marks: INVOKE_MARKS,
    otherwise: None,
};
const INVOKE: &[Piece] =
    &[T("<invoke name=\""), Name, T("\">\n"), Parameters(&INVOKE_PARAMETER), T("</invoke>\n")];
const MINIMAX_M2: Layout = section(&[T("<minimax:tool_call>\n")], INVOKE, "", "</minimax:tool_call>");
const ANTHROPIC_XML: Layout = section(&[T("<function_calls>\n")], INVOKE, "", "</function_calls>");

const MINIMAX_M3: Layout = section(
    &[T("]<]minimax[>[<tool_call>\n")],
    &[
        T("]<]minimax[>[<invoke name=\""),
        Name,
        T("\">"),
        Parameters(&Parameter {
            open: &[P("]<]minimax[>[<"), Key, P(">")],
            close: &[P("]<]minimax[>[</"), Key, P(">")],
            value: ValueForm::Nested("]<]minimax[>["),
            key: KeyForm::Tag,
            marks: &[],
            otherwise: None,
        }),
        T("]<]minimax[>[</invoke>\n"),
    ],
    "",
    "]<]minimax[>[</tool_call>",
);

const DEEPSEEK_V3: Layout = section(
    &[T("<｜tool▁calls▁begin｜>")],
    &[
        T("<｜tool▁call▁begin｜>function<｜tool▁sep｜>"),
        Name,
        T("\n```json\n"),
        Arguments,
        T("\n```<｜tool▁call▁end｜>"),
    ],
    "\n",
    "<｜tool▁calls▁end｜>",
);
const DEEPSEEK_V31: Layout = section(
    &[T("<｜tool▁calls▁begin｜>")],
    &[T("<｜tool▁call▁begin｜>"), Name, T("<｜tool▁sep｜>"), Arguments, T("<｜tool▁call▁end｜>")],
    "",
    "<｜tool▁calls▁end｜>",
);
const DEEPSEEK_DSML: Layout = section(
    &[T("<｜DSML｜function_calls>\n")],
    &[
        T("<｜DSML｜invoke name=\""),
        Name,
        T("\">\n"),
        Parameters(&Parameter {
            open: &[P("<｜DSML｜parameter name=\""), Key, P("\" string=\""), IsText, P("\">")],
            close: &[P("</｜DSML｜parameter>\n")],
            value: ValueForm::Exact,
            key: KeyForm::Quoted,
            marks: &["｜dsml"],
            otherwise: None,
        }),
        T("</｜DSML｜invoke>\n"),
    ],
    "",
    "</｜DSML｜function_calls>",
);

const KIMI_K2: Layout = section(
    &[T("<|tool_calls_section_begin|>")],
    &[
        T("<|tool_call_begin|>functions."),
        Name,
        T(":"),
        Index(0),
        T("<|tool_call_argument_begin|>"),
        Arguments,
        T("<|tool_call_end|>"),
    ],
    "",
    "<|tool_calls_section_end|>",
);
const KIMI_K3: Layout = Layout {
    open: &[T("<|open|>tools<|sep|>")],
    call: &[
        T("<|open|>call tool=\""),
        Name,
        T("\" index=\""),
        Index(1),
        T("\"<|sep|>"),
        Parameters(&Parameter {
            open: &[P("<|open|>argument key=\""), Key, P("\" type=\""), TypeName, P("\"<|sep|>")],
            close: &[P("<|close|>argument<|sep|>")],
            value: ValueForm::Exact,
            key: KeyForm::Quoted,
            marks: &["<|close|>", "<|open|>", "<|sep|>"],
            otherwise: None,
        }),
        T("<|close|>call<|sep|>"),
    ],
    between: "",
    close: "<|close|>tools<|sep|>",
    text: ("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    place: TextPlace::Before,
    rule: None,
};

const LLAMA3_JSON: Layout =
    section(&[], &[T("{\"name\": "), NameJson, T(", \"parameters\": "), Arguments, T("}")], "; ", "").alone();
const LLAMA3_BUILTIN: Layout =
    section(&[T("<|python_tag|>")], &[Name, T(".call("), Keywords, T(")")], "; ", "").last();
const KEYWORD_CALL: &[Piece] = &[Name, T("("), Keywords, T(")")];
const PYTHONIC: Layout = section(&[T("[")], KEYWORD_CALL, ", ", "]").alone();
const OLMO3: Layout = section(&[T("<function_calls>\n")], KEYWORD_CALL, "\n", "\n</function_calls>");
const LFM2: Layout = section(&[T("<|tool_call_start|>[")], KEYWORD_CALL, ", ", "]<|tool_call_end|>");
const GEMMA3: Layout = section(&[T("```tool_code\n[")], KEYWORD_CALL, ", ", "]\n```").alone();

const MISTRAL: Layout = section(
    &[T("[TOOL_CALLS] [")],
    &[T("{\"name\": "), NameJson, T(", \"arguments\": "), Arguments, T(", \"id\": \""), ShortId, T("\"}")],
    ", ",
    "]",
)
.last();
const MISTRAL_V11: Layout = section(&[], &[T("[TOOL_CALLS]"), Name, T("[ARGS]"), Arguments], "", "").last();
const GRANITE: Layout = section(&[T("<|tool_call|>[")], NAMED, ", ", "]").last();
const GRANITE_20B: Layout = section(
    &[],
    &[T("<function_call> {\"name\": "), NameJson, T(", \"arguments\": "), Arguments, T("}")],
    " ",
    "",
)
.last();
const FUNCTIONARY_V31: Layout =
    section(&[], &[T("<function="), Name, T(">"), Arguments, T("</function>")], "", "");
const FUNCTIONARY_V32: Layout = Layout {
    open: &[],
    call: &[T(">>>"), Name, T("\n"), Arguments],
    between: "",
    close: "",
    text: ("all\n", ""),
    place: TextPlace::Before,
    rule: None,
};
const COMMAND_R: Layout = section(
    &[T("Action: ```json\n[\n")],
    &[T("    {\"tool_name\": "), NameJson, T(", \"parameters\": "), Arguments, T("}")],
    ",\n",
    "\n]```",
)
.last();
const COHERE_ACTION: Layout = section(
    &[T("<|START_ACTION|>[\n")],
    &[
        T("    {\"tool_call_id\": \""),
        Index(0),
        T("\", \"tool_name\": "),
        NameJson,
        T(", \"parameters\": "),
        Arguments,
        T("}"),
    ],
    ",\n",
    "\n]<|END_ACTION|>",
);
const PHI4: Layout = section(&[T("functools[")], NAMED, ", ", "]").last();
const GEMMA4: Layout =
    section(&[], &[T("<|tool_call>call:"), Name, Literals("<|\"|>"), T("<tool_call|>")], "", "");
const FUNCTION_GEMMA: Layout = section(
    &[],
    &[T("<start_function_call>call:"), Name, Literals("<escape>"), T("<end_function_call>")],
    "",
    "",
);
const HARMONY: Layout = Layout {
    open: &[],
    call: &[
        T("<|channel|>commentary to=functions."),
        Name,
        T(" <|constrain|>json<|message|>"),
        Arguments,
        T("<|call|>"),
    ],
    between: "<|start|>assistant",
    close: "",
    text: ("<|channel|>commentary<|message|>", "<|end|><|start|>assistant"),
    place: TextPlace::Before,
    rule: None,
};

const MUSE_GLIMMER: Layout = section(
    &[T(" to="), Name, T("<|message|><atem:function_calls>\n")],
    &[
        T("<atem:invoke name=\""),
        Name,
        T("\">\n"),
        Parameters(&Parameter {
            open: &[P("<atem:parameter name=\""), Key, P("\">")],
            close: &[P("</atem:parameter>\n")],
            value: ValueForm::Inline,
            key: KeyForm::Quoted,
            marks: INVOKE_MARKS,
            otherwise: None,
        }),
        T("</atem:invoke>\n"),
    ],
    "",
    "</atem:function_calls>",
)
.last();
const CLINE_XML: Layout = blocks(&[
    T("<"),
    Name,
    T(">\n"),
    Parameters(&Parameter {
        open: &[P("<"), Key, P(">")],
        close: &[P("</"), Key, P(">\n")],
        value: ValueForm::Inline,
        key: KeyForm::Tag,
        marks: &["</"],
        otherwise: None,
    }),
    T("</"),
    Name,
    T(">"),
]);
const REACT: Layout = blocks(&[T("Action: "), Name, T("\nAction Input: "), Arguments]).last();
const JSON_FENCE: Layout = section(&[T("```json\n")], NAMED, "\n```\n```json\n", "\n```").last();
const SEED_OSS: Layout = section(
    &[T("<seed:tool_call>\n")],
    &[
        T("<function="),
        Name,
        T(">\n"),
        Parameters(&Parameter {
            open: &[P("<parameter="), Key, P(">")],
            close: &[P("</parameter>\n")],
            value: ValueForm::Inline,
            key: KeyForm::Quoted,
            marks: &[
                "</parameter",
                "<parameter=",
                "</function",
                "<function=",
                "</tool_call",
                "seed:tool_call",
            ],
            otherwise: None,
        }),
        T("</function>\n"),
    ],
    "",
    "</seed:tool_call>",
);
const STEP3: Layout = section(
    &[T("<｜tool_calls_begin｜>\n")],
    &[
        T("<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\""),
        Name,
        T("\">\n"),
        Parameters(&Parameter {
            open: &[P("<steptml:parameter name=\""), Key, P("\">")],
            close: &[P("</steptml:parameter>\n")],
            value: ValueForm::Inline,
            key: KeyForm::Quoted,
            marks: &["steptml:", "<｜tool_", "</parameter", "</invoke", "<parameter", "<invoke"],
            otherwise: None,
        }),
        T("</steptml:invoke><｜tool_call_end｜>\n"),
    ],
    "",
    "<｜tool_calls_end｜>",
);
const MINICPM5: Layout = section(
    &[],
    &[
        T("<function name=\""),
        Name,
        T("\">"),
        Parameters(&Parameter {
            open: &[P("<param name=\""), Key, P("\">")],
            close: &[P("</param>")],
            value: ValueForm::Cdata,
            key: KeyForm::Quoted,
            marks: &[],
            otherwise: None,
        }),
        T("</function>"),
    ],
    "\n",
    "",
);

const APERTUS: Layout = section(
    &[T("<|tools_prefix|>[")],
    &[T("{"), NameJson, T(": "), Arguments, T("}")],
    ", ",
    "]<|tools_suffix|>",
);
const INKLING: Layout = section(
    &[],
    &[
        T("<|message_model|>"),
        Name,
        T("<|content_invoke_tool_json|>{\"name\":"),
        NameJson,
        T(",\"args\":"),
        Arguments,
        T("}<|end_message|>"),
    ],
    "",
    "",
)
.last();
const GIGACHAT3: Layout = section(
    &[],
    &[
        T("<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": "),
        NameJson,
        T(", \"arguments\": "),
        Arguments,
        T("}"),
    ],
    "",
    "</s>",
)
.last();
const NEMOTRON: Layout = section(&[T("<TOOLCALL>[")], NAMED, ", ", "]</TOOLCALL>");
const LONGCAT: Layout = blocks(&[
    T("<longcat_tool_call>{\"name\": "),
    NameJson,
    T(", \"arguments\": "),
    Arguments,
    T("}</longcat_tool_call>"),
]);
const INTERNLM2: Layout = blocks(&[
    T("<|action_start|><|plugin|>\n{\"name\": "),
    NameJson,
    T(", \"parameters\": "),
    Arguments,
    T("}<|action_end|>"),
]);
const XLAM: Layout = section(&[T("[")], NAMED, ", ", "]").alone();
const LM_STUDIO: Layout = blocks(&[
    T("[TOOL_REQUEST]{\"name\": "),
    NameJson,
    T(", \"arguments\": "),
    Arguments,
    T("}[END_TOOL_REQUEST]"),
]);

const ARTIFACT_XML: Layout = blocks(&[
    T("<"),
    Tag,
    T(">\n  <name>"),
    NameXml,
    T("</name>\n  <params>\n"),
    Parameters(&Parameter {
        open: &[P("    <"), Key, P(">")],
        close: &[P("</"), Key, P(">\n")],
        value: ValueForm::Cdata,
        key: KeyForm::Tag,
        marks: &[],
        otherwise: Some(&Parameter {
            open: &[P("    <param name=\""), Key, P("\">")],
            close: &[P("</param>\n")],
            value: ValueForm::Cdata,
            key: KeyForm::Escaped,
            marks: &[],
            otherwise: None,
        }),
    }),
    T("  </params>\n</"),
    Tag,
    T(">"),
])
.told("Wrap ALL parameter values in <![CDATA[...]]>.");

/// How an answer without visible text begins.
pub(crate) const ANSWER_OPEN: &str = "{\"text\": \"\", \"tool_calls\": [";

/// An answer that is one JSON object, as servers send it that hold a model to a schema.
pub(crate) const ANSWER: Layout = section(&[T(ANSWER_OPEN)], NAMED, ", ", "]}").alone().told(
    "Answer with one JSON object and nothing else: `text` is what people read, `tool_calls` are your calls, or an empty list.",
);

/// The layout of a dialect; `auto` writes as `artifact-xml`.
pub(crate) const fn layout(dialect: Dialect) -> &'static Layout {
    match dialect {
        Dialect::Auto | Dialect::ArtifactXml => &ARTIFACT_XML,
        Dialect::Hermes | Dialect::Ernie45 => &HERMES,
        Dialect::Qwen3Coder => &QWEN3_CODER,
        Dialect::Glm45 => &GLM45,
        Dialect::Glm47 => &GLM47,
        Dialect::HunyuanV3 => &HUNYUAN_V3,
        Dialect::Hunyuan => &HUNYUAN,
        Dialect::MinimaxM2 => &MINIMAX_M2,
        Dialect::MinimaxM3 => &MINIMAX_M3,
        Dialect::DeepseekV3 => &DEEPSEEK_V3,
        Dialect::DeepseekV31 => &DEEPSEEK_V31,
        Dialect::DeepseekDsml => &DEEPSEEK_DSML,
        Dialect::KimiK2 => &KIMI_K2,
        Dialect::KimiK3 => &KIMI_K3,
        Dialect::Llama3Json => &LLAMA3_JSON,
        Dialect::Llama3Builtin => &LLAMA3_BUILTIN,
        Dialect::Pythonic => &PYTHONIC,
        Dialect::Olmo3 => &OLMO3,
        Dialect::Lfm2 => &LFM2,
        Dialect::Mistral => &MISTRAL,
        Dialect::MistralV11 => &MISTRAL_V11,
        Dialect::Granite => &GRANITE,
        Dialect::Granite20b => &GRANITE_20B,
        Dialect::FunctionaryV31 => &FUNCTIONARY_V31,
        Dialect::FunctionaryV32 => &FUNCTIONARY_V32,
        Dialect::CommandR => &COMMAND_R,
        Dialect::CohereAction => &COHERE_ACTION,
        Dialect::Phi4 => &PHI4,
        Dialect::Gemma4 => &GEMMA4,
        Dialect::FunctionGemma => &FUNCTION_GEMMA,
        Dialect::Gemma3 => &GEMMA3,
        Dialect::Harmony => &HARMONY,
        Dialect::AnthropicXml => &ANTHROPIC_XML,
        Dialect::MuseGlimmer => &MUSE_GLIMMER,
        Dialect::ClineXml => &CLINE_XML,
        Dialect::React => &REACT,
        Dialect::JsonFence => &JSON_FENCE,
        Dialect::SeedOss => &SEED_OSS,
        Dialect::Step3 => &STEP3,
        Dialect::Minicpm5 => &MINICPM5,
        Dialect::Apertus => &APERTUS,
        Dialect::Inkling => &INKLING,
        Dialect::Gigachat3 => &GIGACHAT3,
        Dialect::Nemotron => &NEMOTRON,
        Dialect::Longcat => &LONGCAT,
        Dialect::Internlm2 => &INTERNLM2,
        Dialect::Xlam => &XLAM,
        Dialect::LmStudio => &LM_STUDIO,
    }
}
