//! Rows of runs in one table.

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
fn the_loads_of_agents_and_master_are_two_rows() {
    let mut rows = SummaryRows::new(Vec::new(), true);
    let own = Record { measured_s: 2.0, ..Record::default() };
    let record = Record { measured_s: 3.0, own: Some(Box::new(own)), ..Record::default() };
    rows.on(&Event::Done(Box::new(record))).unwrap();
    let text = String::from_utf8(rows.out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(",3,") && lines[0].ends_with(",agents"), "{text}");
    assert!(lines[1].contains(",2,") && lines[1].ends_with(",master"), "{text}");
}

#[test]
fn a_file_with_a_heading_gets_no_other() {
    let mut rows = SummaryRows::new(Vec::new(), true);
    rows.on(&Event::Done(Box::default())).unwrap();
    assert_eq!(String::from_utf8(rows.out).unwrap().lines().count(), 1);
}
