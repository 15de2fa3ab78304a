//! Writers of calls and results. What they write, the parser reads back exactly (calls), and no content can close the
//! elements it stands in (results).

use serde_json::{Map, Value};

use crate::{Dialect, Tags, Writer, WrittenCall, WrittenResult};

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
    let writer = Writer::new(Dialect::ArtifactXml, tags.clone());
    // Entities and CDATA carry every name and every value.
    writer.calls(&[WrittenCall { name, arguments }]).unwrap_or_default()
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
    let result = WrittenResult { name, id: None, success, content };
    Writer::new(Dialect::ArtifactXml, Tags::default()).results(&[result])
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
