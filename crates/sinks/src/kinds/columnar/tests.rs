//! Files read back by Parquet's own reader and compared with the same rows as CSV; and the state of
//! the destination before the end, after an error and after a restart.

use super::table::{GROUP_BYTES_MAX, GROUP_ROWS_MAX};
use super::*;
use crate::{Document, SampleCsv, Sink};
use bytes::Bytes;
use memtide_base::rng::{Stream, hash};
use memtide_base::{Instant, Span};
use memtide_record::event::IntervalRow;
use memtide_record::{CellForm, Event, Interval, Record, Sample, SampleOutcome, SecondRecord};
use memtide_scenario::{Kind, RowText};
use parquet::basic::{Compression, LogicalType, Repetition};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A destination with room for a number of bytes. The written bytes are there once it is complete.
struct Place {
    written: Vec<u8>,
    room: usize,
    there: Arc<Mutex<Option<Vec<u8>>>>,
}

type There = Arc<Mutex<Option<Vec<u8>>>>;

fn place(room: usize) -> (Place, There) {
    let there = There::default();
    (Place { written: Vec::new(), room, there: Arc::clone(&there) }, there)
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written.len() + bytes.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Document for Place {
    fn complete(self) -> io::Result<()> {
        *self.there.lock().unwrap() = Some(self.written);
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.written.clear();
        Ok(())
    }
}

fn run() -> ParquetRun {
    ParquetRun {
        scenario: "rate = \"2k\"\nkeys = \"100\"\n".to_owned(),
        version: "1.2.3".to_owned(),
        tags: [("build".to_owned(), "42".to_owned())].into(),
    }
}

fn reader(there: &There) -> SerializedFileReader<Bytes> {
    let bytes = there.lock().unwrap().take().expect("the file is there");
    SerializedFileReader::new(Bytes::from(bytes)).unwrap()
}

/// The rows of a file as CSV without quotes; a missing value is an empty cell.
fn rows(reader: &impl FileReader) -> Vec<String> {
    let cell = |field: &Field| match field {
        Field::Null => String::new(),
        Field::ULong(number) => number.to_string(),
        Field::Double(number) => serde_json::json!(number).to_string(),
        Field::Str(word) => word.clone(),
        Field::Bytes(bytes) => format!("{:?}", bytes.data()),
        other => panic!("no column has {other:?}"),
    };
    let row = |row: parquet::record::Row| {
        row.get_column_iter().map(|(_, field)| cell(field)).collect::<Vec<_>>().join(",")
    };
    reader.get_row_iter(None).unwrap().map(|it| row(it.unwrap())).collect()
}

/// Sample `index` of a run with this seed, with random instants, outcomes and keys, some missing.
fn sample(seed: u64, index: u64) -> Sample {
    let bits = |nth: u64| hash(seed, Stream::FAULT, index * 32 + nth);
    let begun = Instant::from_ns(bits(0) >> 40);
    let at = |nth: u64| begun + Span::from_ns(bits(nth) >> (bits(nth + 8) % 62 + 1));
    let maybe = |nth: u64| bits(nth) & 3 > 0;
    let outcomes = [SampleOutcome::Hit, SampleOutcome::TimedOut, SampleOutcome::Dropped];
    Sample {
        begun,
        index,
        key: (0..bits(1) % 250).map(|nth| (bits(2) >> (nth % 57)) as u8).collect(),
        size: maybe(3).then(|| bits(3)),
        intended: at(4),
        sent: maybe(5).then(|| at(5)),
        received: maybe(6).then(|| at(6)),
        kind: Kind::ALL[bits(7) as usize % Kind::ALL.len()],
        outcome: outcomes[bits(8) as usize % 3],
        bytes: bits(9),
        connection: maybe(10).then(|| bits(10) as u32),
    }
}

/// The row of a sample as in CSV, but with its key as a list of bytes, which needs no quotes.
fn csv_row(sample: &Sample) -> String {
    let mut csv = Vec::new();
    let mut sink = SampleCsv::new(&mut csv);
    sink.on(&Event::Sample(Sample { key: b"KEY".to_vec(), ..sample.clone() })).unwrap();
    sink.flush().unwrap();
    drop(sink);
    let csv = String::from_utf8(csv).unwrap();
    csv.lines().nth(1).unwrap().replace("KEY", &format!("{:?}", sample.key))
}

#[test]
fn samples_read_back_cell_by_cell_as_csv_has_them() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x5eed_u64);
    let samples: Vec<Sample> = (0..3_000).map(|index| sample(seed, index)).collect();
    let (out, there) = place(usize::MAX);
    let mut sink = ParquetSamples::new(out, run());
    samples.iter().for_each(|it| sink.on(&Event::Sample(it.clone())).unwrap());
    sink.flush().unwrap();
    assert!(there.lock().unwrap().is_none(), "nothing is there before the end");
    sink.finish().unwrap();
    let expected: Vec<String> = samples.iter().map(csv_row).collect();
    assert_eq!(rows(&reader(&there)), expected, "SEED={seed}");
}

#[test]
fn the_schema_has_types_and_the_file_says_what_was_run() {
    let (out, there) = place(usize::MAX);
    let mut sink = ParquetSamples::new(out, run());
    sink.finish().unwrap();
    let reader = reader(&there);
    let file = reader.metadata().file_metadata();
    assert_eq!(file.num_rows(), 0, "a run without operations has a file without rows");
    assert_eq!(file.created_by(), Some("memtide version 1.2.3"));
    let columns = file.schema_descr().columns();
    assert_eq!(columns.len(), Sample::COLUMNS.len());
    for (column, declared) in columns.iter().zip(Sample::COLUMNS) {
        let logical = match declared.cell {
            CellForm::Whole => Some(LogicalType::integer(64, false)),
            CellForm::Word => Some(LogicalType::String),
            CellForm::Fraction | CellForm::Bytes => None,
        };
        assert_eq!((column.name(), column.logical_type_ref()), (&*declared.name, logical.as_ref()));
        let is_optional = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
        assert_eq!(is_optional, declared.is_optional, "{}", declared.name);
    }
    let about = |name: &str| {
        let entries = file.key_value_metadata().unwrap().iter();
        let found = entries.into_iter().find(|entry| entry.key == format!("memtide.{name}"));
        found.and_then(|entry| entry.value.clone()).unwrap()
    };
    assert_eq!((about("format"), about("version")), ("memtide.samples/1".into(), "1.2.3".into()));
    assert_eq!((about("scenario"), about("tags")), (run().scenario, r#"{"build":"42"}"#.into()));
    let columns: serde_json::Value = serde_json::from_str(&about("columns")).unwrap();
    assert_eq!(
        (&columns["sent_ns"]["unit"], &columns["key"]["unit"]),
        (&"ns".into(), &None::<&str>.into())
    );
}

#[test]
fn groups_have_a_bounded_number_of_rows_and_bytes() {
    for (key, rows_max) in [(10, GROUP_ROWS_MAX), (50_000, GROUP_BYTES_MAX / 50_000)] {
        let (out, there) = place(usize::MAX);
        let mut sink = ParquetSamples::new(out, run());
        let count = rows_max as u64 * 2 + 5;
        for index in 0..count {
            sink.on(&Event::Sample(Sample { key: vec![7; key], ..sample(1, index) })).unwrap();
        }
        sink.finish().unwrap();
        let reader = reader(&there);
        let groups = reader.metadata().row_groups();
        let sizes: Vec<i64> = groups.iter().map(|group| group.num_rows()).collect();
        assert_eq!(sizes.iter().sum::<i64>(), count as i64, "{sizes:?}");
        assert!(sizes.len() >= 3 && sizes.iter().all(|&rows| rows <= rows_max as i64), "{sizes:?}");
        let is_snappy = |group: &parquet::file::metadata::RowGroupMetaData| {
            group.columns().iter().all(|it| it.compression() == Compression::SNAPPY)
        };
        assert!(groups.iter().all(is_snappy));
    }
}

#[test]
fn a_new_beginning_discards_what_was_written() {
    let (out, there) = place(usize::MAX);
    let mut sink = ParquetSamples::new(out, run());
    let add = |sink: &mut ParquetSamples<Place>, range: std::ops::Range<u64>| {
        range.for_each(|index| sink.on(&Event::Sample(sample(2, index))).unwrap());
    };
    // One group is written, and further rows are in memory.
    add(&mut sink, 0..GROUP_ROWS_MAX as u64 + 9);
    sink.restart().unwrap();
    add(&mut sink, 0..3);
    sink.finish().unwrap();
    let expected: Vec<String> = (0..3).map(|index| csv_row(&sample(2, index))).collect();
    assert_eq!(rows(&reader(&there)), expected);
}

#[test]
fn a_full_disk_costs_the_whole_file_and_says_why() {
    let (out, there) = place(10_000);
    let mut sink = ParquetSamples::new(out, run());
    let wrote = (0..GROUP_ROWS_MAX as u64 + 1)
        .find_map(|index| sink.on(&Event::Sample(sample(3, index))).err());
    assert_eq!(wrote.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    // Without the rows of that group the file would look complete.
    sink.finish().unwrap();
    assert!(there.lock().unwrap().is_none());
    let (out, there) = place(100);
    let mut sink = ParquetSamples::new(out, run());
    sink.on(&Event::Sample(sample(3, 0))).unwrap();
    assert_eq!(sink.finish().map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
    assert!(there.lock().unwrap().is_none());
}

#[test]
fn seconds_are_the_rows_of_csv() {
    let interval = |start| Interval {
        start: Span::from_s(start),
        length: Span::from_ms(1_000),
        unanswered: [(Kind::All, 2), (Kind::Get, 2)].into(),
        ..Interval::default()
    };
    let (out, there) = place(usize::MAX);
    let mut sink = ParquetIntervals::live(out, run());
    let mut expected = String::new();
    for start in 0..3 {
        sink.on(&Event::Interval(Box::new(interval(start)))).unwrap();
        let rows = IntervalRow::of_interval(&interval(start), None);
        expected += &IntervalRow::text(&rows, RowText::Csv, false);
    }
    sink.finish().unwrap();
    assert_eq!(rows(&reader(&there)), expected.lines().collect::<Vec<_>>());
    // The seconds of a record, with the record's facts about its run.
    let (out, there) = place(usize::MAX);
    let mut sink = ParquetIntervals::of_record(out);
    let second = SecondRecord { response_p50_ns: Some(7), ..SecondRecord::default() };
    let scenario = [("rate".to_owned(), "1k".into())].into_iter().collect();
    let record = Record { seconds: vec![second], scenario, ..Record::default() };
    let text = IntervalRow::text(&IntervalRow::of_record(&record), RowText::Csv, false);
    sink.on(&Event::Done(Box::new(record))).unwrap();
    sink.finish().unwrap();
    let reader = reader(&there);
    assert_eq!(rows(&reader), text.lines().collect::<Vec<_>>());
    let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(about.iter().any(|it| it.value.as_deref() == Some("rate = \"1k\"\n")), "{about:?}");
}

#[test]
fn a_run_that_did_not_begin_leaves_no_file_of_seconds() {
    let (out, there) = place(usize::MAX);
    ParquetIntervals::live(out, run()).finish().unwrap();
    assert!(there.lock().unwrap().is_none());
}
