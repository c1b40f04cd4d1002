//! Samples as rows of a Parquet file. The crate record defines the columns.

use super::ParquetRun;
use super::table::{Cell, Table};
use crate::{Document, Sink};
use memtide_base::Instant;
use memtide_record::{Event, Sample};
use std::io;

/// The name of the rows' format, for readers of the file.
const FORMAT: &str = "memtide.samples/1";

/// A writer of a Parquet file of samples. Instants are in ns since the load began.
#[derive(Debug)]
pub struct ParquetSamples<W: Document> {
    table: Table<W>,
}

impl<W: Document> ParquetSamples<W> {
    /// A writer that writes nothing before its rows fill a group, or before its end.
    pub fn new(out: W, run: ParquetRun) -> Self {
        let mut table = Table::new(out, &Sample::COLUMNS);
        table.describe(FORMAT, run);
        Self { table }
    }
}

impl<W: Document> Sink for ParquetSamples<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Sample(sample) = event else { return Ok(()) };
        let whole = |number: Option<u64>| number.map_or(Cell::Empty, Cell::Whole);
        let instant = |at: Option<Instant>| whole(at.map(|at| at.since(sample.begun).ns()));
        self.table.row([
            instant(Some(sample.intended)),
            instant(sample.sent),
            instant(sample.received),
            Cell::Bytes(sample.kind.name().as_bytes()),
            Cell::Bytes(sample.outcome.name().as_bytes()),
            Cell::Whole(sample.bytes),
            whole(sample.connection.map(u64::from)),
            Cell::Whole(sample.index),
            Cell::Bytes(&sample.key),
            whole(sample.size),
        ])
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Sample(_))
    }

    fn restart(&mut self) -> io::Result<()> {
        self.table.restart()
    }

    /// Writes the remaining rows and the file's end, and puts the file in its place. A run without
    /// measured operations leaves a file without rows.
    fn finish(&mut self) -> io::Result<()> {
        self.table.complete()
    }
}
