//! A page that compares records, with their curves in one chart.

use super::figures::{Row, table, words};
use super::{section, shell, spectrum};
use crate::compare::{about, differences, figure_headings, likeness, notes, ratio_cell, rule_line};
use crate::figure::Figure;
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
            p class=(class_of(rule.result)) {
                (rule_line(rule))
            }
        }
        (spectra(comparison, records))
        (section("Figures"))
        (rows(comparison))
        @for note in notes(comparison) { p.faint { (note) } }
        @if !comparison.differences.is_empty() {
            (section("What differs"))
            (words("Everything that differs between the records.", &differences(comparison)))
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
    spectrum::chart("Percentile spectrum", about, lines.collect()).markup()
}

/// Each figure, with its ratio to the first record's.
fn rows(comparison: &Comparison) -> Markup {
    let row = |row: &FigureRow| {
        let mut cells = Vec::new();
        for (number, value) in row.values.iter().enumerate() {
            cells.push(Figure::of("value", row.unit, value));
            if number > 0 {
                let words = ratio_cell(value);
                cells.push(match value.ratio {
                    Some(ratio) => Figure::known("ratio", words, ratio),
                    None => Figure::missing("ratio", words, None),
                });
            }
        }
        Row { path: Some(row.name.clone()), label: row.name.clone(), figures: cells }
    };
    let rows: Vec<Row> = comparison.figures.iter().map(row).collect();
    table("Each figure, with its ratio to record A.", &figure_headings(comparison), &rows)
}

/// The class of a rule's line.
const fn class_of(outcome: RuleOutcome) -> &'static str {
    match outcome {
        RuleOutcome::Passed => "verdict",
        RuleOutcome::Undecided => "verdict within",
        RuleOutcome::Failed | RuleOutcome::Missing => "verdict no",
    }
}
