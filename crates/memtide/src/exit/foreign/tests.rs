//! Flags of other programs against the flags of memtide.

#[path = "../../../../base/tests/table/mod.rs"]
mod table;

use super::super::{keep_near_only, known_otherwise};
use super::*;
use crate::flags::{Length, command};
use std::collections::BTreeSet;

#[test]
fn each_answer_names_flags_of_run_and_no_flag_of_run_is_foreign() {
    let whole = command(Length::All);
    let run = whole.find_subcommand("run").unwrap();
    let long = run.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
    let short = run.get_arguments().filter_map(|arg| Some(format!("-{}", arg.get_short()?)));
    let known: BTreeSet<String> = long.chain(short).collect();
    for (theirs, ours) in FOREIGN {
        assert!(!known.contains(theirs), "{theirs} is memtide's own");
        for flag in ours.split(' ').filter(|word| word.starts_with("--")) {
            assert!(known.contains(flag), "{theirs}: memtide has no {flag}");
        }
    }
    assert_eq!(ours("--rate_iops"), ours("--rate-iops"), "fio writes _");
    assert_eq!(ours("--no-such-flag"), None);
}

/// Command lines for memtier_benchmark, wrk2 and fio name a flag of memtide in their error.
#[test]
fn words_of_other_programs_are_answered_with_memtides() {
    for (line, ours) in table::rows(include_str!("tests/lines.txt"), "lines") {
        let words = ["memtide", "run"].into_iter().chain(line.split(' '));
        let error = command(Length::All).try_get_matches_from(words).unwrap_err();
        let stop = known_otherwise(&error).unwrap_or_else(|| panic!("{line}: {error}"));
        assert!(stop.message.contains(ours[0]), "{line}: {}", stop.message);
    }
}

/// Clap suggested `--replicate` for `--direct`, and `--user` for `--cluster-mode`.
#[test]
fn a_tip_names_only_what_was_probably_meant() {
    let cases = [
        ("run --direct", None),
        ("run --cluster-mode", None),
        ("run --ratio-of-things 5", None),
        ("run --ratte 5", Some("--rate")),
        ("run --conections 5", Some("--connections")),
        ("serch", Some("search")),
        ("benchmark", None),
    ];
    for (line, near) in cases {
        let words = ["memtide"].into_iter().chain(line.split(' '));
        let mut error = command(Length::All).try_get_matches_from(words).unwrap_err();
        keep_near_only(&mut error);
        let text = error.to_string();
        let tip = text.lines().find(|line| line.contains("tip:"));
        let is_so = near.map_or(tip.is_none(), |near| {
            tip.is_some_and(|tip| tip.contains(&format!("'{near}'")))
        });
        let has_other =
            near.is_none() && ["--replicate", "--user"].iter().any(|it| text.contains(it));
        assert!(is_so && !has_other, "{line}: {text}");
    }
}
