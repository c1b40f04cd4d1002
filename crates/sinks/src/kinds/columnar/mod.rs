//! Samples and seconds of the load as Parquet: typed, compressed columns, with the scenario beside
//! them. A file is complete only with its end, so it is put in its place only then.

mod intervals;
mod table;

pub use intervals::ParquetIntervals;

use crate::{Document, Sink};
use memtide_record::{Event, Sample};
use memtide_scenario::Tags;
use std::io;
use table::{Cell, Table};

/// The name of the rows' format, for readers of the file.
const FORMAT: &str = "memtide.samples/1";

/// Facts of the run that a Parquet file holds beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParquetRun {
    /// A scenario file that reproduces the load.
    pub scenario: String,
    /// The version of memtide that made the measurement.
    pub version: String,
    /// The user's tags of the run.
    pub tags: Tags,
}

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
        let [sent, received] = [sample.sent, sample.received]
            .map(|at| whole(at.map(|at| at.since(sample.begun).ns())));
        self.table.row([
            Cell::Whole(sample.intended.since(sample.begun).ns()),
            sent,
            received,
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

fn whole(number: Option<u64>) -> Cell<'static> {
    number.map_or(Cell::Empty, Cell::Whole)
}

#[cfg(test)]
mod tests;
