//! Samples as JSON Lines, one object each, in the shape that the crate record defines.

use crate::Sink;
use memtide_record::Event;
use std::io::{self, BufWriter, Write};

/// The number of bytes that rows are gathered to before they are written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A writer of a file of samples.
#[derive(Debug)]
pub struct SampleLines<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> SampleLines<W> {
    /// A writer that writes nothing before its first row or its end.
    pub fn new(out: W) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, out) }
    }
}

impl<W: Write + Send> Sink for SampleLines<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Sample(sample) = event else { return Ok(()) };
        writeln!(self.out, "{}", sample.to_json())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Sample(_))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
