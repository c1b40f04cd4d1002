//! Samples as JSON Lines, an object for each. The shape is the sample's own.

use crate::Sink;
use memtide_schema::Event;
use std::io::{self, BufWriter, Write};

/// Rows are gathered to this many bytes before they are written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A file of samples in the making.
#[derive(Debug)]
pub struct SampleLines<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> SampleLines<W> {
    /// A file of which nothing is written before its first row or its end.
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
