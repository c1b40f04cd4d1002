//! Flags of other programs against the flags of memtide.

#[path = "../../../../base/tests/table/mod.rs"]
mod table;

use super::super::{FEATURED, Featured, keep_near_only, known_otherwise, left_out};
use super::*;
use crate::flags::{Length, command};
use std::collections::BTreeSet;

/// The page for users of memtier_benchmark and mc-crusher.
const PAGE: &str = include_str!("../../../../../docs/compat/memtier.md");

/// What a user writes in place of a word in capitals.
const PLACES: [(&str, &str); 9] = [
    ("HOST", "host"),
    ("PORT", "11211"),
    ("PATH", "run/memcached.sock"),
    ("FILE", "file"),
    ("NAME", "tim"),
    ("WORD", "secret"),
    ("SECONDS", "60"),
    (":S", ":0.99"),
    (" N", " 100"),
];

/// Asserts that `memtide run` with these words is a command line whose settings can be carried out.
fn assert_runs(line: &str, place: &str) {
    let line = PLACES.iter().fold(format!(" {line}"), |line, (of, by)| line.replace(of, by));
    let names_server = [" -s ", " --server "].iter().any(|flag| line.contains(flag));
    let begin = if names_server { "memtide run --plan" } else { "memtide run --plan -s host" };
    let words = begin.split(' ').chain(line.split_whitespace());
    let matches = command(Length::All).try_get_matches_from(words);
    let matches = matches.unwrap_or_else(|error| panic!("{place}: {line}: {error}"));
    let settings = crate::flags::settings(matches.subcommand_matches("run").unwrap());
    let settings = settings.unwrap_or_else(|stop| panic!("{place}: {line}: {}", stop.message));
    let problems = settings.check();
    assert!(problems.is_empty(), "{place}: {line}: {problems:?}");
}

/// The flags of a sentence, each with the word behind it.
fn flags_of(sentence: &str) -> String {
    let mut words = sentence.split(' ').map(|word| word.trim_end_matches([',', ')']));
    let mut flags = Vec::new();
    while let Some(word) = words.next() {
        if word.starts_with("--") {
            flags.push(word);
            flags.extend(words.next());
        }
    }
    flags.join(" ")
}

#[test]
fn each_answer_can_be_typed_and_no_flag_of_run_is_foreign() {
    let whole = command(Length::All);
    let run = whole.find_subcommand("run").unwrap();
    let long = run.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
    let short = run.get_arguments().filter_map(|arg| Some(format!("-{}", arg.get_short()?)));
    let known: BTreeSet<String> = long.chain(short).collect();
    for (theirs, ours) in FOREIGN {
        assert!(!known.contains(theirs), "{theirs} is memtide's own");
        // Of two proposals, a user takes one.
        for proposal in ours.split(" or ") {
            let flags = flags_of(proposal);
            if !flags.is_empty() {
                assert_runs(&flags, theirs);
            }
        }
    }
    assert_eq!(ours("--rate_iops"), ours("--rate-iops"), "fio writes _");
    assert_eq!(ours("--no-such-flag"), None);
}

/// Each cell of the page holds flags, and other values of the last one of them.
#[test]
fn each_row_of_the_page_for_others_can_be_typed() {
    let mut rows = 0;
    for line in PAGE.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let spans: Vec<&str> = cells[1].split('`').skip(1).step_by(2).collect();
        let Some(first) = spans.first().filter(|first| first.starts_with('-')) else {
            assert!(["memtide run", "–"].contains(&cells[1]), "{line}");
            continue;
        };
        let begin = first.rsplit_once(' ').map_or("", |(begin, _)| begin);
        for span in &spans {
            match span.starts_with('-') {
                true => assert_runs(span, line),
                false => assert_runs(&format!("{begin} {span}"), line),
            }
        }
        rows += 1;
    }
    assert!(rows > 30, "the page has {rows} rows: is it read rightly?");
}

#[test]
fn a_flag_of_the_same_name_and_another_meaning_has_a_note() {
    let note = |line: &str| {
        let words = format!("memtide {line}");
        let matches = command(Length::All).try_get_matches_from(words.split(' ')).unwrap();
        same_name(matches.subcommand().unwrap().1)
    };
    let said = note("run --threads 2 --clients 10").unwrap();
    assert!(said.contains("--connections 20"), "{said}");
    assert!(note("search --goal all.p99<1ms --threads 4 --clients 1k").is_some());
    for line in [
        "run --clients 10",
        "run --threads 1 --clients 10",
        "run --threads 2 --clients 10 --window 1k",
        "run --threads 2 --clients 10 --quiet",
        "run --threads 2 --connections 10",
        "doctor",
    ] {
        assert_eq!(note(line), None, "{line}");
    }
}

/// `memtide view` was an unknown word where it was left out.
#[test]
fn a_command_that_was_left_out_names_its_feature() {
    let featured = [Featured { command: "viev", feature: "web", is_built: false }];
    let error = command(Length::All).try_get_matches_from(["memtide", "viev"]).unwrap_err();
    let said = left_out(&error, &featured).unwrap().message;
    assert!(said.contains("feature web") && said.contains("'memtide viev'"), "{said}");
    let whole = command(Length::All);
    for Featured { command, is_built, .. } in FEATURED {
        let is_there = whole.find_subcommand(command).is_some();
        assert_eq!(is_there, is_built, "memtide {command}");
    }
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
