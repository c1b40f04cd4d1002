//! A run as it is watched: the model that a terminal, a browser and the progress line draw.
//!
//! Events go in, figures of the last minutes come out; memory is bounded. Nothing is drawn here,
//! and nothing here knows the time of day, so a simulated run gives the same model each time.

mod aims;
mod second;
mod suspect;

pub(crate) use aims::AimNow;
pub(crate) use second::{HEAT_CELLS, LiveSecond, heat_edge};
pub use suspect::Suspect;

use crate::judgement::goal_word;
use crate::number::{counted, time};
use crate::text::{progress_line, step_progress_line};
use memtide_base::Rate;
use memtide_metrics::Histogram;
use memtide_record::steps::{Conclusion, Step, StepRole};
use memtide_record::{Event, Interval, PlanRecord, Progress, Record, SettledCounts, StepBegun};
use memtide_scenario::{Goal, Kind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Largest number of seconds that are shown.
const SHOWN_MAX: usize = 300;
/// Largest number of steps that are shown.
const STEPS_SHOWN_MAX: usize = 256;
/// Largest number of warnings and notes that are shown.
const WORDS_SHOWN_MAX: usize = 8;

/// What is known of a run while it is under way.
#[derive(Clone, Debug, Default)]
pub struct Live {
    goals: Vec<Goal>,
    /// The plan, once it is decided.
    pub(crate) plan: Option<Box<PlanRecord>>,
    /// The latest progress.
    pub(crate) progress: Option<Progress>,
    /// The last seconds of the load.
    pub(crate) seconds: VecDeque<LiveSecond>,
    /// Response times of the measured operations so far, by kind, and the number of those that rank
    /// above them.
    pub(crate) measured: BTreeMap<Kind, (Histogram<u64>, u64)>,
    /// Outcomes of the load so far, warm-up included.
    pub(crate) counts: SettledCounts,
    /// The present step of a search or scan.
    pub(crate) step: Option<StepBegun>,
    /// The steps that are over.
    pub(crate) steps: VecDeque<LiveStep>,
    /// Latest warnings and notes.
    pub(crate) words: VecDeque<String>,
    /// The note that the progress line shows instead of progress.
    note: Option<String>,
    record: Option<Arc<Record>>,
    is_over: bool,
    version: u64,
}

/// A step of a search or scan that is over.
#[derive(Clone, Debug)]
pub(crate) struct LiveStep {
    pub(crate) number: u32,
    pub(crate) role: StepRole,
    pub(crate) rate: Rate,
    pub(crate) achieved: Rate,
    /// 50th and 99th percentile of response times, in ns.
    pub(crate) times: [Option<u64>; 2],
    /// Whether all goals were met, in a word.
    pub(crate) goal: &'static str,
    pub(crate) is_doubted: bool,
    /// The rates between which the answer was known to be before the step.
    pub(crate) bracket: [Option<f64>; 2],
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
            Event::Done(record) => self.record = Some(Arc::new((**record).clone())),
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

    /// The record, if the run is over; of a search or scan, that of the latest step.
    pub fn record(&self) -> Option<&Arc<Record>> {
        self.record.as_ref()
    }

    /// True if the run, or the whole search or scan, is over.
    pub const fn is_over(&self) -> bool {
        self.is_over || (self.step.is_none() && self.record.is_some())
    }

    /// The progress line; none if there is nothing to say.
    pub fn line(&self) -> Option<String> {
        let said = || match (&self.step, self.progress.as_ref()?) {
            (Some(step), progress) => Some(step_progress_line(step, progress)),
            (None, progress) => Some(progress_line(progress)),
        };
        self.note.clone().or_else(said)
    }

    /// The goals as they stand.
    pub(crate) fn aims(&self) -> Vec<AimNow> {
        self.goals.iter().map(|goal| AimNow::of(goal, self)).collect()
    }

    /// Whose share the times of the last second are; none before there is one.
    pub fn suspect(&self) -> Option<Suspect> {
        Suspect::of(self)
    }

    /// Another load begins, such as that of a step.
    fn begin(&mut self) {
        self.seconds.clear();
        self.measured.clear();
        (self.counts, self.record) = Default::default();
    }

    fn second(&mut self, second: &Interval) {
        self.counts = self.counts.plus(&second.counts);
        for (kind, times) in &second.response {
            self.measured.entry(*kind).or_default().0.absorb(times);
        }
        for (kind, unanswered) in &second.unanswered {
            let above = &mut self.measured.entry(*kind).or_default().1;
            *above = above.saturating_add(*unanswered);
        }
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
        let of = |at| times.and_then(|times| times.percentile(at));
        use memtide_record::Percentile::{P50, P99};
        let unit = step.rate().unit;
        let over = LiveStep {
            number: step.number,
            role: step.role,
            rate: step.rate(),
            achieved: Rate::new(step.achieved_per_s, unit),
            times: [of(P50), of(P99)],
            goal: step.goal.map_or("", goal_word),
            is_doubted: step.doubt().is_some(),
            bracket: [step.low_per_s, step.high_per_s],
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

/// Adds `new` at the end; the first one goes if there are more than `most`.
fn kept<T>(all: &mut VecDeque<T>, new: T, most: usize) {
    all.push_back(new);
    if all.len() > most {
        all.pop_front();
    }
}

/// A time in ns in words; a dash without one.
pub(crate) fn time_word(ns: Option<u64>) -> String {
    crate::number::or_none(ns.map(|ns| time(ns as f64)))
}

#[cfg(test)]
pub(crate) mod tests;
