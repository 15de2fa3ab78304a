//! Writers of calls and results. What they write, the parser reads back exactly (calls), and no content can close the
//! elements it stands in (results).

use std::borrow::Cow;

use haft_schema::canonical;
use serde_json::{Map, Value};

use crate::Tags;

/// One call, every value in CDATA (DIA-01, DIA-12).
///
/// ```
/// use haft_dialect::{Tags, artifact_xml::write_call};
///
/// let arguments = serde_json::json!({"query": "moss & lichen"});
/// let written = write_call("find", arguments.as_object().ok_or("no object")?, &Tags::default());
/// assert_eq!(written, "<tool_call>\n  <name>find</name>\n  <params>\n    <query><![CDATA[moss & lichen]]></query>\n  \
///                      </params>\n</tool_call>");
/// # Ok::<(), &str>(())
/// ```
pub fn write_call(name: &str, arguments: &Map<String, Value>, tags: &Tags) -> String {
    let tag = &tags.call;
    let mut text = format!("<{tag}>\n  <name>{}</name>\n  <params>\n", escaped(name));
    for (key, value) in arguments {
        let value = match value {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            other => Cow::Owned(canonical::to_string(other)),
        };
        if is_tag_name(key) {
            text.push_str(&format!("    <{key}>"));
            push_cdata(&value, &mut text);
            text.push_str(&format!("</{key}>\n"));
        } else {
            text.push_str(&format!("    <param name=\"{}\">", escaped(key)));
            push_cdata(&value, &mut text);
            text.push_str("</param>\n");
        }
    }
    text.push_str("  </params>\n</");
    text.push_str(tag);
    text.push('>');
    text
}

/// Whether a parameter's name can be a tag; other names stand in an attribute.
fn is_tag_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'))
        && name.len() <= 128
}

/// A value in CDATA; where it holds `]]>`, or could be taken for more sections, it is split between sections.
fn push_cdata(value: &str, into: &mut String) {
    into.push_str("<![CDATA[");
    let mut rest = value;
    while let Some(at) = rest.find("]]>") {
        into.push_str(rest.get(..at + 2).unwrap_or_default());
        into.push_str("]]><![CDATA[");
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    into.push_str(rest);
    into.push_str("]]>");
}

/// The result of a call, as it goes back to the model (RES-02, DIA-16).
///
/// Text that would close `<data>`, `<error>` or `<tool_result>`, in any case and with any blanks, is neutralised by
/// a backslash, so that no tool output can forge a result.
///
/// ```
/// use haft_dialect::artifact_xml::write_result;
///
/// assert_eq!(
///     write_result("web_search", true, "a</data >b"),
///     "<tool_result name=\"web_search\" success=\"true\">\n<data>\na<\\/data >b\n</data>\n</tool_result>",
/// );
/// ```
pub fn write_result(name: &str, success: bool, content: &str) -> String {
    let name = escaped(name);
    let content = neutralised(content);
    if success {
        format!("<tool_result name=\"{name}\" success=\"true\">\n<data>\n{content}\n</data>\n</tool_result>")
    } else {
        format!("<tool_result name=\"{name}\" success=\"false\">\n<error>{content}</error>\n</tool_result>")
    }
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"))
}

fn neutralised(content: &str) -> Cow<'_, str> {
    let mut safe = String::new();
    let mut plain_from = 0;
    for at in memchr::memchr_iter(b'<', content.as_bytes()) {
        let rest = content.get(at + 1..).unwrap_or_default();
        let after_blanks = rest.trim_start();
        let slash = rest.len() - after_blanks.len();
        if !after_blanks.starts_with(['/', '／']) {
            continue;
        }
        let name = after_blanks.trim_start_matches(['/', '／']).trim_start();
        let closes = ["data", "error", "tool_result"]
            .iter()
            .any(|tag| name.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag)));
        if closes {
            safe.push_str(content.get(plain_from..at + 1 + slash).unwrap_or_default());
            safe.push('\\');
            plain_from = at + 1 + slash;
        }
    }
    if plain_from == 0 {
        return Cow::Borrowed(content);
    }
    safe.push_str(content.get(plain_from..).unwrap_or_default());
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // RES-02
    #[test]
    fn writes_results() {
        assert_eq!(
            write_result("web_search", true, "...results..."),
            "<tool_result name=\"web_search\" success=\"true\">\n<data>\n...results...\n</data>\n</tool_result>"
        );
        // DIA-16
        assert_eq!(
            write_result("web_fetch", false, "no route"),
            "<tool_result name=\"web_fetch\" success=\"false\">\n<error>no route</error>\n</tool_result>"
        );
    }

    // DIA-16
    #[test]
    fn no_content_closes_its_element() {
        for forged in
            ["</data>", "</DATA>", "< / data>", "</ Tool_Result>", "</error\n>", "</tool_result", "＜／x"]
        {
            let written = write_result("t", true, forged);
            let inside = written.split_once("<data>\n").unwrap().1.rsplit_once("\n</data>").unwrap().0;
            if forged.starts_with('<') {
                assert!(inside.contains("\\/"), "{forged}: {inside}");
                assert_eq!(inside.replace('\\', ""), forged);
            } else {
                assert_eq!(inside, forged);
            }
        }
        assert_eq!(
            write_result("a\"<b", true, ""),
            "<tool_result name=\"a&quot;&lt;b\" success=\"true\">\n<data>\n\n</data>\n</tool_result>"
        );
    }

    // DIA-01, DIA-12
    #[test]
    fn writes_calls() {
        let arguments = json!({"id": "x", "tags": ["a", "b"], "level": 1.0, "body": "a]]>b"});
        assert_eq!(
            write_call("put", arguments.as_object().unwrap(), &Tags { call: "function_call".to_owned() }),
            "<function_call>\n  <name>put</name>\n  <params>\n    <id><![CDATA[x]]></id>\n    \
             <tags><![CDATA[[\"a\",\"b\"]]]></tags>\n    <level><![CDATA[1]]></level>\n    \
             <body><![CDATA[a]]]]><![CDATA[>b]]></body>\n  </params>\n</function_call>"
        );
    }
}
