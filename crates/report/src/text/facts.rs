//! The facts of `memtide doctor` as text: one for each line, what to do below it.

use crate::layout::{TextLayout, wrapped};
use memtide_belief::machine::Fact;

/// Columns of what a fact is about.
const ABOUT: usize = 13;

/// The facts, and a last line that says whether they spoil measurements; for a terminal of
/// `columns` columns, or for none.
pub fn facts_text(facts: &[Fact], columns: Option<usize>) -> String {
    let mut out = TextLayout::narrow(columns);
    let indent = " ".repeat(ABOUT);
    for fact in facts {
        wrapped(&mut out, &format!("{:<ABOUT$}", fact.about), &indent, &fact.found);
        if let Some(to_do) = &fact.to_do {
            let mark = if fact.spoils { "spoils runs: " } else { "better: " };
            wrapped(&mut out, &format!("{indent}{mark}"), &indent, to_do);
        }
    }
    let spoiling: Vec<&str> =
        facts.iter().filter(|fact| fact.spoils).map(|fact| fact.about.as_str()).collect();
    out.push('\n');
    match spoiling[..] {
        [] => wrapped(&mut out, "", "", "fit to measure: nothing that was seen spoils a run"),
        _ => wrapped(&mut out, "not fit to measure: ", "", &spoiling.join(", ")),
    }
    out.into_text()
}

#[cfg(test)]
mod tests;
