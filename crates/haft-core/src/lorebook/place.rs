//! Where active entries stand in a context (WLD-02). Haft's context is a prompt and messages: it has no author's note and no
//! examples of its own, so that entries for those stand behind the prompt, in the order of their positions.

use super::{ActivatedEntry, LorePosition, WorldInfoActivation};

/// What stands above an entry among the messages, so that nobody takes it for a person's words.
const AMONG_MESSAGES: &str = "[World info]";

impl LorePosition {
    /// Before the prompt, behind it, or among the messages.
    fn place(self) -> Place {
        match self {
            Self::BeforeCharacter => Place::Before,
            Self::AfterCharacter
            | Self::NoteTop
            | Self::NoteBottom
            | Self::BeforeExamples
            | Self::AfterExamples => Place::Behind,
            Self::AtDepth => Place::Among,
        }
    }
}

#[derive(PartialEq, Eq)]
enum Place {
    Before,
    Behind,
    Among,
}

impl WorldInfoActivation {
    /// `prompt` with the entries that stand before and behind it, a blank line between each.
    ///
    /// ```
    /// use haft_core::Timestamp;
    /// use haft_core::lorebook::{activate, read_lorebook};
    /// let book = read_lorebook("Coast", r#"{"entries": [
    ///     {"keys": [], "constant": true, "content": "The coast is steep."},
    ///     {"keys": ["lamp"], "content": "It never goes out.", "position": "after_char"}
    /// ]}"#)?;
    /// let active = activate(&[book], &["the lamp"], Timestamp(7));
    /// assert_eq!(active.around("You write."), "The coast is steep.\n\nYou write.\n\nIt never goes out.");
    /// # Ok::<(), haft_core::lorebook::LorebookError>(())
    /// ```
    pub fn around(&self, prompt: &str) -> String {
        let at = |place| self.at(place).map(|entry| entry.content.trim());
        let all = at(Place::Before).chain([prompt.trim()]).chain(at(Place::Behind));
        all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The entries among the messages: how many messages from the end, and the text there. Those of one depth are one text; the
    /// deepest comes first.
    pub fn among(&self) -> Vec<(u32, String)> {
        let mut entries: Vec<&ActivatedEntry> = self.at(Place::Among).collect();
        // A stable sort: in one depth the order of the entries holds.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.depth));
        entries
            .chunk_by(|one, next| one.depth == next.depth)
            .filter_map(|same| {
                let texts: Vec<&str> =
                    same.iter().map(|entry| entry.content.trim()).filter(|text| !text.is_empty()).collect();
                let depth = same.first()?.depth;
                (!texts.is_empty()).then(|| (depth, format!("{AMONG_MESSAGES}\n{}", texts.join("\n\n"))))
            })
            .collect()
    }

    fn at(&self, place: Place) -> impl Iterator<Item = &ActivatedEntry> {
        self.entries.iter().filter(move |entry| entry.position.place() == place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(entries: &[(LorePosition, u32, &str)]) -> WorldInfoActivation {
        let entry = |(position, depth, content): &(LorePosition, u32, &str)| ActivatedEntry {
            reference: "w1".to_owned(),
            uid: 0,
            name: "n".to_owned(),
            book: "b".to_owned(),
            position: *position,
            depth: *depth,
            order: 0,
            content: (*content).to_owned(),
        };
        WorldInfoActivation { timestamp_ms: 0, entries: entries.iter().map(entry).collect() }
    }

    // WLD-02
    #[test]
    fn entries_stand_around_the_prompt_by_position() {
        let active = active(&[
            (LorePosition::BeforeCharacter, 4, "before\n"),
            (LorePosition::AfterCharacter, 4, "after"),
            (LorePosition::NoteTop, 4, "note"),
            (LorePosition::AtDepth, 4, "deep"),
            (LorePosition::AfterExamples, 4, " "),
        ]);
        assert_eq!(active.around("prompt"), "before\n\nprompt\n\nafter\n\nnote");
        assert_eq!(active.around(""), "before\n\nafter\n\nnote");
        assert_eq!(WorldInfoActivation::default().around("prompt"), "prompt");
    }

    // WLD-02
    #[test]
    fn entries_of_one_depth_are_one_text_and_the_deepest_comes_first() {
        let active = active(&[
            (LorePosition::AtDepth, 0, "end"),
            (LorePosition::AtDepth, 4, "one"),
            (LorePosition::AtDepth, 4, "two"),
            (LorePosition::AtDepth, 2, " "),
        ]);
        let expected = [(4, "[World info]\none\n\ntwo"), (0, "[World info]\nend")];
        assert_eq!(active.among(), expected.map(|(depth, text)| (depth, text.to_owned())));
    }
}
