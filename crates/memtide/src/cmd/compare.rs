//! `memtide compare`: records side by side, and rules that can fail the comparison. It measures and
//! judges nothing else.

use super::ab::{Rules, difference};
use super::merge::{open_texts, outputs, write_all};
use super::report::{Found, read};
use clap::ArgMatches;
use clap::parser::ValueSource;
use memtide_record::compare::{Named, RECORDS_MAX, compare_groups};
use memtide_record::{Comparison, Record};
#[cfg(feature = "html")]
use memtide_report::comparison_page;
use memtide_report::{comparison_markdown, comparison_text, groups_markdown, groups_text};
use memtide_scenario::{OutputKind, Outputs};
use memtide_session::console::columns;
use memtide_session::exit::{FAILED, Stop};

/// Compares the records on the command line with the first of them, or two groups of records.
pub(crate) fn compare(matches: &ArgMatches) -> Result<u8, Stop> {
    let outputs = outputs(matches)?;
    check_kinds(&outputs)?;
    let [paths, others] = ["record", "others"]
        .map(|name| matches.get_many(name).into_iter().flatten().collect::<Vec<&String>>());
    if others.is_empty() && std::env::args_os().any(|word| word == "--") {
        return Err(Stop::usage("no record follows --; name those of group B"));
    }
    let rules = Rules::of(matches);
    let groups = [all_records(&paths)?, all_records(&others)?];
    if !others.is_empty() && groups.iter().any(|group| group.len() > 1) {
        return by_groups(matches, &groups, &rules, &outputs);
    }
    let of_groups = ["figures", "difference", "drift"];
    if let Some(flag) =
        of_groups.iter().find(|flag| matches.value_source(flag) == Some(ValueSource::CommandLine))
    {
        return Err(Stop::usage(format!(
            "--{flag} is about two groups of records; name more, with -- between the groups"
        )));
    }
    let records: Vec<(String, Record)> = groups.into_iter().flatten().collect();
    check_number(records.len())?;
    let comparison = memtide_record::compare(&records, &rules.all);
    publish(&comparison, &records, &outputs, rules.strict)
}

/// Compares two groups of records; returns the exit code.
fn by_groups(
    matches: &ArgMatches,
    groups: &[Vec<(String, Record)>; 2],
    rules: &Rules,
    outputs: &Outputs,
) -> Result<u8, Stop> {
    let difference = difference(matches)?;
    let drift = *matches.get_one::<f64>("drift").expect("it has a default");
    if outputs.first(OutputKind::Html).is_some() {
        return Err(Stop::usage("groups have no page; use --out json or md"));
    }
    let all: Vec<&(String, Record)> = groups.iter().flatten().collect();
    for (at, (name, record)) in all.iter().enumerate() {
        if let Some((first, _)) = all[..at].iter().find(|(_, earlier)| earlier == record) {
            return Err(Stop::usage(format!(
                "'{first}' and '{name}' hold the same run; name each run once"
            )));
        }
    }
    let names: Vec<Named> =
        matches.get_many::<Named>("figures").into_iter().flatten().copied().collect();
    let compared = compare_groups(groups, difference, &names, &rules.all, drift);
    let is_written = write_all(
        outputs,
        || groups_text(&compared, columns()),
        None,
        |outlets| {
            Ok(open_texts(outlets, outputs, |kind| match kind {
                OutputKind::Json => compared.to_json(),
                _ => groups_markdown(&compared),
            }))
        },
    )?;
    Ok(if is_written && compared.has_passed(rules.strict) { 0 } else { FAILED })
}

/// Refuses more records than a table has columns for.
fn check_number(count: usize) -> Result<(), Stop> {
    match count {
        ..2 => Err(Stop::usage("one record cannot be compared; name a second RECORD")),
        2..=RECORDS_MAX => Ok(()),
        _ => Err(Stop::usage(format!(
            "{count} records are too many to compare one by one; name at most {RECORDS_MAX}, or \
             write -- between two groups"
        ))),
    }
}

/// Refuses outputs that show a single run.
fn check_kinds(outputs: &Outputs) -> Result<(), Stop> {
    let kinds = [OutputKind::Json, OutputKind::Md, OutputKind::Html];
    match outputs.files().iter().find(|output| !kinds.contains(&output.kind)) {
        None => Ok(()),
        Some(output) => Err(Stop::usage(format!(
            "{} shows a single run and cannot show a comparison; use --out json, md or html here, \
             or memtide report --out {output}",
            output.flag()
        ))),
    }
}

/// Reads the records in all these files.
fn all_records(paths: &[&String]) -> Result<Vec<(String, Record)>, Stop> {
    let each: Result<Vec<_>, Stop> = paths.iter().map(|path| records(path)).collect();
    Ok(each?.into_iter().flatten().collect())
}

/// Reads a record, or all of those that `run --repeat` wrote to one file.
fn records(path: &str) -> Result<Vec<(String, Record)>, Stop> {
    let each = read(path)?.into_iter().map(|(name, found)| match found {
        Found::Run(record) => Ok((name, *record)),
        Found::Steps(_) => Err(Stop::usage(format!(
            "record '{path}' holds the steps of a search or scan, which cannot be compared; repeat \
             one rate with memtide run --json"
        ))),
    });
    each.collect()
}

/// Prints a comparison and writes its outputs; returns the exit code.
fn publish(
    comparison: &Comparison,
    records: &[(String, Record)],
    outputs: &Outputs,
    strict: bool,
) -> Result<u8, Stop> {
    let text = || comparison_text(comparison, records, columns());
    let is_written = write_all(outputs, text, None, |outlets| {
        Ok(open_texts(outlets, outputs, |kind| match kind {
            OutputKind::Json => comparison.to_json(),
            #[cfg(feature = "html")]
            OutputKind::Html => comparison_page(comparison, records),
            _ => comparison_markdown(comparison, records, strict),
        }))
    })?;
    Ok(if is_written && comparison.has_passed(strict) { 0 } else { FAILED })
}
