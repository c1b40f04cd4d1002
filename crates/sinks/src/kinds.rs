//! The kinds of outputs: for each a row that adds its sink for a run, for a search or scan, and for
//! an existing record.

#[cfg(feature = "plot")]
mod chart;
#[cfg(feature = "parquet")]
mod columnar;
mod intervals;
mod openmetrics;
mod samples;
mod steps;
mod summary;
mod text;

#[cfg(feature = "parquet")]
pub use columnar::{ParquetIntervals, ParquetRun, ParquetSamples};
pub use intervals::{IntervalLog, IntervalRows};
pub use samples::{SampleCsv, SampleLines};
pub use steps::StepsJson;

use crate::Sink;
use crate::ending::OutputStop;
#[cfg(feature = "influx")]
use crate::influx;
use crate::opening::{Named, Opening, OutputFacts, OutputSubject, Unwritable, attach, no_file};
use crate::outlet::{Outlets, StallLimits};
use crate::place::{Place, check_distinct};
use crate::sample_outlet::Samples;
use memtide_record::Record;
use memtide_record::event::{IntervalRow, log_of};
use memtide_record::steps::CourseKind;
#[cfg(feature = "junit")]
use memtide_report::{StepsJunit, junit};
use memtide_report::{StepsMarkdown, hgrm, markdown};
#[cfg(feature = "html")]
use memtide_report::{StepsPage, page};
#[cfg(feature = "parquet")]
use memtide_scenario::scenario_file;
use memtide_scenario::{Output, OutputKind, Outputs, RowForm, RowText, Settings};
use openmetrics::OpenMetrics;
use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use summary::SummaryRows;
use text::{EventText, Notes, ReadyText, StepsText};

/// The variable in which GitHub names the file of a job's summary.
const JOB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Adds the sink of an output.
type Add = fn(&mut Opening<'_>) -> Result<(), OutputStop>;

/// A kind of output.
struct KindRow {
    kind: OutputKind,
    /// Of a run while it runs.
    run: Add,
    /// Of the steps of a search or scan.
    steps: Add,
    /// Of an existing record.
    record: Add,
}

/// Nothing: such an output was refused before.
const NONE: Add = |_| Ok(());

/// A kind that writes one output for a run and for its existing record.
const fn of_record(kind: OutputKind, run: Add, steps: Add) -> KindRow {
    KindRow { kind, run, steps, record: run }
}

/// The kinds of this build.
const KINDS: &[KindRow] = &[
    of_record(
        OutputKind::Json,
        |it| it.whole(json_of_run),
        |it| {
            let (kind, _, goals) = it.facts.course();
            it.whole(|out| StepsJson::new(out, kind, goals))
        },
    ),
    of_record(
        OutputKind::Md,
        |it| text_of(it, markdown),
        |it| {
            let facts = it.facts;
            it.whole(|out| markdown_of(out, facts))
        },
    ),
    #[cfg(feature = "html")]
    of_record(
        OutputKind::Html,
        |it| text_of(it, page),
        |it| {
            let (kind, _, goals) = it.facts.course();
            let page = StepsPage::new(kind, &goals);
            it.whole(|out| {
                StepsText::new(out, page, StepsPage::step, |page, end| page.text(end).into_bytes())
            })
        },
    ),
    #[cfg(feature = "plot")]
    of_record(
        OutputKind::Plot,
        |it| {
            let is_png = chart::is_png(it.output);
            it.whole(|out| EventText::of_record(out, move |record| chart::of_run(record, is_png)))
        },
        |it| {
            let curve = chart::of_goals(it.facts.course().1);
            let text: fn(&_, &_) -> _ = match chart::is_png(it.output) {
                true => |curve, _| chart::of_steps(curve, true),
                false => |curve, _| chart::of_steps(curve, false),
            };
            it.whole(|out| StepsText::new(out, curve, chart::add, text))
        },
    ),
    #[cfg(feature = "junit")]
    of_record(
        OutputKind::Junit,
        |it| text_of(it, junit),
        |it| {
            let (kind, _, goals) = it.facts.course();
            let suite = StepsJunit::new(kind, &goals);
            it.whole(|out| {
                let text: fn(&StepsJunit, &_) -> _ = |suite, end| suite.text(end).into_bytes();
                StepsText::new(out, suite, StepsJunit::step, text).with_exit()
            })
        },
    ),
    of_record(OutputKind::Hgrm, |it| text_of(it, hgrm), NONE),
    of_record(
        OutputKind::Summary,
        |it| summary_rows(it, |rows| rows),
        |it| summary_rows(it, SummaryRows::of_steps),
    ),
    of_record(
        OutputKind::OpenMetrics,
        |it| it.whole(|out| EventText::of_record(out, OpenMetrics::of_run).with_exit()),
        |it| {
            let page = OpenMetrics::default();
            it.whole(|out| StepsText::new(out, page, OpenMetrics::step, |page, _| page.text()))
        },
    ),
    // What is written second by second during a run is in its record afterwards.
    KindRow { kind: OutputKind::Hlog, run: log, steps: log, record: |it| text_of(it, log_of) },
    KindRow {
        kind: OutputKind::Intervals,
        run: intervals,
        steps: intervals,
        record: intervals_of_record,
    },
    KindRow { kind: OutputKind::Samples, run: samples, steps: NONE, record: NONE },
    #[cfg(feature = "influx")]
    KindRow { kind: OutputKind::Influx, run: influx::add, steps: influx::add, record: influx::add },
];

/// Features of this build without which some outputs cannot be written: whether there is one, its
/// kind, and its name.
const FEATURES: &[(bool, OutputKind, &str)] = &[
    (cfg!(feature = "plot"), OutputKind::Plot, "pictures"),
    (cfg!(feature = "junit"), OutputKind::Junit, "JUnit"),
    (cfg!(feature = "html"), OutputKind::Html, "HTML"),
    (cfg!(feature = "influx"), OutputKind::Influx, "InfluxDB"),
];

/// Checks that this build can write the outputs of this kind, which `flag` requests.
///
/// # Errors
/// A sentence that names the feature that is missing.
pub fn check_kind(kind: OutputKind, flag: &str) -> Result<(), OutputStop> {
    match FEATURES.iter().find(|(is_built, of, _)| *of == kind && !is_built) {
        None => Ok(()),
        Some((.., name)) => Err(OutputStop::usage(format!(
            "{flag}: this program was built without {name}; leave the flag out, or build memtide \
             with the feature {kind}"
        ))),
    }
}

/// Checks that this build can write all `outputs`.
///
/// # Errors
/// A sentence that names the feature that is missing.
pub fn check_built(outputs: &Outputs) -> Result<(), OutputStop> {
    for output in outputs.files() {
        check_kind(output.kind, &output.flag())?;
        if cfg!(not(feature = "parquet")) && is_parquet(&output) {
            return Err(OutputStop::usage(format!(
                "{} '{}': this program was built without Parquet; name a file that ends with .csv \
                 or .jsonl, or build memtide with the feature parquet",
                output.flag(),
                output.place
            )));
        }
    }
    Ok(())
}

fn is_parquet(output: &Output) -> bool {
    let has_rows = matches!(output.kind, OutputKind::Samples | OutputKind::Intervals);
    has_rows && output.row_form() == RowForm::Parquet
}

/// Adds the sink of `output`; its measured operations, if it takes any, go to `samples`.
///
/// # Errors
/// If its destination has a wrong name, or its thread cannot be started.
pub fn open(
    outlets: &mut Outlets,
    samples: &mut Samples,
    output: &Output,
    facts: &OutputFacts<'_>,
) -> Result<(), OutputStop> {
    let Some(row) = KINDS.iter().find(|row| row.kind == output.kind) else { return Ok(()) };
    let add = match facts.shown {
        OutputSubject::Run => row.run,
        OutputSubject::Steps(..) => row.steps,
        OutputSubject::Record => row.record,
    };
    add(&mut Opening { outlets, samples, facts, output })
}

/// Adds the sinks of all outputs of a command, and of a job's summary if Markdown is among them.
/// Returns the errors of those that cannot be opened.
pub fn open_all(
    outlets: &mut Outlets,
    samples: &mut Samples,
    facts: &OutputFacts<'_>,
) -> Vec<OutputStop> {
    let outputs = &facts.settings.outputs;
    let opened = outputs.files().into_iter().map(|output| open(outlets, samples, &output, facts));
    let mut failed: Vec<OutputStop> = opened.filter_map(Result::err).collect();
    let summary = job_summary(outputs).map(|path| {
        append(outlets, &path, |out| match facts.shown {
            OutputSubject::Steps(..) => Box::new(markdown_of(out, facts)) as Box<dyn Sink>,
            _ => Box::new(EventText::of_record(out, |record| markdown(record).into_bytes())),
        })
    });
    failed.extend(summary.and_then(Result::err));
    failed
}

/// Adds the sink of an output whose text is complete; for Markdown, also the sink of a job's
/// summary.
///
/// # Errors
/// If its destination has a wrong name, or its thread cannot be started.
pub fn open_text(outlets: &mut Outlets, output: &Output, text: &str) -> Result<(), OutputStop> {
    let (settings, mut samples) = (Settings::default(), Samples::default());
    let facts = OutputFacts::new(&settings, OutputSubject::Record);
    Opening { outlets, samples: &mut samples, facts: &facts, output }
        .whole(|out| ReadyText::new(out, text))?;
    match job_summary(&Outputs { out: vec![output.clone()], ..Outputs::default() }) {
        Some(path) => append(outlets, &path, |out| Box::new(ReadyText::new(out, text))),
        None => Ok(()),
    }
}

/// Adds the sink of wrong values.
///
/// # Errors
/// If the file cannot be created or written.
pub fn open_details(outlets: &mut Outlets, flag: &str, path: &str) -> Result<(), OutputStop> {
    let opened = Named { flag: flag.to_owned(), name: flag.to_owned(), path, is_strict: true };
    opened.add(outlets, Place::whole, |out| Box::new(EventText::of_details(out)))
}

/// Adds the sink of notes, each of which is a piece of text: the trace of a simulation.
///
/// # Errors
/// If the file cannot be created or written.
pub fn open_notes(outlets: &mut Outlets, flag: &str, path: &str) -> Result<(), OutputStop> {
    let opened = Named { flag: flag.to_owned(), name: flag.to_owned(), path, is_strict: true };
    opened.add(outlets, Place::stream, |out| Box::new(Notes(out)))
}

/// Adds the sink of a record, or of the steps of a search or scan, that a face writes.
///
/// # Errors
/// If the file cannot be created or written.
pub fn open_json(
    outlets: &mut Outlets,
    flag: &str,
    path: &str,
    steps: Option<CourseKind>,
) -> Result<(), OutputStop> {
    // A face's stdout has a text of its own.
    let path = if path == "-" { "./-" } else { path };
    let opened = Named { flag: flag.to_owned(), name: flag.to_owned(), path, is_strict: true };
    opened.add(outlets, Place::whole, |out| match steps {
        None => Box::new(json_of_run(out)),
        Some(kind) => Box::new(StepsJson::new(out, kind, Vec::new())),
    })
}

/// The file of a GitHub job's summary, if Markdown is among `outputs`.
fn job_summary(outputs: &Outputs) -> Option<String> {
    outputs.first(OutputKind::Md)?;
    env::var(JOB_SUMMARY).ok().filter(|path| !path.is_empty())
}

/// Refuses two outputs to one file, including those of `beside`, and a file whose name does not say
/// its format. A pipe and a device need no such name.
///
/// # Errors
/// A sentence that names both, or the endings that are allowed.
pub fn check_places(outputs: &Outputs, beside: &[(&str, Option<&str>)]) -> Result<(), OutputStop> {
    for output in outputs.files() {
        let is_file = fs::metadata(&output.place).map_or(true, |there| there.is_file());
        if let Some(endings) = output.missing_endings().filter(|_| is_file) {
            return Err(OutputStop::usage(format!(
                "{} '{}' names no format: give the file a name that ends with {endings}",
                output.flag(),
                output.place
            )));
        }
    }
    let files = outputs.files().into_iter().filter(|output| output.kind != OutputKind::Influx);
    let files: Vec<(String, String)> = files.map(|output| (output.flag(), output.place)).collect();
    let mut places: Vec<(&str, Option<&str>)> =
        files.iter().map(|(flag, place)| (&**flag, Some(&**place))).collect();
    let summary = job_summary(outputs);
    places.extend([
        ("--verify-details", outputs.verify_details.as_deref()),
        (JOB_SUMMARY, summary.as_deref()),
    ]);
    places.extend(beside);
    check_distinct(&places, !outputs.is_on_stdout()).map_err(OutputStop::usage)
}

/// The sink of a run's record as JSON.
fn json_of_run(out: Place) -> EventText<Place> {
    EventText::of_record(out, |record| record.to_json().into_bytes()).with_exit()
}

/// Adds the sink of an output that is one text, made of a run's record.
fn text_of(it: &mut Opening<'_>, text: fn(&Record) -> String) -> Result<(), OutputStop> {
    it.whole(|out| EventText::of_record(out, move |record| text(record).into_bytes()))
}

/// The steps of a search or scan as Markdown.
fn markdown_of(out: Place, facts: &OutputFacts<'_>) -> StepsText<Place, StepsMarkdown> {
    let (kind, _, goals) = facts.course();
    let page = StepsMarkdown::new(kind, &goals);
    StepsText::new(out, page, StepsMarkdown::step, |page, end| page.text(end).into_bytes())
}

/// Adds the sink of a histogram for each second.
fn log(it: &mut Opening<'_>) -> Result<(), OutputStop> {
    let has_time_of_day = it.facts.unix_ns.is_some();
    it.stream(|out| IntervalLog::new(out, has_time_of_day))
}

/// Adds the sink of rows of each second.
fn intervals(it: &mut Opening<'_>) -> Result<(), OutputStop> {
    match it.output.row_form() {
        RowForm::Text(form) => it.stream(|out| IntervalRows::new(out, form)),
        #[cfg(feature = "parquet")]
        RowForm::Parquet => {
            let run = parquet_run(it.facts.settings);
            it.whole(|out| ParquetIntervals::live(out, run))
        }
        #[cfg(not(feature = "parquet"))]
        RowForm::Parquet => Ok(()),
    }
}

/// Adds the sink of the seconds of a record.
fn intervals_of_record(it: &mut Opening<'_>) -> Result<(), OutputStop> {
    match it.output.row_form() {
        RowForm::Text(form) => text_of(
            it,
            match form {
                RowText::Csv => |record| rows_of(record, RowText::Csv),
                RowText::JsonLines => |record| rows_of(record, RowText::JsonLines),
            },
        ),
        #[cfg(feature = "parquet")]
        RowForm::Parquet => it.whole(ParquetIntervals::of_record),
        #[cfg(not(feature = "parquet"))]
        RowForm::Parquet => Ok(()),
    }
}

/// The seconds of a record; in CSV only the heading if there are none.
fn rows_of(record: &Record, form: RowText) -> String {
    let rows = IntervalRow::of_record(record);
    match form {
        RowText::Csv if rows.is_empty() => {
            let names: Vec<_> = IntervalRow::columns().into_iter().map(|it| it.name).collect();
            names.join(",") + "\n"
        }
        form => IntervalRow::text(&rows, form, true),
    }
}

/// Facts about a run that a Parquet file holds besides its rows.
#[cfg(feature = "parquet")]
fn parquet_run(settings: &Settings) -> ParquetRun {
    ParquetRun {
        scenario: scenario_file(&settings.scenario.words()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tags: settings.outputs.tags.clone(),
    }
}

/// Adds the output of measured operations.
fn samples(it: &mut Opening<'_>) -> Result<(), OutputStop> {
    match it.output.row_form() {
        RowForm::Text(RowText::Csv) => {
            it.samples(Place::stream, |out| Box::new(SampleCsv::new(out)))
        }
        RowForm::Text(RowText::JsonLines) => {
            it.samples(Place::stream, |out| Box::new(SampleLines::new(out)))
        }
        #[cfg(feature = "parquet")]
        RowForm::Parquet => {
            let run = parquet_run(it.facts.settings);
            it.samples(Place::whole, |out| Box::new(ParquetSamples::new(out, run)))
        }
        #[cfg(not(feature = "parquet"))]
        RowForm::Parquet => Ok(()),
    }
}

/// Adds the sink that appends totals to a table of runs.
fn summary_rows(
    it: &mut Opening<'_>,
    of: fn(SummaryRows<Place>) -> SummaryRows<Place>,
) -> Result<(), OutputStop> {
    let (output, heading) = (it.output, SummaryRows::<Place>::heading());
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
        return Err(OutputStop::usage(format!(
            "{} '{}' has another first line than this version's table of runs; name another file",
            output.flag(),
            output.place
        )));
    }
    if !first.is_empty() && !ends_a_line(&output.place) {
        return Err(OutputStop::usage(format!(
            "{} '{}' ends within a row; name another file, or end its last line",
            output.flag(),
            output.place
        )));
    }
    it.named().add(it.outlets, Place::append, |out| {
        Box::new(of(SummaryRows::new(out, !first.is_empty())))
    })
}

/// True if the last byte of a file ends a line, or cannot be read.
fn ends_a_line(path: &str) -> bool {
    let mut last = [b'\n'];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)
    });
    read.is_err() || last == [b'\n']
}

/// Adds a sink that appends its text to the file of a job's summary.
fn append(
    outlets: &mut Outlets,
    path: &str,
    sink: impl FnOnce(Place) -> Box<dyn Sink>,
) -> Result<(), OutputStop> {
    let sink = match Place::append(Path::new(path)) {
        Ok(place) => sink(place),
        Err(error) => Box::new(Unwritable(Some(error))),
    };
    attach(outlets, JOB_SUMMARY, sink, StallLimits::default())
}
