//! A course: chooses the rates of steps from their results. Pure: equal results lead to equal
//! rates.

use memtide_base::Rate;
use memtide_record::GoalResult;
use memtide_record::steps::{Answer, StepRole, Undecided};

/// Chooses the rate of each step from the results of earlier steps.
pub trait Course {
    /// The first step. Repeated calls return the same decision until there is a result.
    fn first(&mut self) -> Decision;
    /// The decision after a step with this result, which is always the step that was decided last.
    fn next(&mut self, result: &StepResult) -> Decision;
    /// The answer so far; none without a goal.
    fn answer(&self) -> Option<Answer>;
    /// The highest rate known to meet the goals, and the lowest that is assumed to miss them.
    fn bracket(&self) -> [Option<Rate>; 2];
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Carry out another step.
    Try(Trial),
    /// Stop.
    Over,
}

/// A step to carry out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Target rate, in the unit of the scenario; 0 means a closed loop.
    pub rate: Rate,
    /// Purpose of the step.
    pub role: StepRole,
    /// Length of its window, as a multiple of the scenario's.
    pub longer: u32,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// The target rate of the trial.
    pub rate: Rate,
    /// Achieved rate: what was sent, in the unit of the target.
    pub achieved: Rate,
    /// Result of all goals together; none without goals.
    pub goal: Option<GoalResult>,
    /// True if the achieved rate is far below the target.
    pub behind: bool,
    /// True if that was memtide's doing, so that the step says nothing about the servers.
    pub spoilt: bool,
    /// Length of its window, as a multiple of the scenario's.
    pub longer: u32,
    /// How far the figure that is nearest to breaking its goal is from its bound: the interval of
    /// the logarithm of figure ÷ bound; none if unknown.
    pub off: Option<[f64; 2]>,
    /// Upper end of the figure of the first goal that names a time, in ns; none if unknown.
    pub high_ns: Option<f64>,
    /// The longest delay of memtide's own, in ns, if it is why the goals are undecided.
    pub pause_ns: Option<f64>,
    /// How much longer a step would probably decide the goals, as a factor; none if unknown.
    pub longer_by: Option<f64>,
}

impl StepResult {
    /// The result of a step that achieved its rate and was not judged.
    pub fn of(Trial { rate, longer, .. }: Trial) -> Self {
        Self {
            rate,
            achieved: rate,
            goal: None,
            behind: false,
            spoilt: false,
            longer,
            off: None,
            high_ns: None,
            pause_ns: None,
            longer_by: None,
        }
    }

    /// True if the step succeeded. An undecided goal is not met, and a step that fell behind its
    /// rate fails.
    pub(super) fn does(&self) -> bool {
        self.goal == Some(GoalResult::Met) && !self.behind
    }
}

/// The tested rates, and how often each succeeded and failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// In ascending order.
    rates: Vec<Tried>,
    /// Rates of steps that did not tell, each once.
    undecided: Vec<Rate>,
}

#[derive(Clone, Copy, Debug)]
struct Tried {
    rate: Rate,
    met: u32,
    missed: u32,
    /// Result of the last step at this rate, which is the one that counts: a rate is only repeated
    /// where the result can decide.
    does: bool,
}

impl Ledger {
    /// Adds a step at `rate`.
    pub(super) fn note(&mut self, rate: Rate, does: bool) {
        let at = self.rates.partition_point(|tried| tried.rate < rate);
        if self.rates.get(at).is_none_or(|tried| tried.rate > rate) {
            self.rates.insert(at, Tried { rate, met: 0, missed: 0, does });
        }
        let tried = &mut self.rates[at];
        tried.does = does;
        *(if does { &mut tried.met } else { &mut tried.missed }) += 1;
    }

    /// Adds a step at `rate` that decided nothing.
    pub(super) fn note_undecided(&mut self, rate: Rate) {
        // A scan may repeat a rate without end.
        if !self.undecided.contains(&rate) {
            self.undecided.push(rate);
        }
    }

    /// The rates between `low` and `high`, in operations or keys per second, of which no step told.
    fn gap(&self, low: f64, high: f64) -> Option<Undecided> {
        let open = self.undecided.iter().filter(|rate| {
            let is_between = low < rate.per_s && rate.per_s < high;
            is_between && !self.rates.iter().any(|tried| tried.rate == **rate)
        });
        let open = open.map(|rate| rate.per_s);
        let (from_per_s, to_per_s) = (open.clone().reduce(f64::min)?, open.reduce(f64::max)?);
        Some(Undecided { from_per_s, to_per_s, decidable_ns: None, pause_ns: None })
    }

    /// The highest rate that succeeded, and the lowest above it that failed.
    pub(super) fn answer(&self) -> Answer {
        let at = self.rates.iter().rposition(|tried| tried.does);
        let best = at.map(|at| self.rates[at]);
        let above = at.map_or(0, |at| at + 1);
        let failed = self.rates[above..].iter().find(|tried| !tried.does);
        let low = best.map_or(f64::NEG_INFINITY, |tried| tried.rate.per_s);
        let high = failed.map_or(f64::INFINITY, |tried| tried.rate.per_s);
        Answer {
            rate_per_s: best.map(|tried| tried.rate.per_s),
            met: best.map_or(0, |tried| tried.met),
            missed: best.map_or(0, |tried| tried.missed),
            missed_per_s: failed.map(|tried| tried.rate.per_s),
            undecided: self.gap(low, high),
        }
    }
}
