//! A page that compares records, with their curves in one chart; and one about a trial of two arms,
//! with what each pair measured.

use super::chart::{Chart, Line, values};
use super::figures::{Row, table, words};
use super::{over_time, section, shell, spectrum};
use crate::axis::{Axis, Scale};
use crate::compare::{
    about, differences, figure_headings, figure_rows, likeness, notes, pair_rows, ratio_cell,
    rule_line, trial_sentences,
};
use crate::figure::Figure;
use crate::number::{rate, time};
use maud::{Markup, html};
use memtide_record::Record;
use memtide_record::compare::{
    Comparison, FigureRow, RuleOutcome, Trial, TrialFigure, TrialFinding, Unit,
};
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
        @for chart in over_time(comparison, records) { (chart.markup()) }
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

/// The records beside each other over time.
fn over_time(comparison: &Comparison, records: &[(String, Record)]) -> Vec<Chart> {
    let each = comparison.records.iter().zip(records);
    let each: Vec<(String, &Record)> = each
        .map(|(compared, (_, record))| (format!("{} {}", compared.letter, compared.name), record))
        .collect();
    over_time::side_by_side(&each)
}

/// Each figure, with its ratio to the first record's.
fn rows(comparison: &Comparison) -> Markup {
    let rows: Vec<Row> = comparison.figures.iter().map(row).collect();
    table("Each figure, with its ratio to record A.", &figure_headings(comparison), &rows)
}

fn row(row: &FigureRow) -> Row {
    let mut figures = Vec::new();
    for (number, value) in row.values.iter().enumerate() {
        figures.push(Figure::of("value", row.unit, value));
        if number > 0 {
            let words = ratio_cell(value);
            figures.push(match value.ratio {
                Some(ratio) => Figure::known("ratio", words, ratio),
                None => Figure::missing("ratio", words, None),
            });
        }
    }
    Row { path: Some(row.name.clone()), label: row.name.clone(), figures }
}

/// A trial of two arms as a page, ending in a line break.
pub fn trial_page(trial: &Trial) -> String {
    let is_open = trial.figures.iter().any(|it| it.finding == TrialFinding::Undecided);
    let mut sentences = trial_sentences(trial).into_iter();
    let first = sentences.next().unwrap_or_default();
    let content = html! {
        h1 { "memtide: A against B" }
        (arms(trial))
        p class=(if is_open { "verdict within" } else { "verdict" }) { (first) }
        (words("By how much B differs from A.", &figure_rows(&trial.figures)))
        @for sentence in sentences { p.faint { (sentence) } }
        @for rule in &trial.rules { p class=(class_of(rule.result)) { (rule_line(rule)) } }
        (section("Pairs"))
        @for (at, figure) in trial.figures.iter().enumerate() { (by_pair(trial, at, figure)) }
        (words("What each pair measured, in order.", &pair_rows(trial)))
    };
    shell("memtide: A against B", &content)
}

/// What sets the arms apart.
fn arms(trial: &Trial) -> Markup {
    html! {
        dl {
            @for (letter, arm) in ["A", "B"].into_iter().zip(&trial.arms) {
                dt { (letter) } dd { (arm) }
            }
        }
    }
}

/// A trial that is under way: its arms, by how much they differ so far, and its pairs.
pub(super) fn trial_so_far(trial: &Trial) -> Markup {
    html! {
        (arms(trial))
        @if !trial.pairs.is_empty() {
            (words("By how much B differs from A so far.", &figure_rows(&trial.figures)))
            @for (at, figure) in trial.figures.iter().enumerate() { (by_pair(trial, at, figure)) }
        }
    }
}

/// A figure of both arms, pair by pair. Only times and rates have an axis.
fn by_pair(trial: &Trial, at: usize, figure: &TrialFigure) -> Markup {
    let word: fn(f64) -> String = match figure.unit {
        Unit::Ns => time,
        Unit::PerS => rate,
        _ => return html! {},
    };
    let numbers = || (1u32..).map(f64::from).zip(&trial.pairs);
    let lines = ["A", "B"].into_iter().enumerate().map(|(arm, name)| {
        let values = numbers().map(|(number, pair)| (number, pair.values[arm].get(at).copied()));
        Line::new(name, values.map(|(number, value)| (number, value.flatten())).collect())
    });
    let lines: Vec<Line> = lines.collect();
    let numbers = numbers().map(|(number, _)| number);
    let x = Axis::over(Scale::Linear, numbers, |number| format!("{number:.0}"));
    let y = Axis::over(Scale::Log, values(&lines), word);
    let about = format!("{} of both arms by pair.", figure.name);
    Chart { about, lines, ..Chart::new("Pair by pair", x, y) }.markup()
}

/// The class of a rule's line.
const fn class_of(outcome: RuleOutcome) -> &'static str {
    match outcome {
        RuleOutcome::Passed => "verdict",
        RuleOutcome::Undecided => "verdict within",
        RuleOutcome::Failed | RuleOutcome::Missing => "verdict no",
    }
}
