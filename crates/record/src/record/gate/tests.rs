//! Texts of others: what does not come in, and what is cut.

use super::*;

#[test]
fn texts_have_a_bounded_length() {
    let [long, escaped] = [" a", "\\\""].map(|part| part.repeat(TEXT_BYTES_MAX));
    let encoded = "aB+/".repeat(TEXT_BYTES_MAX) + "=";
    let text = format!(r#"{{"{long}": "{escaped}", "histogram": "{encoded}", "b": "\\"}}"#);
    let [cut_off, escapes] = [&long, &escaped].map(|text| &text[..TEXT_BYTES_MAX]);
    let short = format!(r#"{{"{cut_off}…": "{escapes}…", "histogram": "{encoded}", "b": "\\"}}"#);
    assert_eq!(shortened_json(&text), short);
    for damaged in ["\"", "\"\\", "a\"b\"c\""] {
        assert_eq!(shortened_json(damaged), damaged);
    }
    // One that is damaged is cut off, too.
    assert!(shortened_json(&format!("\"{long}")).len() < TEXT_BYTES_MAX + 9);
}

#[test]
fn what_a_terminal_obeys_does_not_come_in() {
    for (text, clean) in [
        (
            r#"{"a": "plain \\ \" ä \u00e9 \ud83d\ude00"}"#,
            r#"{"a": "plain \\ \" ä \u00e9 \ud83d\ude00"}"#,
        ),
        (r#"{"a": "\u001b[2J\n\\n"}"#, r#"{"a": " [2J \\n"}"#),
        ("{\"\u{202e}a\u{7f}\": \"\u{9b}\"}\n", "{\" a \": \" \"}\n"),
        (r#""\u202e\u009B""#, r#""  ""#),
        (r#""\"#, r#""\"#),
        (r#""\u00"#, r#""\u00"#),
        (r#""\uä"#, r#""\uä"#),
    ] {
        assert_eq!(printable_json(text), clean, "{text}");
    }
}
