//! The sample in the README, and the figures of checks.

use super::*;

#[test]
fn the_sample_replaces_what_stands_between_the_marks() {
    let readme = format!("a\n{SAMPLE_BEGINS}\nold\n{SAMPLE_ENDS}\nz\n");
    let new = with_sample(&readme, "report\n").expect("it has both marks");
    let sample = "```text\n$ cargo run --release -- run\nreport\n```";
    assert_eq!(new, format!("a\n{SAMPLE_BEGINS}\n{sample}\n{SAMPLE_ENDS}\nz\n"));
    assert_eq!(with_sample(&new, "report\n").as_deref(), Ok(new.as_str()));
    assert!(with_sample("a", "report").is_err());
}

#[test]
fn shares_are_those_of_the_checks() {
    let record = serde_json::json!({
        "believable": {"checks": [{"code": "generator_p50", "measured": 0.02}]}
    });
    assert_eq!(share(&record, "generator_p50"), Some(0.02));
    assert_eq!(share(&record, "generator_p99"), None);
}

#[test]
fn grades_are_those_of_the_last_line() {
    let report = "p50  32 µs\nbelievable: p50, p90 within ± 9.5 % (few effective operations); p99 \
                  no (0 effective operations above it: about 67 s more); rate yes\n";
    let grades = FIGURES.map(|figure| grade(report, figure));
    assert!(grades[0] == grades[1] && grades[0].starts_with("within ± 9.5 % (few"), "{grades:?}");
    assert!(is_within(&grades[0], 10.0) && !is_within(&grades[0], 9.0));
    assert!(grades[2].starts_with("no (0") && !is_within(&grades[2], 10.0), "{grades:?}");
    assert!(is_within(&grade(report, "rate"), 0.0));
    assert_eq!(grade("believable: no, the counters differ", "p50"), "no");
}
