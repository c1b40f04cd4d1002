//! A comparison as Markdown, for a pull request.

use super::{about, differences, figures, likeness, notes, rule_line};
use crate::files::{escaped, table};
use memtide_record::Record;
use memtide_record::compare::{Comparison, RuleOutcome};

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
    out += &table(&figures(comparison));
    for note in notes(comparison) {
        out += &format!("- {}\n", escaped(&note));
    }
    if !comparison.differences.is_empty() {
        let rows = table(&differences(comparison));
        out += &format!("\n<details><summary>what differs</summary>\n\n{rows}</details>\n");
    }
    out
}
