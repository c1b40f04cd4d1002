//! A writer of Parquet files: rows are gathered by column, and written as groups of bounded memory.
//! It knows the columns' names and types, and nothing of their meaning.

use super::ParquetRun;
use crate::Document;
use memtide_record::{CellForm, Column};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::sync::Arc;
use std::{io, mem};

/// The most rows of a group.
pub(super) const GROUP_ROWS_MAX: usize = 64 << 10;
/// The most memory of the gathered cells of a group, in bytes, without its last row.
pub(super) const GROUP_BYTES_MAX: usize = 16 << 20;
/// The memory that a cell of bytes takes beside its bytes.
const BYTES_CELL: usize = size_of::<ByteArray>();

/// A cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    /// No value.
    Empty,
    /// A whole number.
    Whole(u64),
    /// A number with a fraction.
    Fraction(f64),
    /// A word, or any bytes.
    Bytes(&'a [u8]),
}

/// A table that is being written to a file.
#[derive(Debug)]
pub(super) struct Table<W: Document> {
    stage: Stage<W>,
    columns: Vec<Column>,
    gathered: Vec<Gathered>,
    rows: usize,
    bytes: usize,
    about: Vec<KeyValue>,
    version: String,
}

/// The progress of a file.
#[derive(Debug)]
enum Stage<W: Document> {
    /// Nothing is written.
    Waiting(W),
    /// Its beginning is written.
    Writing(Box<SerializedFileWriter<W>>),
    /// It is in its place, or lost.
    Over,
}

/// The cells of a column that wait for their group.
#[derive(Debug)]
struct Gathered {
    cells: Cells,
    /// For each row 1 if it has a cell, else 0; `None` if every row has one.
    presence: Option<Vec<i16>>,
}

#[derive(Debug)]
enum Cells {
    Whole(Vec<i64>),
    Fraction(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

impl<W: Document> Table<W> {
    /// A table without rows, to be written to `out`.
    pub(super) fn new(out: W, columns: &[Column]) -> Self {
        let gathered = columns.iter().map(Gathered::new).collect();
        let columns = columns.to_vec();
        let (about, version) = (Vec::new(), String::new());
        Self { stage: Stage::Waiting(out), columns, gathered, rows: 0, bytes: 0, about, version }
    }

    /// Sets the facts beside the rows; `format` names the rows' format.
    pub(super) fn describe(&mut self, format: &str, run: ParquetRun) {
        let ParquetRun { scenario, version, tags } = run;
        let tags = serde_json::to_string(&tags).expect("words are always written");
        let about = [
            ("format", format),
            ("version", &version),
            ("scenario", &scenario),
            ("tags", &tags),
            ("columns", &Column::description(&self.columns)),
        ];
        self.about = about
            .map(|(name, text)| KeyValue::new(format!("memtide.{name}"), text.to_owned()))
            .to_vec();
        self.version = version;
    }

    /// Adds a row with one cell for each column. Writes full groups.
    pub(super) fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> io::Result<()> {
        for (gathered, cell) in self.gathered.iter_mut().zip(cells) {
            self.bytes += gathered.push(cell);
        }
        self.rows += 1;
        match self.rows >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX {
            true => self.keeping(Self::write_group),
            false => Ok(()),
        }
    }

    /// Discards all rows, including written ones.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.clear();
        self.keeping(|table| {
            if let Stage::Writing(writer) = mem::replace(&mut table.stage, Stage::Over) {
                let mut out = writer.into_inner().map_err(io_error)?;
                out.restart()?;
                table.stage = Stage::Waiting(out);
            }
            Ok(())
        })
    }

    /// Writes the remaining rows and the end of the file, and puts the file in its place.
    pub(super) fn complete(&mut self) -> io::Result<()> {
        self.keeping(Self::write_group)?;
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Writing(writer) => writer.into_inner().map_err(io_error)?.complete(),
            Stage::Waiting(_) | Stage::Over => Ok(()),
        }
    }

    /// Carries out `act`. If it fails the file is lost, because it would look complete without some
    /// of its rows.
    fn keeping(&mut self, act: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let done = act(self);
        if done.is_err() {
            self.stage = Stage::Over;
        }
        done
    }

    /// Writes the gathered rows as a group, if there are any; before the first, the file's
    /// beginning.
    fn write_group(&mut self) -> io::Result<()> {
        self.begin()?;
        let Stage::Writing(writer) = &mut self.stage else { return Ok(()) };
        assert!(self.rows <= GROUP_ROWS_MAX, "a full group is written");
        let is_whole = self.gathered.iter().all(|gathered| gathered.rows() == self.rows);
        assert!(is_whole, "each row has a cell in each column");
        if self.rows > 0 {
            let mut group = writer.next_row_group().map_err(io_error)?;
            for gathered in &self.gathered {
                let column = group.next_column().map_err(io_error)?;
                let column = column.expect("the group has a column for each of the table");
                gathered.write(column).map_err(io_error)?;
            }
            group.close().map_err(io_error)?;
        }
        self.clear();
        Ok(())
    }

    /// Writes the beginning of the file, unless it was written.
    fn begin(&mut self) -> io::Result<()> {
        self.stage = match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Waiting(out) => {
                let (schema, properties) = (schema(&self.columns), Arc::new(self.properties()));
                let writer = SerializedFileWriter::new(out, schema, properties);
                Stage::Writing(Box::new(writer.map_err(io_error)?))
            }
            later => later,
        };
        Ok(())
    }

    fn properties(&self) -> WriterProperties {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_created_by(format!("memtide version {}", self.version))
            .set_key_value_metadata(Some(self.about.clone()));
        for column in self.columns.iter().filter(|column| column.cell == CellForm::Whole) {
            // Instants and positions ascend, so their differences take few bits.
            let path = ColumnPath::from(&*column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        properties.build()
    }

    fn clear(&mut self) {
        self.gathered.iter_mut().for_each(Gathered::clear);
        (self.rows, self.bytes) = (0, 0);
    }
}

impl Gathered {
    fn new(column: &Column) -> Self {
        let cells = match column.cell {
            CellForm::Whole => Cells::Whole(Vec::new()),
            CellForm::Fraction => Cells::Fraction(Vec::new()),
            CellForm::Word | CellForm::Bytes => Cells::Bytes(Vec::new()),
        };
        Self { cells, presence: column.is_optional.then(Vec::new) }
    }

    /// Adds the cell of a row; returns the bytes of memory that it takes.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        let own = match (&mut self.cells, cell) {
            (Cells::Whole(cells), Cell::Whole(number)) => {
                // The column is declared as unsigned, so the bits stay those of the number.
                cells.push(number.cast_signed());
                size_of::<i64>()
            }
            (Cells::Fraction(cells), Cell::Fraction(number)) => {
                cells.push(number);
                size_of::<f64>()
            }
            (Cells::Bytes(cells), Cell::Bytes(bytes)) => {
                cells.push(ByteArray::from(bytes.to_vec()));
                BYTES_CELL + bytes.len()
            }
            (_, cell) => {
                assert!(cell == Cell::Empty, "{cell:?} does not fit its column");
                assert!(self.presence.is_some(), "a cell is empty that never is");
                0
            }
        };
        match &mut self.presence {
            Some(presence) => {
                presence.push(i16::from(cell != Cell::Empty));
                own + size_of::<i16>()
            }
            None => own,
        }
    }

    /// The number of rows that have, or could have had, a cell.
    fn rows(&self) -> usize {
        let cells = match &self.cells {
            Cells::Whole(cells) => cells.len(),
            Cells::Fraction(cells) => cells.len(),
            Cells::Bytes(cells) => cells.len(),
        };
        self.presence.as_ref().map_or(cells, Vec::len)
    }

    fn write(&self, mut column: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let presence = self.presence.as_deref();
        match &self.cells {
            Cells::Whole(cells) => column.typed::<Int64Type>().write_batch(cells, presence, None),
            Cells::Fraction(cells) => {
                column.typed::<DoubleType>().write_batch(cells, presence, None)
            }
            Cells::Bytes(cells) => {
                column.typed::<ByteArrayType>().write_batch(cells, presence, None)
            }
        }?;
        column.close()
    }

    fn clear(&mut self) {
        match &mut self.cells {
            Cells::Whole(cells) => cells.clear(),
            Cells::Fraction(cells) => cells.clear(),
            Cells::Bytes(cells) => cells.clear(),
        }
        if let Some(presence) = &mut self.presence {
            presence.clear();
        }
    }
}

/// The columns as Parquet declares them.
fn schema(columns: &[Column]) -> TypePtr {
    let columns = columns.iter().map(column_type).collect();
    let rows = Type::group_type_builder("rows").with_fields(columns).build();
    Arc::new(rows.expect("columns have names"))
}

fn column_type(column: &Column) -> TypePtr {
    let (physical, logical) = match column.cell {
        CellForm::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        CellForm::Fraction => (Physical::DOUBLE, None),
        CellForm::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        // Keys need not be text.
        CellForm::Bytes => (Physical::BYTE_ARRAY, None),
    };
    let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let built = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build();
    Arc::new(built.expect("each form of cells is a type of Parquet"))
}

/// Converts an error of the Parquet library; errors of the destination are passed on unchanged.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
