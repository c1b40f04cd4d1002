//! Samples as CSV, a row for each.
//!
//! Every cell is a number or one of our own words, so no cell ever needs quotes; that is why
//! rows are written plainly, without a CSV library.

use memtide_base::Instant;
use memtide_schema::Sample;
use std::io::{self, BufWriter, Write};

const HEADER: &[u8] = b"intended_ns,sent_ns,received_ns,op,outcome,bytes,connection\n";
/// Rows are gathered to this many bytes before they are written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A sample file in the making. Instants are in ns since the beginning of the run.
#[derive(Debug)]
pub struct SampleCsv<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> SampleCsv<W> {
    /// Begins a file with its header. An error is the writer's, here as below.
    pub fn new(out: W) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        out.write_all(HEADER)?;
        Ok(Self { out })
    }

    /// Adds a row; a cell is empty where the sample has nothing.
    pub fn write(&mut self, sample: &Sample) -> io::Result<()> {
        write!(self.out, "{},", sample.intended.ns())?;
        self.instant(sample.sent)?;
        self.instant(sample.received)?;
        write!(self.out, "{},{},{},", sample.kind, sample.outcome.name(), sample.bytes)?;
        if let Some(connection) = sample.connection {
            write!(self.out, "{connection}")?;
        }
        self.out.write_all(b"\n")
    }

    /// Writes what is still gathered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn instant(&mut self, instant: Option<Instant>) -> io::Result<()> {
        match instant {
            Some(instant) => write!(self.out, "{},", instant.ns()),
            None => self.out.write_all(b","),
        }
    }
}

#[cfg(test)]
mod tests;
