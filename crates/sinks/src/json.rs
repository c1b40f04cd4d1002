//! A record as JSON, in the shape that the crate record defines; nothing is selected or renamed.

use crate::{Document, Sink};
use memtide_record::{Event, Record};
use std::io::{self, Write};

/// A sink that writes the record of a run when it is there.
#[derive(Debug)]
pub struct RecordJson<D> {
    out: Option<D>,
}

impl<D: Document> RecordJson<D> {
    /// A sink that writes the first record to `out`; earlier content stays until the record is
    /// whole.
    pub const fn new(out: D) -> Self {
        Self { out: Some(out) }
    }
}

impl<D: Document> Sink for RecordJson<D> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Done(record) = event else { return Ok(()) };
        let Some(mut out) = self.out.take() else { return Ok(()) };
        write_record(record, &mut out)?;
        out.complete()
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_))
    }
}

/// Writes the whole record with a line break at the end, and flushes.
///
/// # Errors
/// Those of the writer.
fn write_record(record: &Record, mut out: impl Write) -> io::Result<()> {
    out.write_all(record.to_json().as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_json_text_with_a_last_line_break() {
        let mut out = Vec::new();
        write_record(&Record::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("{\n  \"schema\": \"memtide.record/2\""));
        assert!(text.ends_with("}\n"));
    }
}
