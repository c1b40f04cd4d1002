//! Repeats of a run as text and as Markdown: a line for each run as it ends, then the medians.

use super::trial::percent;
use super::{table, trust_sentence};
use crate::figure::in_unit;
use crate::files::{escaped, table as markdown_table};
use crate::layout::{TextLayout, wrapped};
use crate::number::{counted, or_none};
use memtide_record::compare::{Named, RepeatedFigure, RepeatedGoal, Repeats};
use memtide_record::{GoalResult, WarningRecord};

/// The line of the last run.
pub fn repeat_line(repeats: &Repeats, names: &[Named]) -> String {
    let Some(record) = repeats.runs.last() else { return String::new() };
    let number = repeats.runs.len();
    let cells = names.iter().zip(&repeats.figures).map(|(named, figure)| {
        let value = named.value(record).map(|value| in_unit(figure.unit, value));
        format!("{} {}", figure.name, or_none(value))
    });
    let cells = cells.collect::<Vec<_>>().join("; ");
    let is_left_out = repeats.left_out.iter().any(|it| it.starts_with(&format!("run {number}:")));
    let mark = if is_left_out { " (left out)" } else { "" };
    format!("run {number} of {}: {cells}{mark}\n", repeats.asked)
}

/// The result for a terminal of `columns` columns, or for none.
pub fn repeats_text(repeats: &Repeats, columns: Option<usize>) -> String {
    let mut out = TextLayout::new(columns);
    table(&rows(repeats)).render(&mut out);
    for sentence in sentences(repeats) {
        wrapped(&mut out, "", "", &sentence);
    }
    out.into_text()
}

/// The result as Markdown, ending in a line break.
pub fn repeats_markdown(repeats: &Repeats) -> String {
    let runs = counted(repeats.runs.len() as u64, "run");
    let mut out =
        format!("### memtide: {runs} of one scenario\n\n{}\n", markdown_table(&rows(repeats)));
    for sentence in sentences(repeats) {
        out += &format!("- {}\n", escaped(&sentence));
    }
    out
}

/// The rows of the result, heading first.
fn rows(repeats: &Repeats) -> Vec<Vec<String>> {
    let heading = ["figure", "median", "from", "to", "holds in", "between runs", "within a run"];
    let heading = heading.map(str::to_owned).to_vec();
    [heading].into_iter().chain(repeats.figures.iter().map(row)).collect()
}

fn row(figure: &RepeatedFigure) -> Vec<String> {
    let [low, high] = [0, 1].map(|end: usize| figure.range.map(|range| range[end]));
    let values = [figure.median, low, high].into_iter();
    let values = values.map(|value| or_none(value.map(|value| in_unit(figure.unit, value))));
    let shares = [figure.confidence, figure.between, figure.within].into_iter();
    let shares = shares.map(|share| or_none(share.map(percent)));
    [figure.name.clone()].into_iter().chain(values).chain(shares).collect()
}

/// What limits the result.
fn sentences(repeats: &Repeats) -> Vec<String> {
    let mut warnings = repeats.runs.iter().flat_map(|record| &record.warnings);
    let trust = trust_sentence(warnings.any(WarningRecord::is_about_trust));
    let mut sentences: Vec<String> = trust.into_iter().collect();
    sentences.extend(repeats.goals.iter().map(goal_sentence));
    let unsteady = repeats.figures.iter().filter(|figure| figure.unsteady);
    let names: Vec<&str> = unsteady.map(|figure| &*figure.name).collect();
    if !names.is_empty() {
        sentences.push(format!(
            "{}: runs differ by more than each knows of itself: state kept by server or kernel. \
             The median of the runs counts, not the interval of one.",
            names.join(", ")
        ));
    }
    if let Some(last) = repeats.left_out.last() {
        sentences.push(format!(
            "{} left out: not the load that was asked for; the last: {last}.",
            counted(repeats.left_out.len() as u64, "run"),
        ));
    }
    if (repeats.runs.len() as u64) < u64::from(repeats.asked) {
        sentences.push("not all runs were made; this is the result so far.".to_owned());
    }
    sentences
}

fn goal_sentence(RepeatedGoal { goal, result, runs, runs_needed }: &RepeatedGoal) -> String {
    let result = match (result, runs_needed) {
        (GoalResult::Met, _) => "met".to_owned(),
        (GoalResult::Missed, _) => "missed".to_owned(),
        (GoalResult::Undecided, _) if *runs == 0 => "undecided: no run knows it".to_owned(),
        (GoalResult::Undecided, Some(needed)) => {
            format!("undecided: {needed} runs would probably tell, here are {runs}")
        }
        (GoalResult::Undecided, None) => "undecided: the interval has the bound inside".to_owned(),
    };
    format!("goal {goal}: {result}.")
}
