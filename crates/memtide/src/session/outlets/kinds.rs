//! The sink of each kind of output: for a run, for a search or scan, and for an existing record.

use super::super::pending_file::{PendingFile, ResultWriter};
#[cfg(feature = "plot")]
use super::super::plot::{CurveChart, RunChart};
use super::whole::{ReadyText, RecordText, StepsFile, Unwritable};
use super::{Recorded, add_points, attach, no_file};
use crate::exit::Stop;
use memtide_record::Record;
use memtide_record::SecondRecord;
use memtide_record::event::{IntervalRow, log_of};
use memtide_record::steps::CourseKind;
#[cfg(feature = "junit")]
use memtide_report::{StepsJunit, junit};
use memtide_report::{StepsMarkdown, hgrm};
#[cfg(feature = "html")]
use memtide_report::{StepsPage, page};
use memtide_scenario::Goal;
#[cfg(feature = "parquet")]
use memtide_scenario::scenario_file;
use memtide_scenario::{Output, OutputKind, Outputs, RowForm, RowText, Settings};
use memtide_sinks::{IntervalLog, IntervalRows, Outlets, RecordJson, Sink, StepsJson, SummaryRows};
#[cfg(feature = "parquet")]
use memtide_sinks::{ParquetIntervals, ParquetRun};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read};
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

/// The facts of a command that its sinks may need.
struct Facts<'a> {
    settings: &'a Settings,
    /// The time of day in seconds since 1970, if there is one.
    unix_s: fn() -> Option<f64>,
    /// Of a search or scan; `None` for a run and for a record.
    course: Option<&'a CourseFacts<'a>>,
}

impl Facts<'_> {
    fn course(&self) -> (CourseKind, Vec<String>) {
        let course = self.course.expect("the sink is of a search or scan");
        (course.kind, course.words())
    }
}

/// Adds the sink of an output.
type Add = fn(&mut Outlets, &Output, &Facts<'_>) -> Result<(), Stop>;

/// A kind of output that goes to a file.
struct FileKind {
    kind: OutputKind,
    /// Of a run while it runs.
    run: Add,
    /// Of the steps of a search or scan.
    steps: Add,
    /// Of an existing record.
    record: Add,
}

/// Nothing: such an output was refused before.
const NONE: Add = |_, _, _| Ok(());

/// A kind whose outputs are the same for a run and for its record.
const fn of_record(kind: OutputKind, run: Add, steps: Add) -> FileKind {
    FileKind { kind, run, steps, record: run }
}

/// The files of this build, by their kinds. Samples and points are added separately.
const FILES: &[FileKind] = &[
    of_record(
        OutputKind::Json,
        |to, it, _| whole(to, it, RecordJson::new),
        |to, it, of| whole(to, it, |out| StepsJson::new(out, of.course().0, of.course().1)),
    ),
    of_record(
        OutputKind::Md,
        |to, it, _| whole(to, it, RecordText::markdown),
        |to, it, of| whole(to, it, |out| steps_markdown(out, of)),
    ),
    #[cfg(feature = "html")]
    of_record(
        OutputKind::Html,
        |to, it, _| whole(to, it, |out| RecordText::new(out, page)),
        |to, it, of| {
            let (kind, goals) = of.course();
            whole(to, it, |out| StepsFile::new(out, StepsPage::new(kind, &goals)))
        },
    ),
    #[cfg(feature = "plot")]
    of_record(
        OutputKind::Plot,
        |to, it, _| whole(to, it, |out| RunChart::new(out, is_png(it))),
        |to, it, of| {
            let goals = of.course.map_or(&[][..], |course| course.goals);
            whole(to, it, |out| CurveChart::new(out, is_png(it), goals))
        },
    ),
    #[cfg(feature = "junit")]
    of_record(
        OutputKind::Junit,
        |to, it, _| whole(to, it, |out| RecordText::new(out, junit)),
        |to, it, of| whole(to, it, |out| StepsFile::new(out, StepsJunit::new(of.course().0))),
    ),
    of_record(OutputKind::Hgrm, |to, it, _| whole(to, it, |out| RecordText::new(out, hgrm)), NONE),
    of_record(
        OutputKind::Summary,
        |to, it, _| summary_rows(to, it, |rows| rows),
        |to, it, _| summary_rows(to, it, SummaryRows::of_steps),
    ),
    // What is written second by second during a run is in its record afterwards.
    FileKind {
        kind: OutputKind::Hlog,
        run: |to, it, of| stream(to, it, |out| IntervalLog::new(out, of.unix_s)),
        steps: |to, it, of| stream(to, it, |out| IntervalLog::new(out, of.unix_s)),
        record: |to, it, _| whole(to, it, |out| RecordText::new(out, log_of)),
    },
    FileKind {
        kind: OutputKind::Intervals,
        run: intervals,
        steps: intervals,
        record: intervals_of_record,
    },
];

/// Adds the sink of `output` that `which` of its kind says, if this build has one.
fn add(
    outlets: &mut Outlets,
    output: &Output,
    facts: &Facts<'_>,
    which: fn(&FileKind) -> Add,
) -> Result<(), Stop> {
    match FILES.iter().find(|file| file.kind == output.kind) {
        Some(file) => which(file)(outlets, output, facts),
        None => Ok(()),
    }
}

/// Adds the sinks of all outputs of a run except its samples. `unix_s` is the time of day in
/// seconds since 1970, if there is one.
pub(super) fn add_of_run(
    outlets: &mut Outlets,
    settings: &Settings,
    unix_s: fn() -> Option<f64>,
) -> Result<(), Stop> {
    let facts = Facts { settings, unix_s, course: None };
    for output in settings.outputs.files() {
        add(outlets, &output, &facts, |file| file.run)?;
    }
    match summary(&settings.outputs) {
        Some(path) => append(outlets, &path, RecordText::markdown),
        None => Ok(()),
    }
}

/// Adds the sinks of all outputs made from an existing record; returns the errors of those that
/// cannot be opened.
pub(crate) fn add_of_record(outlets: &mut Outlets, outputs: &Outputs) -> Vec<Stop> {
    let settings = Settings { outputs: outputs.clone(), ..Settings::default() };
    let facts = Facts { settings: &settings, unix_s: || None, course: None };
    let mut add = |output: Output| match output.kind {
        OutputKind::Influx => add_points(outlets, &settings, (Recorded::Record, None)).map(drop),
        _ => add(outlets, &output, &facts, |file| file.record),
    };
    let mut failed: Vec<Stop> =
        outputs.files().into_iter().filter_map(|output| add(output).err()).collect();
    let appended = summary(outputs).map(|path| append(outlets, &path, RecordText::markdown));
    failed.extend(appended.and_then(Result::err));
    failed
}

/// Adds the sinks of all outputs of a search or scan.
pub(crate) fn add_of_steps(
    outlets: &mut Outlets,
    settings: &Settings,
    course: &CourseFacts<'_>,
    unix_s: fn() -> Option<f64>,
) -> Result<(), Stop> {
    let facts = Facts { settings, unix_s, course: Some(course) };
    for output in settings.outputs.files() {
        add(outlets, &output, &facts, |file| file.steps)?;
    }
    match summary(&settings.outputs) {
        Some(path) => append(outlets, &path, |out| steps_markdown(out, &facts)),
        None => Ok(()),
    }
}

/// The steps of a search or scan as Markdown.
fn steps_markdown(out: ResultWriter, facts: &Facts<'_>) -> StepsFile<StepsMarkdown> {
    let (kind, goals) = facts.course();
    StepsFile::new(out, StepsMarkdown::new(kind, &goals))
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

/// Adds the sink of rows of each second.
fn intervals(outlets: &mut Outlets, output: &Output, facts: &Facts<'_>) -> Result<(), Stop> {
    match output.row_form() {
        RowForm::Text(form) => stream(outlets, output, |out| IntervalRows::new(out, form)),
        RowForm::Parquet => {
            #[cfg(feature = "parquet")]
            whole(outlets, output, |out| ParquetIntervals::live(out, parquet_run(facts.settings)))?;
            let _ = facts;
            Ok(())
        }
    }
}

/// Adds the sink of the seconds of a record.
fn intervals_of_record(outlets: &mut Outlets, output: &Output, _: &Facts<'_>) -> Result<(), Stop> {
    match output.row_form() {
        RowForm::Text(RowText::Csv) => whole(outlets, output, |it| RecordText::new(it, csv_of)),
        RowForm::Text(RowText::JsonLines) => {
            whole(outlets, output, |out| RecordText::new(out, lines_of))
        }
        RowForm::Parquet => {
            #[cfg(feature = "parquet")]
            whole(outlets, output, ParquetIntervals::of_record)?;
            Ok(())
        }
    }
}

/// Adds the sink that appends totals to a table of runs.
///
/// Cause: The file is another table, or one of another version of memtide.
///
/// To do: Name a new file, and join the tables in the spreadsheet.
fn summary_rows(
    outlets: &mut Outlets,
    output: &Output,
    of: fn(SummaryRows<ResultWriter>) -> SummaryRows<ResultWriter>,
) -> Result<(), Stop> {
    let heading = SummaryRows::<ResultWriter>::heading();
    let mut first = String::new();
    // Opening a pipe would wait for its writer.
    if !output.is_stdout()
        && fs::metadata(&output.place).is_ok_and(|there| there.is_file())
        && let Ok(file) = File::open(&output.place)
    {
        BufReader::new(file.take(2 * heading.len() as u64))
            .read_line(&mut first)
            .map_err(|error| no_file(&output.flag(), &output.place, &error))?;
    }
    if !first.is_empty() && first != heading {
        return Err(Stop::usage(format!(
            "{} '{}' has another first line than this version's table of runs; name another file",
            output.flag(),
            output.place
        )));
    }
    let sink = |out| of(SummaryRows::new(out, !first.is_empty()));
    placed_in(outlets, output, PendingFile::append, sink)
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
