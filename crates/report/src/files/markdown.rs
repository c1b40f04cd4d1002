//! A result as Markdown, for a pull request or the summary of a CI job.
//!
//! The text is the report's in another format. Words that are not memtide's own are escaped.

use crate::judgement::{believable, goal_word};
use crate::number::{counted, whole};
use crate::plan::rate_of;
use crate::text::{HEADING, StepsText, cells, what, why_partial};
use crate::times::response_table;
use memtide_record::steps::{Conclusion, CourseKind, Step};
use memtide_record::{GoalRecord, LoopKind, Record, Totals, Verdict, WarningRecord};
use memtide_scenario::scenario_file;

/// The record of a run as Markdown, ending in a line break.
pub fn markdown(record: &Record) -> String {
    let mut out = format!("### memtide: {}\n\n", escaped(&what(record)));
    let mark = if record.believable.verdict == Verdict::No { "⚠️" } else { "✅" };
    out += &format!("{mark} **believable:** {}\n\n", escaped(&believable(record)));
    if record.partial {
        out += &format!("**partial:** {}\n\n", escaped(&why_partial(record)));
    }
    out += &goals(&record.goals);
    out += &format!("{}\n\n", escaped(&summary(record)));
    out += &table(response_table(record).0.rows());
    let errors = errors(&record.totals);
    if !errors.is_empty() {
        out += &format!("**not answered:** {}\n\n", errors.join(", "));
    }
    out += &warnings(&record.warnings);
    if let Some(own) = &record.own {
        let title = "load of the master itself, beside the agents' load";
        out += &format!("**{title}:** {}\n\n", escaped(&summary(own)));
        out += &table(response_table(own).0.rows());
    }
    out += &scenario(record);
    out
}

/// A search or scan as Markdown, built step by step.
#[derive(Clone, Debug)]
pub struct StepsMarkdown {
    kind: CourseKind,
    goals: Vec<String>,
    text: StepsText,
    rows: Vec<Vec<String>>,
    scenario: String,
}

impl StepsMarkdown {
    /// An empty text for steps of `kind` that are judged by these goals.
    pub fn new(kind: CourseKind, goals: &[String]) -> Self {
        let text = StepsText::new(goals, None);
        let rows = vec![HEADING.map(str::to_owned).to_vec()];
        Self { kind, goals: goals.to_vec(), text, rows, scenario: String::new() }
    }

    /// Adds a step as a row.
    pub fn step(&mut self, step: &Step) {
        // The row is for terminals; the conclusion needs what the call records.
        let _ = self.text.step(step);
        self.rows.push(cells(step).to_vec());
        self.scenario = scenario(&step.record);
    }

    /// The whole text, ending in a line break.
    pub fn text(&self, conclusion: &Conclusion) -> String {
        let kind = match self.kind {
            CourseKind::Search => "search",
            CourseKind::Scan => "scan",
        };
        let steps = counted(self.rows.len() as u64 - 1, "step");
        let mut out = format!("### memtide: {kind} of {steps}\n\n");
        if !self.goals.is_empty() {
            let goals: Vec<String> = self.goals.iter().map(|goal| code(goal)).collect();
            out += &format!("**goals:** {}\n\n", goals.join(", "));
        }
        if let Some(why) = &conclusion.failure {
            out += &format!("**failed:** {}\n\n", escaped(why));
        }
        out += &table(&self.rows);
        for (label, sentence) in self.text.sentences(conclusion) {
            out += &format!("**{label}:** {}\n\n", escaped(&sentence));
        }
        out + &self.scenario
    }
}

/// A line for each goal.
fn goals(goals: &[GoalRecord]) -> String {
    if goals.is_empty() {
        return String::new();
    }
    let heading = vec!["goal".to_owned(), "result".to_owned(), "why".to_owned()];
    let row = |goal: &GoalRecord| {
        vec![goal.goal.clone(), goal_word(goal.result).to_owned(), goal.why.clone()]
    };
    let rows: Vec<Vec<String>> = [heading].into_iter().chain(goals.iter().map(row)).collect();
    table(&rows)
}

/// The rate, and the machines that made it.
fn summary(record: &Record) -> String {
    let plan = &record.plan;
    let achieved = record.rate.in_schedule_unit();
    let achieved = match achieved.is_finite() {
        true => rate_of(plan, achieved),
        false => "no total rate".to_owned(),
    };
    let target = match (record.loop_kind, record.rate.target_per_s) {
        (LoopKind::Open, Some(target)) => {
            format!("{achieved} of {} requested", rate_of(plan, target))
        }
        _ => achieved,
    };
    let servers = counted(plan.servers.len() as u64, "server");
    let connections = counted(u64::from(plan.connections), "connection");
    let version = &record.machine.memtide_version;
    format!("{target}, {connections} to {servers}, memtide {version}")
}

/// Operations without a good answer, by class.
fn errors(totals: &Totals) -> Vec<String> {
    let classes = [
        ("failed", totals.failed),
        ("timed out", totals.timed_out),
        ("lost", totals.lost),
        ("dropped", totals.dropped),
        ("abandoned", totals.abandoned),
    ];
    let some = classes.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(class, count)| format!("{} {class}", whole(count))).collect()
}

fn warnings(warnings: &[WarningRecord]) -> String {
    let lines = warnings.iter().map(|warning| {
        format!("- **warning:** {}; {}\n", escaped(&warning.message), escaped(&warning.remedy))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// The scenario as a file that runs it again, in a collapsed section.
fn scenario(record: &Record) -> String {
    let lines = scenario_file(&record.scenario);
    let mut fence = "```".to_owned();
    while lines.contains(&fence) {
        fence.push('`');
    }
    format!("<details><summary>scenario</summary>\n\n{fence}toml\n{lines}{fence}\n\n</details>\n")
}

/// Rows of cells as a table, heading first; the first column is aligned to the left.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let Some(heading) = rows.first() else { return String::new() };
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cell = |column| row.get(column).map_or_else(String::new, |cell: &String| escaped(cell));
        let cells: Vec<String> = (0..heading.len()).map(cell).collect();
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
mod tests {
    use super::*;
    use crate::expect::expect;
    use crate::fixture;

    #[test]
    fn a_run_is_a_page_with_goals_times_and_its_scenario() {
        let mut record = fixture::open();
        record.warnings.push(WarningRecord {
            code: "x".to_owned(),
            message: "server <b>a_b</b> | said `x`".to_owned(),
            remedy: "do this".to_owned(),
        });
        expect("run.md", &markdown(&record));
    }

    #[test]
    fn what_others_say_has_no_meaning_in_the_page() {
        assert_eq!(escaped("a|b <x> _y_\n*"), "a\\|b &lt;x> \\_y\\_ \\*");
        assert_eq!(code("a`b"), "`a'b`");
    }
}
