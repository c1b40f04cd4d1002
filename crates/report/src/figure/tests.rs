//! Every output shows every figure of a run.

use super::*;
use crate::fixture;
use memtide_record::compare::compare;
use memtide_record::{ServerLoad, ServerReport};

/// A run with a value of every figure.
fn run() -> Record {
    let mut record = fixture::open();
    let report = ServerReport {
        operations: Some(200_031),
        cpu_user_us: Some(900_000),
        cpu_system_us: Some(1_100_000),
        ..ServerReport::default()
    };
    let load = ServerLoad { report, ..ServerLoad::default() };
    record.server.during.insert("localhost:11211".to_owned(), load);
    record.machine_cpu.as_mut().unwrap().stolen = Some(0.021);
    record.window_ns = 10_000_000_000;
    record.totals.in_flight_ns = record.window_ns;
    record
}

#[test]
fn every_output_shows_every_figure() {
    let record = run();
    let figures = run_figures(&record);
    assert_eq!(figures.len(), FIGURES.len(), "the run has all");
    let (text, markdown) = (fixture::text(&record), crate::markdown(&record));
    let records = ["a", "b"].map(|name| (name.to_owned(), record.clone()));
    let compared = crate::comparison_text(&compare(&records, &[]), &records, None);
    for (of, figure) in &figures {
        let (label, words) = (of.label, &figure.words);
        let value = figure.value.as_ref().unwrap();
        assert!(markdown.contains(&format!("| {label} | {words} |")), "{label}: {markdown}");
        let row = compared.lines().find(|line| line.split(' ').next() == Some(of.name));
        assert!(row.is_some_and(|row| row.contains(words)), "{}: {compared}", of.name);
        #[cfg(feature = "html")]
        {
            let page = crate::page(&record);
            let cell = format!("data-name=\"{}\"><data value=\"{value}\">{words}</data>", of.name);
            assert!(page.contains(&cell), "{cell}: {page}");
        }
        #[cfg(feature = "junit")]
        {
            let junit = crate::junit(&record);
            let property = format!("<property name=\"{}\" value=\"{value}\"/>", of.name);
            assert!(junit.contains(&property), "{property}: {junit}");
        }
        if let Some((label, more)) = of.line {
            assert!(text.contains(&format!("\n{label:<11}{words} {more}\n")), "{label}: {text}");
        }
    }
}

#[test]
fn a_figure_that_is_zero_or_missing_has_no_line() {
    let mut record = run();
    record.machine_cpu.as_mut().unwrap().stolen = Some(0.0);
    assert!(!fixture::text(&record).contains("stolen"));
    assert!(crate::markdown(&record).contains("| stolen CPU time | 0.000 % |"));
    record.machine_cpu = None;
    assert!(!crate::markdown(&record).contains("CPUs of the machine"));
}
