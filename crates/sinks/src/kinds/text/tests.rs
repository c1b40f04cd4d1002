//! The text of wrong values.

use super::*;
use memtide_record::WrongValue;

#[test]
fn each_wrong_value_has_a_line_and_the_last_says_what_is_missing() {
    let wrong = WrongValue {
        op: 7,
        server: "a:11211".to_owned(),
        key: "k1".to_owned(),
        class: "stale",
        version_min: 3,
        version: Some(2),
        offset: 0,
    };
    let torn = WrongValue { class: "truncated", version: None, offset: 12, ..wrong.clone() };
    let text = details(&WrongValues { listed: vec![wrong, torn], not_listed: 5 });
    let line = |rest| format!(r#"{{"op":7,"server":"a:11211","key":"k1",{rest}}}"#) + "\n";
    let lines = [
        line(r#""class":"stale","version_min":3,"version":2,"offset":0"#),
        line(r#""class":"truncated","version_min":3,"version":null,"offset":12"#),
        "{\"not_listed\":5}\n".to_owned(),
    ];
    assert_eq!(text, lines.concat());
}
