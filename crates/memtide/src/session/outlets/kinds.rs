//! The sink of each kind of output: of a run, of a search or scan, and of a record that is there.

use super::super::late::{LateFile, Sheet};
#[cfg(feature = "plot")]
use super::super::plot::{CurveChart, RunChart};
use super::whole::{RecordText, StepsFile, Unwritable};
use super::{attach, no_file};
use crate::exit::Stop;
use memtide_report::StepsMarkdown;
use memtide_schema::scenario::Goal;
use memtide_schema::steps::CourseKind;
use memtide_schema::{Output, OutputKind, Outputs};
use memtide_sinks::{Outlets, RecordJson, Sink, StepsJson};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, ErrorKind};
use std::path::Path;

/// The variable by which GitHub names the file of a job's summary.
pub(crate) const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The course of a search or scan, and what its steps are held against.
pub(crate) struct CourseFacts<'a> {
    pub(crate) kind: CourseKind,
    pub(crate) goals: &'a [Goal],
}

impl CourseFacts<'_> {
    fn words(&self) -> Vec<String> {
        self.goals.iter().map(Goal::to_string).collect()
    }
}

/// Adds the sinks of all outputs of a run but its samples.
pub(super) fn add_of_run(outlets: &mut Outlets, outputs: &Outputs) -> Result<(), Stop> {
    for output in outputs.files() {
        match output.kind {
            OutputKind::Json => whole(outlets, &output, RecordJson::new)?,
            OutputKind::Md => whole(outlets, &output, RecordText::markdown)?,
            OutputKind::Plot => {
                #[cfg(feature = "plot")]
                picture(outlets, &output, RunChart::new)?;
            }
            OutputKind::Samples => {}
        }
    }
    match summary(outputs) {
        Some(path) => append(outlets, &path, RecordText::markdown),
        None => Ok(()),
    }
}

/// Adds the sinks of all outputs that are made of a record that is there; returns what is wrong
/// with those that cannot be opened.
pub(crate) fn add_of_record(outlets: &mut Outlets, outputs: &Outputs) -> Vec<Stop> {
    let files = outputs.files().into_iter();
    let one = |output: Output| Outputs { out: vec![output], ..Outputs::default() };
    files.filter_map(|output| add_of_run(outlets, &one(output)).err()).collect()
}

/// Adds the sinks of all outputs of a search or scan.
pub(crate) fn add_of_steps(
    outlets: &mut Outlets,
    outputs: &Outputs,
    course: &CourseFacts<'_>,
) -> Result<(), Stop> {
    let json = |out| StepsJson::new(out, course.kind, course.words());
    let markdown = |out| StepsFile::new(out, StepsMarkdown::new(course.kind, &course.words()));
    for output in outputs.files() {
        match output.kind {
            OutputKind::Json => whole(outlets, &output, json)?,
            OutputKind::Md => whole(outlets, &output, markdown)?,
            OutputKind::Plot => {
                #[cfg(feature = "plot")]
                picture(outlets, &output, |path| CurveChart::new(path, course.goals))?;
            }
            OutputKind::Samples => {}
        }
    }
    match summary(outputs) {
        Some(path) => append(outlets, &path, markdown),
        None => Ok(()),
    }
}

/// The file of a GitHub job's summary, if Markdown is among `outputs`.
pub(crate) fn summary(outputs: &Outputs) -> Option<String> {
    outputs.first(OutputKind::Md)?;
    std::env::var(SUMMARY).ok().filter(|path| !path.is_empty())
}

/// Adds the sink of an output that is written as a whole.
fn whole<S: Sink + 'static>(
    outlets: &mut Outlets,
    output: &Output,
    sink: impl FnOnce(Sheet) -> S,
) -> Result<(), Stop> {
    let name = output.name();
    match placed(output, LateFile::open)? {
        Ok(out) => attach(outlets, &name, sink(out)),
        Err(why) => attach(outlets, &name, why),
    }
}

/// Adds the sink of a chart, which opens its file when it draws.
#[cfg(feature = "plot")]
fn picture<S: Sink + 'static>(
    outlets: &mut Outlets,
    output: &Output,
    sink: impl FnOnce(&str) -> S,
) -> Result<(), Stop> {
    let name = output.name();
    match placed(output, LateFile::open)? {
        Ok(_) => attach(outlets, &name, sink(&output.place)),
        Err(why) => attach(outlets, &name, why),
    }
}

/// The place of an output, open. A place that takes no file costs an output of `--out` alone.
pub(super) fn placed(
    output: &Output,
    open: fn(&Path) -> io::Result<LateFile>,
) -> Result<Result<Sheet, Unwritable>, Stop> {
    if output.is_stdout() {
        return Ok(Ok(Sheet::Stdout(io::stdout())));
    }
    match open(Path::new(&output.place)) {
        Ok(file) => Ok(Ok(Sheet::File(BufWriter::new(file)))),
        Err(error) if output.is_general() && takes_no_file(&error) => {
            Ok(Err(Unwritable::new(error)))
        }
        Err(error) => Err(no_file(&output.flag(), &output.place, &error)),
    }
}

/// True if a place exists and takes no file now; another error means that its name is wrong.
fn takes_no_file(error: &io::Error) -> bool {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

/// Adds a sink whose text goes behind what the file of a job's summary holds already.
fn append<S: Sink + 'static>(
    outlets: &mut Outlets,
    path: &str,
    sink: impl FnOnce(Sheet) -> S,
) -> Result<(), Stop> {
    match OpenOptions::new().append(true).create(true).open(path) {
        Ok(file) => attach(outlets, SUMMARY, sink(Sheet::Appended(file))),
        Err(error) => attach(outlets, SUMMARY, Unwritable::new(error)),
    }
}
