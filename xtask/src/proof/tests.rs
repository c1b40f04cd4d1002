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
