//! A comparison as text: the differences between the runs, a row for each figure, and the results
//! of the rules.
//!
//! Every figure and ratio comes from the comparison.

mod markdown;

pub use markdown::comparison_markdown;

use crate::layout::{TextLayout, TextTable, labelled, unbroken, wrapped};
use crate::number::{NONE, bound, rate, time, whole};
use crate::text::what;
use memtide_record::Record;
use memtide_record::Verdict;
use memtide_record::compare::{
    Compared, Comparison, Difference, FigureRow, RecordPart, RuleOutcome, RuleResult, Unit, Value,
};

/// A comparison for a terminal of `columns` columns, or for none; `records` are the compared
/// records.
pub fn comparison_text(
    comparison: &Comparison,
    records: &[(String, Record)],
    columns: Option<usize>,
) -> String {
    let mut out = TextLayout::new(columns);
    for (compared, (_, record)) in comparison.records.iter().zip(records) {
        labelled(&mut out, &compared.letter.to_string(), &about(compared, record));
    }
    labelled(&mut out, if comparison.alike { "alike" } else { "unlike" }, &likeness(comparison));
    if !comparison.differences.is_empty() {
        out.push('\n');
        table(&differences(comparison)).render(&mut out);
    }
    out.push('\n');
    table(&figures(comparison)).render(&mut out);
    for note in notes(comparison) {
        wrapped(&mut out, "", "", &note);
    }
    if !comparison.rules.is_empty() {
        out.push('\n');
    }
    for rule in &comparison.rules {
        unbroken(&mut out, "fail-on: ", "         ", &rule_line(rule));
    }
    out.into_text()
}

/// One line about a record: its name, version, load and verdict.
pub(crate) fn about(compared: &Compared, record: &Record) -> String {
    let version = &record.machine.memtide_version;
    let believable = match compared.believable {
        Verdict::Yes => "believable",
        Verdict::Within => "believable within the given bounds",
        Verdict::No => "not believable",
    };
    format!("{}: memtide {version}, {}, {believable}", compared.name, what(record))
}

/// Sentence that says whether the figures measure the same thing.
pub(crate) fn likeness(comparison: &Comparison) -> String {
    if comparison.alike {
        return "the runs have the same load, the same version of memtide, and equal machines"
            .to_owned();
    }
    let unlike = comparison.differences.iter().filter(|difference| difference.unlike);
    let names: Vec<&str> = unlike.map(|difference| difference.name.as_str()).collect();
    match names.is_empty() {
        true => "none of the runs is believable, so a ratio below may mean nothing".to_owned(),
        false => {
            format!("the runs differ in {}, which may explain a ratio below", names.join(", "))
        }
    }
}

/// Rows of the differences, heading first.
pub(crate) fn differences(comparison: &Comparison) -> Vec<Vec<String>> {
    let mut heading = vec!["differs".to_owned()];
    heading.extend(comparison.records.iter().map(|record| record.letter.to_string()));
    let row = |difference: &Difference| {
        let part = match difference.part {
            RecordPart::Result => "result",
            RecordPart::Scenario => "scenario",
            RecordPart::Machine => "machine",
            RecordPart::Server => "server",
            RecordPart::Version => "version",
        };
        let mut row = vec![format!("{part}: {}", difference.name)];
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| NONE.to_owned());
        row.extend(difference.values.iter().map(shown));
        row
    };
    [heading].into_iter().chain(comparison.differences.iter().map(row)).collect()
}

/// Rows of figures, heading first: each value, with its ratio to the first record's.
fn figures(comparison: &Comparison) -> Vec<Vec<String>> {
    let mut heading = vec!["figure".to_owned()];
    for (number, record) in comparison.records.iter().enumerate() {
        heading.push(record.letter.to_string());
        if number > 0 {
            heading.push(format!("{}/A", record.letter));
        }
    }
    let row = |row: &FigureRow| {
        let mut cells = vec![row.name.clone()];
        for (number, value) in row.values.iter().enumerate() {
            cells.push(value_cell(row.unit, value));
            if number > 0 {
                cells.push(ratio_cell(value));
            }
        }
        cells
    };
    let is_known = |row: &&FigureRow| {
        row.values.iter().any(|value| value.value.is_some() || value.at_least.is_some())
    };
    let rows = comparison.figures.iter().filter(is_known).map(row);
    [heading].into_iter().chain(rows).collect()
}

pub(crate) fn value_cell(unit: Unit, value: &Value) -> String {
    let shown = |figure: f64| match unit {
        Unit::Ns => time(figure),
        Unit::PerS => rate(figure),
        Unit::Count => whole(figure as u64),
        Unit::Fraction => format!("{:.3} %", figure * 100.0),
        Unit::CpuSPerMops => format!("{figure:.2} s/Mop"),
    };
    match (value.value, value.at_least) {
        (Some(figure), _) => shown(figure),
        (None, Some(at_least)) => format!("> {}", bound(at_least as u64)),
        (None, None) => NONE.to_owned(),
    }
}

/// The ratio; a `~` marks one that chance alone may explain.
pub(crate) fn ratio_cell(value: &Value) -> String {
    let mark = if value.apart == Some(false) { "~" } else { "" };
    value.ratio.map_or_else(|| NONE.to_owned(), |ratio| format!("{mark}{ratio:.3}"))
}

/// Reasons for unknown figures, each once, and the meaning of marks.
pub(crate) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for row in &comparison.figures {
        for (record, value) in comparison.records.iter().zip(&row.values) {
            let Some(why) = &value.missing else { continue };
            let name = format!("{} of {}", row.name, record.letter);
            match notes.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, names)) => names.push(name),
                None => notes.push((why.clone(), vec![name])),
            }
        }
    }
    let mut lines: Vec<String> =
        notes.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect();
    let values = comparison.figures.iter().flat_map(|row| &row.values);
    if values.into_iter().any(|value| value.apart == Some(false)) {
        lines.push("~ the 95 % confidence intervals overlap".to_owned());
    }
    lines
}

/// One line about a rule's result: `all.p99>+5% failed for B: it is …`.
pub(crate) fn rule_line(rule: &RuleResult) -> String {
    let result = match rule.result {
        RuleOutcome::Passed => "passed",
        RuleOutcome::Failed => "failed",
        RuleOutcome::Undecided => "undecided, which counts as failed,",
    };
    format!("{} {result} for {}: {}", rule.rule, rule.record, rule.why)
}

/// Formats rows, heading first, as a table.
fn table(rows: &[Vec<String>]) -> TextTable {
    let heading: Vec<&str> = rows[0].iter().map(String::as_str).collect();
    let mut table = TextTable::new(&heading);
    rows[1..].iter().for_each(|row| table.row(row.clone()));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::expect;
    use crate::fixture;
    use memtide_record::compare::compare;
    use memtide_scenario::Kind;

    fn records() -> Vec<(String, Record)> {
        let first = fixture::open();
        let mut second = first.clone();
        second.machine.memtide_version = "0.2.0 <b>|".to_owned();
        second.rate.achieved_per_s = 19_000.0;
        second.totals.misses = 0;
        second.plan.servers[0].name = "cache2:11211".to_owned();
        let slower = fixture::with_unanswered(200_031, 3_000, [99_000, 140_000, 1, 1]);
        second.response.insert(Kind::All, slower);
        let rule = second.response.get_mut(&Kind::Get).unwrap();
        (rule.mean_ci_low_ns, rule.mean_ci_high_ns) = (Some(8e4), Some(9e4));
        let mut third = second.clone();
        third.response.remove(&Kind::Set);
        vec![
            ("before.json".to_owned(), first),
            ("after.json".to_owned(), second),
            ("later.json".to_owned(), third),
        ]
    }

    #[test]
    fn a_comparison_shows_what_differs_and_each_figure_with_its_ratio() {
        let records = records();
        let rules =
            ["all.mean>+5%", "rate<-10%", "touch.p99>+5%"].map(|rule| rule.parse().unwrap());
        let comparison = compare(&records, &rules);
        expect("compare.txt", &comparison_text(&comparison, &records, None));
        expect("compare.md", &comparison_markdown(&comparison, &records));
    }

    #[test]
    fn two_alike_runs_say_so() {
        let records = [0, 1].map(|number| (format!("{number}.json"), fixture::open()));
        let comparison = compare(&records, &[]);
        assert!(comparison.alike && comparison.differences.is_empty());
        let text = comparison_text(&comparison, &records, None);
        assert!(text.contains("\nalike      the runs have the same load"), "{text}");
        assert!(text.contains("1.000"), "{text}");
    }

    #[test]
    fn two_runs_that_are_not_believable_do_not_differ_in_that() {
        let records = [0, 1].map(|number| {
            let mut record = fixture::open();
            record.believable.verdict = Verdict::No;
            (format!("{number}.json"), record)
        });
        let comparison = compare(&records, &[]);
        assert!(!comparison.alike && comparison.differences.is_empty());
        let text = comparison_text(&comparison, &records, None);
        assert!(text.contains("unlike     none of the runs is believable"), "{text}");
    }
}
