//! A chat in JSON Lines as SillyTavern and its kin write it: a header with the names, then one message a line.

use serde_json::{Map, Value, json};

use super::{ChatMessage, ChatRole};

/// Largest file that is read, in bytes.
const MAX_FILE: usize = 16 << 20;

/// A chat that was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatFile {
    /// The person's name, as the header has it.
    pub user: Option<String>,
    /// The character's name, as the header has it.
    pub character: Option<String>,
    /// More than one character speaks.
    pub is_group: bool,
    /// The messages; the header is none of them (CHT-02).
    pub messages: Vec<ChatMessage>,
}

impl ChatFile {
    /// A chat with these names in its header; it is a group's if more than one character speaks.
    pub fn new(user: Option<String>, character: Option<String>, messages: Vec<ChatMessage>) -> Self {
        let mut speakers = messages
            .iter()
            .filter(|message| message.role == ChatRole::Assistant)
            .filter_map(|message| message.name.as_deref());
        let first = speakers.next();
        let is_group = speakers.any(|name| Some(name) != first);
        Self { user, character, is_group, messages }
    }

    /// The chat as a file that [`read_chat_file`] reads again. Messages without a name get that of the header, else `User`,
    /// `Assistant` or `System`.
    ///
    /// ```
    /// use haft_core::chat::{ChatFile, ChatMessage, ChatRole, read_chat_file};
    /// let message = ChatMessage { role: ChatRole::User, name: Some("Ada".into()), text: "A friend.".into() };
    /// let chat = ChatFile::new(Some("Ada".into()), None, vec![message]);
    /// assert_eq!(read_chat_file(&chat.to_jsonl())?, chat);
    /// # Ok::<(), haft_core::chat::ChatFileError>(())
    /// ```
    pub fn to_jsonl(&self) -> String {
        let (user, character) = (self.user.as_deref(), self.character.as_deref());
        let mut header = Map::new();
        let names = [("user_name", user), ("character_name", character)];
        header.extend(names.into_iter().filter_map(|(key, name)| Some((key.to_owned(), json!(name?)))));
        header.insert("chat_metadata".to_owned(), json!({}));
        let mut file = Value::Object(header).to_string();
        for message in &self.messages {
            let name = message.name.as_deref().unwrap_or_else(|| match message.role {
                ChatRole::User => user.unwrap_or("User"),
                ChatRole::Assistant => character.unwrap_or("Assistant"),
                ChatRole::System => "System",
            });
            let (is_user, is_system) = (message.role == ChatRole::User, message.role == ChatRole::System);
            let line = json!({"name": name, "is_user": is_user, "is_system": is_system, "mes": message.text});
            file.push('\n');
            file.push_str(&line.to_string());
        }
        file.push('\n');
        file
    }
}

/// Why a file is no chat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatFileError {
    /// Nothing is in it.
    #[error("the file is empty; a chat begins with a header line")]
    Empty,
    /// It is larger than is taken.
    #[error("the file is larger than {} MiB", MAX_FILE >> 20)]
    TooLarge,
    /// The first line is no header.
    #[error(
        "line 1 is no header: it must be a JSON object with `user_name`, `character_name` or `chat_metadata`"
    )]
    NoHeader,
    /// A line is no message.
    #[error("line {line} is no message: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// Reads a chat. Empty lines are passed over; fields that are not known are too.
///
/// # Errors
/// [`ChatFileError`] with the line; then nothing of it is taken.
///
/// ```
/// use haft_core::chat::{ChatRole, read_chat_file};
/// let file = "{\"user_name\":\"Ada\",\"character_name\":\"Keeper\",\"chat_metadata\":{}}\n\
///     {\"name\":\"Keeper\",\"is_user\":false,\"mes\":\"Who is there?\"}\n\
///     {\"name\":\"Ada\",\"is_user\":true,\"mes\":\"A friend.\"}\n";
/// let chat = read_chat_file(file)?;
/// assert_eq!((chat.messages[0].role, chat.messages[1].role), (ChatRole::Assistant, ChatRole::User));
/// assert_eq!((chat.character.as_deref(), chat.is_group), (Some("Keeper"), false));
/// # Ok::<(), haft_core::chat::ChatFileError>(())
/// ```
pub fn read_chat_file(text: &str) -> Result<ChatFile, ChatFileError> {
    if text.len() > MAX_FILE {
        return Err(ChatFileError::TooLarge);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, first) = lines.next().ok_or(ChatFileError::Empty)?;
    let header: Map<String, Value> = serde_json::from_str(first).map_err(|_| ChatFileError::NoHeader)?;
    let known = ["user_name", "character_name", "chat_metadata"];
    if header.contains_key("mes") || !known.iter().any(|key| header.contains_key(*key)) {
        return Err(ChatFileError::NoHeader);
    }
    let named = |key: &str| {
        header.get(key).and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned)
    };
    let messages = lines.map(|(at, line)| message(at + 1, line)).collect::<Result<Vec<_>, _>>()?;
    Ok(ChatFile::new(named("user_name"), named("character_name"), messages))
}

fn message(line: usize, text: &str) -> Result<ChatMessage, ChatFileError> {
    let wrong = |reason: String| ChatFileError::Line { line, reason };
    let fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let is = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
    let said = fields.get("mes").and_then(Value::as_str);
    let text = said.ok_or_else(|| wrong("it has no text `mes`".to_owned()))?.to_owned();
    let role = match (is("is_system"), is("is_user")) {
        (true, _) => ChatRole::System,
        (false, true) => ChatRole::User,
        (false, false) => ChatRole::Assistant,
    };
    let name = fields.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
    Ok(ChatMessage { role, name, text })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: &str = "{\"chat_metadata\":{}}\n";

    // CHT-02
    #[test]
    fn a_group_chat_has_many_names_and_the_header_is_no_message() {
        let text = format!(
            "\u{feff}{HEADER}{}\n\n{}\r\n{}\n{}\n",
            r#"{"name":"Ada","is_user":true,"mes":"Hello\nall","extra":{"x":1}}"#,
            r#"{"name":"Keeper","is_user":false,"mes":"Hm."}"#,
            r#"{"name":"Gull","mes":""}"#,
            r#"{"name":"Note","is_system":true,"is_user":true,"mes":"It is night."}"#,
        );
        let chat = read_chat_file(&text).unwrap();
        let rows: Vec<(String, &str)> =
            chat.messages.iter().map(|message| (message.speaker(), message.text.as_str())).collect();
        let expected = [
            ("user, Ada", "Hello\nall"),
            ("assistant, Keeper", "Hm."),
            ("assistant, Gull", ""),
            ("system, Note", "It is night."),
        ];
        assert_eq!(rows, expected.map(|(speaker, text)| (speaker.to_owned(), text)));
        assert!(chat.is_group);
        assert_eq!((chat.user, chat.character), (None, None));
    }

    #[test]
    fn what_is_no_chat_is_refused_with_its_line() {
        let shown = |text: &str| read_chat_file(text).unwrap_err().to_string();
        assert_eq!(shown(" \n"), "the file is empty; a chat begins with a header line");
        let no_header = "line 1 is no header: it must be a JSON object with `user_name`, `character_name` or `chat_metadata`";
        assert_eq!(shown("{\"name\":\"a\",\"mes\":\"no header\"}"), no_header);
        assert_eq!(shown("[1]"), no_header);
        assert_eq!(
            shown(&format!("{HEADER}{{\"name\":\"a\"}}")),
            "line 2 is no message: it has no text `mes`"
        );
        assert!(shown(&format!("{HEADER}\n{{")).starts_with("line 3 is no message: "));
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let text = format!("{HEADER}{}", " ".repeat(MAX_FILE));
        assert_eq!(read_chat_file(&text).unwrap_err().to_string(), "the file is larger than 16 MiB");
    }

    fn said() -> impl Strategy<Value = ChatMessage> {
        let role = prop_oneof![Just(ChatRole::User), Just(ChatRole::Assistant), Just(ChatRole::System)];
        (role, "[A-Z][a-z]{0,3}", ".{0,12}").prop_map(|(role, name, text)| ChatMessage {
            role,
            name: Some(name),
            text,
        })
    }

    proptest! {
        // CHT-02
        #[test]
        fn what_is_written_is_read_back(
            user in proptest::option::of("[A-Z][a-z]{0,3}"),
            messages in proptest::collection::vec(said(), 0..6),
        ) {
            let chat = ChatFile::new(user, None, messages);
            prop_assert_eq!(read_chat_file(&chat.to_jsonl()), Ok(chat));
        }

        #[test]
        fn foreign_lines_are_never_a_panic(lines in proptest::collection::vec("[{}\\[\\]\":a-z0-9, ]{0,20}", 0..6)) {
            let _chat = read_chat_file(&format!("{HEADER}{}", lines.join("\n")));
        }
    }
}
