//! A comparison as text and as Markdown: the differences between the runs, a row for each figure,
//! and the results of the rules.
//!
//! Every figure and ratio comes from the comparison.

mod groups;
mod repeats;
mod trial;

pub use groups::{groups_markdown, groups_text};
pub use repeats::{repeat_line, repeats_markdown, repeats_text};
pub use trial::{pair_line, trial_heading, trial_markdown, trial_text};
#[cfg(feature = "html")]
pub(crate) use trial::{pair_rows, rows as figure_rows, sentences as trial_sentences};

use crate::figure::Figure;
use crate::files::{escaped, table as markdown_table};
use crate::layout::{TextLayout, TextTable, labelled, unbroken, wrapped};
use crate::number::{NONE, or_none};
use crate::text::what;
use memtide_record::compare::{
    Compared, Comparison, Difference, FigureRow, RecordPart, RuleOutcome, RuleResult, Value,
};
use memtide_record::{Record, Verdict, Warning, WarningRecord};

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

/// A comparison as Markdown, ending in a line break; `records` are the compared records. A rule
/// that is undecided fails it if `strict`.
pub fn comparison_markdown(
    comparison: &Comparison,
    records: &[(String, Record)],
    strict: bool,
) -> String {
    let mark = if comparison.has_passed(strict) { "✅" } else { "❌" };
    let mut out = format!("### memtide: {} records compared {mark}\n\n", records.len());
    for (compared, (_, record)) in comparison.records.iter().zip(records) {
        out += &format!("- **{}:** {}\n", compared.letter, escaped(&about(compared, record)));
    }
    let mark = if comparison.alike { "alike" } else { "⚠️ unlike" };
    out += &format!("\n**{mark}:** {}\n\n", escaped(&likeness(comparison)));
    for rule in &comparison.rules {
        let mark = match rule.result {
            RuleOutcome::Passed => "✅",
            RuleOutcome::Undecided => "❔",
            RuleOutcome::Failed | RuleOutcome::Missing => "❌",
        };
        out += &format!("- {mark} {}\n", escaped(&rule_line(rule)));
    }
    if !comparison.rules.is_empty() {
        out.push('\n');
    }
    out += &markdown_table(&figures(comparison));
    for note in notes(comparison) {
        out += &format!("- {}\n", escaped(&note));
    }
    if !comparison.differences.is_empty() {
        let rows = markdown_table(&differences(comparison));
        out += &format!("\n<details><summary>what differs</summary>\n\n{rows}</details>\n");
    }
    out
}

/// The warning that a run did not check certificates, if one of the runs has it.
pub(crate) fn trust_sentence(is_unchecked: bool) -> Option<String> {
    let warning = Warning::TlsUnchecked;
    is_unchecked.then(|| format!("warning: {}; {}", warning.message(), warning.remedy()))
}

/// One line about a record: its name, version, load and verdict.
pub(crate) fn about(compared: &Compared, record: &Record) -> String {
    let version = &record.machine.memtide_version;
    let believable = match compared.believable {
        Verdict::Yes => "believable",
        Verdict::Within => "believable within the given bounds",
        Verdict::No => "not believable",
    };
    let trust = match record.warnings.iter().any(WarningRecord::is_about_trust) {
        true => ", certificates not checked",
        false => "",
    };
    format!("{}: memtide {version}, {}, {believable}{trust}", compared.name, what(record))
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
    [heading].into_iter().chain(comparison.differences.iter().map(difference_row)).collect()
}

fn difference_row(difference: &Difference) -> Vec<String> {
    let part = match difference.part {
        RecordPart::Result => "result",
        RecordPart::Scenario => "scenario",
        RecordPart::Machine => "machine",
        RecordPart::Server => "server",
        RecordPart::Version => "version",
    };
    let values = difference.values.iter().map(|value| or_none(value.as_ref()));
    [format!("{part}: {}", difference.name)].into_iter().chain(values).collect()
}

/// Headings of a table of figures.
pub(crate) fn figure_headings(comparison: &Comparison) -> Vec<String> {
    let mut heading = vec!["figure".to_owned()];
    for (number, record) in comparison.records.iter().enumerate() {
        heading.push(record.letter.to_string());
        if number > 0 {
            heading.push(format!("{}/A", record.letter));
        }
    }
    heading
}

/// Rows of figures, heading first: each value, with its ratio to the first record's.
fn figures(comparison: &Comparison) -> Vec<Vec<String>> {
    let known = comparison.figures.iter().filter(|row| {
        row.values.iter().any(|value| value.value.is_some() || value.at_least.is_some())
    });
    [figure_headings(comparison)].into_iter().chain(known.map(figure_row)).collect()
}

fn figure_row(row: &FigureRow) -> Vec<String> {
    let mut cells = vec![row.name.clone()];
    for (number, value) in row.values.iter().enumerate() {
        cells.push(Figure::of(&row.name, row.unit, value).words);
        if number > 0 {
            cells.push(ratio_cell(value));
        }
    }
    cells
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
    if let Some((figure, cases)) = comparison.by_run_effect() {
        let cases = if cases == 0 { "less than 1".to_owned() } else { cases.to_string() };
        lines.push(format!(
            "one run each: a run effect of 1 % would look like {figure} here in {cases} of 100 \
             cases; use memtide ab"
        ));
    }
    lines
}

/// One line about a rule's result: `all.p99>+5% failed for B: it is …`.
pub(crate) fn rule_line(rule: &RuleResult) -> String {
    let result = match rule.result {
        RuleOutcome::Passed => "passed",
        RuleOutcome::Failed => "failed",
        RuleOutcome::Undecided => "undecided",
        RuleOutcome::Missing => "not known, which counts as failed,",
    };
    format!("{} {result} for {}: {}", rule.rule, rule.record, rule.why)
}

/// Formats rows, heading first, as a table.
fn table(rows: &[Vec<String>]) -> TextTable {
    let mut table = TextTable::new(&rows[0], &[]);
    rows[1..].iter().for_each(|row| table.row(row.clone()));
    table
}

#[cfg(test)]
mod tests;
