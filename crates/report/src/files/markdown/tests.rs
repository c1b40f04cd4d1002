//! A run as Markdown, compared with a file, and words of others in it.

use super::*;
use crate::fixture;
use crate::fixture::expect;

#[test]
fn a_run_is_a_page_with_goals_times_and_its_scenario() {
    let mut record = fixture::open();
    record.warnings.push(WarningRecord {
        code: "x".to_owned(),
        message: "server <b>a_b</b> | said `x`".to_owned(),
        remedy: "do this".to_owned(),
    });
    expect("run.md", &markdown(&record));
}

#[test]
fn what_others_say_has_no_meaning_in_the_page() {
    assert_eq!(escaped("a|b <x> _y_\n*"), "a\\|b &lt;x> \\_y\\_ \\*");
    assert_eq!(code("a`b"), "`a'b`");
}
