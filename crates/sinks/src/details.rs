//! Verification's details: a line of JSON for each wrong value. The shape is the row's own.

use memtide_schema::WrongValue;
use std::io::{self, Write};

/// Writes a line for each of `listed`, then one that says how many more there were, if any, and
/// flushes. An error is the writer's.
pub fn write_details(
    listed: &[WrongValue],
    not_listed: u64,
    mut out: impl Write,
) -> io::Result<()> {
    for wrong in listed {
        writeln!(out, "{}", wrong.to_json())?;
    }
    if not_listed > 0 {
        writeln!(out, "{{\"not_listed\":{not_listed}}}")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut out = Vec::new();
        write_details(&[wrong, torn], 5, &mut out).unwrap();
        let line = |rest| format!(r#"{{"op":7,"server":"a:11211","key":"k1",{rest}}}"#) + "\n";
        let lines = [
            line(r#""class":"stale","version_min":3,"version":2,"offset":0"#),
            line(r#""class":"truncated","version_min":3,"version":null,"offset":12"#),
            "{\"not_listed\":5}\n".to_owned(),
        ];
        assert_eq!(String::from_utf8(out).unwrap(), lines.concat());
    }
}
