//! A record as JSON. The shape is the record's own; nothing is chosen or renamed here.

use memtide_schema::Record;
use std::io::{self, Write};

/// Writes the whole record, ending with a line break, and flushes. An error is the writer's.
pub fn write_record(record: &Record, mut out: impl Write) -> io::Result<()> {
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
