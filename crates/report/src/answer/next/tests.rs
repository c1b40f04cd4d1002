//! Advice is a command that memtide accepts, and that can help.

use super::*;
use crate::fixture;
use crate::fixture::text;
use memtide_record::{Believable, PrecisionRecord};
use memtide_scenario::field::find;
use memtide_scenario::{Layer, Origin, Scenario, Settings};
use std::path::Path;

/// The flags of a command line, or of a part of one, each with its value; a switch has the value
/// `true`.
fn flags(command: &str) -> Vec<(String, String)> {
    let mut words = split(command).into_iter().peekable();
    let mut flags = Vec::new();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--") else { continue };
        let value = words.next_if(|word| !word.starts_with("--"));
        flags.push((name.to_owned(), value.unwrap_or_else(|| "true".to_owned())));
    }
    flags
}

/// The words of a command line, as a shell splits it.
fn split(command: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for letter in command.chars() {
        match letter {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.into_iter().chain(word).collect()
}

/// What the rules say against a run with these flags.
fn problems(flags: &[(String, String)]) -> Vec<String> {
    let (mut layer, mut settings) = (Layer::new(), Settings::default());
    for (name, word) in flags {
        let field = find(name).unwrap_or_else(|| panic!("there is no flag --{name}"));
        layer.push(field, vec![word.clone()], Origin::Flag);
    }
    settings.apply(&layer).unwrap_or_else(|error| panic!("{error}"));
    settings.decide_first_length();
    settings.check().into_iter().map(|problem| problem.message).collect()
}

/// The advice in a report: what follows `next:`, without its purpose.
fn advised(report: &str) -> Option<String> {
    let (_, from) = report.split_once("\nnext: ")?;
    let command = from.split_once(" # ").map_or(from, |(command, _)| command);
    let command = command.replace("\\\n", " ");
    Some(command.split('#').next().unwrap_or_default().trim().to_owned())
}

#[test]
fn every_advice_in_the_expected_reports_passes_the_scenarios_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expect");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(report) = std::fs::read_to_string(&path) else { continue };
        let Some(command) = advised(&report) else { continue };
        let flags = flags(&command);
        assert_eq!(problems(&flags), [""; 0], "{}: {command}", path.display());
        checked += 1;
    }
    assert!(checked >= 8, "{checked} reports have advice");
}

/// The fixture's open loop with these fields instead of its own.
fn run(fields: &[(&str, &str)]) -> Record {
    let words = fields.iter().map(|(name, word)| ((*name).to_owned(), (*word).into()));
    Record { scenario: words.collect(), ..fixture::mixed() }
}

/// Such a run, whose p99 is not known because it was short.
fn short(fields: &[(&str, &str)]) -> Record {
    let mut record = run(fields);
    let all = record.response.get_mut(&memtide_scenario::Kind::All).unwrap();
    all.own = None;
    (record.rate.achieved_ci_low_per_s, record.rate.achieved_ci_high_per_s) =
        (Some(18_000.0), Some(22_000.0));
    record
}

#[test]
fn a_longer_run_is_advised_by_the_field_that_ended_this_one() {
    let of = |record: &Record| next(record).expect("something was measured").0;
    let duration = of(&short(&[("rate", "20k"), ("duration", "10s")]));
    assert!(duration.contains(" --duration ") && !duration.contains(" 10s"), "{duration}");
    let fields = [("rate", "20k"), ("precision", "p99 5%"), ("at-most", "1m")];
    let mut record = short(&fields);
    let asked = vec!["p99 5%".to_owned()];
    let precision = PrecisionRecord { asked, at_most_s: 60.0, reached: Some(false) };
    record.plan.precision = Some(precision.clone());
    let most = of(&record);
    assert!(most.contains("--precision 'p99 5%' --at-most "), "{most}");
    assert!(!most.contains("--duration") && !most.contains("1m"), "{most}");
    // A run that reached what it was asked for did all that was asked.
    record.plan.precision = Some(PrecisionRecord { reached: Some(true), ..precision });
    assert!(of(&record).contains(" --at-most 1m --seed "), "{}", of(&record));
    let mut counted = short(&[("rate", "20k"), ("ops-max", "200k")]);
    (counted.plan.ops_max, counted.ended_by) = (Some(200_000), EndedBy::Operations);
    assert!(of(&counted).contains(" --ops-max "), "{}", of(&counted));
}

#[test]
fn a_longer_run_is_not_advised_where_it_cannot_help() {
    let mut rising = short(&[("rate", "20k")]);
    rising.drift.insert(Drifting::P50, 1.8);
    let (lower, why) = next(&rising).unwrap();
    assert!(lower.contains("--rate 14k") && why.contains("saturation"), "{lower} # {why}");
    let mut merged = short(&[("rate", "20k")]);
    let unusable = Some("pooled runs have no common slices".to_owned());
    merged.slicing.as_mut().unwrap().unusable = unusable;
    assert!(!next(&merged).unwrap().0.contains("--duration"), "{:?}", next(&merged));
}

#[test]
fn a_wave_is_left_out_only_where_there_is_one() {
    let mut record = fixture::closed();
    record.plan.io = "simulated".to_owned();
    for (wave, said) in [
        (None, "the same command with --rate 86k"),
        (Some("constant"), "the same command with --rate 86k"),
        (Some("sine:1k,500,10s"), "the same command without --wave, with --rate 86k"),
    ] {
        record.scenario = Scenario::default().words();
        let wave = wave.map(|wave| record.scenario.insert("wave".to_owned(), wave.into()));
        record.believable = Believable::from_checks(Vec::new());
        assert_eq!(next(&record).unwrap().0, said, "{wave:?}");
    }
}

#[test]
fn one_report_has_one_length_to_run() {
    let report = text(&short(&[("rate", "20k"), ("duration", "10s")]));
    assert!(report.contains("--duration ") && !report.contains(" more"), "{report}");
}
