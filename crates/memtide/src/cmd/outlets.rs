//! The outputs of a command: files that are opened before anything is measured, and the sinks that
//! are told of it while it happens.

#[cfg(feature = "plot")]
use super::plot;
use crate::exit::{FAILED, Stop, unwritable};
use crate::late::{LateFile, Sheet, check_distinct};
use crate::patient::Patient;
use memtide_schema::{Outputs, Settings};
use memtide_sinks::{DetailsJson, Ending, Outlets, RecordJson, SampleCsv, Sink};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Files of a run, opened so that a wrong name costs none.
pub(in crate::cmd) struct Opened {
    json: Option<Sheet>,
    details: Option<Sheet>,
    pub(in crate::cmd) samples: Option<SampleCsv<Box<dyn Write + Send>>>,
}

impl Opened {
    pub(in crate::cmd) fn open(outputs: &Outputs, rows_by: RowsBy) -> Result<Self, Stop> {
        check_places(outputs, &[])?;
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
        Ok(Self { json, samples: samples.map(SampleCsv::new), details })
    }

    /// The sinks of a run, but for samples, which come from the workers by a way of their own.
    pub(in crate::cmd) fn outlets(&mut self, settings: &Settings) -> Result<Outlets, Stop> {
        let mut outlets = Outlets::default();
        if let Some(out) = self.json.take() {
            attach(&mut outlets, "--json", RecordJson::new(out))?;
        }
        #[cfg(feature = "plot")]
        if let Some(path) = &settings.outputs.plot {
            attach(&mut outlets, "--plot", plot::RunChart::new(path))?;
        }
        if let Some(out) = self.details.take() {
            attach(&mut outlets, "--verify-details", DetailsJson::new(out))?;
        }
        Ok(outlets)
    }
}

/// Who sees to it that a stalled reader of rows delays nobody.
#[derive(Clone, Copy)]
pub(in crate::cmd) enum RowsBy {
    /// The fleet, which writes them on a thread of its own.
    Fleet,
    /// Nobody else.
    Themselves,
}

/// Adds a sink that is called by its flag.
pub(in crate::cmd) fn attach(
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

/// Ends all sinks; what went wrong with each.
pub(in crate::cmd) fn close(mut outlets: Outlets) -> Vec<Stop> {
    outlets.close().into_iter().filter_map(trouble).collect()
}

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
pub(in crate::cmd) fn failed(output: &str, written: io::Result<()>) -> Option<Stop> {
    written
        .err()
        .filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
        .map(|error| unwritable(output, &error))
}

/// Refuses two outputs to one file, those of `beside` included; and a name for a picture
/// that nothing can be written to, which is opened at the end.
pub(in crate::cmd) fn check_places(
    outputs: &Outputs,
    beside: &[(&str, Option<&str>)],
) -> Result<(), Stop> {
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

pub(in crate::cmd) fn plain(flag: &str, place: Option<&str>) -> Result<Option<Sheet>, Stop> {
    Ok(match place {
        None => None,
        Some("-") => Some(Sheet::Stdout(io::stdout())),
        Some(path) => Some(Sheet::File(create(flag, path)?)),
    })
}

/// A file for a result that is written as a whole.
pub(in crate::cmd) fn create(flag: &str, path: &str) -> Result<BufWriter<LateFile>, Stop> {
    opened(flag, path, LateFile::open(Path::new(path)))
}

/// A file for rows that can be read while they come.
pub(in crate::cmd) fn stream(flag: &str, path: &str) -> Result<BufWriter<LateFile>, Stop> {
    opened(flag, path, LateFile::stream(Path::new(path)))
}

fn opened(flag: &str, path: &str, file: io::Result<LateFile>) -> Result<BufWriter<LateFile>, Stop> {
    file.map(BufWriter::new).map_err(|error| {
        Stop::usage(format!("{flag} '{path}' cannot be written: {error}; name another file"))
    })
}
