//! A page about a search or scan: its result, the curve, and each step.

use super::chart::{Chart, Limit, Line, values};
use super::{facts, figures, shell};
use crate::axis::{Axis, Scale};
use crate::number::{rate, time};
use crate::text::StepsRows;
use maud::{Markup, html};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::Verdict;
use memtide_record::steps::{Conclusion, CourseKind, Point, Step};
use memtide_scenario::{Goal, Subject};

/// Largest number of steps whose figures the page shows in full; the JSON has every record.
const SHOWN_MAX: usize = 200;

/// A page, built step by step.
#[derive(Debug)]
pub struct StepsPage {
    table: StepsRows,
    points: Vec<Point>,
    /// The facts of the first step, and the shown figures of each.
    facts: Markup,
    steps: Vec<Markup>,
}

impl StepsPage {
    /// An empty page for steps of `kind` that are judged by these goals.
    pub fn new(kind: CourseKind, goals: &[String]) -> Self {
        let table = StepsRows::new(kind, goals);
        Self { table, points: Vec::new(), facts: html! {}, steps: Vec::new() }
    }

    /// Adds a step.
    pub fn step(&mut self, step: &Step) {
        let cells = self.table.step(step);
        if self.points.is_empty() {
            self.facts = facts::facts(&step.record);
        }
        if self.steps.len() < SHOWN_MAX {
            let verdict = match step.record.believable.verdict {
                Verdict::No => "not believable",
                Verdict::Yes | Verdict::Within => "believable",
            };
            self.steps.push(html! {
                details {
                    summary { "Step " (cells[0]) ": " (cells[1]) ", " (verdict) }
                    (facts::verdict(&step.record))
                    (figures::response(&step.record))
                }
            });
        }
        self.points.push(step.point());
    }

    /// The whole page, ending in a line break.
    pub fn text(&self, conclusion: &Conclusion) -> String {
        let goals = &self.table.goals;
        let title = format!("memtide: {}", self.table.title());
        let answer = conclusion.answer.as_ref().and_then(|answer| answer.rate_per_s);
        let sentences = self.table.sentences(conclusion);
        let is_doubtful = sentences.iter().any(|(label, _)| matches!(*label, "doubt" | "lost"));
        let class = match (&conclusion.failure, goals.is_empty(), answer) {
            (None, true, _) | (None, false, Some(_)) if is_doubtful => "verdict within",
            (None, true, _) | (None, false, Some(_)) => "verdict",
            _ => "verdict no",
        };
        let (command, file) = self.table.again(conclusion);
        let content = html! {
            h1 { (title) }
            @if !goals.is_empty() { p { "Goals: " strong { (goals.join(", ")) } } }
            @if let Some(why) = &conclusion.failure { p class=(class) { (why) } }
            @for (label, sentence) in &sentences {
                p class=(if *label == "result" { class } else { "" }) {
                    strong { (label) ": " } (sentence)
                }
            }
            (self.curve(answer).markup())
            (figures::words("All steps, in order.", &self.table.rows))
            @for step in &self.steps { (step) }
            h2 { "What was run" }
            (self.facts)
            (facts::again(command, "", file))
        };
        shell(&title, &content)
    }

    /// Percentiles against the achieved rate.
    fn curve(&self, answer: Option<f64>) -> Chart {
        let line = |name: &str, ns: fn(&Point) -> Option<u64>| {
            let mut points: Vec<(f64, Option<f64>)> = self
                .points
                .iter()
                .map(|point| (point.achieved.per_s, ns(point).map(|ns| ns as f64)))
                .collect();
            points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            Line::new(name, points)
        };
        let lines = vec![
            line("p50", |point| point.response_p50_ns),
            line("p95", |point| point.response_p95_ns),
            line("p99", |point| point.response_p99_ns),
            line("service p99", |point| point.service_p99_ns),
            line("lag p99", |point| point.lag_p99_ns),
        ];
        let limits: Vec<Limit> = self.table.goals.iter().filter_map(|goal| limit(goal)).collect();
        let answer = answer.map(|at| Limit {
            name: format!("result {}", self.table.rate(at)),
            at,
            is_upright: true,
        });
        let at = limits.iter().map(|limit| limit.at);
        let y = Axis::over(Scale::Log, values(&lines).chain(at), time);
        let word: fn(f64) -> String = match self.points.first().map(|point| point.achieved.unit) {
            Some(RateUnit::Keys) => |per_s| Rate::new(per_s, RateUnit::Keys).to_string(),
            _ => rate,
        };
        let rates = self.points.iter().map(|point| point.achieved.per_s);
        let x = Axis::over(Scale::Linear, rates.chain(answer.iter().map(|it| it.at)), word);
        let limits = limits.into_iter().chain(answer).collect();
        let about = "Times against the achieved rate.".to_owned();
        Chart { about, lines, limits, ..Chart::new("Times against rate", x, y) }
    }
}

/// The limit that a goal sets to a time of all operations.
fn limit(goal: &str) -> Option<Limit> {
    let parsed: Goal = goal.parse().ok()?;
    matches!(parsed.subject, Subject::Response { .. }).then(|| Limit {
        name: goal.to_owned(),
        at: parsed.bound,
        is_upright: false,
    })
}
