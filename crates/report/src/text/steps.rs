//! A search or a scan on stdout: a row as each step ends, then the result in a sentence.
//!
//! Rows are written before the next step is known, so columns have fixed widths.

use crate::judgement::{floor_words, step_goal_word};
use crate::layout::{TextLayout, shown_columns, wrapped};
use crate::number::{counted, or_none, time};
use crate::plan::is_simulated;
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::steps::{
    Answer, Conclusion, CourseKind, LostAgent, Step, StepRole, StepsEnd, Undecided,
};
use memtide_record::warning::warning_order;
use memtide_record::{FloorRecord, Progress, StepBegun, WarningRecord};
use memtide_scenario::{Goal, Measure, Subject, scenario_file};
use std::collections::BTreeMap;

const HEADING: [&str; 10] = [
    "step",
    "target",
    "achieved",
    "p50",
    "p95",
    "p99",
    "service p99",
    "lag p99",
    "goal",
    "believable",
];
/// Usual widths of these columns; a longer cell only moves the rest of its row.
const WIDTHS: [usize; 10] = [4, 12, 12, 8, 8, 8, 11, 8, 9, 10];

/// Columns that a narrow terminal may omit, least needed first.
const DISPENSABLE: [&str; 5] = ["lag p99", "service p99", "p95", "p50", "target"];

/// Why rates stay undecided at which memtide could not make the load.
const NO_CPU: &str = "memtide had no CPU time to make the load there (memtide doctor says why)";

/// What the results of steps in virtual time are of.
const SIMULATED: &str = "all steps ran in virtual time, against simulated servers";

/// The text of a search or a scan, built step by step.
#[derive(Clone, Debug, Default)]
pub struct StepsText {
    kind: CourseKind,
    goals: Vec<String>,
    /// Columns of the terminal for which the text is made; none for no terminal.
    columns: Option<usize>,
    begun: bool,
    /// Warnings by code.
    warnings: BTreeMap<String, StepsWarning>,
    /// Rates with a step that cannot be believed, and the reason.
    doubts: Vec<(Rate, String)>,
    /// Unit of the rates.
    unit: RateUnit,
    /// True if the steps ran in virtual time.
    is_simulated: bool,
    /// Floors of the tested rates.
    floors: Vec<(Rate, FloorRecord)>,
    /// Rates, per second, at which memtide had no CPU time to make the load.
    spoilt: Vec<f64>,
}

/// A warning of some steps.
#[derive(Clone, Debug)]
struct StepsWarning {
    /// Number of these steps.
    steps: u32,
    /// The first of them, and the warning's text there.
    first: u32,
    warning: WarningRecord,
}

/// True if no rate met or missed the goals, or was left undecided.
const fn is_empty(answer: &Answer) -> bool {
    answer.rate_per_s.is_none() && answer.missed_per_s.is_none() && answer.undecided.is_none()
}

impl StepsText {
    /// An empty text for steps of `kind` that are judged by these goals; for a terminal of
    /// `columns` columns, or none.
    pub fn new(kind: CourseKind, goals: &[String], columns: Option<usize>) -> Self {
        Self { kind, goals: goals.to_vec(), columns, ..Self::default() }
    }

    /// The row of a step, with the heading before the first.
    pub fn step(&mut self, step: &Step) -> String {
        for warning in &step.record.warnings {
            let so_far = self.warnings.entry(warning.code.clone());
            let so_far = so_far.or_insert_with(|| StepsWarning {
                steps: 0,
                first: step.number,
                warning: warning.clone(),
            });
            so_far.steps += 1;
        }
        let rate = step.rate();
        self.unit = rate.unit;
        self.is_simulated = is_simulated(&step.record);
        if let Some(reason) = step.doubt()
            && self.doubts.iter().all(|(doubted, _)| *doubted != rate)
        {
            self.doubts.push((rate, reason.message.clone()));
        }
        self.spoilt.extend(Some(rate.per_s).filter(|_| step.spoilt));
        self.floors.extend(step.record.floor.clone().map(|floor| (rate, floor)));
        let mut out = String::new();
        if !self.begun {
            self.begun = true;
            self.line(&mut out, &HEADING.map(str::to_owned));
        }
        self.line(&mut out, &cells(step));
        out
    }

    /// The text below the rows; empty if there is none.
    pub fn conclusion(&self, conclusion: &Conclusion) -> String {
        let mut out = TextLayout::new(self.columns);
        for (label, text) in self.sentences(conclusion) {
            let first = format!("{label}: ");
            wrapped(&mut out, &first, &" ".repeat(first.len()), &text);
        }
        let mut out = out.into_text();
        if !out.is_empty() && self.begun {
            out.insert(0, '\n');
        }
        out
    }

    /// The sentences below the rows, each with its label.
    fn sentences(&self, conclusion: &Conclusion) -> Vec<(&'static str, String)> {
        let mut sentences = Vec::new();
        if self.is_simulated {
            sentences.push(("simulated", SIMULATED.to_owned()));
        }
        let mut warnings: Vec<&StepsWarning> = self.warnings.values().collect();
        warnings.sort_by_key(|it| warning_order(&it.warning.code));
        for StepsWarning { steps, first, warning } in warnings {
            let WarningRecord { message, remedy, .. } = warning;
            let where_ = match steps {
                1 => format!("in step {first}"),
                _ => format!("in {} from step {first} on", counted(u64::from(*steps), "step")),
            };
            sentences.push(("warning", format!("{where_}: {message}; {remedy}")));
        }
        if let Some(why) = self.why_partial(conclusion.ended_by) {
            sentences.push(("partial", why.to_owned()));
        }
        sentences.extend(conclusion.lost.iter().map(|lost| ("lost", lost.sentence())));
        if let Some(answer) = &conclusion.answer {
            let doubts = self.doubts_about(answer);
            sentences.extend(doubts.into_iter().map(|doubt| ("doubt", doubt)));
            let found = answer.rate_per_s.map(|per_s| self.rate(per_s));
            let floor = self.floors.iter().rev().find(|(rate, _)| Some(*rate) == found);
            sentences.extend(floor.map(|(_, floor)| ("floor", floor_words(floor))));
            let is_done = conclusion.ended_by == StepsEnd::Done;
            let is_cut = !is_done && conclusion.ended_by != StepsEnd::StepsMax;
            let sentence = match is_cut && is_empty(answer) {
                false => Some(self.sentence(answer, is_done)),
                // Without a step there is nothing that a rate can meet or miss.
                true => self.begun.then(|| {
                    format!("no rate was decided for {} before the end", self.goals.join(" and "))
                }),
            };
            let result = sentence.map(|sentence| sentence + &remainder(&conclusion.lost));
            sentences.extend(result.map(|result| ("result", result)));
        }
        sentences
    }

    fn why_partial(&self, ended_by: StepsEnd) -> Option<&'static str> {
        match (ended_by, self.begun) {
            (StepsEnd::Done, _) => None,
            (StepsEnd::StepsMax, _) => Some(
                "the search did not finish; use a larger --steps-max, or a coarser --resolution",
            ),
            (StepsEnd::Interrupted, true) => Some("interrupted; these are the results so far"),
            (StepsEnd::Interrupted, false) => Some("interrupted before the first step ended"),
            (StepsEnd::Aborted, true) => {
                Some("--abort-on ended a step; these are the results so far")
            }
            (StepsEnd::Aborted, false) => Some("--abort-on ended the first step"),
            (StepsEnd::Failed, true) => Some("a step failed; these are the results so far"),
            (StepsEnd::Failed, false) => Some("the first step failed"),
        }
    }

    fn line(&self, out: &mut String, cells: &[String; 10]) {
        let shown = shown_columns(&HEADING, &WIDTHS, &DISPENSABLE, self.columns);
        let cells = shown.into_iter().map(|at| format!("{:>1$}", cells[at], WIDTHS[at]));
        out.push_str(&cells.collect::<Vec<_>>().join("  "));
        out.push('\n');
    }

    fn rate(&self, per_s: f64) -> Rate {
        Rate::new(per_s, self.unit)
    }

    /// The answer; what it says of a search that is not done is how far it came.
    fn sentence(&self, answer: &Answer, is_done: bool) -> String {
        let goals = self.goals.join(" and ");
        let missed = answer.missed_per_s.map(|per_s| self.rate(per_s));
        let Some(found) = answer.rate_per_s else {
            let lowest =
                missed.map_or_else(String::new, |missed| format!(" (lowest tested: {missed})"));
            return match &answer.undecided {
                Some(undecided) if self.kind == CourseKind::Scan && missed.is_some() => {
                    let open = self.between(undecided.from_per_s, undecided.to_per_s);
                    let high = missed.map_or_else(String::new, |it| format!("; {it} is too high"));
                    format!("no tested rate surely meets {goals}{high}; undecided at {open}")
                }
                Some(undecided) => format!("undecided: {}", self.why_undecided(undecided)),
                None => format!("no tested rate meets {goals}{lowest}"),
            };
        };
        if self.kind == CourseKind::Search {
            return self.interval(answer, found, is_done);
        }
        let steps = counted(u64::from(answer.met + answer.missed), "step");
        let beyond = match answer.missed_per_s {
            Some(missed) => format!("; {} is too high", self.rate(missed)),
            None => "; no higher rate missed".to_owned(),
        };
        let open = answer.undecided.as_ref().map_or_else(String::new, |gap| {
            format!("; undecided at {}", self.between(gap.from_per_s, gap.to_per_s))
        });
        format!(
            "{} meets {goals} (in {} of {steps} at this rate){beyond}{open}",
            self.rate(found),
            answer.met
        )
    }

    /// The interval that a search found, from `found` on.
    fn interval(&self, answer: &Answer, found: f64, is_done: bool) -> String {
        let (low, goals) = (self.rate(found), self.goals.join(" and "));
        let undecided = answer.undecided.as_ref();
        match (answer.missed_per_s.filter(|missed| *missed > found), undecided) {
            // An end that is not settled is no end of an interval.
            (Some(high), _) if !is_done => {
                let between = self.between(found, high);
                format!("so far, the highest rate that meets {goals} seems to be {between}")
            }
            (Some(high), _) => {
                let interval = self.between(found, high);
                let more = match undecided {
                    None => String::new(),
                    Some(gap) if self.is_spoilt(gap) => format!("; {NO_CPU}"),
                    Some(Undecided { pause_ns: None, .. }) => {
                        "; longer steps make it narrower (--duration)".to_owned()
                    }
                    Some(Undecided { pause_ns: Some(ns), .. }) => {
                        format!("; this machine's pauses of {} hide the rest", time(*ns))
                    }
                };
                let held = if self.has_intervals() { " (95 %)" } else { "" };
                format!("{interval}{held} is the highest rate that meets {goals}{more}")
            }
            (None, Some(gap)) => {
                let between = self.between(gap.from_per_s, gap.to_per_s);
                let why = self.why_undecided(gap);
                format!("at least {low} meets {goals}; undecided at {between}: {why}")
            }
            (None, None) => format!("at least {low} meets {goals}; no higher rate was tested"),
        }
    }

    /// True if all goals are judged by intervals, not by values.
    fn has_intervals(&self) -> bool {
        let mut goals = self.goals.iter().map(|goal| goal.parse::<Goal>());
        goals.all(|goal| match goal.map(|goal| goal.subject) {
            Ok(Subject::Response { measure, .. }) => measure != Measure::Max,
            _ => false,
        })
    }

    /// True if memtide could not make the load at one of these rates.
    fn is_spoilt(&self, gap: &Undecided) -> bool {
        self.spoilt.iter().any(|rate| (gap.from_per_s..=gap.to_per_s).contains(rate))
    }

    /// Two rates as a range: `690–705/s`.
    fn between(&self, low: f64, high: f64) -> String {
        let [low, high] = [low, high].map(|per_s| self.rate(per_s).to_string());
        if low == high {
            return low;
        }
        format!("{}–{high}", low.trim_end_matches(self.unit.per_s()))
    }

    /// Why a rate stays undecided, and what could be decided.
    fn why_undecided(&self, undecided: &Undecided) -> String {
        let goals = self.goals.join(" and ");
        let lowest = undecided.decidable_ns.map_or_else(String::new, |ns| {
            format!("; the lowest goal that can be decided here is {}", time(ns))
        });
        match undecided.pause_ns {
            _ if self.is_spoilt(undecided) => {
                format!("whether {goals} is met is not known, because {NO_CPU}")
            }
            Some(ns) => format!("this machine's pauses of {} hide {goals}{lowest}", time(ns)),
            None => format!("longer steps may tell whether {goals} is met (--duration){lowest}"),
        }
    }

    /// Reasons to doubt the two ends of the answer.
    fn doubts_about(&self, answer: &Answer) -> Vec<String> {
        let found = self.doubt_at(answer.rate_per_s);
        let missed = self.doubt_at(answer.missed_per_s);
        let missed = missed.map(|doubt| doubt + "; memtide itself may be the limit");
        found.into_iter().chain(missed).collect()
    }

    /// The reason to doubt a rate, if there is one.
    fn doubt_at(&self, per_s: Option<f64>) -> Option<String> {
        let rate = self.rate(per_s?);
        let (_, why) = self.doubts.iter().find(|(doubted, _)| *doubted == rate)?;
        Some(format!("at {rate}: {why}"))
    }
}

/// The steps of a search or scan as rows of cells, for outputs that are written at its end.
#[derive(Clone, Debug)]
pub(crate) struct StepsRows {
    kind: CourseKind,
    pub(crate) goals: Vec<String>,
    text: StepsText,
    /// The heading, and a row for each step.
    pub(crate) rows: Vec<Vec<String>>,
    /// The scenario of every step, as a file without its rate.
    scenario: String,
}

impl StepsRows {
    /// No rows yet, for steps of `kind` that are judged by these goals.
    pub(crate) fn new(kind: CourseKind, goals: &[String]) -> Self {
        let text = StepsText::new(kind, goals, None);
        let rows = vec![HEADING.map(str::to_owned).to_vec()];
        Self { kind, goals: goals.to_vec(), text, rows, scenario: String::new() }
    }

    /// Adds a step; returns its cells.
    pub(crate) fn step(&mut self, step: &Step) -> &[String] {
        // The row is for terminals; the conclusion needs what the call records.
        let _ = self.text.step(step);
        let mut words = step.record.scenario.clone();
        words.remove("rate");
        self.scenario = scenario_file(&words);
        self.rows.push(cells(step).to_vec());
        self.rows.last().map_or(&[], Vec::as_slice)
    }

    /// Kind and number of the steps: `search of 12 steps`.
    pub(crate) fn title(&self) -> String {
        format!("{} of {}", self.kind.name(), counted(self.rows.len() as u64 - 1, "step"))
    }

    /// A rate in the unit of the steps.
    #[cfg(feature = "html")]
    pub(crate) fn rate(&self, per_s: f64) -> Rate {
        self.text.rate(per_s)
    }

    /// The sentences below the rows, each with its label.
    pub(crate) fn sentences(&self, conclusion: &Conclusion) -> Vec<(&'static str, String)> {
        self.text.sentences(conclusion)
    }

    /// The command that carries the same steps out again, if it is known, and the scenario file
    /// that it names.
    pub(crate) fn again<'a>(&'a self, conclusion: &'a Conclusion) -> (Option<&'a str>, &'a str) {
        (Some(&*conclusion.command).filter(|command| !command.is_empty()), &self.scenario)
    }
}

/// The end of the result's sentence if agents were lost: how many made the load, and since when.
fn remainder(lost: &[LostAgent]) -> String {
    // Agents that were lost in the same step are one change.
    let changes = lost.chunk_by(|a, b| a.step == b.step).filter_map(<[LostAgent]>::last);
    changes.fold(String::new(), |text, LostAgent { step, left, of, .. }| {
        text + &format!("; of {left} of {of} agents from step {step} on")
    })
}

/// Progress of a step, after the step's number and rate.
pub fn step_progress_line(begun: &StepBegun, progress: &Progress) -> String {
    let rate = begun.rate.map_or_else(|| "peak".to_owned(), |rate| rate.to_string());
    format!("step {} {rate}  {}", begun.number, crate::progress_line(progress))
}

/// The cells of a step's row, below [`HEADING`].
fn cells(step: &Step) -> [String; 10] {
    let point = step.point();
    let times = [
        point.response_p50_ns,
        point.response_p95_ns,
        point.response_p99_ns,
        point.service_p99_ns,
        point.lag_p99_ns,
    ];
    let [p50, p95, p99, service_p99, lag_p99] =
        times.map(|ns| or_none(ns.map(|ns| time(ns as f64))));
    [
        step.number.to_string(),
        match (point.target, step.role) {
            (Some(target), _) => target.to_string(),
            (None, StepRole::Peak) => "peak".to_owned(),
            (None, _) => "all".to_owned(),
        },
        point.achieved.to_string(),
        p50,
        p95,
        p99,
        service_p99,
        lag_p99,
        step_goal_word(step).to_owned(),
        if point.believable { "yes" } else { "no" }.to_owned(),
    ]
}

#[cfg(test)]
mod tests;
