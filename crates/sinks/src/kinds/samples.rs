//! Samples as CSV and as JSON Lines, one row each.
//!
//! Every cell of CSV but the key is a number or one of our own words, which need no quotes, so rows
//! are written without a CSV library.

use crate::Sink;
use memtide_base::Span;
use memtide_record::{Event, Sample};
use std::io::{self, BufWriter, Write};

/// The number of bytes that rows are gathered to before they are written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A writer of a sample file. Instants are in ns since the schedules of the load began, so that the
/// files of a run's shares can be read together.
#[derive(Debug)]
pub struct SampleCsv<W: Write> {
    out: BufWriter<W>,
    begun: bool,
}

impl<W: Write> SampleCsv<W> {
    /// A writer that writes nothing before its first row or its end.
    pub fn new(out: W) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, out), begun: false }
    }

    /// Adds a row; missing values are empty cells.
    ///
    /// # Errors
    /// Those of the writer.
    fn write(&mut self, sample: &Sample) -> io::Result<()> {
        self.begin()?;
        for instant in [Some(sample.intended), sample.sent, sample.received] {
            self.instant(instant.map(|instant| instant.since(sample.begun)))?;
        }
        write!(self.out, "{},{},{},", sample.kind, sample.outcome.name(), sample.bytes)?;
        if let Some(connection) = sample.connection {
            write!(self.out, "{connection}")?;
        }
        write!(self.out, ",{},", sample.index)?;
        self.text(&sample.key)?;
        match sample.size {
            Some(bytes) => writeln!(self.out, ",{bytes}"),
            None => self.out.write_all(b",\n"),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            let names = Sample::COLUMNS.map(|column| column.name);
            writeln!(self.out, "{}", names.join(","))?;
        }
        Ok(())
    }

    fn instant(&mut self, instant: Option<Span>) -> io::Result<()> {
        match instant {
            Some(instant) => write!(self.out, "{},", instant.ns()),
            None => self.out.write_all(b","),
        }
    }

    /// Adds a cell of any bytes, in quotes if they need them (RFC 4180).
    fn text(&mut self, text: &[u8]) -> io::Result<()> {
        if !text.iter().any(|byte| b",\"\r\n".contains(byte)) {
            return self.out.write_all(text);
        }
        self.out.write_all(b"\"")?;
        for (nth, part) in text.split(|&byte| byte == b'"').enumerate() {
            self.out.write_all(if nth > 0 { b"\"\"" } else { b"" })?;
            self.out.write_all(part)?;
        }
        self.out.write_all(b"\"")
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

    /// Writes the gathered rows; at least the header.
    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.out.flush()
    }
}

/// A writer of samples as JSON Lines, one object each, in the shape that the schema defines.
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

#[cfg(test)]
mod tests;
