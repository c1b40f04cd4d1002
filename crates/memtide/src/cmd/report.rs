//! `memtide report`: the report and the outputs of an existing result: a record, the runs of
//! `--repeat`, or the steps of a search or scan. It measures and judges nothing.

use super::merge::{add_of_record, open_texts, outputs, read_text, unreadable, write_all};
use crate::output::text_options;
use clap::ArgMatches;
use memtide_merge::check_histograms;
use memtide_record::compare::Repeats;
use memtide_record::steps::Steps;
use memtide_record::{Event, Record};
use memtide_report::{StepsText, repeats_markdown, repeats_text, text_for};
use memtide_scenario::{Goal, Output, OutputKind, Outputs, Settings};
use memtide_session::console::{columns, show};
use memtide_session::exit::{FAILED, Stop};
#[cfg(feature = "influx")]
use memtide_sinks::deliver_spool;
use memtide_sinks::{OutputFacts, OutputSubject, Samples, open_all};
use std::iter;
use std::path::{Path, PathBuf};

/// A result in a file.
pub(super) enum Found {
    Run(Box<Record>),
    Steps(Box<Steps>),
}

/// What a file holds.
enum Contents {
    One(Found),
    /// The runs of `run --repeat`.
    Repeats(Box<Repeats>),
}

/// Prints the report of each result, and writes the outputs of a single one.
pub(crate) fn report(matches: &ArgMatches) -> Result<u8, Stop> {
    let outputs = outputs(matches)?;
    if let Some(folder) = matches.get_one::<PathBuf>("from-spool") {
        return deliver(folder, &outputs);
    }
    let paths: Vec<&String> = matches.get_many::<String>("record").into_iter().flatten().collect();
    if paths.len() > 1 && !outputs.files().is_empty() {
        return Err(Stop::usage(format!(
            "--out takes one record, and {} were named: name one, or merge them with memtide merge \
             --out",
            paths.len()
        )));
    }
    let mut code = 0;
    for (number, path) in paths.iter().enumerate() {
        let contents = contents(path)?;
        if paths.len() > 1 {
            let gap = if number > 0 { "\n" } else { "" };
            drop(show(&format!("{gap}{path}\n")));
        }
        code = code.max(match &contents {
            Contents::One(found) => publish(found, &outputs)?,
            Contents::Repeats(repeats) => publish_repeats(repeats, &outputs)?,
        });
    }
    Ok(code)
}

/// Delivers the points of a spool.
fn deliver(folder: &Path, outputs: &Outputs) -> Result<u8, Stop> {
    let files = outputs.files();
    let [output] = files.as_slice() else {
        return Err(Stop::usage("--from-spool needs one --out influx=URL, and nothing else"));
    };
    #[cfg(feature = "influx")]
    {
        let points = deliver_spool(folder, output)?;
        drop(show(&format!("{points} points were delivered to the database\n")));
        Ok(0)
    }
    #[cfg(not(feature = "influx"))]
    Err(Stop::usage(format!(
        "{} '{}': this program was built without it",
        output,
        folder.display()
    )))
}

/// Reads a record or the steps of a search or scan. Each run of a file that `run --repeat` wrote is
/// a record of its own. Names stand beside.
pub(super) fn read(path: &str) -> Result<Vec<(String, Found)>, Stop> {
    Ok(match contents(path)? {
        Contents::One(found) => vec![(path.to_owned(), found)],
        Contents::Repeats(repeats) => {
            let runs = repeats.runs.into_iter().enumerate();
            runs.map(|(at, run)| (format!("{path} run {}", at + 1), Found::Run(Box::new(run))))
                .collect()
        }
    })
}

/// Reads a file.
fn contents(path: &str) -> Result<Contents, Stop> {
    let text = read_text(path).map_err(|error| unreadable(path, &error))?;
    let head = String::from_utf8_lossy(&text.as_bytes()[..text.len().min(200)]);
    let found = if head.contains("memtide.steps") {
        Steps::from_json(&text).map(|steps| Contents::One(Found::Steps(Box::new(steps))))
    } else if head.contains("memtide.repeats") {
        Repeats::from_json(&text).map(|repeats| Contents::Repeats(Box::new(repeats)))
    } else {
        Record::from_json(&text).map(|record| Contents::One(Found::Run(Box::new(record))))
    };
    let refused =
        |why| Stop::usage(format!("record '{path}': {why}; name a file that memtide --json wrote"));
    let found = found.map_err(refused)?;
    let checked = match &found {
        Contents::One(Found::Run(record)) => is_consistent(record),
        Contents::One(Found::Steps(steps)) => {
            steps.steps.iter().try_for_each(|step| is_consistent(&step.record))
        }
        Contents::Repeats(repeats) => repeats.runs.iter().try_for_each(is_consistent),
    };
    checked.map_err(refused)?;
    Ok(found)
}

/// Checks that the figures of a record do not contradict each other.
fn is_consistent(record: &Record) -> Result<(), String> {
    let checked = record.check_conservation().and_then(|()| check_histograms(record));
    let checked = checked.and_then(|()| record.check_rate());
    checked.map_err(|why| format!("it contradicts itself: {why}"))
}

/// Prints the report of a result and writes its outputs; returns the exit code.
fn publish(found: &Found, outputs: &Outputs) -> Result<u8, Stop> {
    if let Found::Steps(_) = found {
        check_steps(outputs)?;
    }
    let is_written = write_all(
        outputs,
        || text(found, outputs),
        None,
        |outlets| match found {
            Found::Run(record) => {
                let failed = add_of_record(outlets, outputs);
                outlets.on(&Event::Done(record.clone()));
                Ok(failed)
            }
            Found::Steps(steps) => {
                let goals: Result<Vec<Goal>, String> =
                    steps.goals.iter().map(|goal| goal.parse()).collect();
                let settings = Settings { outputs: outputs.clone(), ..Settings::default() };
                let shown = OutputSubject::Steps(steps.course, &goals.map_err(Stop::usage)?);
                let facts = OutputFacts::new(&settings, shown);
                let failed = open_all(outlets, &mut Samples::default(), &facts);
                failed.into_iter().next().map_or(Ok(()), Err)?;
                for step in &steps.steps {
                    outlets.on(&Event::StepDone(Box::new(step.clone())));
                }
                outlets.on(&Event::StepsDone(steps.conclusion.clone()));
                Ok(Vec::new())
            }
        },
    )?;
    Ok(if is_written { 0 } else { FAILED })
}

/// Prints the medians of runs of one scenario and writes their outputs; returns the exit code.
fn publish_repeats(repeats: &Repeats, outputs: &Outputs) -> Result<u8, Stop> {
    let of_one = of_one_run(outputs, |kind| !matches!(kind, OutputKind::Json | OutputKind::Md));
    if let Some(flag) = of_one {
        return Err(Stop::usage(format!(
            "{flag} shows a single run, and the file holds those of --repeat; use --out json=FILE \
             or md=FILE, or name a record of one run"
        )));
    }
    let is_written = write_all(
        outputs,
        || repeats_text(repeats, columns().filter(|_| !outputs.full)),
        None,
        |outlets| {
            Ok(open_texts(outlets, outputs, |kind| match kind {
                OutputKind::Json => repeats.to_json(),
                _ => repeats_markdown(repeats),
            }))
        },
    )?;
    Ok(if is_written { 0 } else { FAILED })
}

/// The flag of the first output that shows a single run: one of these kinds, or `--explain`.
fn of_one_run(outputs: &Outputs, is_of_run: impl Fn(OutputKind) -> bool) -> Option<String> {
    let files = outputs.files();
    let output = files.iter().find(|output| is_of_run(output.kind)).map(Output::flag);
    output.or_else(|| outputs.explain.map(|figure| format!("--explain {figure}")))
}

/// Refuses outputs that show a single run.
fn check_steps(outputs: &Outputs) -> Result<(), Stop> {
    use OutputKind::{Hgrm, Hlog, Influx, Intervals};
    match of_one_run(outputs, |kind| matches!(kind, Hgrm | Hlog | Influx | Intervals)) {
        None => Ok(()),
        Some(flag) => Err(Stop::usage(format!(
            "{flag} shows a single run, and the file holds the steps of a search or scan; repeat \
             one rate with memtide run"
        ))),
    }
}

fn text(found: &Found, outputs: &Outputs) -> String {
    match found {
        Found::Run(record) => text_for(record, &text_options(outputs)),
        Found::Steps(steps) => {
            let mut text =
                StepsText::new(steps.course, &steps.goals, columns().filter(|_| !outputs.full));
            let mut rows: Vec<String> = steps.steps.iter().map(|step| text.step(step)).collect();
            rows.extend(iter::once(text.conclusion(&steps.conclusion)));
            rows.concat()
        }
    }
}
