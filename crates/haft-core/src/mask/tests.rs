use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn mask(secrets: &[(&str, &str)]) -> Mask {
    Mask::new(secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).unwrap()
}

fn record(text: &str) -> String {
    Mask::default().text(text, View::Record).into_owned()
}

#[test]
fn secrets_of_a_known_form_are_masked() {
    let cases = [
        ("sk-proj-abcDEF0123456789abcdef0123", "[masked API key, 34 characters]"),
        ("use sk-ant-api03-Zz01234567890123456789-AA now", "use [masked API key, 38 characters] now"),
        ("key: sk_live_0123456789abcdefABCD", "key: [masked API key, 28 characters]"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[masked GitHub token, 40 characters]"),
        ("(github_pat_11ABCDEFG0123456789_abcdefghij)", "([masked GitHub token, 41 characters])"),
        ("x=\"a\\nAKIAIOSFODNN7EXAMPLE\"", "x=\"a\\n[masked AWS key, 20 characters]\""),
        ("keyghp_0123456789abcdefghij", "key[masked GitHub token, 24 characters]"),
        ("AKIAIOSFODNN7EXAMPLE", "[masked AWS key, 20 characters]"),
        ("xoxb-123456789012-abcdefABCDEF", "[masked Slack token, 30 characters]"),
        ("?key=AIzaSyA0123456789abcdefghijklmnopqrstuv&x=1", "?key=[masked Google key, 39 characters]&x=1"),
        ("glpat-ABCdef0123456789_xyz", "[masked GitLab token, 26 characters]"),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
            "[masked JWT, 71 characters]",
        ),
        ("password = \"hunter2!and-Moon9\"", "password = \"[masked assigned value, 17 characters]\""),
        ("DB_PASSWORD=Xy7Gq2Lm9Tz4", "DB_PASSWORD=[masked assigned value, 12 characters]"),
        ("'client_secret': 'Xy7Gq2Lm9Tz4Bn',", "'client_secret': '[masked assigned value, 14 characters]',"),
        (
            "{\"apiKey\":\"9f86d081884c7d659a2feaa0\"}",
            "{\"apiKey\":\"[masked assigned value, 24 characters]\"}",
        ),
        (
            "{\\\"access_token\\\":\\\"Xy7Gq2Lm9Tz4Bn\\\"}",
            "{\\\"access_token\\\":\\\"[masked assigned value, 14 characters]\\\"}",
        ),
        (
            "Authorization: Bearer Xy7Gq2Lm9Tz4Bn",
            "Authorization: Bearer [masked assigned value, 14 characters]",
        ),
        ("token: Bearer Xy7Gq2Lm9Tz4Bn", "token: Bearer [masked assigned value, 14 characters]"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [masked assigned value, 40 characters]",
        ),
        (
            "https://x.example/?token=Xy7Gq2Lm9Tz4&a=1",
            "https://x.example/?token=[masked assigned value, 12 characters]&a=1",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(record(text), expected, "{text}");
        assert_eq!(Mask::default().text(text, View::Model), text);
    }
}

#[test]
fn a_private_key_is_masked_whole_and_its_first_line_alone_is_not() {
    let body = "MIIEowIBAAKCAQEA7bq0123456789abcdefghijklmnopqrstuvwxyzABCDEF\nGHIJKLMNOPQRSTUV+/==";
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----");
    let count = key.chars().count();
    assert_eq!(record(&format!("a\n{key}\nb")), format!("a\n[masked private key, {count} characters]\nb"));
    let escaped = key.replace('\n', "\\n");
    let count = escaped.chars().count();
    assert_eq!(record(&format!("\"{escaped}\"")), format!("\"[masked private key, {count} characters]\""));
    let cut = format!("-----BEGIN PRIVATE KEY-----\n{body}");
    assert_eq!(record(&cut), format!("[masked private key, {} characters]", cut.chars().count()));
    for innocent in [
        "if text.starts_with(\"-----BEGIN PRIVATE KEY-----\") {",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQ\n-----END CERTIFICATE-----",
        "-----BEGIN PGP SIGNATURE-----\niQEzBAABCAAdFiEE\n-----END PGP SIGNATURE-----",
    ] {
        assert_eq!(record(innocent), innocent);
    }
}

#[test]
fn innocent_text_stays_as_it_is() {
    let innocents = [
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 8ef7bb30c9e5d66f0a1d6a4c4a1f7a0b9d1c2e3f",
        "index 83db48f..bf269f4 100644",
        "123e4567-e89b-12d3-a456-426614174000",
        "token: 123e4567-e89b-12d3-a456-426614174000",
        "checksum = \"c982642fa9e8606056828ee9a8505737230110bb1099153c79efe865c59d12ba\"",
        "\"integrity\": \"sha512-Zr6HSMPcMEmHoBbQ3zZ5y3mq2vmGQPBxZWTqPV3Q0mXHgbQ/uHJc7tZd5NYyFw==\",",
        "source = \"registry+https://packages.example/index\"",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEudHMiXSwibWFwcGluZ3MiOiJBQUFBIn0=",
        "!function(e,t){var n=e.token||t.tokens[0];return n.secret=e.secretOrKeyProvider2,n.password=function(){}}",
        "this.token=this.tokenizer.next2();",
        "const token = await client2.getAccessToken2024();",
        "let password = process.env.DB_PASSWORD_2024;",
        "password: ${{ secrets.PROD_DB_PASSWORD_2024 }}",
        "token=$GITHUB_TOKEN_2024_LONG",
        "secretName: my-app-credentials-v2",
        "max_tokens: 4096, input_tokens: 128000",
        "{\"usage\":{\"input_tokens\":12345678901234,\"output_tokens\":0}}",
        "token_count = 123456789012345",
        "the password is long and nobody knows it",
        "password: correct horse battery staple",
        "PASSWORD=changeme",
        "secret: ./config/secrets/file2024.yaml",
        "token = https://example.org/oauth2/token2",
        ".sk-folding-cube-animation-is-a-long-name { }",
        "task-0123456789abcdef0123456789",
        "ASIAPACIFICNORTHEASTREGION",
        "c_i_0004_1_1 r_0003 s_0001 q_0007 call_0123456789abcdef tool_echo_0123456789ab",
        "toolu_01A09q90qw90lq917835lq9 call_abc123DEF456ghi789JKL012",
        "[secret weather] [masked API key, 34 characters] [secret result, 12 characters]",
        "token: [masked assigned value, 14 characters]",
        "hf_hub_download(repo_id)",
        "xoxo-love-and-kisses",
    ];
    for text in innocents {
        assert!(
            matches!(Mask::default().text(text, View::Record), Cow::Borrowed(_)),
            "{text} -> {}",
            record(text)
        );
    }
}

#[test]
fn known_secrets_are_found_as_they_are_and_as_json_writes_them() {
    let secret = "pa\"ss\\wo/rd\né-9";
    let mask = mask(&[("door", secret), ("short", "1234567")]);
    let once = json!(secret).to_string();
    let once = &once[1..once.len() - 1];
    let twice = json!(once).to_string();
    let twice = &twice[1..twice.len() - 1];
    let strange = "pa\\u0022ss\\u005cwo\\/rd\\u000a\\u00e9-\\u0039";
    for form in [secret, once, twice, strange] {
        let text = format!("a {form} b 1234567");
        assert_eq!(mask.text(&text, View::Model), "a [secret door] b 1234567", "{form}");
    }
    let plain = super::tests::mask(&[("plain", "abcdefgh-😀")]);
    assert_eq!(plain.text("x\\u0061bcdefgh-\\uD83D\\uDE00y", View::Model), "x[secret plain]y");
    assert_eq!(plain.text("x\\uD83D\\u0061bcdefgh", View::Model), "x\\uD83D\\u0061bcdefgh");
}

#[test]
fn parts_of_a_known_secret_are_secrets_too() {
    let file =
        "# comment of the file, long enough\nUSER=ada\nPASSWORD=\"silver-moon\"\nzzzzyyyyxxxxwwwwvvvv\n";
    let mask = mask(&[("env", file)]);
    assert_eq!(
        mask.text("it is silver-moon or zzzzyyyyxxxxwwwwvvvv", View::Model),
        "it is [secret env] or [secret env]"
    );
    assert_eq!(
        mask.text("comment of the file, long enough", View::Model),
        "comment of the file, long enough"
    );
    assert_eq!(mask.text(file.trim(), View::Model), "[secret env]");
}

// A backslash before the escaped form makes another escape of its first letter: the secret is there all the same.
#[test]
fn an_escaped_secret_is_found_behind_a_backslash() {
    let value = "r 0\\ 0 \u{e9}\"x";
    let mask = mask(&[("k", value)]);
    let once = json!(value).to_string();
    let once = &once[1..once.len() - 1];
    let twice = json!(once).to_string();
    for form in [once, &twice[1..twice.len() - 1], "r 0\\u005c 0 \\u00e9\\\"x"] {
        for before in ["", "\\", "\\\\\\", "x\\u000"] {
            let text = format!("\"{before}{form}\"");
            let masked = mask.text(&text, View::Model).into_owned();
            assert!(masked.contains("[secret k]") && !masked.contains("0 "), "{text} {masked}");
            // Where the text was JSON, it stays so.
            if serde_json::from_str::<Value>(&text).is_ok() {
                assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
            }
        }
    }
    assert_eq!(mask.text("\"\\r 0\\\\ 0 \u{e9}\\\"x\"", View::Model), "\"[secret k]\"");
}

#[test]
fn overlapping_secrets_leave_no_rest() {
    let mask = mask(&[("a", "abcdefgh12"), ("b", "gh12345678"), ("c", "h1234567")]);
    assert_eq!(mask.text("<abcdefgh12345678>", View::Model), "<[secret a]>");
}

#[test]
fn a_place_never_tells_a_secret() {
    let mask =
        mask(&[("topsecretname", "whatever-it-is"), ("other", "topsecretname"), ("a b/ü\n", "value-of-it")]);
    assert_eq!(mask.text("whatever-it-is", View::Model), "[secret 1]");
    assert_eq!(mask.text("topsecretname", View::Model), "[secret other]");
    assert_eq!(mask.text("value-of-it", View::Model), "[secret a_b___]");
    assert_eq!(format!("{mask:?}"), "Mask { known: 3 }");
}

#[test]
fn keys_of_objects_are_text_too_and_none_is_lost() {
    let mask = mask(&[("a", "first-secret"), ("a", "second-secret")]);
    let mut value = json!({"first-secret": 1, "second-secret": [{"x": "first-secret"}], "plain": null});
    assert!(mask.value(&mut value, View::Record));
    assert_eq!(value, json!({"[secret a]": 1, "[secret a] 2": [{"x": "[secret a]"}], "plain": null}));
    assert!(!mask.value(&mut value, View::Record));
}

fn streamed(mask: &Mask, text: &str, sizes: &[usize]) -> String {
    let (mut stream, mut shown, mut rest) = (MaskedStream::default(), String::new(), text);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let end =
            (*size..).find(|end| rest.is_char_boundary((*end).min(rest.len()))).unwrap().min(rest.len());
        shown.push_str(&stream.push(mask, &rest[..end]));
        rest = &rest[end..];
    }
    shown + &stream.end(mask)
}

#[test]
fn a_stream_shows_no_secret_however_it_is_cut() {
    let mask = mask(&[("door", "open sesame now")]);
    let texts = [
        "say open sesame now, and open sesame not",
        "the password = \"Xy7Gq2Lm9Tz4Bn\" and more",
        "Authorization: Bearer Xy7Gq2Lm9Tz4Bn is it",
        "key sk-proj-abcDEF0123456789abcdef0123 end of it",
        "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq0123456789abcdefghijklmn\nopqrstuv\n-----END PRIVATE KEY-----\nafter",
    ];
    for text in texts {
        let whole = mask.text(text, View::Record);
        assert!(whole.contains("[masked ") || whole.contains("[secret "), "{whole}");
        for size in 1..20 {
            assert_eq!(streamed(&mask, text, &[size]), whole, "{size}");
        }
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z \\\\\"\\n/=:.]{0,12}",
        Just("ghp_0123456789abcdefghijABCDEFGHIJ012345".to_owned()),
        Just("password=".to_owned()),
        Just("Xy7Gq2Lm9Tz4Bn".to_owned()),
        Just("AKIAIOSFODNN7EXAMPLE".to_owned()),
        Just("[secret k]".to_owned()),
        Just("\\u0061".to_owned()),
        Just("eyJ".to_owned()),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// What may stand before a secret: also what makes another escape of its first letters.
fn beginnings() -> impl Strategy<Value = String> {
    let last = prop_oneof![Just(""), Just("\\"), Just("\\\\\\"), Just("\\u"), Just("\\u00"), Just("\\u005c")];
    (pieces(), last).prop_map(|(pieces, last)| pieces + last)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn masking_twice_is_masking_once(text in pieces(), secret in "[a-zé\"\\\\\n0-9]{8,20}", before in pieces()) {
        let mask = mask(&[("k", &secret)]);
        for text in [text.clone(), format!("{before}{secret}{text}")] {
            for view in [View::Record, View::Model] {
                let once = mask.text(&text, view).into_owned();
                prop_assert_eq!(mask.text(&once, view), once.as_str());
            }
        }
    }

    #[test]
    fn a_known_secret_is_nowhere_afterwards(secret in "[ -~é\n\t\u{1}]{8,30}", before in beginnings(), after in pieces()) {
        let value = secret.trim().to_owned();
        prop_assume!(value.len() >= SHORTEST_SECRET && !value.contains("secret") && !value.contains("masked"));
        let mask = mask(&[("k", &value)]);
        let escaped = json!(value).to_string();
        for form in [value.as_str(), &escaped[1..escaped.len() - 1]] {
            let masked = mask.text(&format!("{before}{form}{after}"), View::Record).into_owned();
            prop_assert!(!masked.contains(form), "{masked}");
        }
    }

    // Nothing but the secrets changes.
    #[test]
    fn what_is_around_a_secret_stays(before in "[a-z äö\n]{0,20}", after in "[a-z äö\n]{0,20}") {
        let mask = mask(&[("k", "0123-456-789")]);
        let text = format!("{before}0123-456-789{after}");
        prop_assert_eq!(mask.text(&text, View::Record), format!("{before}[secret k]{after}"));
        prop_assert!(matches!(mask.text(&before, View::Record), Cow::Borrowed(_)));
    }

    // JSON stays JSON, of the same shape.
    #[test]
    fn json_text_stays_json(text in pieces(), other in pieces()) {
        let mask = mask(&[("k", "pass\"word\\12")]);
        let value = json!({"a": text, "b": [other, "pass\"word\\12", "{\"token\":\"Xy7Gq2Lm9Tz4Bn\"}"], "n": 12_345_678});
        let mut masked = value.clone();
        mask.value(&mut masked, View::Record);
        prop_assert_eq!(&masked["n"], &value["n"]);
        prop_assert_eq!(masked["b"].as_array().unwrap().len(), 3);
        prop_assert_eq!(&masked["b"][1], "[secret k]");
        prop_assert!(serde_json::from_str::<Value>(masked["b"][2].as_str().unwrap()).is_ok());
        // Inside of the text of JSON too.
        let text = value.to_string();
        let masked = mask.text(&text, View::Model).into_owned();
        let read: Value = serde_json::from_str(&masked).unwrap();
        prop_assert_eq!(&read["b"][1], "[secret k]");
    }

    #[test]
    fn a_stream_is_masked_as_the_whole(text in "[a-z =:\"\n]{0,30}", sizes in proptest::collection::vec(1..9_usize, 1..5)) {
        let mask = mask(&[("door", "open sesame now")]);
        let text = format!("{text} open sesame now {text} api_key: 'Xy7Gq2Lm9Tz4Bn' {text}");
        prop_assert_eq!(streamed(&mask, &text, &sizes), mask.text(&text, View::Record));
    }
}
