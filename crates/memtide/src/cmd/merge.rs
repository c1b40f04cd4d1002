//! `memtide merge`: the records of several runs become one record and one report.

use crate::exit::{FAILED, Stop, unwritable};
use crate::output::{columns, complain, show};
use crate::session::late::{check_distinct, finish};
use crate::session::outlets::create;
use clap::ArgMatches;
use memtide_report::text_for;
use memtide_schema::record::GoalResult;
use memtide_schema::{Record, Scenarios};
use memtide_sinks::write_record;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// The longest record that is read. The rows over time are bounded in number, so a record is far
/// shorter.
const RECORD_BYTES_MAX: u64 = 512 * 1024 * 1024;

pub(crate) fn merge(matches: &ArgMatches) -> Result<u8, Stop> {
    let paths: Vec<&String> = matches.get_many("record").into_iter().flatten().collect();
    let records = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let scenarios = if matches.get_flag("force") { Scenarios::Any } else { Scenarios::Same };
    let record = memtide_schema::merge(&records, scenarios)
        .map_err(|error| Stop::usage(error.message(|number| format!("'{}'", paths[number]))))?;
    let json = matches.get_one::<String>("json").map(String::as_str);
    check_distinct(&[("--json", json)], json != Some("-")).map_err(Stop::usage)?;
    publish(&record, json)
}

/// Reads a record from a file.
///
/// Cause: The file does not exist, cannot be read or is not a record.
///
/// To do: Name files that `memtide run --json` wrote.
fn read(path: &str) -> Result<Record, Stop> {
    let text = read_text(path)
        .map_err(|error| Stop::usage(format!("record '{path}' cannot be read: {error}")))?;
    Record::from_json(&text).map_err(|why| {
        Stop::usage(format!("record '{path}': {why}; name files that memtide run --json wrote"))
    })
}

/// Reads a file of bounded length: a wrong name may lead to a device that never ends. A file that
/// does not begin like a record is not read to its end.
///
/// Cause: The file is no record, or too long for one.
///
/// To do: Name files that `memtide run --json` wrote.
fn read_text(path: &str) -> io::Result<String> {
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

/// Shows the result everywhere it should go; one output that fails does not cost the other.
fn publish(record: &Record, json: Option<&str>) -> Result<u8, Stop> {
    let mut trouble = Vec::new();
    if json == Some("-") {
        if let Err(error) = show(&record.to_json()) {
            trouble.push(unwritable("stdout", &error));
        }
    } else if let Err(error) = show(&text_for(record, columns())) {
        trouble.push(unwritable("stdout", &error));
    }
    if let Some(path) = json.filter(|path| *path != "-") {
        trouble.extend(write(record, path).err());
    }
    for stop in &trouble {
        complain(&stop.message);
    }
    let goals_met = record.goals.iter().all(|goal| goal.result == GoalResult::Met);
    let values_right = record.phases.verification().wrong() == 0;
    Ok(if trouble.is_empty() && goals_met && values_right { 0 } else { FAILED })
}

fn write(record: &Record, path: &str) -> Result<(), Stop> {
    let mut file = create("--json", path)?;
    match write_record(record, &mut file).and_then(|()| finish(file)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(unwritable("--json", &error))
        }
        _ => Ok(()),
    }
}
