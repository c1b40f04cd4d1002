//! Verification's details: a line of JSON for each wrong value, in the shape that the crate record
//! defines.

use crate::{Document, Sink};
use memtide_record::{Event, WrongValues};
use std::io::{self, Write};

/// A sink that writes the wrong values of a run when it is over.
#[derive(Debug)]
pub struct DetailsJson<D> {
    out: Option<D>,
}

impl<D: Document> DetailsJson<D> {
    /// A sink that writes to `out`, which is empty afterwards if there were no wrong values.
    pub const fn new(out: D) -> Self {
        Self { out: Some(out) }
    }
}

impl<D: Document> Sink for DetailsJson<D> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::WrongValues(found) = event else { return Ok(()) };
        let Some(mut out) = self.out.take() else { return Ok(()) };
        write_details(found, &mut out)?;
        out.complete()
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::WrongValues(_))
    }
}

/// Writes a line for each listed value, then one with the number of further ones, if any, and
/// flushes.
///
/// # Errors
/// Those of the writer.
fn write_details(found: &WrongValues, mut out: impl Write) -> io::Result<()> {
    for wrong in &found.listed {
        writeln!(out, "{}", wrong.to_json())?;
    }
    let not_listed = found.not_listed;
    if not_listed > 0 {
        writeln!(out, "{{\"not_listed\":{not_listed}}}")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
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
        let mut out = Vec::new();
        write_details(&WrongValues { listed: vec![wrong, torn], not_listed: 5 }, &mut out).unwrap();
        let line = |rest| format!(r#"{{"op":7,"server":"a:11211","key":"k1",{rest}}}"#) + "\n";
        let lines = [
            line(r#""class":"stale","version_min":3,"version":2,"offset":0"#),
            line(r#""class":"truncated","version_min":3,"version":null,"offset":12"#),
            "{\"not_listed\":5}\n".to_owned(),
        ];
        assert_eq!(String::from_utf8(out).unwrap(), lines.concat());
    }
}
