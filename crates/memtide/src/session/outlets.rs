//! The outputs of a command: files, opened before anything is measured, and the sinks that take its
//! events.

use super::front::{Opened, Rows, Samples};
use super::late::{LateFile, Sheet, check_distinct};
use super::patient::Patient;
#[cfg(feature = "plot")]
use super::plot;
use crate::exit::{FAILED, Stop, Worded, unwritable};
use memtide_base::Instant;
use memtide_schema::{Outputs, Sample, SampleOutcome, Settings};
use memtide_sinks::{DetailsJson, Ending, Outlets, RecordJson, SampleCsv, Sink};
use memtide_workload::Outcome as OpOutcome;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Opens the files of a run and the sinks that write to them.
pub(crate) fn open(settings: &Settings, rows_by: RowsBy) -> Result<Opened, Stop> {
    let outputs = &settings.outputs;
    let json = plain("--json", outputs.json.as_deref())?;
    let details = plain("--verify-details", outputs.verify_details.as_deref())?;
    let samples = match outputs.samples.as_deref() {
        None => None,
        Some("-") => Some(Box::new(BufWriter::new(io::stdout())) as Box<dyn Write + Send>),
        Some(path) => Some(Box::new(stream("--samples", path)?) as Box<dyn Write + Send>),
    };
    let samples = samples.map(|rows| match rows_by {
        RowsBy::Fleet => rows,
        RowsBy::Themselves => Box::new(Patient::new(rows)),
    });
    let samples =
        samples.map(|rows| Samples { flag: "--samples", rows: Box::new(SampleCsv::new(rows)) });
    let mut outlets = Outlets::default();
    if let Some(out) = json {
        attach(&mut outlets, "--json", RecordJson::new(out))?;
    }
    #[cfg(feature = "plot")]
    if let Some(path) = &outputs.plot {
        attach(&mut outlets, "--plot", plot::RunChart::new(path))?;
    }
    if let Some(out) = details {
        attach(&mut outlets, "--verify-details", DetailsJson::new(out))?;
    }
    Ok(Opened { samples, outlets, reader: None })
}

/// Only one plan of a run exports.
impl<W: Write + Send> Rows for SampleCsv<W> {}

/// Makes sure that a stalled reader of rows delays no other output.
#[derive(Clone, Copy)]
pub(crate) enum RowsBy {
    /// The fleet, which writes them on a thread of its own.
    Fleet,
    /// No other reader.
    Themselves,
}

/// Adds a sink that is called by its flag.
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
            "{flag}: no thread can be started to write it: {error}; allow this user more processes"
        ),
    })
}

/// Ends all sinks; what went wrong with each, by its name.
pub(crate) fn close(mut outlets: Outlets) -> Vec<(String, Stop)> {
    let named = |ending: Ending| Some((ending.name.clone(), trouble(ending)?));
    outlets.close().into_iter().filter_map(named).collect()
}

/// What went wrong with a sink, and events that it lost.
///
/// Cause: The disk or the reader of an output is slower than the rows that memtide writes.
///
/// To do: Write to a faster disk, or use a longer `--interval`.
fn trouble(Ending { name, result, events_lost }: Ending) -> Option<Stop> {
    let lost = match events_lost {
        0 => Ok(()),
        1 => Err(io::Error::other("it was too slow for 1 event, which is missing")),
        count => {
            Err(io::Error::other(format!("it was too slow for {count} events, which are missing")))
        }
    };
    failed(&name, result.and(lost))
}

/// What went wrong with an output; a reader that has gone away has seen enough.
pub(crate) fn failed(output: &str, written: io::Result<()>) -> Option<Stop> {
    let error = written.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe)?;
    match error.downcast::<Worded>() {
        Ok(Worded(stop)) => Some(stop),
        Err(error) => Some(unwritable(output, &error)),
    }
}

/// Refuses two outputs to one file, those of `beside` included; and a name for a picture
/// that nothing can be written to, which is opened at the end.
pub(crate) fn check_places(outputs: &Outputs, beside: &[(&str, Option<&str>)]) -> Result<(), Stop> {
    let Outputs { json, plot, samples, verify_details, .. } = outputs;
    let mut places = vec![
        ("--json", json.as_deref()),
        ("--plot", plot.as_deref()),
        ("--samples", samples.as_deref()),
        ("--verify-details", verify_details.as_deref()),
    ];
    let has_report = !outputs.is_on_stdout();
    places.extend(beside);
    check_distinct(&places, has_report).map_err(Stop::usage)?;
    plot.as_deref().map_or(Ok(()), |path| create("--plot", path).map(drop))
}

pub(crate) fn plain(flag: &str, place: Option<&str>) -> Result<Option<Sheet>, Stop> {
    Ok(match place {
        None => None,
        Some("-") => Some(Sheet::Stdout(io::stdout())),
        Some(path) => Some(Sheet::File(create(flag, path)?)),
    })
}

/// A file for a result that is written as a whole.
pub(crate) fn create(flag: &str, path: &str) -> Result<BufWriter<LateFile>, Stop> {
    opened(flag, path, LateFile::open(Path::new(path)))
}

/// A file for rows that can be read while they come.
pub(crate) fn stream(flag: &str, path: &str) -> Result<BufWriter<LateFile>, Stop> {
    opened(flag, path, LateFile::stream(Path::new(path)))
}

/// An output's file, or the error that names its flag.
///
/// Cause: The file cannot be created or opened for writing.
fn opened(flag: &str, path: &str, file: io::Result<LateFile>) -> Result<BufWriter<LateFile>, Stop> {
    file.map(BufWriter::new).map_err(|error| {
        Stop::usage(format!("{flag} '{path}' cannot be written: {error}; name another file"))
    })
}

/// An engine's sample as a row; `contents` are those of its plan.
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
            OpOutcome::Hit => SampleOutcome::Hit,
            OpOutcome::Miss => SampleOutcome::Miss,
            OpOutcome::Failed => SampleOutcome::Failed,
            OpOutcome::TimedOut => SampleOutcome::TimedOut,
            OpOutcome::Lost => SampleOutcome::Lost,
            OpOutcome::Dropped => SampleOutcome::Dropped,
            OpOutcome::Unacknowledged => SampleOutcome::Unacknowledged,
            OpOutcome::Abandoned => SampleOutcome::Abandoned,
            OpOutcome::Stored
            | OpOutcome::NotStored
            | OpOutcome::Exists
            | OpOutcome::NotFound
            | OpOutcome::Deleted
            | OpOutcome::Touched
            | OpOutcome::Number => SampleOutcome::Answered,
        },
        bytes: u64::from(sample.bytes),
        connection: (sample.connection != u32::MAX).then_some(sample.connection),
    }
}
