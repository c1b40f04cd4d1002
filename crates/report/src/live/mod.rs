//! A run as it is watched: the model that a terminal, a browser and the progress line draw.
//!
//! Events go in, figures of the last minutes come out; memory is bounded. Nothing is drawn here,
//! and nothing here knows the time of day, so a simulated run gives the same model each time.

mod aims;
mod agents;
mod grades;
mod second;
mod suspect;

pub(crate) use agents::AGENT_COLUMNS;
pub(crate) use aims::AimNow;
pub(crate) use second::{HEAT_CELLS, KIND_COLUMNS, LiveSecond, SERVER_COLUMNS, heat_edge};
pub use suspect::Suspect;

use crate::judgement::step_goal_word;
use crate::number::{counted, or_none, rate, time, whole};
use crate::text::{progress_line, step_progress_line};
use agents::LiveAgent;
use grades::LiveGrades;
use memtide_base::Rate;
use memtide_belief::Grade;
use memtide_metrics::Histogram;
use memtide_record::compare::Trial;
use memtide_record::steps::{Conclusion, Point, Step, StepRole};
use memtide_record::{
    Event, GoalResult, Interval, Phase, PlanRecord, Progress, SettledCounts, StepBegun,
};
use memtide_scenario::{Goal, Kind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Largest number of seconds that are shown.
const SHOWN_MAX: usize = 300;
/// Largest number of steps that are shown.
const STEPS_SHOWN_MAX: usize = 256;
/// Largest number of servers, of workers and of agents that are shown.
const EACH_SHOWN_MAX: usize = 64;
/// Largest number of warnings and notes that are shown.
const WORDS_SHOWN_MAX: usize = 8;

/// State of a run in progress.
#[derive(Clone, Debug, Default)]
pub struct Live {
    goals: Vec<Goal>,
    /// The plan, once it is decided.
    pub(crate) plan: Option<Box<PlanRecord>>,
    /// The latest progress.
    pub(crate) progress: Option<Progress>,
    /// The last seconds of the load.
    pub(crate) seconds: VecDeque<LiveSecond>,
    /// The measured operations so far, by kind.
    pub(crate) measured: BTreeMap<Kind, LiveTimes>,
    grades: LiveGrades,
    /// Outcomes of the load so far, warm-up included.
    pub(crate) counts: SettledCounts,
    /// The present step of a search or scan.
    pub(crate) step: Option<StepBegun>,
    /// The steps that are over.
    pub(crate) steps: VecDeque<LiveStep>,
    /// Latest warnings and notes.
    pub(crate) words: VecDeque<String>,
    /// The agents of the run by name.
    agents: BTreeMap<String, LiveAgent>,
    /// Which of several runs is under way, if all are shown as one.
    run: Option<String>,
    /// A trial of two arms so far.
    pub(crate) trial: Option<Box<Trial>>,
    /// The note that the progress line shows instead of progress.
    note: Option<String>,
    /// True if the present load is over, and has its record.
    is_recorded: bool,
    is_over: bool,
    finished: Option<Arc<str>>,
    version: u64,
}

/// Response times of operations, and the number of operations that rank above them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveTimes {
    times: Histogram<u64>,
    unanswered: u64,
}

/// What [`LiveStep::row`] says.
pub(crate) const STEP_COLUMNS: [&str; 8] =
    ["step", "target", "achieved", "p50", "p99", "goal", "believable", "bracket"];

/// A step of a search or scan that is over.
#[derive(Clone, Debug)]
pub(crate) struct LiveStep {
    pub(crate) number: u32,
    pub(crate) role: StepRole,
    pub(crate) rate: Rate,
    pub(crate) achieved: Rate,
    /// 50th and 99th percentile of response times, in ns.
    pub(crate) times: [Option<u64>; 2],
    /// Whether all goals were met, in the word of the table of steps.
    pub(crate) goal: &'static str,
    pub(crate) is_doubted: bool,
    /// The rates between which the answer was known to be before the step.
    pub(crate) bracket: [Option<f64>; 2],
    /// The step as a point of the curve.
    pub(crate) point: Point,
}

impl LiveStep {
    /// The step in the words of a table.
    pub(crate) fn row(&self) -> Vec<String> {
        let role = match self.role {
            StepRole::Scan => "scan",
            StepRole::Peak => "peak",
            StepRole::Narrow => "narrow",
            StepRole::Confirm => "confirm",
        };
        let [p50, p99] = self.times.map(time_word);
        let [low, high] = self.bracket.map(|end| or_none(end.map(rate)));
        let doubt = if self.is_doubted { "no" } else { "yes" };
        let (target, achieved) = (self.rate.to_string(), self.achieved.to_string());
        let number = format!("{} {role}", self.number);
        let bracket = format!("{low} to {high}");
        vec![number, target, achieved, p50, p99, self.goal.to_owned(), doubt.to_owned(), bracket]
    }
}

impl Live {
    /// A run about which nothing is known yet but its goals.
    pub fn new(goals: &[Goal]) -> Self {
        Self { goals: goals.to_vec(), ..Self::default() }
    }

    /// Selects the events that change the model.
    pub const fn takes(event: &Event) -> bool {
        use Event::{
            Done, Interval, LoadBegun, Note, Progress, Started, StepBegun, StepDone, StepsDone,
            Warning,
        };
        matches!(
            event,
            Started(_)
                | LoadBegun(_)
                | Progress(_)
                | Interval(_)
                | Note(_)
                | Warning(_)
                | Done(_)
                | StepBegun(_)
                | StepDone(_)
                | StepsDone(_)
        )
    }

    /// Takes the next event.
    pub fn on(&mut self, event: &Event) {
        match event {
            Event::Started(plan) => self.plan = Some(plan.clone()),
            Event::LoadBegun(_) => self.begin(),
            Event::Progress(progress) => {
                self.note = None;
                self.progress = Some(progress.clone());
            }
            Event::Interval(second) => self.second(second),
            Event::Note(note) => {
                self.note = Some(note.clone());
                self.say(note.clone());
            }
            Event::Warning(warning) => self.say(warning.message()),
            Event::Done(_) => self.is_recorded = true,
            Event::StepBegun(step) => self.step = Some(*step),
            Event::StepDone(step) => self.step_over(step),
            Event::StepsDone(conclusion) => self.steps_over(conclusion),
            _ => return,
        }
        self.version += 1;
    }

    /// A number that grows with every change.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The number of seconds of the present load so far.
    pub(crate) fn last(&self) -> Option<&LiveSecond> {
        self.seconds.back()
    }

    /// Keeps the page of what came of the run, which takes the place of the live one once all is
    /// over.
    pub fn finish(&mut self, page: impl Into<Arc<str>>) {
        self.finished = Some(page.into());
    }

    /// The page of what came of the run, if that is over.
    pub fn finished(&self) -> Option<&Arc<str>> {
        self.finished.as_ref().filter(|_| self.is_over())
    }

    /// True if the run, or the whole search, scan or trial, is over.
    pub const fn is_over(&self) -> bool {
        let is_single = self.step.is_none() && self.run.is_none();
        self.is_over || (is_single && self.is_recorded)
    }

    /// The next run is one of several, such as `pair 3, arm A`.
    pub fn next_run(&mut self, run: String) {
        self.run = Some(run);
        self.version += 1;
    }

    /// Shows a trial of two arms as it stands.
    pub fn show_trial(&mut self, trial: &Trial) {
        self.trial = Some(Box::new(trial.clone()));
        self.version += 1;
    }

    /// The last of several runs is over.
    pub fn end(&mut self) {
        self.is_over = true;
        self.version += 1;
    }

    /// Where the run is, in words: its step, its phase, and how long the rest takes.
    pub(crate) fn whereabouts(&self) -> String {
        let mut words = String::new();
        if let Some(run) = &self.run {
            words += &format!("{run}  ");
        }
        if let Some(step) = &self.step {
            let at = step.rate.map_or_else(String::new, |rate| format!(" at {rate}"));
            words += &format!("step {}{at}  ", step.number);
        }
        match (&self.note, &self.progress) {
            (Some(note), _) => words += note,
            (None, Some(progress)) => words += &self.phase(progress),
            (None, None) => {}
        }
        words
    }

    fn phase(&self, progress: &Progress) -> String {
        let Progress { phase, done, elapsed_s, .. } = progress;
        match (progress.total, progress.length_s) {
            (Some(total), _) if total > 0 => {
                let left = estimate(*done, total, *elapsed_s);
                format!("{phase} {} of {}{left}", whole(*done), whole(total))
            }
            (_, Some(length_s)) => format!("{phase} {elapsed_s:.1} of {length_s} s"),
            _ if *phase == Phase::Cooldown => {
                let waits = self.last().and_then(|now| now.under_way.in_flight);
                let waits = waits.map(|count| format!(", {} in flight", whole(count)));
                let most = self.plan.as_ref().map(|plan| plan.timeout_s - elapsed_s);
                let left = most.filter(|left_s| *left_s > 0.0);
                let left = left.map(|left_s| format!(", at most {} left", time(left_s * 1e9)));
                let [waits, left] = [waits, left].map(Option::unwrap_or_default);
                format!("{phase} {elapsed_s:.1} s{waits}{left}")
            }
            _ => format!("{phase} {elapsed_s:.1} s"),
        }
    }

    /// The rates between which the answer of a search is known to be now.
    pub(crate) fn bracket(&self) -> [Option<f64>; 2] {
        let Some(step) = self.steps.back() else { return [None; 2] };
        let at = step.point.target.map(|rate| rate.per_s);
        let [low, high] = step.bracket;
        // What was not sent meets no goal, and one step that was behind decides none.
        match step.point.goal.filter(|_| !step.point.behind) {
            Some(GoalResult::Met) => [at.into_iter().chain(low).reduce(f64::max), high],
            Some(GoalResult::Missed) => [low, at.into_iter().chain(high).reduce(f64::min)],
            Some(GoalResult::Undecided) | None => [low, high],
        }
    }

    /// The progress line; none if there is nothing to say.
    pub fn line(&self) -> Option<String> {
        if self.note.is_some() {
            return self.note.clone();
        }
        let progress = self.progress.as_ref()?;
        Some(match &self.step {
            Some(step) => step_progress_line(step, progress),
            None => progress_line(progress),
        })
    }

    /// The goals as they stand.
    pub(crate) fn aims(&self) -> Vec<AimNow> {
        self.goals.iter().map(|goal| AimNow::of(goal, self)).collect()
    }

    /// The percentiles so far with their grades; empty until enough seconds are over.
    pub(crate) fn grades(&self) -> Vec<(&'static str, Grade)> {
        let measured = self.measured.get(&Kind::All);
        measured.map_or_else(Vec::new, |all| self.grades.words(all))
    }

    /// Whose share the times of the last second are; none before there is one.
    pub fn suspect(&self) -> Option<Suspect> {
        Suspect::of(self)
    }

    /// Another load begins, such as that of a step.
    fn begin(&mut self) {
        self.seconds.clear();
        self.measured.clear();
        // What was said before is about the preparation.
        self.words.clear();
        self.agents.clear();
        (self.counts, self.grades, self.is_recorded) = Default::default();
    }

    fn second(&mut self, second: &Interval) {
        self.counts = self.counts.plus(&second.counts);
        for (kind, times) in &second.response {
            self.measured.entry(*kind).or_default().times.absorb(times);
        }
        for (kind, unanswered) in &second.unanswered {
            let so_far = &mut self.measured.entry(*kind).or_default().unanswered;
            *so_far = so_far.saturating_add(*unanswered);
        }
        self.agents_second(second);
        self.grades.add(second);
        let shown = LiveSecond::of(second, self.last(), self.asked());
        kept(&mut self.seconds, shown, SHOWN_MAX);
    }

    /// The rate that is asked for, if it does not change.
    pub(crate) fn asked(&self) -> Option<f64> {
        match self.step.and_then(|step| step.rate) {
            Some(rate) => Some(rate.per_s),
            None => self.plan.as_ref()?.rate_per_s,
        }
    }

    fn step_over(&mut self, step: &Step) {
        let times = step.record.response.get(&Kind::All);
        use memtide_record::Percentile::{P50, P99};
        let unit = step.rate().unit;
        let over = LiveStep {
            number: step.number,
            role: step.role,
            rate: step.rate(),
            achieved: Rate::new(step.achieved_per_s, unit),
            times: [P50, P99].map(|at| times.and_then(|times| times.percentile(at))),
            goal: step_goal_word(step),
            is_doubted: step.doubt().is_some(),
            bracket: [step.low_per_s, step.high_per_s],
            point: step.point(),
        };
        kept(&mut self.steps, over, STEPS_SHOWN_MAX);
    }

    fn steps_over(&mut self, conclusion: &Conclusion) {
        self.is_over = true;
        let steps = counted(self.steps.len() as u64, "step");
        let answer = match &conclusion.failure {
            Some(failure) => format!("ended after {steps}: {failure}"),
            None => format!("all is over after {steps}"),
        };
        self.say(answer);
    }

    fn say(&mut self, words: String) {
        if self.words.back() != Some(&words) {
            kept(&mut self.words, words, WORDS_SHOWN_MAX);
        }
    }
}

/// Operations that ended without a good answer, though one was expected. Until a load ends, drops
/// are those that `--on-full` asks for.
pub(crate) fn unanswered(counts: &SettledCounts) -> u64 {
    let left_out = counts.unacknowledged.saturating_add(counts.dropped);
    counts.settled.saturating_sub(counts.answered).saturating_sub(left_out)
}

/// How long the rest takes at the speed so far; empty before it is known.
fn estimate(done: u64, total: u64, elapsed_s: f64) -> String {
    if done == 0 || done >= total || elapsed_s < 1.0 {
        return String::new();
    }
    let left_s = elapsed_s * (total - done) as f64 / done as f64;
    format!(", about {} left", time((left_s * 1e9).round()))
}

/// Adds `new` at the end; the first one goes if there are more than `most`.
fn kept<T>(all: &mut VecDeque<T>, new: T, most: usize) {
    all.push_back(new);
    if all.len() > most {
        all.pop_front();
    }
}

/// A time in ns in words; a dash without one.
pub(crate) fn time_word(ns: Option<u64>) -> String {
    or_none(ns.map(|ns| time(ns as f64)))
}

#[cfg(test)]
pub(crate) mod tests;
