//! The outputs of a command: files opened before anything is measured, and sinks for its events.

#[cfg(feature = "influx")]
pub(crate) mod influx;
pub(crate) mod kinds;
pub(crate) mod pair;
mod whole;

use super::bounded_writer::BoundedWriter;
use super::front::{Opened, Rows, Samples};
use super::pending_file::{PendingFile, ResultWriter, check_distinct};
use crate::exit::{FAILED, Stop, Worded, unwritable};
use memtide_base::Instant;
use memtide_record::{Sample, SampleOutcome};
use memtide_scenario::{Output, OutputKind, Outputs, RowForm, RowText, Settings};
use memtide_sinks::{DetailsJson, Ending, Outlets, SampleCsv, SampleLines, Sink};
#[cfg(feature = "parquet")]
use memtide_sinks::{Document, ParquetSamples};
use memtide_workload::Outcome;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Opens the files of a run and the sinks that write to them.
pub(crate) fn open(settings: &Settings, rows_by: RowsBy) -> Result<Opened, Stop> {
    let outputs = &settings.outputs;
    let samples = outputs.first(OutputKind::Samples);
    let samples = samples.map(|output| open_samples(&output, settings, rows_by)).transpose()?;
    // A simulation has no time of day, and can wait for its outputs.
    let (mut outlets, unix_s): (_, fn() -> Option<f64>) = match rows_by {
        RowsBy::Fleet => (Outlets::default(), unix_s),
        RowsBy::Themselves => (Outlets::waiting(), || None),
    };
    kinds::add_of_run(&mut outlets, settings, unix_s)?;
    let points = match rows_by {
        RowsBy::Fleet => {
            add_points(&mut outlets, settings, (Recorded::of_load(settings, false), None))?
        }
        RowsBy::Themselves => refuse_points(outputs)?,
    };
    let samples = pair::paired(samples, points);
    if let Some(out) = plain("--verify-details", outputs.verify_details.as_deref())? {
        attach(&mut outlets, "--verify-details", DetailsJson::new(out))?;
    }
    Ok(Opened { samples, outlets, reader: None })
}

/// The part of a load that is written as points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Seconds, and each measured operation.
    Operations,
    /// Seconds, and each measured operation, of the steps of a search or scan.
    Steps,
    /// Each measured operation of a share; the master writes the seconds.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code))]
    Share {
        /// Number of the share.
        number: u32,
        /// Number of the step of a search or scan.
        step: Option<u32>,
    },
    /// Seconds.
    Seconds,
    /// The seconds of a record.
    Record,
}

impl Recorded {
    /// The part of a run, or of the steps of a search or scan, that is written. Agents write their
    /// own operations.
    pub(crate) const fn of_load(settings: &Settings, has_steps: bool) -> Self {
        match (settings.placement.agents.which.is_some(), has_steps) {
            (true, _) => Self::Seconds,
            (false, true) => Self::Steps,
            (false, false) => Self::Operations,
        }
    }
}

/// Adds the output of points, if there is one; returns the output of single operations. `face` is the
/// flag of an older load generator, whose run does not fail if points are lost.
///
/// Cause: The program was built without InfluxDB.
///
/// To do: Leave the output out, or build memtide with the feature influx.
pub(crate) fn add_points(
    outlets: &mut Outlets,
    settings: &Settings,
    (recorded, face): (Recorded, Option<&'static str>),
) -> Result<Option<Samples>, Stop> {
    let Some(output) = settings.outputs.points() else { return Ok(None) };
    #[cfg(feature = "influx")]
    {
        let rows = influx::add(outlets, &output, settings, (recorded, face))?;
        let flag = || face.map_or_else(|| output.name(), str::to_owned);
        Ok(rows.map(|rows| Samples { flag: flag(), rows }))
    }
    #[cfg(not(feature = "influx"))]
    {
        let _ = (outlets, recorded, face);
        Err(Stop::usage(format!("{}: this program was built without it", output.flag())))
    }
}

/// Cause: Points have a time of day, and a simulation has none.
fn refuse_points(outputs: &Outputs) -> Result<Option<Samples>, Stop> {
    match outputs.first(OutputKind::Influx) {
        None => Ok(None),
        Some(output) => Err(Stop::usage(format!(
            "{}: a simulation has no time of day; use --out intervals=FILE or --out samples=FILE",
            output.flag()
        ))),
    }
}

/// The time of day in seconds since 1970.
pub(crate) fn unix_s() -> Option<f64> {
    Some(memtide_host::clock::since_unix().as_s_f64())
}

/// Opens the output of measured operations.
fn open_samples(output: &Output, settings: &Settings, rows_by: RowsBy) -> Result<Samples, Stop> {
    let rows = match output.row_form() {
        RowForm::Text(form) => match (kinds::placed(output, PendingFile::stream)?, rows_by) {
            (Err(why), _) => Box::new(why),
            (Ok(out), RowsBy::Fleet) => rows(form, out),
            (Ok(out), RowsBy::Themselves) => rows(form, BoundedWriter::new(out)),
        },
        RowForm::Parquet => parquet_rows(output, settings)?,
    };
    Ok(Samples { flag: output.name(), rows })
}

/// A sink of samples as lines of text.
fn rows(form: RowText, out: impl Write + Send + 'static) -> Box<dyn Rows> {
    match form {
        RowText::JsonLines => Box::new(SampleLines::new(out)),
        RowText::Csv => Box::new(SampleCsv::new(out)),
    }
}

/// A sink of samples as Parquet.
///
/// Cause: The program was built without Parquet.
///
/// To do: Name a file that ends with .csv or .jsonl, or build memtide with the feature parquet.
fn parquet_rows(output: &Output, settings: &Settings) -> Result<Box<dyn Rows>, Stop> {
    #[cfg(feature = "parquet")]
    return Ok(match kinds::bounded(output, PendingFile::open)? {
        Ok(out) => Box::new(ParquetSamples::new(out, kinds::parquet_run(settings))),
        Err(why) => Box::new(why),
    });
    #[cfg(not(feature = "parquet"))]
    {
        let _ = settings;
        Err(Stop::usage(format!("{}: this program was built without it", output.flag())))
    }
}

#[cfg(feature = "parquet")]
impl<W: Document> Rows for ParquetSamples<W> {
    fn restart(&mut self) -> io::Result<()> {
        ParquetSamples::restart(self)
    }
}

impl<W: Write + Send> Rows for SampleLines<W> {}

/// Only one plan of a run writes samples.
impl<W: Write + Send> Rows for SampleCsv<W> {}

/// Way to keep a stalled reader of rows from delaying other outputs.
#[derive(Clone, Copy)]
pub(crate) enum RowsBy {
    /// The fleet writes them on its own thread.
    Fleet,
    /// There is no other output to delay.
    Themselves,
}

/// Adds a sink named by its flag.
///
/// Cause: The system starts no more threads for this user or control group.
pub(crate) fn attach(
    outlets: &mut Outlets,
    flag: &str,
    sink: impl Sink + 'static,
) -> Result<(), Stop> {
    outlets.add(flag, sink).map_err(|error| Stop {
        code: FAILED,
        message: format!(
            "{flag}: the system started no thread to write it: {error}; allow this user more \
             processes"
        ),
    })
}

/// Ends all sinks; returns the failures, each with the sink's name.
pub(crate) fn close(mut outlets: Outlets) -> Vec<(String, Stop)> {
    let named = |ending: Ending| Some((ending.name.clone(), trouble(ending)?));
    outlets.close().into_iter().filter_map(named).collect()
}

/// The failure of a sink, or the loss of events.
///
/// Cause: The disk or the reader of an output is slower than the rows that memtide writes.
///
/// To do: Write to a faster disk, or use a longer `--interval`.
fn trouble(Ending { name, result, events_lost }: Ending) -> Option<Stop> {
    let lost = match events_lost {
        0 => Ok(()),
        1 => Err(io::Error::other("it was too slow, and 1 event is missing")),
        count => Err(io::Error::other(format!("it was too slow, and {count} events are missing"))),
    };
    failed(&name, result.and(lost))
}

/// True if `name` is the output of a record as JSON.
pub(crate) fn is_record(name: &str) -> bool {
    name == "--json" || name.starts_with("--out json=")
}

/// The failure of an output. That the reader of stdout, or of a short form, has gone away is no
/// failure.
pub(crate) fn failed(output: &str, written: io::Result<()>) -> Option<Stop> {
    let may_close = !output.starts_with("--out ") || output.ends_with("=-");
    let is_enough = |error: &io::Error| may_close && error.kind() == io::ErrorKind::BrokenPipe;
    let error = written.err().filter(|error| !is_enough(error))?;
    match error.downcast::<Worded>() {
        Ok(Worded(stop)) => Some(stop),
        Err(error) => Some(unwritable(output, &error)),
    }
}

/// Refuses two outputs to one file, including those of `beside`.
pub(crate) fn check_places(outputs: &Outputs, beside: &[(&str, Option<&str>)]) -> Result<(), Stop> {
    let files: Vec<(String, Output)> =
        outputs.files().into_iter().map(|output| (output.flag(), output)).collect();
    let files: Vec<_> =
        files.into_iter().filter(|(_, output)| output.kind != OutputKind::Influx).collect();
    let mut places: Vec<(&str, Option<&str>)> =
        files.iter().map(|(flag, output)| (&**flag, Some(&*output.place))).collect();
    let summary = kinds::summary(outputs);
    places.extend([
        ("--verify-details", outputs.verify_details.as_deref()),
        (kinds::SUMMARY, summary.as_deref()),
    ]);
    places.extend(beside);
    check_distinct(&places, !outputs.is_on_stdout()).map_err(Stop::usage)
}

fn plain(flag: &str, place: Option<&str>) -> Result<Option<ResultWriter>, Stop> {
    Ok(match place {
        None => None,
        Some("-") => Some(ResultWriter::Stdout(io::stdout())),
        Some(path) => Some(ResultWriter::File(create(flag, path)?).bounded(Path::new(path))),
    })
}

/// Opens a file for a result that is written as a whole.
pub(crate) fn create(flag: &str, path: &str) -> Result<BufWriter<PendingFile>, Stop> {
    opened(flag, path, PendingFile::open(Path::new(path)))
}

/// Opens a file for rows that can be read as they come.
pub(crate) fn stream(flag: &str, path: &str) -> Result<BufWriter<PendingFile>, Stop> {
    opened(flag, path, PendingFile::stream(Path::new(path)))
}

/// Buffers an output's file; an error names its flag.
fn opened(
    flag: &str,
    path: &str,
    file: io::Result<PendingFile>,
) -> Result<BufWriter<PendingFile>, Stop> {
    file.map(BufWriter::new).map_err(|error| no_file(flag, path, &error))
}

/// The failure of an output whose file cannot be opened.
///
/// Cause: The file cannot be created or opened for writing.
fn no_file(flag: &str, path: &str, error: &io::Error) -> Stop {
    Stop::usage(format!("{flag} '{path}' cannot be written: {error}; name another file"))
}

/// Converts an engine's sample to a row; `contents` are those of its plan.
pub(crate) fn row(contents: &memtide_engine::Contents, sample: &memtide_engine::Sample) -> Sample {
    let known = |at: Instant| (at != Instant::NEVER).then_some(at);
    Sample {
        begun: sample.begun,
        index: sample.index,
        key: contents.key(sample.key),
        size: contents.size(sample.kind, sample.key),
        intended: sample.intended,
        sent: known(sample.sent),
        received: known(sample.received),
        kind: sample.kind.into(),
        outcome: match sample.outcome {
            Outcome::Hit => SampleOutcome::Hit,
            Outcome::Miss => SampleOutcome::Miss,
            Outcome::Failed => SampleOutcome::Failed,
            Outcome::TimedOut => SampleOutcome::TimedOut,
            Outcome::Lost => SampleOutcome::Lost,
            Outcome::Dropped => SampleOutcome::Dropped,
            Outcome::Unacknowledged => SampleOutcome::Unacknowledged,
            Outcome::Abandoned => SampleOutcome::Abandoned,
            Outcome::Stored
            | Outcome::NotStored
            | Outcome::Exists
            | Outcome::NotFound
            | Outcome::Deleted
            | Outcome::Touched
            | Outcome::Number => SampleOutcome::Answered,
        },
        bytes: u64::from(sample.bytes),
        connection: (sample.connection != u32::MAX).then_some(sample.connection),
    }
}
