//! Tests of the search for a passage.

use proptest::prelude::*;

use super::*;

fn found(text: &str, passage: &str) -> (&'static str, String) {
    match find(text, passage) {
        Ok(Found { range, how }) => {
            let word = match how {
                How::Exact => "exact",
                How::Alike => "alike",
                How::Approximate(_) => "approximate",
            };
            (word, text[range].to_owned())
        }
        Err(Miss::Absent) => ("absent", String::new()),
        Err(Miss::TooLong) => ("too long", String::new()),
        Err(Miss::Ambiguous(lines)) => ("ambiguous", format!("{lines:?}")),
    }
}

// ART-02
#[test]
fn passages_are_found_exactly_then_alike_then_nearly() {
    let cases = [
        ("a = 1\nb = 2\n", "b = 2", "exact", "b = 2"),
        (
            "say \u{201c}yes\u{201d} \u{2013} now",
            "say \"yes\" - now",
            "alike",
            "say \u{201c}yes\u{201d} \u{2013} now",
        ),
        ("one\u{a0}two\r\nthree", "one two\nthree", "alike", "one\u{a0}two\r\nthree"),
        ("cafe\u{301} bar", "caf\u{e9} bar", "alike", "cafe\u{301} bar"),
        ("the of\u{fb01}ce", "office", "alike", "of\u{fb01}ce"),
        ("fn main() {\n\tprint(1);\n}\n", "    print(1);", "alike", "\tprint(1);"),
        ("fn main() {\n\tprint(1);\n}\n", "    print(2);\n", "approximate", "\tprint(1);\n"),
        ("a = 1  \nb = 2\n", "a = 1\nb = 2", "alike", "a = 1  \nb = 2"),
        ("The quick brown fox jumps.", "The quik brown fox", "approximate", "The quick brown fox"),
        ("foo bar bat!", "foo bar baz", "approximate", "foo bar bat"),
        ("alpha\nbeta gamma delta\nomega", "beta gama delta\n", "approximate", "beta gamma delta\n"),
        ("aaa", "aa", "ambiguous", "[1]"),
        ("x\ny\nx\n", "x", "ambiguous", "[1, 3]"),
        ("value_1 = 10\nvalue_2 = 10\n", "value_3 = 10", "ambiguous", "[1, 2]"),
        ("hello world", "xyz", "absent", ""),
        ("hello world", "quite another sentence", "absent", ""),
        ("", "x", "absent", ""),
    ];
    for (text, passage, how, place) in cases {
        assert_eq!(found(text, passage), (how, place.to_owned()), "{passage:?} in {text:?}");
    }
}

// ART-02
#[test]
fn the_limit_is_five_edits_or_three_tenths() {
    let text = format!("{}\n{}\n", "0123456789".repeat(4), "abcdefghij");
    assert_eq!(found(&text, "abcdeVWXYZ").0, "approximate");
    assert_eq!(found(&text, "abcdUVWXYZ").0, "absent");
    let long = "lorem ipsum dolor sit amet consectetur adi";
    assert_eq!(found(long, &long.replace("dolor sit am", "DOLOR SIT AM")).0, "approximate");
    assert_eq!(found(long, &long.replace("dolor sit amet con", "DOLOR SIT AMET CON")).0, "absent");
}

// ART-02
#[test]
fn work_is_bounded_whatever_comes() {
    let text = "ab".repeat(400_000);
    assert_eq!(found(&text, &"ba".repeat(20_000).replace("bab", "bcb")).0, "too long");
    assert_eq!(found(&"x".repeat(MAX_TEXT + 1), "y").0, "too long");
    assert_eq!(found(&"x".repeat(MAX_TEXT + 1), "xy").0, "too long");
    assert_eq!(found(&text, "abababXbab").0, "ambiguous");
    let flood = "\u{301}".repeat(100_000);
    assert_eq!(found(&flood, "e").0, "absent");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_place_is_always_a_part_of_the_text(text in "[a-c \t\r\n\u{301}é“ﬁ한¨]{0,60}", passage in "[a-c \r\n\u{301}é\"f¨]{1,20}") {
        if let Ok(Found { range, how }) = find(&text, &passage) {
            let part = text.get(range.clone());
            prop_assert!(part.is_some(), "{range:?} of {text:?}");
            prop_assert!(how != How::Exact || part == Some(passage.as_str()));
        }
    }

    #[test]
    fn a_slip_in_a_passage_that_stands_once_is_forgiven(
        before in "[a-f \n]{0,80}", after in "[a-f \n]{0,80}", at in 0usize..24,
    ) {
        let passage = "THE UNIQUE PASSAGE STANDS";
        let mut slipped: Vec<char> = passage.chars().collect();
        slipped[at] = '#';
        let slipped: String = slipped.into_iter().collect();
        let text = format!("{before}\n{passage}\n{after}");
        let Found { range, how } = find(&text, &slipped).unwrap();
        prop_assert_eq!((&text[range], how), (passage, How::Approximate(1)));
    }
}
