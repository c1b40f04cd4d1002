//! Rows below one heading.

use super::*;

#[test]
fn runs_become_rows_below_one_heading() {
    let mut rows = SummaryRows::new(Vec::new(), false);
    let mut record = Record { measured_s: 2.5, ..Record::default() };
    record.tags.insert("why".to_owned(), "a \"b\", c".to_owned());
    record.rate.achieved_per_s = f64::NAN;
    for _ in 0..2 {
        rows.on(&Event::Done(Box::new(record.clone()))).unwrap();
    }
    let text = String::from_utf8(rows.out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0].to_owned() + "\n", SummaryRows::<Vec<u8>>::heading());
    assert!(lines[1].contains(",\"why=a \"\"b\"\", c\",,"), "{text}");
    assert!(lines[1].contains(",2.5,,,,0,0,0,"), "{text}");
    assert_eq!(lines[1], lines[2]);
}

#[test]
fn a_file_with_a_heading_gets_no_other() {
    let mut rows = SummaryRows::new(Vec::new(), true);
    rows.on(&Event::Done(Box::default())).unwrap();
    assert_eq!(String::from_utf8(rows.out).unwrap().lines().count(), 1);
}
