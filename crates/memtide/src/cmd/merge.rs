//! `memtide merge`: merges the records of several runs into one record and one report.

use crate::output::text_options;
use clap::ArgMatches;
use memtide_merge::{MergeError, Merging, Scenarios};
use memtide_record::{EndedBy, Event, GoalResult, Record};
use memtide_report::text_for;
use memtide_scenario::{Layer, Origin, OutputKind, Outputs, Settings, field};
use memtide_session::console::{complain, show};
use memtide_session::exit::{FAILED, Stop, UNBELIEVABLE, UNREACHABLE, unwritable};
use memtide_session::outlets::{close, with_failed_output};
use memtide_sinks::{
    Outlets, OutputFacts, OutputSubject, Samples, check_built, check_places, open_all, open_text,
};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Largest record that is read. Rows over time are bounded in number, so records are far shorter.
const RECORD_BYTES_MAX: u64 = 512 * 1024 * 1024;

pub(crate) fn merge(matches: &ArgMatches) -> Result<u8, Stop> {
    let outputs = outputs(matches)?;
    let json = outputs.json.as_deref();
    let words = matches.get_many::<String>("record").into_iter().flatten();
    let mut paths = Vec::new();
    for word in words {
        check_word(word)?;
        paths.extend(files(word, json)?);
    }
    let scenarios = if matches.get_flag("force") { Scenarios::Any } else { Scenarios::Same };
    let refused = |error: MergeError| {
        Stop::usage(error.message(|number| format!("'{}'", paths[number].display())))
    };
    let mut merging = Merging::new(scenarios);
    for path in &paths {
        // One record at a time: thousands do not fit in memory.
        merging.add(read(&path.display().to_string())?).map_err(refused)?;
    }
    let record = merging.finish().map_err(refused)?;
    let allowed = matches.get_one::<u32>("allow-missing").copied().unwrap_or(0);
    publish(&record, &outputs, allowed)
}

/// Refuses a number that was meant for another flag.
fn check_word(word: &str) -> Result<(), Stop> {
    if word.parse::<u32>().is_ok() && !Path::new(word).exists() {
        return Err(Stop::usage(format!(
            "record '{word}' does not exist; if you mean a number of shares, write \
             --allow-missing={word}"
        )));
    }
    Ok(())
}

/// The files that a word of the command line names: the file itself, every `*.json` in a folder, or
/// all matches of a pattern such as `'records/*.json'`; sorted, without the file that is written.
pub(super) fn files(word: &str, json: Option<&str>) -> Result<Vec<PathBuf>, Stop> {
    let path = Path::new(word);
    #[cfg(feature = "globs")]
    if !path.exists() && word.contains(['*', '?', '[']) {
        return matching(word, json);
    }
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries =
        entries.map_err(|error| Stop::usage(format!("folder '{word}' cannot be read: {error}")))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.path();
        let is_record = file.extension().is_some_and(|extension| extension == "json");
        if is_record && json.is_none_or(|json| file != Path::new(json)) {
            files.push(file);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Stop::usage(format!(
            "folder '{word}' has no file *.json; name a folder with records that memtide run \
             --json wrote"
        ))),
        false => Ok(files),
    }
}

/// The files that a pattern matches, if the shell does not expand it or the command line would
/// become too long.
#[cfg(feature = "globs")]
fn matching(pattern: &str, json: Option<&str>) -> Result<Vec<PathBuf>, Stop> {
    let found = glob::glob(pattern).map_err(|error| {
        Stop::usage(format!("'{pattern}' is not a valid file pattern: {error}"))
    })?;
    let files: Vec<PathBuf> =
        found.flatten().filter(|file| json.is_none_or(|json| file != Path::new(json))).collect();
    match files.is_empty() {
        true => Err(Stop::usage(format!(
            "no file matches '{pattern}'; name records that --json wrote, or another pattern"
        ))),
        false => Ok(files),
    }
}

/// Reads a record from a file.
fn read(path: &str) -> Result<Record, Stop> {
    let text = read_text(path).map_err(|error| unreadable(path, &error))?;
    Record::from_json(&text).map_err(|why| {
        Stop::usage(format!(
            "record '{path}': {why}; name files that memtide run --json wrote without --repeat, \
             whose runs memtide compare and report take as they are"
        ))
    })
}

/// The failure of a record that cannot be read. A word that begins with `-` reaches this point only
/// after `--`, where flags are taken for files.
pub(super) fn unreadable(path: &str, error: &io::Error) -> Stop {
    let is_flag = path.starts_with('-') && error.kind() == io::ErrorKind::NotFound;
    Stop::usage(match is_flag {
        true => {
            format!("'{path}' follows --, where each word is a file; write flags before --")
        }
        false => format!("record '{path}' cannot be read: {error}"),
    })
}

/// Reads a file of bounded length: a wrong name may lead to an endless device. A file that does not
/// begin like a record is not read to its end.
pub(super) fn read_text(path: &str) -> io::Result<String> {
    let mut file = BufReader::new(File::open(path)?).take(RECORD_BYTES_MAX + 1);
    if !file.fill_buf()?.trim_ascii_start().starts_with(b"{") {
        return Err(io::Error::other("it is not a record: it does not start with '{'"));
    }
    let mut text = String::new();
    let read = file.read_to_string(&mut text)?;
    match read as u64 > RECORD_BYTES_MAX {
        true => Err(io::Error::other(format!("it has more than {RECORD_BYTES_MAX} bytes"))),
        false => Ok(text),
    }
}

/// The outputs of a command that makes them from records.
pub(super) fn outputs(matches: &ArgMatches) -> Result<Outputs, Stop> {
    let json = matches.try_get_one::<String>("json").ok().flatten().cloned();
    let mut settings =
        Settings { outputs: Outputs { json, ..Outputs::default() }, ..Settings::default() };
    let mut layer = Layer::new();
    for name in ["out", "full", "explain"] {
        // comparisons have none of the last two.
        let words = matches.try_get_many::<String>(name).ok().flatten().into_iter().flatten();
        let words: Vec<String> = words.cloned().collect();
        if !words.is_empty() {
            layer.push(field::find(name).expect("it is a field"), words, Origin::Flag);
        }
    }
    settings.apply(&layer)?;
    if let Some(output) = settings.outputs.first(OutputKind::Samples) {
        return Err(Stop::usage(format!(
            "{}: a record does not contain single operations; use memtide run --out {output}",
            output.flag()
        )));
    }
    check_built(&settings.outputs)?;
    if let Some(problem) = settings.check().into_iter().next() {
        return Err(problem.into());
    }
    check_places(&settings.outputs, &[])?;
    Ok(settings.outputs)
}

/// Adds the sinks of all outputs made from an existing record; returns the errors of those that
/// cannot be opened.
pub(super) fn add_of_record(outlets: &mut Outlets, outputs: &Outputs) -> Vec<Stop> {
    let settings = Settings { outputs: outputs.clone(), ..Settings::default() };
    let facts = OutputFacts::new(&settings, OutputSubject::Record);
    let failed = open_all(outlets, &mut Samples::default(), &facts);
    failed.into_iter().map(Stop::from).collect()
}

/// Prints `text`, unless an output goes to stdout, and writes the outputs that `add` opens; one
/// that fails does not affect the others. True if none failed. `add` returns those that cannot be
/// opened. A `new` result that it opened outputs for has an exit code that counts their failures.
pub(super) fn write_all(
    outputs: &Outputs,
    text: impl FnOnce() -> String,
    new: Option<Event>,
    add: impl FnOnce(&mut Outlets) -> Result<Vec<Stop>, Stop>,
) -> Result<bool, Stop> {
    let mut trouble = Vec::new();
    if !outputs.is_on_stdout()
        && let Err(error) = show(&text())
    {
        trouble.push(unwritable("stdout", &error));
    }
    let mut outlets = Outlets::default();
    trouble.extend(add(&mut outlets)?);
    let with_exit = outlets.split_exit();
    new.iter().for_each(|event| outlets.on(event));
    trouble.extend(close(outlets));
    let is_failed = !trouble.is_empty();
    let last = new.map(|event| if is_failed { with_failed_output(event) } else { event });
    last.iter().for_each(|event| with_exit.on(event));
    trouble.extend(close(with_exit));
    trouble.iter().for_each(|stop| complain(&stop.message));
    Ok(trouble.is_empty())
}

/// Opens the sinks of outputs that are one text each, which depends on the kind; returns the errors
/// of those that cannot be opened.
pub(super) fn open_texts(
    outlets: &mut Outlets,
    outputs: &Outputs,
    text: impl Fn(OutputKind) -> String,
) -> Vec<Stop> {
    let files = outputs.files();
    let opened = files.iter().map(|output| open_text(outlets, output, &text(output.kind)));
    opened.filter_map(|opened| opened.err().map(Stop::from)).collect()
}

/// Writes the result to every output; returns the exit code.
fn publish(record: &Record, outputs: &Outputs, allowed: u32) -> Result<u8, Stop> {
    let text = || text_for(record, &text_options(outputs));
    let new = Some(Event::Done(Box::new(record.clone())));
    let is_written = write_all(outputs, text, new, |outlets| Ok(add_of_record(outlets, outputs)))?;
    // Shares of one run, whose own exit codes say nothing of their figures.
    let is_strict = record.alignment.is_some() && record.is_strict();
    let goals_met = record.goals.iter().all(|goal| match goal.result {
        GoalResult::Met => true,
        GoalResult::Missed => false,
        GoalResult::Undecided => is_strict,
    });
    let values_right = record.phases.verification().wrong() == 0;
    let missing = record.missing.as_ref().map_or(0, |missing| missing.shares.len());
    let all_there = missing <= allowed as usize;
    Ok(match record.ended_by {
        _ if record.exit == UNREACHABLE => UNREACHABLE,
        EndedBy::Aborted => FAILED,
        _ if !(is_written && goals_met && values_right && all_there) => FAILED,
        _ if is_strict && !record.stands() => UNBELIEVABLE,
        _ => 0,
    })
}
