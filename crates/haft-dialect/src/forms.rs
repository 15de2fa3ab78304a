//! The dialects as data: names, engine, how values are typed, and the grammar on one line each.
//! It must not read or write text; the engines and the writers do.
//!
//! A new dialect that an engine knows already is a new row here and its marks in the engine's own table.

/// What reads a dialect: a handful of engines cover all forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// JSON behind a marker: `[TOOL_CALLS] […]`, `<|tool_call_begin|>N…{…}`.
    JsonInMarker,
    /// A tag with JSON inside: `<tool_call>{…}</tool_call>`.
    TagWithJson,
    /// Tags within tags: `<invoke name="N"><parameter name="K">V</parameter></invoke>`.
    TagWithTags,
    /// Calls as a programming language writes them: `N(K='V')`, `call:N{K:3}`.
    LiteralCalls,
    /// Messages with recipients: `<|channel|>commentary to=N<|message|>{…}`.
    Channels,
    /// No marker of its own: only declared names make a call.
    Markerless,
}

/// What gives a value its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueTyping {
    /// Every value arrives as text; the schema decides.
    Schema,
    /// JSON carries types.
    Json,
    /// An attribute beside the value says whether it is text.
    Attribute,
    /// Python literals.
    Python,
    /// Literals of Gemma, strings between `<|"|>` or `<escape>`.
    Gemma,
}

/// One dialect as data.
///
/// ```
/// use haft_dialect::{Dialect, Engine};
///
/// let form = Dialect::Hermes.form();
/// assert_eq!((form.name, form.engine), ("hermes", Engine::TagWithJson));
/// assert_eq!("mistral-v11+".parse(), Ok(Dialect::MistralV11));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The dialect.
    pub dialect: Dialect,
    /// Its stable name.
    pub name: &'static str,
    /// Other names under which model entries may ask for it.
    pub aliases: &'static [&'static str],
    /// What reads it.
    pub engine: Engine,
    /// What types its values.
    pub values: ValueTyping,
    /// The grammar: N name, K key, V value, ␤ line break.
    pub grammar: &'static str,
}

macro_rules! forms {
    ($($(#[$doc:meta])+ $variant:ident, $name:literal, $aliases:expr, $engine:ident, $values:ident, $grammar:literal;)+) => {
        /// A text dialect, as profiles and model entries name it (CONFLICT-02).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum Dialect {
            /// Whatever the text shows; a result without any attempt names no dialect.
            #[default]
            Auto,
            $($(#[$doc])+ $variant,)+
        }

        /// All dialects that can be named, `auto` first.
        pub const fn dialects() -> &'static [Dialect] {
            &[Dialect::Auto, $(Dialect::$variant,)+]
        }

        /// All forms, in the order of the enum without `auto`.
        static FORMS: &[Form] = &[$(Form {
            dialect: Dialect::$variant,
            name: $name,
            aliases: &$aliases,
            engine: Engine::$engine,
            values: ValueTyping::$values,
            grammar: $grammar,
        },)+];
    };
}

/// All forms, without `auto`.
pub fn forms() -> &'static [Form] {
    FORMS
}

forms! {
    /// ArtifactFlow's XML with every value in CDATA (DIA-01).
    ArtifactXml, "artifact-xml", ["artifactflow"], TagWithTags, Schema,
    "<tool_call><name>N</name><params><K><![CDATA[V]]></K>…</params></tool_call>";
    /// Hermes 2/3, Qwen 2.5 and 3, QwQ, Granite 4, Falcon 3.
    Hermes, "hermes", ["qwen", "qwen25", "qwen3", "granite4", "smollm3", "falcon3"], TagWithJson, Json,
    r#"<tool_call>␤{"name": "N", "arguments": {…}}␤</tool_call>"#;
    /// Ernie 4.5, hermes' form.
    Ernie45, "ernie45", ["ernie"], TagWithJson, Json,
    r#"<tool_call>␤{"name": "N", "arguments": {…}}␤</tool_call>"#;
    /// Qwen3-Coder, Qwen 3.5 and later, Nemotron 3, MiMo, Step 3.5.
    Qwen3Coder, "qwen3-coder", ["qwen3_coder", "qwen3_xml", "mimo", "step3p5"], TagWithTags, Schema,
    "<tool_call>␤<function=N>␤<parameter=K>␤V␤</parameter>␤</function>␤</tool_call>";
    /// GLM 4.5 and 4.6.
    Glm45, "glm45", ["glm", "glm4"], TagWithTags, Schema,
    "<tool_call>N␤<arg_key>K</arg_key>␤<arg_value>V</arg_value>␤</tool_call>";
    /// GLM 4.7 and later.
    Glm47, "glm47", ["poolside_v1"], TagWithTags, Schema,
    "<tool_call>N<arg_key>K</arg_key><arg_value>V</arg_value></tool_call>";
    /// Hunyuan v3.
    HunyuanV3, "hunyuan-v3", ["hy_v3"], TagWithTags, Schema,
    "<tool_calls><tool_call>N<tool_sep><arg_key>K</arg_key><arg_value>V</arg_value></tool_call></tool_calls>";
    /// Hunyuan A13B, Jamba, MiniMax M1.
    Hunyuan, "hunyuan", ["hunyuan_a13b", "jamba", "minimax-m1"], TagWithJson, Json,
    r#"<tool_calls>[{"name": "N", "arguments": {…}}]</tool_calls>"#;
    /// MiniMax M2.
    MinimaxM2, "minimax-m2", ["minimax_m2"], TagWithTags, Schema,
    r#"<minimax:tool_call>␤<invoke name="N">␤<parameter name="K">V</parameter>␤</invoke>␤</minimax:tool_call>"#;
    /// MiniMax M3, every tag behind `]<]minimax[>[`.
    MinimaxM3, "minimax-m3", ["minimax_m3"], TagWithTags, Schema,
    r#"NS<tool_call>␤NS<invoke name="N">NS<K>VNS</K>NS</invoke>␤NS</tool_call>"#;
    /// DeepSeek V3 and R1.
    DeepseekV3, "deepseek-v3", ["deepseek_v3", "deepseekv3", "deepseek-r1"], JsonInMarker, Json,
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>N␤```json␤{…}␤```<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    /// DeepSeek V3.1.
    DeepseekV31, "deepseek-v31", ["deepseek_v31", "deepseekv31"], JsonInMarker, Json,
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>N<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    /// DeepSeek V3.2 and V4.
    DeepseekDsml, "deepseek-dsml", ["deepseek_v32", "deepseekv32", "deepseek_v4", "deepseekv4"], TagWithTags, Attribute,
    r#"<｜DSML｜function_calls>␤<｜DSML｜invoke name="N">␤<｜DSML｜parameter name="K" string="true|false">V</｜DSML｜parameter>␤</｜DSML｜invoke>␤</｜DSML｜function_calls>"#;
    /// Kimi K2.
    KimiK2, "kimi-k2", ["kimi_k2"], JsonInMarker, Json,
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.N:0<|tool_call_argument_begin|>{…}<|tool_call_end|><|tool_calls_section_end|>";
    /// Kimi K3.
    KimiK3, "kimi-k3", ["kimi_k3"], Channels, Attribute,
    r#"<|open|>tools<|sep|><|open|>call tool="N" index="1"<|sep|><|open|>argument key="K" type="T"<|sep|>V<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"#;
    /// Llama 3 and 4.
    Llama3Json, "llama3-json", ["llama3_json", "llama4_json", "llama3"], Markerless, Json,
    r#"{"name": "N", "parameters": {…}}"#;
    /// The calls of Llama 3 to its own tools.
    Llama3Builtin, "llama3-builtin", [], LiteralCalls, Python,
    r#"<|python_tag|>N.call(K="V")"#;
    /// Llama 3.2 and 4, ToolACE.
    Pythonic, "pythonic", ["llama4_pythonic"], LiteralCalls, Python,
    "[N(K='V'), N2()]";
    /// OLMo 3, one call a line.
    Olmo3, "olmo3", [], LiteralCalls, Python,
    r#"<function_calls>␤N(K="V")␤N2()␤</function_calls>"#;
    /// LFM 2.
    Lfm2, "lfm2", [], LiteralCalls, Python,
    "<|tool_call_start|>[N(K='V')]<|tool_call_end|>";
    /// Mistral before v11.
    Mistral, "mistral", [], JsonInMarker, Json,
    r#"[TOOL_CALLS] [{"name": "N", "arguments": {…}, "id": "9 chars"}]"#;
    /// Mistral v11 and later.
    MistralV11, "mistral-v11", ["mistral-v11+"], JsonInMarker, Json,
    "[TOOL_CALLS]N[ARGS]{…}[TOOL_CALLS]N2[ARGS]{…}";
    /// Granite 3.
    Granite, "granite", [], JsonInMarker, Json,
    r#"<|tool_call|>[{"name": "N", "arguments": {…}}]"#;
    /// Granite 20B for function calling.
    Granite20b, "granite-20b", ["granite-20b-fc"], JsonInMarker, Json,
    r#"<function_call> {"name": "N", "arguments": {…}} <function_call> {…}"#;
    /// Functionary v3.1, and custom tools of Llama 3.
    FunctionaryV31, "functionary-v3.1", ["functionary-v31", "llama-custom"], TagWithJson, Json,
    "<function=N>{…}</function>";
    /// Functionary v3.2; the prompt ends with `>>>`.
    FunctionaryV32, "functionary-v3.2", ["functionary-v32", "functionary"], Channels, Json,
    "all␤TEXT>>>N␤{…}>>>N2␤{…}";
    /// Command R and R+.
    CommandR, "command-r", ["cohere_command3"], Markerless, Json,
    r#"Action: ```json␤[{"tool_name": "N", "parameters": {…}}]␤```"#;
    /// Command R7B and A.
    CohereAction, "cohere-action", ["cohere_command4"], JsonInMarker, Json,
    r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "N", "parameters": {…}}]<|END_ACTION|>"#;
    /// Phi 4 mini.
    Phi4, "phi4", ["phi4_mini_json"], JsonInMarker, Json,
    r#"functools[{"name": "N", "arguments": {…}}]"#;
    /// Gemma 4.
    Gemma4, "gemma4", [], LiteralCalls, Gemma,
    r#"<|tool_call>call:N{K:<|"|>V<|"|>,K2:3}<tool_call|>"#;
    /// FunctionGemma.
    FunctionGemma, "functiongemma", [], LiteralCalls, Gemma,
    "<start_function_call>call:N{K:<escape>V<escape>,K2:3}<end_function_call>";
    /// Gemma 3, which has no token of its own.
    Gemma3, "gemma3", [], Markerless, Python,
    "```tool_code␤[N(K='V')]␤```";
    /// gpt-oss.
    Harmony, "harmony", ["openai", "gpt-oss"], Channels, Json,
    "<|channel|>commentary to=functions.N <|constrain|>json<|message|>{…}<|call|>";
    /// Invocations in `function_calls`, with or without a prefix on each tag.
    AnthropicXml, "anthropic-xml", [], TagWithTags, Schema,
    r#"<function_calls>␤<invoke name="N">␤<parameter name="K">V</parameter>␤</invoke>␤</function_calls>"#;
    /// Muse.
    MuseGlimmer, "muse-glimmer", ["muse"], Channels, Schema,
    r#" to=N<|message|><atem:function_calls>␤<atem:invoke name="N">␤<atem:parameter name="K">V</atem:parameter>␤</atem:invoke>␤</atem:function_calls>"#;
    /// Cline, Roo Code, Kilo: names are the tags.
    ClineXml, "cline-xml", ["cline"], Markerless, Schema,
    "<N>␤<K>V</K>␤</N>";
    /// Thought, action, action input.
    React, "react", [], Markerless, Json,
    "Thought: …␤Action: N␤Action Input: {…}";
    /// JSON in a fence that is the whole message or its last block.
    JsonFence, "json-fence", [], Markerless, Json,
    r#"```json␤{"name": "N", "arguments": {…}}␤```"#;
    /// Seed-OSS.
    SeedOss, "seed-oss", ["seed_oss"], TagWithTags, Schema,
    "<seed:tool_call>␤<function=N>␤<parameter=K>V</parameter>␤</function>␤</seed:tool_call>";
    /// Step 3.
    Step3, "step3", [], TagWithTags, Schema,
    r#"<｜tool_calls_begin｜>␤<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="N">␤<steptml:parameter name="K">V</steptml:parameter>␤</steptml:invoke><｜tool_call_end｜>␤<｜tool_calls_end｜>"#;
    /// MiniCPM 5.
    Minicpm5, "minicpm5", [], TagWithTags, Schema,
    r#"<function name="N"><param name="K"><![CDATA[V]]></param></function>"#;
    /// Apertus.
    Apertus, "apertus", ["apertus2509"], JsonInMarker, Json,
    r#"<|tools_prefix|>[{"N": {…}}, {"N2": {…}}]<|tools_suffix|>"#;
    /// Inkling.
    Inkling, "inkling", [], Channels, Json,
    r#"<|message_model|>N<|content_invoke_tool_json|>{"name":"N","args":{…}}<|end_message|>"#;
    /// GigaChat 3.
    Gigachat3, "gigachat3", ["gigachat"], JsonInMarker, Json,
    r#"<|message_sep|>␤␤function call<|role_sep|>␤{"name": "N", "arguments": {…}}</s>"#;
    /// Nemotron before 3.
    Nemotron, "nemotron", [], JsonInMarker, Json,
    r#"<TOOLCALL>[{"name": "N", "arguments": {…}}]</TOOLCALL>"#;
    /// LongCat.
    Longcat, "longcat", [], TagWithJson, Json,
    r#"<longcat_tool_call>{"name": "N", "arguments": {…}}</longcat_tool_call>"#;
    /// InternLM 2.
    Internlm2, "internlm2", ["internlm"], JsonInMarker, Json,
    r#"<|action_start|><|plugin|>␤{"name": "N", "parameters": {…}}<|action_end|>"#;
    /// xLAM: a bare JSON list.
    Xlam, "xlam", [], Markerless, Json,
    r#"[{"name": "N", "arguments": {…}}]"#;
    /// The default prompt of LM Studio.
    LmStudio, "lm-studio", ["lmstudio"], JsonInMarker, Json,
    r#"[TOOL_REQUEST]{"name": "N", "arguments": {…}}[END_TOOL_REQUEST]"#;
}
