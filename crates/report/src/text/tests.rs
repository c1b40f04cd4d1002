//! Whole reports against files, and what must hold of each of them.

use super::*;
use crate::expect::expect;
use crate::fixture;

#[test]
fn an_open_loop_on_a_quiet_machine() {
    expect("open.txt", &text(&fixture::open()));
}

#[test]
fn a_closed_loop_says_what_its_times_are() {
    let text = text(&fixture::closed());
    assert!(text.starts_with(
        "closed loop: throughput is the result; the times are those at saturation. \
         For response times try --rate 86k\n"
    ));
    expect("closed.txt", &text);
}

#[test]
fn a_bad_day_is_marked_and_explained() {
    let text = text(&fixture::bad_day());
    assert!(text.contains("> 5 s"));
    expect("bad_day.txt", &text);
}

#[test]
fn no_line_is_too_wide_and_the_last_one_is_the_verdict() {
    for record in [fixture::open(), fixture::closed(), fixture::bad_day(), Record::default()] {
        let text = text(&record);
        let (last, others) = text
            .lines()
            .rev()
            .collect::<Vec<_>>()
            .split_first()
            .map_or_else(|| ("", Vec::new()), |(last, others)| (*last, others.to_vec()));
        assert!(last.starts_with("believable: "), "{last}");
        for line in others {
            assert!(line.chars().count() <= 120, "{line}");
            assert_eq!(line, line.trim_end());
        }
    }
}
