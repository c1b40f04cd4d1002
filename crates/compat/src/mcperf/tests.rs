//! Command lines that name only `mcperf`, and the programs to which they belong.

use super::*;
use crate::tests::rows;

fn of(line: &str) -> Mcperf {
    Mcperf::of_words(&crate::tests::words(line))
}

#[test]
fn letters_and_names_choose_a_program() {
    for row in rows(include_str!("lines.txt")) {
        let (program, line) = row.split_once(' ').unwrap_or((row, ""));
        let program = match program {
            "twemperf" => Mcperf::Twemperf,
            "perf" => Mcperf::Perf,
            _ => Mcperf::Dynamic,
        };
        assert_eq!(of(line), program, "{row}");
    }
}

#[test]
fn words_folders_and_links_choose() {
    for (word, which) in Mcperf::WORDS {
        assert_eq!(word.parse(), Ok(which));
        assert_eq!(which.to_string(), word);
        assert_eq!(Mcperf::of_link(which.link()), Some(which));
    }
    let wrong = "perf".parse::<Mcperf>().unwrap_err();
    assert!(["perf", "dynamic", "0.3", "twemperf"].iter().all(|word| wrong.contains(word)));
    assert_eq!(Mcperf::of_folder("memcache-perf-dynamic"), Some(Mcperf::Dynamic));
    assert_eq!(Mcperf::of_folder("memcache-perf"), Some(Mcperf::Perf));
    assert_eq!(Mcperf::of_folder("bin"), None);
    assert_eq!(Mcperf::of_link("mcperf"), None);
}
