//! The sink of each kind of output: for a run, for a search or scan, and for an existing record.

use super::super::pending_file::{PendingFile, ResultWriter};
#[cfg(feature = "plot")]
use super::super::plot::{CurveChart, RunChart};
use super::whole::{ReadyText, RecordText, StepsFile, Unwritable};
use super::{Recorded, add_points, attach, no_file};
use crate::exit::Stop;
#[cfg(feature = "junit")]
use memtide_report::{StepsJunit, junit};
use memtide_report::{StepsMarkdown, hgrm};
#[cfg(feature = "html")]
use memtide_report::{StepsPage, page};
use memtide_schema::event::{IntervalRow, log_of};
use memtide_schema::record::SecondRecord;
use memtide_schema::scenario::Goal;
#[cfg(feature = "parquet")]
use memtide_schema::scenario_file;
use memtide_schema::steps::CourseKind;
use memtide_schema::{Output, OutputKind, Outputs, Record, RowForm, RowText, Settings};
use memtide_sinks::{IntervalLog, IntervalRows, Outlets, RecordJson, Sink, StepsJson};
#[cfg(feature = "parquet")]
use memtide_sinks::{ParquetIntervals, ParquetRun};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, ErrorKind};
use std::path::Path;

/// The variable in which GitHub names the file of a job's summary.
pub(crate) const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The course of a search or scan, and the goals by which its steps are judged.
pub(crate) struct CourseFacts<'a> {
    pub(crate) kind: CourseKind,
    pub(crate) goals: &'a [Goal],
}

impl CourseFacts<'_> {
    fn words(&self) -> Vec<String> {
        self.goals.iter().map(Goal::to_string).collect()
    }
}

/// Adds the sinks of all outputs of a run except its samples. `unix_s` is the time of day in
/// seconds since 1970, if there is one.
pub(super) fn add_of_run(
    outlets: &mut Outlets,
    settings: &Settings,
    unix_s: fn() -> Option<f64>,
) -> Result<(), Stop> {
    let outputs = &settings.outputs;
    for output in outputs.files() {
        match output.kind {
            OutputKind::Json => whole(outlets, &output, RecordJson::new)?,
            OutputKind::Md => whole(outlets, &output, RecordText::markdown)?,
            OutputKind::Html => {
                #[cfg(feature = "html")]
                whole(outlets, &output, |out| RecordText::new(out, page))?;
            }
            OutputKind::Plot => {
                #[cfg(feature = "plot")]
                whole(outlets, &output, |out| RunChart::new(out, is_png(&output)))?;
            }
            OutputKind::Junit => {
                #[cfg(feature = "junit")]
                whole(outlets, &output, |out| RecordText::new(out, junit))?;
            }
            OutputKind::Hgrm => whole(outlets, &output, |out| RecordText::new(out, hgrm))?,
            OutputKind::Hlog => log(outlets, &output, unix_s)?,
            OutputKind::Intervals => intervals(outlets, &output, settings)?,
            // Points are added separately: they go to no file.
            OutputKind::Samples | OutputKind::Influx => {}
        }
    }
    match summary(outputs) {
        Some(path) => append(outlets, &path, RecordText::markdown),
        None => Ok(()),
    }
}

/// Adds the sinks of all outputs made from an existing record; returns the errors of those that
/// cannot be opened.
pub(crate) fn add_of_record(outlets: &mut Outlets, outputs: &Outputs) -> Vec<Stop> {
    let files = outputs.files().into_iter();
    let mut add = |output: Output| match output.kind {
        // Data written second by second during a run are now in the record.
        OutputKind::Hlog => whole(outlets, &output, |out| RecordText::new(out, log_of)),
        OutputKind::Intervals => match output.row_form() {
            RowForm::Text(RowText::Csv) => {
                whole(outlets, &output, |it| RecordText::new(it, csv_of))
            }
            RowForm::Text(RowText::JsonLines) => {
                whole(outlets, &output, |out| RecordText::new(out, lines_of))
            }
            RowForm::Parquet => {
                #[cfg(feature = "parquet")]
                return whole(outlets, &output, ParquetIntervals::of_record);
                #[cfg(not(feature = "parquet"))]
                Ok(())
            }
        },
        OutputKind::Influx => {
            let settings = Settings { outputs: outputs.clone(), ..Settings::default() };
            add_points(outlets, &settings, Recorded::Record).map(drop)
        }
        _ => {
            let one = Outputs { out: vec![output], ..Outputs::default() };
            add_of_run(outlets, &Settings { outputs: one, ..Settings::default() }, || None)
        }
    };
    files.filter_map(|output| add(output).err()).collect()
}

/// Adds the sinks of all outputs of a search or scan.
pub(crate) fn add_of_steps(
    outlets: &mut Outlets,
    settings: &Settings,
    course: &CourseFacts<'_>,
    unix_s: fn() -> Option<f64>,
) -> Result<(), Stop> {
    let outputs = &settings.outputs;
    let json = |out| StepsJson::new(out, course.kind, course.words());
    let markdown = |out| StepsFile::new(out, StepsMarkdown::new(course.kind, &course.words()));
    for output in outputs.files() {
        match output.kind {
            OutputKind::Json => whole(outlets, &output, json)?,
            OutputKind::Md => whole(outlets, &output, markdown)?,
            OutputKind::Html => {
                #[cfg(feature = "html")]
                {
                    let page = StepsPage::new(course.kind, &course.words());
                    whole(outlets, &output, |out| StepsFile::new(out, page))?;
                }
            }
            OutputKind::Plot => {
                #[cfg(feature = "plot")]
                whole(outlets, &output, |out| CurveChart::new(out, is_png(&output), course.goals))?;
            }
            OutputKind::Junit => {
                #[cfg(feature = "junit")]
                whole(outlets, &output, |out| StepsFile::new(out, StepsJunit::new(course.kind)))?;
            }
            OutputKind::Hlog => log(outlets, &output, unix_s)?,
            OutputKind::Intervals => intervals(outlets, &output, settings)?,
            // Refused earlier: each step has its own operations and percentiles.
            OutputKind::Hgrm | OutputKind::Samples | OutputKind::Influx => {}
        }
    }
    match summary(outputs) {
        Some(path) => append(outlets, &path, markdown),
        None => Ok(()),
    }
}

/// Adds the sink of an output whose text is complete; for Markdown, also the sink of a job's
/// summary.
pub(crate) fn add_text(outlets: &mut Outlets, output: &Output, text: &str) -> Result<(), Stop> {
    whole(outlets, output, |out| ReadyText::new(out, text.to_owned()))?;
    match summary(&Outputs { out: vec![output.clone()], ..Outputs::default() }) {
        Some(path) => append(outlets, &path, |out| ReadyText::new(out, text.to_owned())),
        None => Ok(()),
    }
}

/// The file of a GitHub job's summary, if Markdown is among `outputs`.
pub(crate) fn summary(outputs: &Outputs) -> Option<String> {
    outputs.first(OutputKind::Md)?;
    std::env::var(SUMMARY).ok().filter(|path| !path.is_empty())
}

/// The seconds of a record as CSV; only the heading if there are none.
fn csv_of(record: &Record) -> String {
    match record.seconds.is_empty() {
        true => IntervalRow::of_second(&SecondRecord::default(), None).csv_header() + "\n",
        false => rows_of(record, RowText::Csv),
    }
}

/// The seconds of a record as JSON Lines.
fn lines_of(record: &Record) -> String {
    rows_of(record, RowText::JsonLines)
}

fn rows_of(record: &Record, form: RowText) -> String {
    let rows = record.seconds.iter().map(|second| IntervalRow::of_second(second, None));
    IntervalRow::text(&rows.collect::<Vec<_>>(), form, true)
}

/// Facts about a run that a Parquet file holds besides its rows.
#[cfg(feature = "parquet")]
pub(super) fn parquet_run(settings: &Settings) -> ParquetRun {
    ParquetRun {
        scenario: scenario_file(&settings.scenario.words()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tags: settings.outputs.tags.clone(),
    }
}

/// Adds the sink of histograms of each second.
fn log(outlets: &mut Outlets, output: &Output, unix_s: fn() -> Option<f64>) -> Result<(), Stop> {
    stream(outlets, output, |out| IntervalLog::new(out, unix_s))
}

/// Adds the sink of rows of each second.
fn intervals(outlets: &mut Outlets, output: &Output, settings: &Settings) -> Result<(), Stop> {
    match output.row_form() {
        RowForm::Text(form) => stream(outlets, output, |out| IntervalRows::new(out, form)),
        RowForm::Parquet => {
            #[cfg(feature = "parquet")]
            whole(outlets, output, |out| ParquetIntervals::live(out, parquet_run(settings)))?;
            let _ = settings;
            Ok(())
        }
    }
}

/// Adds the sink of an output that grows with each second of the load.
fn stream<S: Sink + 'static>(
    outlets: &mut Outlets,
    output: &Output,
    sink: impl FnOnce(ResultWriter) -> S,
) -> Result<(), Stop> {
    placed_in(outlets, output, PendingFile::stream, sink)
}

/// Adds the sink of an output that is written as a whole.
fn whole<S: Sink + 'static>(
    outlets: &mut Outlets,
    output: &Output,
    sink: impl FnOnce(ResultWriter) -> S,
) -> Result<(), Stop> {
    placed_in(outlets, output, PendingFile::open, sink)
}

/// Adds the sink of an output whose file `open` opens.
fn placed_in<S: Sink + 'static>(
    outlets: &mut Outlets,
    output: &Output,
    open: fn(&Path) -> io::Result<PendingFile>,
    sink: impl FnOnce(ResultWriter) -> S,
) -> Result<(), Stop> {
    let name = output.name();
    match bounded(output, open)? {
        Ok(out) => attach(outlets, &name, sink(out)),
        Err(why) => attach(outlets, &name, why),
    }
}

/// True if a chart is written as PNG.
#[cfg(feature = "plot")]
fn is_png(output: &Output) -> bool {
    output.place.ends_with(".png")
}

/// Opens the destination of an output; a stalled reader delays the end only for a limited time.
pub(super) fn bounded(
    output: &Output,
    open: fn(&Path) -> io::Result<PendingFile>,
) -> Result<Result<ResultWriter, Unwritable>, Stop> {
    let place = placed(output, open)?;
    Ok(place.map(|sheet| sheet.bounded(Path::new(&output.place))))
}

/// Opens the destination of an output. An unwritable one affects only that output if it was
/// requested by `--out`.
pub(super) fn placed(
    output: &Output,
    open: fn(&Path) -> io::Result<PendingFile>,
) -> Result<Result<ResultWriter, Unwritable>, Stop> {
    if output.is_stdout() {
        return Ok(Ok(ResultWriter::Stdout(io::stdout())));
    }
    match open(Path::new(&output.place)) {
        Ok(file) => Ok(Ok(ResultWriter::File(BufWriter::new(file)))),
        Err(error) if output.is_general() && takes_no_file(&error) => {
            Ok(Err(Unwritable::new(error)))
        }
        Err(error) => Err(no_file(&output.flag(), &output.place, &error)),
    }
}

/// True if the destination exists but is unwritable; other errors mean a wrong name.
fn takes_no_file(error: &io::Error) -> bool {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

/// Adds a sink that appends its text to the file of a job's summary.
fn append<S: Sink + 'static>(
    outlets: &mut Outlets,
    path: &str,
    sink: impl FnOnce(ResultWriter) -> S,
) -> Result<(), Stop> {
    match OpenOptions::new().append(true).create(true).open(path) {
        Ok(file) => attach(outlets, SUMMARY, sink(ResultWriter::Appended(file))),
        Err(error) => attach(outlets, SUMMARY, Unwritable::new(error)),
    }
}
