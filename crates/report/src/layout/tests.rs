//! Wrapped sentences, and tables for wide and narrow terminals.

use super::*;

#[test]
fn sentences_are_wrapped_under_themselves() {
    let mut out = TextLayout::new(None);
    let text = "word ".repeat(40);
    labelled(&mut out, "label", text.trim_end());
    let out = out.into_text();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("label      word") && lines[1].starts_with("           word"));
    assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
}

#[test]
fn a_list_longer_than_a_line_is_broken_after_commas() {
    let list = "uniform:1,2;".repeat(5) + &"123:0.5,".repeat(30);
    let mut out = TextLayout::new(None);
    labelled(&mut out, "data", &format!("values {list} and more"));
    let out = out.into_text();
    assert!(out.lines().count() > 2 && out.lines().all(|line| line.chars().count() <= WIDTH));
    assert_eq!(out.split_whitespace().nth(1), Some("values"));
    assert_eq!(out.replace("\n           ", ""), format!("data       values {list} and more\n"));
}

#[test]
fn columns_are_aligned_by_characters() {
    let mut table = TextTable::new(&["op", "p50"], &[]);
    table.row(vec!["all".to_owned(), "90.3 µs".to_owned()]);
    table.row(vec!["set".to_owned(), "—".to_owned()]);
    let mut out = TextLayout::new(None);
    table.render(&mut out);
    assert_eq!(out.into_text(), "op       p50\nall  90.3 µs\nset        —\n");
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_a_pipe_gets_all() {
    let mut table = TextTable::new(&["op", "p50", "p90", "max"], &["p90", "p50"]);
    table.row(["all", "0123456789", "0123456789", "0123456789"].map(str::to_owned).to_vec());
    let headings = |columns| {
        let mut out = TextLayout { columns, ..TextLayout::new(None) };
        table.render(&mut out);
        let text = out.into_text();
        assert!(columns.is_none_or(|most| text.lines().all(|l| l.chars().count() <= most)));
        text.lines().next().unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(headings(None), ["op", "p50", "p90", "max"]);
    assert_eq!(headings(Some(39)), ["op", "p50", "p90", "max"]);
    assert_eq!(headings(Some(38)), ["op", "p50", "max"]);
    assert_eq!(headings(Some(26)), ["op", "max"]);
}

#[test]
fn what_is_never_broken_in_a_pipe_is_wrapped_on_a_terminal() {
    let text = "word ".repeat(30);
    let lines = |columns| {
        let mut out = TextLayout::new(columns);
        unbroken(&mut out, "first: ", "  ", text.trim_end());
        out.into_text().lines().map(|line| line.chars().count()).collect::<Vec<_>>()
    };
    assert_eq!(lines(None).len(), 1);
    let narrow = lines(Some(80));
    assert!(narrow.len() == 3 && narrow.iter().all(|&length| length <= 80), "{narrow:?}");
}
