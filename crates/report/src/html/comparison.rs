//! A page that compares records, with their curves in one chart.

use super::{figures, shell, spectrum};
use crate::compare::{about, differences, likeness, notes, ratio_cell, rule_line, value_cell};
use maud::{Markup, html};
use memtide_record::Record;
use memtide_record::compare::{Comparison, FigureRow, RuleOutcome};
use memtide_scenario::Kind;

/// A comparison as a page, ending in a line break; `records` are the compared records.
pub fn comparison_page(comparison: &Comparison, records: &[(String, Record)]) -> String {
    let title = format!("memtide: {} records compared", records.len());
    let class = if comparison.alike { "verdict" } else { "verdict within" };
    let mark = if comparison.alike { "alike" } else { "unlike" };
    let content = html! {
        h1 { (title) }
        dl {
            @for (compared, (_, record)) in comparison.records.iter().zip(records) {
                dt { (compared.letter) } dd { (about(compared, record)) }
            }
        }
        p class=(class) { strong { (mark) ": " } (likeness(comparison)) }
        @for rule in &comparison.rules {
            p class=(if rule.result == RuleOutcome::Passed { "verdict" } else { "verdict no" }) {
                (rule_line(rule))
            }
        }
        (spectra(comparison, records))
        h2 { "Figures" }
        (rows(comparison))
        @for note in notes(comparison) { p.faint { (note) } }
        @if !comparison.differences.is_empty() {
            h2 { "What differs" }
            (figures::words("Everything that differs between the records.",
                &differences(comparison)))
        }
    };
    shell(&title, &content)
}

/// Response times of all operations, for each record.
fn spectra(comparison: &Comparison, records: &[(String, Record)]) -> Markup {
    let lines = comparison.records.iter().zip(records).filter_map(|(compared, (_, record))| {
        let times = record.judged().response.get(&Kind::All)?;
        Some(spectrum::line(&format!("{} {}", compared.letter, compared.name), times))
    });
    let about = "Response of all operations: the time within which this share of them was \
                 answered.";
    spectrum::chart("Percentile spectrum", about.to_owned(), lines.collect()).markup()
}

/// Each figure, with its ratio to the first record's.
fn rows(comparison: &Comparison) -> Markup {
    let mut headings = vec!["figure".to_owned()];
    for (number, record) in comparison.records.iter().enumerate() {
        headings.push(record.letter.to_string());
        if number > 0 {
            headings.push(format!("{}/A", record.letter));
        }
    }
    let row = |row: &FigureRow| {
        let mut cells = Vec::new();
        for (number, value) in row.values.iter().enumerate() {
            let words = value_cell(row.unit, value);
            cells.push(match value.value {
                Some(figure) => figures::Figure::known("value", words, figure),
                None => figures::Figure::missing("value", words, value.missing.clone()),
            });
            if number > 0 {
                let words = ratio_cell(value);
                cells.push(match value.ratio {
                    Some(ratio) => figures::Figure::known("ratio", words, ratio),
                    None => figures::Figure::missing("ratio", words, None),
                });
            }
        }
        figures::Row { path: row.name.clone(), label: row.name.clone(), figures: cells }
    };
    let rows: Vec<figures::Row> = comparison.figures.iter().map(row).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    figures::table("Each figure, with its ratio to record A.", &headings, &rows)
}
