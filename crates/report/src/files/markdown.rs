//! A result as Markdown, for a pull request or the summary of a CI job.
//!
//! The text is the report's in another format. Words that are not memtide's own are escaped.

use crate::answer::answer_table;
use crate::counts::{counted_parts, errors};
use crate::figure::run_figures;
use crate::judgement::{believable, goal_word};
use crate::number::counted;
use crate::text::{StepsRows, achieved_words, what, why_partial};
use crate::times::response_table;
use memtide_record::steps::{Conclusion, CourseKind, Step};
use memtide_record::{GoalRecord, Record, WarningRecord};
use memtide_scenario::scenario_file;

/// The record of a run as Markdown, ending in a line break.
pub fn markdown(record: &Record) -> String {
    let mut out = format!("### memtide: {}\n\n", escaped(&what(record)));
    let mark = if record.stands() { "✅" } else { "⚠️" };
    out += &format!("{mark} **believable:** {}\n\n", escaped(&believable(record)));
    if record.partial {
        out += &format!("**partial:** {}\n\n", escaped(&why_partial(record)));
    }
    out += &goals(&record.goals);
    out += &format!("{}\n\n", escaped(&summary(record)));
    if record.measured_s > 0.0 {
        out += &table(answer_table(record).rows());
    }
    out += &table(response_table(record).rows());
    let errors: Vec<_> = errors(&record.totals).map(|of| (of.count, of.words)).collect();
    let errors = counted_parts(&errors);
    if !errors.is_empty() {
        out += &format!("**not answered:** {}\n\n", errors.join(", "));
    }
    let figures = run_figures(record).into_iter();
    let figures = figures.map(|(of, figure)| vec![of.label.to_owned(), figure.words]);
    let heading = ["figure", "value"].map(str::to_owned).to_vec();
    out += &table(&[heading].into_iter().chain(figures).collect::<Vec<_>>());
    out += &warnings(&record.warnings);
    if let Some(own) = &record.own {
        let title = "load of the master itself, beside the agents' load";
        out += &format!("**{title}:** {}\n\n", escaped(&summary(own)));
        out += &table(response_table(own).rows());
    }
    out + &folded("scenario", &scenario_file(&record.scenario))
}

/// A search or scan as Markdown, built step by step.
#[derive(Clone, Debug)]
pub struct StepsMarkdown(StepsRows);

impl StepsMarkdown {
    /// An empty text for steps of `kind` that are judged by these goals.
    pub fn new(kind: CourseKind, goals: &[String]) -> Self {
        Self(StepsRows::new(kind, goals))
    }

    /// Adds a step as a row.
    pub fn step(&mut self, step: &Step) {
        self.0.step(step);
    }

    /// The whole text, ending in a line break.
    pub fn text(&self, conclusion: &Conclusion) -> String {
        let Self(steps) = self;
        let mut out = format!("### memtide: {}\n\n", steps.title());
        if !steps.goals.is_empty() {
            let goals: Vec<String> = steps.goals.iter().map(|goal| code(goal)).collect();
            out += &format!("**goals:** {}\n\n", goals.join(", "));
        }
        if let Some(why) = &conclusion.failure {
            out += &format!("**failed:** {}\n\n", escaped(why));
        }
        out += &table(&steps.rows);
        for (label, sentence) in steps.sentences(conclusion) {
            out += &format!("**{label}:** {}\n\n", escaped(&sentence));
        }
        match steps.again(conclusion) {
            (Some(command), file) => out + &folded(&format!("scenario of {command}"), file),
            (None, file) => out + &folded("scenario", file),
        }
    }
}

/// A line for each goal.
fn goals(goals: &[GoalRecord]) -> String {
    if goals.is_empty() {
        return String::new();
    }
    let heading = vec!["goal".to_owned(), "result".to_owned(), "why".to_owned()];
    let rows = goals
        .iter()
        .map(|goal| vec![goal.goal.clone(), goal_word(goal.result).to_owned(), goal.why.clone()]);
    table(&[heading].into_iter().chain(rows).collect::<Vec<_>>())
}

/// The rate, and the machines that made it.
fn summary(record: &Record) -> String {
    let plan = &record.plan;
    let servers = counted(plan.servers.len() as u64, "server");
    let connections = counted(u64::from(plan.connections), "connection");
    let version = &record.machine.memtide_version;
    format!("{}, {connections} to {servers}, memtide {version}", achieved_words(record))
}

fn warnings(warnings: &[WarningRecord]) -> String {
    let lines = WarningRecord::in_order(warnings).into_iter().map(|warning| {
        format!("- **warning:** {}; {}\n", escaped(&warning.message), escaped(&warning.remedy))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// A scenario file in a collapsed section.
fn folded(title: &str, file: &str) -> String {
    let mut fence = "```".to_owned();
    while file.contains(&fence) {
        fence.push('`');
    }
    let title = escaped(title);
    format!("<details><summary>{title}</summary>\n\n{fence}toml\n{file}{fence}\n\n</details>\n")
}

/// Rows of cells as a table, heading first; the first column is aligned to the left.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let Some(heading) = rows.first() else { return String::new() };
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = (0..heading.len()).map(|column| row.get(column).map(|cell| escaped(cell)));
        let cells: Vec<String> = cells.map(Option::unwrap_or_default).collect();
        out += &format!("| {} |\n", cells.join(" | "));
        if number == 0 {
            let rest = " ---: |".repeat(heading.len() - 1);
            out += &format!("| --- |{rest}\n");
        }
    }
    out + "\n"
}

/// Formats a word as code.
fn code(word: &str) -> String {
    format!("`{}`", word.replace('`', "'"))
}

/// Escapes a text for Markdown and HTML, on one line.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out += "&lt;",
            '&' => out += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests;
