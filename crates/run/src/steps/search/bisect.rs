//! Mutilate's search: one bisection by single steps, and a retreat in small steps if its last one
//! missed. Kept unchanged, so that its results compare with mutilate's.
//!
//! Rates are rounded down to whole numbers, and only the goal counts: a step that fell behind its
//! rate does not miss because of that.

use crate::steps::course::{Course, Decision, StepResult, Trial};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::GoalResult;
use memtide_record::steps::{Answer, StepRole};

/// The bisection ends when its upper end is at most this factor above the lower one.
const CLOSE: f64 = 1.02;
/// The retreat ends below this fraction of the bisection's lower end.
const RETREAT: f64 = 0.9;

/// A search in progress.
#[derive(Clone, Copy, Debug)]
pub struct Bisect {
    first: f64,
    floor_of_peak: f64,
    back_off: f64,
    peak: f64,
    high: f64,
    low: f64,
    /// Rate of the last step, and whether it met the goal.
    current: f64,
    does: bool,
    retreats: bool,
}

impl Bisect {
    /// A search that begins with a step at `first` (0 is a closed loop), whose achieved rate is the
    /// peak. It gives up below `floor_of_peak` of the peak, and retreats by the factor `back_off`;
    /// both are between 0 and 1.
    pub fn new(first: f64, floor_of_peak: f64, back_off: f64) -> Self {
        Self {
            first,
            floor_of_peak,
            back_off,
            peak: 0.0,
            high: 0.0,
            low: 1.0,
            current: 0.0,
            does: false,
            retreats: false,
        }
    }

    fn decide(&mut self) -> Decision {
        let above_floor = self.current > self.floor_of_peak * self.peak;
        if !self.retreats && self.high > CLOSE * self.low && above_floor {
            self.current = ((self.high + self.low) / 2.0).floor();
            return Decision::Try(Trial {
                rate: in_operations(self.current),
                role: StepRole::Narrow,
                longer: 1,
            });
        }
        self.retreats = true;
        if !self.does && above_floor && self.current > RETREAT * self.low {
            self.current = (self.current * self.back_off).floor();
            if self.current >= 1.0 {
                return Decision::Try(Trial {
                    rate: in_operations(self.current),
                    role: StepRole::Confirm,
                    longer: 1,
                });
            }
        }
        Decision::Over
    }
}

impl Course for Bisect {
    fn first(&mut self) -> Decision {
        Decision::Try(Trial { rate: in_operations(self.first), role: StepRole::Peak, longer: 1 })
    }

    fn next(&mut self, result: &StepResult) -> Decision {
        self.does = result.goal == Some(GoalResult::Met);
        if self.peak == 0.0 {
            self.peak = result.achieved.per_s.floor();
            (self.high, self.current) = (self.peak, self.peak);
            if self.does || self.peak < 1.0 {
                return Decision::Over;
            }
        } else if !self.retreats {
            *(if self.does { &mut self.low } else { &mut self.high }) = self.current;
        }
        self.decide()
    }

    fn answer(&self) -> Option<Answer> {
        let rate_per_s = self.does.then_some(self.current);
        let missed_per_s = Some(self.high).filter(|high| *high > self.current);
        let met = u32::from(self.does);
        Some(Answer { rate_per_s, met, missed_per_s, ..Answer::default() })
    }

    fn bracket(&self) -> [Option<Rate>; 2] {
        [Some(in_operations(self.low)), Some(in_operations(self.high))]
    }
}

/// Mutilate's rates count operations.
const fn in_operations(per_s: f64) -> Rate {
    Rate::new(per_s, RateUnit::Operations)
}
