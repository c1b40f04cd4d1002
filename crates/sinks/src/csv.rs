//! Samples as CSV, a row for each.
//!
//! Every cell is a number or one of our own words, so no cell ever needs quotes; that is why
//! rows are written plainly, without a CSV library.

use crate::Sink;
use memtide_base::Instant;
use memtide_schema::{Event, Sample};
use std::io::{self, BufWriter, Write};

const HEADER: &[u8] = b"intended_ns,sent_ns,received_ns,op,outcome,bytes,connection\n";
/// Rows are gathered to this many bytes before they are written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A sample file in the making. Instants are in ns since the beginning of the run.
#[derive(Debug)]
pub struct SampleCsv<W: Write> {
    out: BufWriter<W>,
    begun: bool,
}

impl<W: Write> SampleCsv<W> {
    /// A file of which nothing is written before its first row or its end.
    pub fn new(out: W) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, out), begun: false }
    }

    /// Adds a row; a cell is empty where the sample has nothing. An error is the writer's.
    fn write(&mut self, sample: &Sample) -> io::Result<()> {
        self.begin()?;
        write!(self.out, "{},", sample.intended.ns())?;
        self.instant(sample.sent)?;
        self.instant(sample.received)?;
        write!(self.out, "{},{},{},", sample.kind, sample.outcome.name(), sample.bytes)?;
        if let Some(connection) = sample.connection {
            write!(self.out, "{connection}")?;
        }
        self.out.write_all(b"\n")
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            self.out.write_all(HEADER)?;
        }
        Ok(())
    }

    fn instant(&mut self, instant: Option<Instant>) -> io::Result<()> {
        match instant {
            Some(instant) => write!(self.out, "{},", instant.ns()),
            None => self.out.write_all(b","),
        }
    }
}

impl<W: Write + Send> Sink for SampleCsv<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Sample(sample) => self.write(sample),
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Sample(_))
    }

    /// Writes what is still gathered; the header at least.
    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
