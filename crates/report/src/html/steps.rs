//! A page about a search or scan: its result, the curve, and each step.

use super::chart::{Chart, Limit, Line, values};
use super::figures::unbroken;
use super::spectrum::goal_limit;
use super::{contents, facts, figures, section, shell};
use crate::axis::{Axis, Scale};
use crate::number::{counted, rate, time};
use crate::text::StepsRows;
use maud::{Markup, html};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::steps::{Conclusion, CourseKind, Point, Step};

/// Largest number of steps whose figures the page shows in full; the JSON has every record.
const SHOWN_MAX: usize = 200;

/// Rates that span more have a logarithmic axis.
const DECADE: f64 = 10.0;

/// Largest number of steps that cannot be believed and are named with their reasons.
const DOUBTS_MAX: usize = 3;

/// A page, built step by step.
#[derive(Debug)]
pub struct StepsPage {
    table: StepsRows,
    points: Vec<Point>,
    /// The facts of the first step, and the shown figures of each.
    facts: Markup,
    steps: Vec<Markup>,
    /// Number and rate of each step that cannot be believed, with the reason.
    doubts: Vec<String>,
}

impl StepsPage {
    /// An empty page for steps of `kind` that are judged by these goals.
    pub fn new(kind: CourseKind, goals: &[String]) -> Self {
        let table = StepsRows::new(kind, goals);
        let (points, steps, doubts) = (Vec::new(), Vec::new(), Vec::new());
        Self { table, points, facts: html! {}, steps, doubts }
    }

    /// Adds a step.
    pub fn step(&mut self, step: &Step) {
        let cells = self.table.step(step);
        if !step.record.believable.holds() {
            let why = step.record.believable.reasons.first();
            let why = why.map_or("nothing was checked", |reason| reason.message.as_str());
            self.doubts.push(format!("step {} at {}: {why}", cells[0], cells[1]));
        }
        if self.points.is_empty() {
            self.facts = facts::facts(&step.record);
        }
        if self.steps.len() < SHOWN_MAX {
            let (verdict, class) = match step.record.believable.holds() {
                false => ("not believable", "bad"),
                true => ("believable", "good"),
            };
            self.steps.push(html! {
                details {
                    summary {
                        "Step " (cells[0]) ": " (unbroken(&cells[1])) ", "
                        span class=(class) { (verdict) }
                    }
                    (facts::verdict(&step.record))
                    (figures::answer(&step.record))
                    (facts::reasons(&step.record))
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
        let rest = html! {
            @for (label, sentence) in sentences.iter().filter(|(label, _)| *label != "result") {
                p { strong { (label) ": " } (unbroken(sentence)) }
            }
            (section("Steps"))
            (figures::words("All steps, in order.", &self.table.rows))
            @for step in &self.steps { (step) }
            (section("What was run"))
            (self.facts)
            (facts::again(command, "", file))
        };
        let content = html! {
            h1 { (title) }
            @if !goals.is_empty() { p { "Goals: " strong { (unbroken(&goals.join(", "))) } } }
            @if let Some(why) = &conclusion.failure { p class=(class) { (unbroken(why)) } }
            @for (_, sentence) in sentences.iter().filter(|(label, _)| *label == "result") {
                p class=(class) { strong { "result: " } (unbroken(sentence)) }
            }
            (self.verdict())
            (self.result_curve(answer).markup())
            (contents(&rest))
            (rest)
        };
        shell(&title, &content)
    }

    /// How many steps can be believed, and why the others cannot.
    fn verdict(&self) -> Markup {
        let (all, doubtful) = (self.points.len(), self.doubts.len());
        let (class, words) = match doubtful {
            _ if all == 0 => ("verdict no", "no step ended".to_owned()),
            0 => ("verdict", format!("all {}", counted(all as u64, "step"))),
            _ if doubtful == all => ("verdict no", "no step".to_owned()),
            _ => ("verdict within", format!("{} of {all} steps", all - doubtful)),
        };
        let more = doubtful.saturating_sub(DOUBTS_MAX);
        html! {
            p class=(class) {
                strong { "believable: " } (words)
                @for doubt in self.doubts.iter().take(DOUBTS_MAX) { "; " (unbroken(doubt)) }
                @if more > 0 { "; and " (more) " more" }
            }
        }
    }

    /// Percentiles against the achieved rate, with the answer.
    fn result_curve(&self, answer: Option<f64>) -> Chart {
        let answer = answer.map(|at| Limit::upright(format!("result {}", self.table.rate(at)), at));
        curve(&self.points, &self.table.goals, answer.into_iter().collect())
    }
}

/// Percentiles against the achieved rate, with what the goals allow and rates that are marked.
pub(super) fn curve(all: &[Point], goals: &[String], marked: Vec<Limit>) -> Chart {
    // A closed loop's times are those of a full server, beside which no other step can be seen.
    let (points, peak): (Vec<&Point>, Vec<&Point>) =
        all.iter().partition(|point| point.target.is_some());
    let peak = peak.first().filter(|_| !points.is_empty());
    let points = if points.is_empty() { all.iter().collect() } else { points };
    let mut p99 = line(&points, "p99", |point| point.response_p99_ns);
    let ranges = points.iter().map(|point| (point.achieved.per_s, point.response_p99_range_ns));
    let ranges = ranges.filter_map(|(per_s, ends)| Some((per_s, ends?.map(|ns| ns as f64))));
    p99.band = ranges.collect();
    p99.band.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let lines = vec![
        line(&points, "p50", |point| point.response_p50_ns),
        line(&points, "p95", |point| point.response_p95_ns),
        p99,
        line(&points, "service p99", |point| point.service_p99_ns),
        line(&points, "lag p99", |point| point.lag_p99_ns),
    ];
    let limits: Vec<Limit> = goals.iter().filter_map(|goal| goal_limit(goal)).collect();
    let at = limits.iter().map(|limit| limit.at);
    let y = Axis::over(Scale::Log, values(&lines).chain(at), time);
    let word: fn(f64) -> String = match all.first().map(|point| point.achieved.unit) {
        Some(RateUnit::Keys) => |per_s| Rate::new(per_s, RateUnit::Keys).to_string(),
        _ => rate,
    };
    let peak =
        peak.map(|point| Limit::upright(format!("peak {}", point.achieved), point.achieved.per_s));
    let places = points.iter().map(|point| point.achieved.per_s);
    let places = places.chain(marked.iter().chain(&peak).map(|it| it.at));
    let rates: Vec<f64> = places.filter(|rate| *rate > 0.0).collect();
    let ends = [rates.iter().copied().reduce(f64::min), rates.iter().copied().reduce(f64::max)];
    let spans = ends[0].zip(ends[1]).is_some_and(|(low, high)| high > low * DECADE);
    let scale = if spans { Scale::Log } else { Scale::Linear };
    let x = Axis::over(scale, rates.into_iter(), word);
    let limits = limits.into_iter().chain(marked).chain(peak).collect();
    let mut about =
        "Times against the achieved rate; a band is the 95 % interval of p99.".to_owned();
    if all.iter().any(|point| !point.believable) {
        about += " A hollow point is a step that cannot be believed.";
    }
    Chart { about, lines, limits, ..Chart::new("Times against rate", x, y) }
}

/// A time of each point against its achieved rate.
fn line(points: &[&Point], name: &str, ns: fn(&Point) -> Option<u64>) -> Line {
    let places = points.iter().map(|point| (point.achieved.per_s, ns(point).map(|ns| ns as f64)));
    let mut places: Vec<(f64, Option<f64>)> = places.collect();
    places.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let doubtful = points.iter().filter(|point| !point.believable);
    let doubtful = doubtful.map(|point| point.achieved.per_s).collect();
    Line { doubtful, ..Line::new(name, places) }
}
