//! What chooses the rates of steps, and what it learns of them. Pure: the same results lead to the
//! same rates.

use memtide_schema::record::GoalResult;
use memtide_schema::steps::{Answer, StepRole};

/// Chooses the rate of each step by what the steps before have shown.
pub trait Course {
    /// The first step. Asked again before there is a result, it says the same.
    fn first(&mut self) -> Decision;
    /// What comes after a step with this result; it is always the step that was last decided.
    fn next(&mut self, result: &StepResult) -> Decision;
    /// What is known so far; none when nothing is looked for.
    fn answer(&self) -> Option<Answer>;
    /// The highest rate that is known to do and the lowest that is held not to.
    fn bracket(&self) -> (Option<f64>, Option<f64>);
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// One more step.
    Try(Trial),
    /// There is no more to do.
    Over,
}

/// A step to be carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Operations per second; 0 asks for a closed loop.
    pub rate: f64,
    /// What it is for.
    pub role: StepRole,
}

/// What a step has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// The trial's rate.
    pub rate: f64,
    /// Operations per second that were sent.
    pub achieved_per_s: f64,
    /// What became of the goals taken together; none when there are none.
    pub goal: Option<GoalResult>,
    /// Whether far less was sent than was asked for.
    pub behind: bool,
}

impl StepResult {
    /// Whether the step did what was wanted. A goal that is undecided was not met, and at a rate
    /// that was not made nothing is met.
    pub(super) fn does(&self) -> bool {
        self.goal == Some(GoalResult::Met) && !self.behind
    }
}

/// The rates that were tried, and how often each did or did not.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// Ascending.
    rates: Vec<Tried>,
}

#[derive(Clone, Copy, Debug)]
struct Tried {
    rate: f64,
    met: u32,
    missed: u32,
    /// What the last step at this rate said, which is what counts: a rate is only tried again
    /// where that can decide.
    does: bool,
}

impl Ledger {
    /// One more step at `rate`.
    pub(super) fn note(&mut self, rate: f64, does: bool) {
        let at = self.rates.partition_point(|tried| tried.rate < rate);
        if self.rates.get(at).is_none_or(|tried| tried.rate > rate) {
            self.rates.insert(at, Tried { rate, met: 0, missed: 0, does });
        }
        let tried = &mut self.rates[at];
        tried.does = does;
        *(if does { &mut tried.met } else { &mut tried.missed }) += 1;
    }

    /// Steps at `rate` that did, and that did not.
    pub(super) fn counts(&self, rate: f64) -> (u32, u32) {
        let tried = self.rates.iter().find(|tried| tried.rate == rate);
        tried.map_or((0, 0), |tried| (tried.met, tried.missed))
    }

    /// The highest rate below `rate` that does.
    pub(super) fn does_below(&self, rate: f64) -> Option<f64> {
        let below = self.rates.iter().rev().filter(|tried| tried.rate < rate && tried.does);
        below.map(|tried| tried.rate).next()
    }

    /// The lowest rate above `rate` that does not.
    pub(super) fn does_not_above(&self, rate: f64) -> Option<f64> {
        let above = self.rates.iter().filter(|tried| tried.rate > rate && !tried.does);
        above.map(|tried| tried.rate).next()
    }

    /// The answer that `rate` is; with none, that nothing was found.
    pub(super) fn answer(&self, rate: Option<f64>) -> Answer {
        let (met, missed) = rate.map_or((0, 0), |rate| self.counts(rate));
        Answer { rate_per_s: rate, met, missed, missed_per_s: self.does_not_above(-1.0) }
    }
}
