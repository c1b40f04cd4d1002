//! Lines of a log hold the histograms that were recorded.

use super::*;
use memtide_base::Span;

#[test]
fn a_second_is_a_tagged_line_per_kind() {
    let mut times = Histogram::new();
    [1_000, 2_500_000].into_iter().for_each(|ns| times.record(ns));
    let second = Interval {
        start: Span::from_s(3),
        length: Span::from_ms(1_007),
        response: [(Kind::All, times.clone()), (Kind::Get, times)].into(),
        unanswered: [(Kind::All, 4)].into(),
        ..Interval::default()
    };
    let log = log_head(Some(1.5e9), false) + &second.log_lines(None, 0.25);
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    assert_eq!(lines[2], "#[StartTime: 1500000000.000 (seconds since epoch)]");
    assert!(lines[4].starts_with("Tag=all,3.250,1.007,2.500000,HIST"), "{}", lines[4]);
    assert!(lines[5].starts_with("Tag=get,3.250,1.007,2.500000,HIST"), "{}", lines[5]);
    assert_eq!(lines[6..], ["#[Unanswered: all 4]"]);
    assert!(second.log_lines(Some(2), 0.0).starts_with("Tag=step2.all,3.000,"));
}

#[test]
fn the_buckets_of_a_line_are_those_of_the_histogram() {
    let mut times = Histogram::new();
    for shift in 0..42 {
        (0..9).for_each(|n| times.record((129 + n * 31) << shift >> 7));
    }
    let moments = *times.moments();
    let line = line("all", 0.0, 1.0, &times);
    let text = line.trim_end().rsplit(',').next().unwrap();
    let back = Histogram::from_text(text, moments).unwrap();
    assert_eq!(back, times);
}
