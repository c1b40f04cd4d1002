//! A page about a search or scan: its result, the curve, and each step.

use super::axis::{Axis, Scale};
use super::chart::{Chart, Limit, Line};
use super::{facts, figures, shell};
use crate::number::{counted, rate, time};
use crate::text::{HEADING, StepsText, cells};
use maud::{Markup, html};
use memtide_record::Verdict;
use memtide_record::steps::{Conclusion, CourseKind, Point, Step};
use memtide_scenario::{Goal, Subject};

/// Largest number of steps whose figures the page shows in full; the JSON has every record.
const SHOWN_MAX: usize = 200;

/// A page, built step by step.
#[derive(Debug)]
pub struct StepsPage {
    kind: CourseKind,
    goals: Vec<String>,
    text: StepsText,
    rows: Vec<Vec<String>>,
    points: Vec<Point>,
    /// The facts of the first step, the scenario of the last, and the shown figures of each.
    facts: Markup,
    scenario: Markup,
    steps: Vec<Markup>,
}

impl StepsPage {
    /// An empty page for steps of `kind` that are judged by these goals.
    pub fn new(kind: CourseKind, goals: &[String]) -> Self {
        Self {
            kind,
            goals: goals.to_vec(),
            text: StepsText::new(goals, None),
            rows: vec![HEADING.map(str::to_owned).to_vec()],
            points: Vec::new(),
            facts: html! {},
            scenario: html! {},
            steps: Vec::new(),
        }
    }

    /// Adds a step.
    pub fn step(&mut self, step: &Step) {
        // The row is for terminals; the conclusion needs what the call records.
        let _ = self.text.step(step);
        let cells = cells(step).to_vec();
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
        self.rows.push(cells);
        self.scenario = facts::scenario(&step.record);
    }

    /// The whole page, ending in a line break.
    pub fn text(&self, conclusion: &Conclusion) -> String {
        let kind = match self.kind {
            CourseKind::Search => "search",
            CourseKind::Scan => "scan",
        };
        let title = format!("memtide: {kind} of {}", counted(self.points.len() as u64, "step"));
        let answer = conclusion.answer.as_ref().and_then(|answer| answer.rate_per_s);
        let sentences = self.text.sentences(conclusion);
        let is_doubtful = sentences.iter().any(|(label, _)| matches!(*label, "doubt" | "lost"));
        let class = match (&conclusion.failure, self.goals.is_empty(), answer) {
            (None, true, _) | (None, false, Some(_)) if is_doubtful => "verdict within",
            (None, true, _) | (None, false, Some(_)) => "verdict",
            _ => "verdict no",
        };
        let content = html! {
            h1 { (title) }
            @if !self.goals.is_empty() { p { "Goals: " strong { (self.goals.join(", ")) } } }
            @if let Some(why) = &conclusion.failure { p class=(class) { (why) } }
            @for (label, sentence) in &sentences {
                p class=(if *label == "result" { class } else { "" }) {
                    strong { (label) ": " } (sentence)
                }
            }
            (self.curve(answer).markup())
            (figures::words("All steps, in order.", &self.rows))
            @for step in &self.steps { (step) }
            h2 { "What was run" }
            (self.facts)
            (self.scenario)
        };
        shell(&title, &content)
    }

    /// Percentiles against the achieved rate.
    fn curve(&self, answer: Option<f64>) -> Chart {
        let line = |name: &str, ns: fn(&Point) -> Option<u64>| {
            let mut points: Vec<(f64, Option<f64>)> = self
                .points
                .iter()
                .map(|point| (point.achieved_per_s, ns(point).map(|ns| ns as f64)))
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
        let limits: Vec<Limit> = self.goals.iter().filter_map(|goal| limit(goal)).collect();
        let answer =
            answer.map(|at| Limit { name: format!("result {}", rate(at)), at, is_upright: true });
        let known = lines.iter().flat_map(|line| &line.points).filter_map(|(_, ns)| *ns);
        let y = Axis::over(Scale::Log, known.chain(limits.iter().map(|limit| limit.at)), time);
        let rates = self.points.iter().map(|point| point.achieved_per_s);
        let x = Axis::over(Scale::Linear, rates.chain(answer.iter().map(|it| it.at)), rate);
        let limits = limits.into_iter().chain(answer).collect();
        let about = "Times against the achieved rate.".to_owned();
        Chart { title: "Times against rate", about, x, y, lines, cells: Vec::new(), limits }
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
