//! The native search: an interval around the highest rate that meets the goals, halved until it is
//! narrow.
//!
//! What disturbs a step only ever lengthens its times: a step that met the goals settles its rate,
//! and a miss is believed once it is the third running. A step that does not tell is repeated,
//! twice and four times as long; a rate that still does not tell lies inside the interval.

use crate::steps::course::{Course, Decision, StepResult, Trial};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::GoalResult;
use memtide_record::steps::{Answer, StepRole, Undecided};

/// Misses running that settle a rate.
const MISSES: u32 = 3;
/// Steps that do not tell before a rate stays undecided.
const VAIN: u32 = 3;
/// The longest step of a rate, as a multiple of the first.
pub const LONGER_MAX: u32 = 4;
/// Lowest rate to test, as a fraction of the highest.
const FLOOR: f64 = 0.01;
/// The first rate as a fraction of the peak: few servers keep a goal above it.
const START: f64 = 0.8;
/// Factor of the first step down; each further one has the square of the last.
const DOWN: f64 = 0.75;
/// Factor by which a rate that turns out too low is raised.
const RAISE: f64 = 1.25;

/// Beside rates that do not tell, the search ends within this part of their width.
const GAP_PART: f64 = 4.0;

/// Range and resolution of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// What the rates count.
    pub unit: RateUnit,
    /// Lowest rate to test; none means a hundredth of the highest.
    pub rate_min: Option<f64>,
    /// Highest rate to test; without one a closed loop finds the starting point.
    pub rate_max: Option<f64>,
    /// Largest distance between the found rate and one that misses the goals, as a fraction.
    pub resolution: f64,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Bracket {
    limits: Limits,
    floor: Rate,
    /// The tested rates, ascending.
    tried: Vec<Tried>,
    /// Factor of the next step down.
    down: f64,
    /// Lowest upper end of the figure that a goal names, in ns.
    high_ns: Option<f64>,
    /// Longest delay of memtide's own in a step that it left undecided, in ns.
    pause_ns: Option<f64>,
}

/// A tested rate.
#[derive(Clone, Copy, Debug)]
struct Tried {
    rate: Rate,
    /// Steps that met the goals.
    met: u32,
    /// Steps that missed them.
    missed: u32,
    /// The last of these, without one that did not tell between them.
    running: u32,
    /// Steps that did not tell.
    vain: u32,
    /// True if no further step will tell either.
    is_given_up: bool,
    /// False once memtide could not make the load.
    can_tell: bool,
    /// Length of the next step, as a multiple of the first.
    longer: u32,
}

/// What is known of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It meets the goals.
    Met,
    /// It misses them.
    Missed,
    /// It was missed, though not often enough.
    Missing,
    /// No step told yet.
    Open,
    /// No step told, and none will.
    Undecided,
}

impl Tried {
    const fn standing(&self) -> Standing {
        match (self.met, self.running) {
            (1.., _) => Standing::Met,
            (_, MISSES..) => Standing::Missed,
            _ if self.is_given_up => Standing::Undecided,
            _ if self.missed > 0 => Standing::Missing,
            _ => Standing::Open,
        }
    }

    fn note(&mut self, result: &StepResult) {
        match (result.spoilt, result.behind, result.goal) {
            (false, true, _) | (false, _, Some(GoalResult::Missed)) => {
                self.missed += 1;
                self.running += 1;
            }
            (false, _, Some(GoalResult::Met)) => self.met += 1,
            (is_spoilt, ..) => {
                self.vain += 1;
                self.can_tell &= !is_spoilt;
                self.running = 0;
                self.is_given_up = self.vain == VAIN || (!is_spoilt && self.longer == LONGER_MAX);
                if !is_spoilt {
                    self.longer = (self.longer * 2).min(LONGER_MAX);
                }
            }
        }
    }
}

impl Bracket {
    /// A search that has not begun. Rates must be above 0, the lowest at most the highest, the
    /// resolution above 0.
    pub fn new(limits: Limits) -> Self {
        let floor = Rate::new(0.0, limits.unit);
        Self { limits, floor, tried: Vec::new(), down: DOWN, high_ns: None, pause_ns: None }
    }

    const fn rate(&self, per_s: f64) -> Rate {
        Rate::new(per_s, self.limits.unit)
    }

    /// Position of the highest rate that meets the goals.
    fn low(&self) -> Option<usize> {
        self.tried.iter().rposition(|tried| tried.standing() == Standing::Met)
    }

    /// The tested rates above all that meet the goals, ascending.
    fn above(&self) -> &[Tried] {
        self.low().map_or(&self.tried, |low| &self.tried[low + 1..])
    }

    /// The first step at a rate.
    fn narrow(&self, rate: Rate, longer: u32) -> Decision {
        Decision::Try(Trial { rate: self.rounded(rate), role: StepRole::Narrow, longer })
    }

    fn again(tried: &Tried) -> Decision {
        Decision::Try(Trial { rate: tried.rate, role: StepRole::Confirm, longer: tried.longer })
    }

    fn decide(&mut self) -> Decision {
        let Some(low) = self.low().map(|low| self.tried[low].rate) else { return self.descend() };
        let undecided = self.above().iter();
        let undecided = undecided.take_while(|it| it.standing() == Standing::Undecided).count();
        let (gap, rest) = self.above().split_at(undecided);
        // What is gained beside a wide gap does not pay for the steps.
        let half = self.limits.resolution / 2.0;
        let close = 1.0
            + match (gap.first(), gap.last()) {
                (Some(first), Some(last)) => {
                    half.max((last.rate.per_s / first.rate.per_s - 1.0) / GAP_PART)
                }
                _ => self.limits.resolution,
            };
        let middle = |low: Rate, high: Rate| self.rate((low.per_s * high.per_s).sqrt());
        // Near a rate that does not tell, shorter steps do not tell either.
        let longer = if gap.is_empty() { 1 } else { LONGER_MAX };
        if let Some(first) = gap.first()
            && first.rate > low * close
        {
            return self.narrow(middle(low, first.rate), longer);
        }
        let base = gap.last().map_or(low, |last| last.rate);
        match rest.first().map(|next| (next, next.standing())) {
            // Where memtide cannot make the load, a higher rate only takes time.
            None if gap.iter().all(|it| it.can_tell) => self.raise(base),
            None | Some((_, Standing::Met | Standing::Undecided)) => Decision::Over,
            Some((next, Standing::Open)) => Self::again(next),
            Some((next, _)) if next.rate > base * close => {
                self.narrow(middle(base, next.rate), longer)
            }
            Some((next, Standing::Missing)) => Self::again(next),
            Some((_, Standing::Missed)) => Decision::Over,
        }
    }

    /// Tests a lower rate; the lowest of all is tested until it is settled.
    fn descend(&mut self) -> Decision {
        let Some(lowest) = self.tried.first().copied() else { return Decision::Over };
        if lowest.rate > self.floor {
            let next = self.rounded(lowest.rate * self.down);
            self.down *= self.down;
            let next = if next > self.floor { next } else { self.floor };
            return Decision::Try(Trial { rate: next, role: StepRole::Narrow, longer: 1 });
        }
        match lowest.standing() {
            Standing::Missing | Standing::Open => Self::again(&lowest),
            _ => Decision::Over,
        }
    }

    /// Tests a rate above all that were tested.
    fn raise(&self, low: Rate) -> Decision {
        match self.limits.rate_max.map(|top| self.rate(top)) {
            None => self.narrow(low * RAISE, 1),
            Some(top) if top > low => {
                Decision::Try(Trial { rate: top, role: StepRole::Narrow, longer: 1 })
            }
            Some(_) => Decision::Over,
        }
    }

    /// Rounds `rate` to a tenth of the resolution: further digits mean nothing.
    fn rounded(&self, Rate { per_s: rate, .. }: Rate) -> Rate {
        let unit = 10f64.powf((rate * self.limits.resolution).log10().floor() - 1.0);
        // A unit below 1 is represented by its reciprocal, a whole number, so that the figure is as
        // short as possible.
        self.rate(if unit >= 1.0 {
            (rate / unit).round() * unit
        } else {
            let per_one = (1.0 / unit).round();
            (rate * per_one).round() / per_one
        })
    }

    /// Sets the lowest rate, from the highest.
    fn set_floor(&mut self, top: Rate) {
        self.floor = self.limits.rate_min.map_or(top * FLOOR, |min| self.rate(min));
    }

    fn note(&mut self, result: &StepResult) {
        assert!(result.longer <= LONGER_MAX, "the length of a step is bounded");
        let at = self.tried.partition_point(|tried| tried.rate < result.rate);
        if self.tried.get(at).is_none_or(|tried| tried.rate > result.rate) {
            let rate = result.rate;
            self.tried.insert(
                at,
                Tried {
                    rate,
                    met: 0,
                    missed: 0,
                    running: 0,
                    vain: 0,
                    is_given_up: false,
                    can_tell: true,
                    longer: 1,
                },
            );
        }
        self.tried[at].longer = self.tried[at].longer.max(result.longer);
        self.tried[at].note(result);
        self.high_ns = self.high_ns.into_iter().chain(result.high_ns).reduce(f64::min);
        self.pause_ns = self.pause_ns.into_iter().chain(result.pause_ns).reduce(f64::max);
    }

    /// The lowest rate that is assumed to miss the goals.
    fn high(&self) -> Option<Rate> {
        let is_missed = |it: &&Tried| matches!(it.standing(), Standing::Missed | Standing::Missing);
        self.above().iter().find(is_missed).map(|it| it.rate)
    }

    /// The rates that did not tell, next to those that meet the goals.
    fn undecided(&self) -> Option<Undecided> {
        let is_open = |it: &&Tried| matches!(it.standing(), Standing::Undecided | Standing::Open);
        let open = || self.above().iter().take_while(is_open);
        let (first, last) = (open().next()?, open().last()?);
        Some(Undecided {
            from_per_s: first.rate.per_s,
            to_per_s: last.rate.per_s,
            decidable_ns: self.high_ns.map(rounded_up),
            pause_ns: self.pause_ns,
        })
    }
}

/// A time above 0, rounded up to two digits.
fn rounded_up(ns: f64) -> f64 {
    let unit = 10f64.powf(ns.log10().floor() - 1.0).max(1.0);
    (ns / unit).ceil() * unit
}

impl Course for Bracket {
    fn first(&mut self) -> Decision {
        match self.limits.rate_max {
            // Who names a highest rate hopes for it; a measured peak is always behind.
            Some(top) => {
                let rate = self.rate(top);
                self.set_floor(rate);
                Decision::Try(Trial { rate, role: StepRole::Narrow, longer: 1 })
            }
            None => Decision::Try(Trial { rate: self.rate(0.0), role: StepRole::Peak, longer: 1 }),
        }
    }

    fn next(&mut self, result: &StepResult) -> Decision {
        if result.rate.per_s == 0.0 {
            if result.achieved.per_s <= 0.0 {
                return Decision::Over;
            }
            self.set_floor(self.rounded(result.achieved));
            let start = self.rounded(result.achieved * START);
            let rate = if start > self.floor { start } else { self.floor };
            return Decision::Try(Trial { rate, role: StepRole::Narrow, longer: 1 });
        }
        self.note(result);
        self.decide()
    }

    fn answer(&self) -> Option<Answer> {
        let low = self.low().map(|low| self.tried[low]);
        Some(Answer {
            rate_per_s: low.map(|low| low.rate.per_s),
            met: low.map_or(0, |low| low.met),
            missed: low.map_or(0, |low| low.missed + low.vain),
            missed_per_s: self.high().map(|rate| rate.per_s),
            undecided: self.undecided(),
        })
    }

    fn bracket(&self) -> (Option<Rate>, Option<Rate>) {
        (self.low().map(|low| self.tried[low].rate), self.high())
    }
}
