//! Laws that hold for every text.
#![allow(clippy::unwrap_used, reason = "tests")]

use haft_command::{LONGEST, Pattern, Subject, line_shapes, parse, parts_of, shapes};
use proptest::prelude::*;

/// Texts made of what a shell gives a meaning to.
fn hostile() -> impl Strategy<Value = String> {
    let bit = prop::sample::select(vec![
        "rm",
        " ",
        "-rf",
        "$(",
        ")",
        "`",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        "(",
        ";",
        "|",
        "&",
        "<<E\n",
        "\nE\n",
        "<(",
        ">",
        "$x",
        "${",
        "$((",
        "))",
        "if ",
        "then ",
        "fi",
        "for ",
        "do ",
        "done",
        "case ",
        "in ",
        "esac",
        "[[ ",
        " ]]",
        "!",
        "é",
        "\u{202e}",
        "\u{0}",
        "a=b",
        "bash -c ",
        "eval ",
        "xargs ",
        "find . -exec ",
        "env ",
        "*",
        "~",
        "#",
        "\n",
        "$'\\x",
        "{a,b}",
        "function f ",
        "time ",
        "coproc ",
    ]);
    prop::collection::vec(bit, 0..40).prop_map(|bits| bits.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![hostile(), ".{0,80}"]) {
        let line = parse(&text);
        let pattern = Pattern::parse("rm -rf *").unwrap();
        for command in &line.commands {
            let all = shapes(command);
            prop_assert!(all.len() <= 3);
            // An allow never holds where a deny of the same words does not.
            prop_assert!(!pattern.surely_fits(&Subject::of(command)) || pattern.perhaps_fits(&Subject::of(command)));
        }
        for shape in line_shapes(&line) {
            let parts: Vec<&str> = parts_of(&shape).collect();
            prop_assert!(line.commands.iter().all(|command| shapes(command).iter().any(|shape| parts.contains(&shape.as_str()))));
        }
    }

    // Complaint 6: order and bundling of options do not matter.
    #[test]
    fn order_and_bundling_do_not_matter(
        letters in prop::collection::hash_set(prop::sample::select(vec!['r', 'f', 'v', 'i', 'd']), 1..5),
        split in prop::collection::vec(any::<bool>(), 5),
        place in 0_usize..3,
    ) {
        let mut words = vec![String::from("-")];
        for (letter, split) in letters.iter().zip(split) {
            if split && words.last().is_some_and(|word| word.len() > 1) {
                words.push("-".into());
            }
            words.last_mut().unwrap().push(*letter);
        }
        words.insert(place.min(words.len()), "target".into());
        let line = parse(&format!("rm {}", words.join(" ")));
        let deny = Pattern::parse("rm -r -f").unwrap();
        prop_assert_eq!(deny.perhaps_fits(&Subject::of(&line.commands[0])), letters.contains(&'r') && letters.contains(&'f'));
    }

    // A shape of one command never covers another program or another subcommand.
    #[test]
    fn shapes_keep_program_and_subcommand(program in "[a-z]{2,5}", words in prop::collection::vec("[-a-z ;'|$]{0,6}", 0..4)) {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', ""))).collect();
        let line = parse(&format!("{program} {}", quoted.join(" ")));
        for shape in line.commands.first().map(shapes).unwrap_or_default() {
            prop_assert!(shape == program || shape.starts_with(&format!("{program} ")), "{}", shape);
            prop_assert_eq!(parts_of(&shape).count(), 1, "{}", shape);
        }
    }
}

#[test]
fn deep_and_long_texts_are_doubts_and_cost_little() {
    let deep: Vec<String> = [
        ("(", ")"),
        ("$(", ")"),
        ("{ ", "; }"),
        ("if a; then ", "; fi"),
        ("\"$(", ")\""),
        ("${a:-", "}"),
        ("! ", ""),
        ("`\\", "`"),
    ]
    .into_iter()
    .map(|(open, close)| format!("{}a{}", open.repeat(5_000), close.repeat(5_000)))
    .collect();
    for text in deep {
        assert!(!parse(&text).doubts.is_empty(), "{}", &text[..20]);
    }
    let many = "ls;".repeat(2_000);
    assert!(parse(&many).is_blind());
    assert!(parse(&"a".repeat(LONGEST + 1)).is_blind());
    // Each layer triples the quotes: ten are more than is read.
    let nested = (0..10).fold(String::from("ls"), |text, _| format!("bash -c {}", quote(&text)));
    assert!(parse(&nested).is_blind());
    assert!(parse(&format!("{}ls", "nice ".repeat(100))).is_blind());
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
