//! Seconds of the load as rows of a Parquet file. The crate record defines the columns.

use super::ParquetRun;
use super::table::{Cell, Table};
use crate::{Document, Sink};
use memtide_base::Span;
use memtide_record::event::IntervalRow;
use memtide_record::{CellForm, Column, Event, Record};
use memtide_scenario::scenario_file;
use serde_json::Value;
use std::io;

/// The name of the rows' format, for readers of the file.
const FORMAT: &str = "memtide.intervals/1";

/// A writer of a Parquet file with one row for each second and kind.
#[derive(Debug)]
pub struct ParquetIntervals<W: Document> {
    table: Table<W>,
    columns: Vec<Column>,
    step: Option<u32>,
    /// The end of the last row of this load.
    until: Span,
    /// True if the rows are those of a record.
    is_of_record: bool,
    /// True once the file has rows or facts to write.
    has_begun: bool,
}

impl<W: Document> ParquetIntervals<W> {
    /// A writer for the seconds of a load, as they end.
    pub fn live(out: W, run: ParquetRun) -> Self {
        let mut sink = Self::new(out, false);
        sink.table.describe(FORMAT, run);
        sink
    }

    /// A writer for the seconds of the first record.
    pub fn of_record(out: W) -> Self {
        Self::new(out, true)
    }

    fn new(out: W, is_of_record: bool) -> Self {
        let columns = IntervalRow::columns();
        let table = Table::new(out, &columns);
        Self { table, columns, step: None, until: Span::ZERO, is_of_record, has_begun: false }
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let scenario = scenario_file(&record.scenario);
        let version = record.machine.memtide_version.clone();
        self.table.describe(FORMAT, ParquetRun { scenario, version, tags: record.tags.clone() });
        IntervalRow::of_record(record).iter().try_for_each(|row| self.row(row))
    }

    fn row(&mut self, row: &IntervalRow) -> io::Result<()> {
        let cells = self.columns.iter().zip(row.cells());
        self.table.row(cells.map(|(column, (_, value))| cell(column.cell, value)))
    }
}

impl<W: Document> Sink for ParquetIntervals<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepBegun(step) => {
                self.step = Some(step.number);
                Ok(())
            }
            Event::Interval(interval) if !self.is_of_record => {
                self.has_begun = true;
                self.until = interval.end();
                let rows = IntervalRow::of_interval(interval, self.step);
                rows.iter().try_for_each(|row| self.row(row))
            }
            Event::Done(record) if self.is_of_record && !self.has_begun => {
                self.has_begun = true;
                self.record(record)
            }
            Event::Done(record) if !self.is_of_record => {
                let row = IntervalRow::surplus(record, self.step, self.until);
                row.map_or(Ok(()), |row| self.row(&row))
            }
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepBegun(_) | Event::Interval(_) | Event::Done(_))
    }

    /// Writes the remaining rows and the file's end, and puts the file in its place. A run that
    /// ended before its load leaves no file.
    fn finish(&mut self) -> io::Result<()> {
        if self.has_begun { self.table.complete() } else { Ok(()) }
    }
}

fn cell(form: CellForm, value: &Value) -> Cell<'_> {
    match form {
        _ if value.is_null() => Cell::Empty,
        CellForm::Whole => Cell::Whole(value.as_u64().expect("it is a whole number")),
        CellForm::Fraction => Cell::Fraction(value.as_f64().expect("it is a number")),
        CellForm::Word | CellForm::Bytes => {
            Cell::Bytes(value.as_str().expect("it is a word").as_bytes())
        }
    }
}
