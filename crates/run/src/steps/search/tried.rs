//! A tested rate of a search: what its steps said, and how long the next one should be.

use crate::steps::course::StepResult;
use memtide_base::Rate;
use memtide_record::GoalResult;

/// Misses running that settle a rate.
const MISSES: u32 = 3;
/// Misses running after which a rate is assumed to miss, so that the search goes on below it: one
/// alone is often a disturbance.
const ASSUMED: u32 = 2;
/// Misses at a rate that contradict other steps before they count: then the server has changed.
const CONTRADICTED: u32 = 3;
/// Steps that memtide's own load spoilt before a rate stays undecided.
const SPOILT: u32 = 3;
/// Steps that do not tell before a rate stays undecided.
const VAIN: u32 = 4;
/// A long step of a rate, as a multiple of the first.
pub(super) const LONG: u32 = 24;
/// The longest step of a rate: where the first one has far too few operations for its goal.
pub const LONGER_MAX: u32 = 96;
/// Lengths of the steps after one that does not tell.
const LENGTHS: [u32; 3] = [2, 4, LONG];
/// The longest step at a rate whose figure has no interval.
const BLIND_MAX: u32 = 4;
/// By how many half widths of its interval a figure should be away from its bound: two of five
/// steps then tell. Further away more of them do, but the answer is wider.
const FAR: f64 = 0.9;

/// A tested rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub(super) rate: Rate,
    /// Steps that met the goals.
    pub(super) met: u32,
    /// Steps that missed them.
    pub(super) missed: u32,
    /// The last of these, without one that did not tell between them.
    running: u32,
    /// Steps that did not tell.
    pub(super) vain: u32,
    /// True if no further step of this length will tell either.
    is_given_up: bool,
    /// False once memtide could not make the load.
    pub(super) can_tell: bool,
    /// Length of the next step, as a multiple of the first.
    pub(super) longer: u32,
    /// How far the goal's figure is from its bound; none if unknown.
    off: Option<Off>,
    /// The lowest upper end of that distance, as a logarithm.
    pub(super) off_high: f64,
    /// Misses that did not count.
    contradicted: u32,
    /// Longest delay of memtide's own in a step that it left undecided, in ns.
    pub(super) pause_ns: Option<f64>,
}

/// How far a figure is from its bound, by all steps at a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Off {
    /// Sum of the lengths of these steps, which are the weights of both means: single half widths
    /// scatter.
    length: f64,
    /// Mean logarithm of figure ÷ bound.
    middle: f64,
    /// Mean half width of the interval of a step of length 1, as a logarithm.
    half: f64,
}

/// What is known of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
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
    /// A rate without steps.
    pub(super) const fn new(rate: Rate) -> Self {
        Self {
            rate,
            met: 0,
            missed: 0,
            running: 0,
            vain: 0,
            is_given_up: false,
            can_tell: true,
            longer: 1,
            off: None,
            off_high: f64::INFINITY,
            contradicted: 0,
            pause_ns: None,
        }
    }

    pub(super) const fn standing(&self) -> Standing {
        match (self.met, self.running) {
            (1.., _) => Standing::Met,
            (_, MISSES..) => Standing::Missed,
            _ if self.is_given_up => Standing::Undecided,
            _ if self.missed > 0 => Standing::Missing,
            _ => Standing::Open,
        }
    }

    /// True if the last step missed the goals, and it is too early to go on below this rate.
    pub(super) fn is_doubtful(&self) -> bool {
        match self.standing() {
            Standing::Missing => (1..ASSUMED).contains(&self.running),
            Standing::Open => self.contradicted > 0 && self.vain == 0,
            _ => false,
        }
    }

    /// Takes the result of a step at this rate. `off_max` is the most that the figure is off by the
    /// steps at this rate and above: what is further off was disturbed, because the figure grows
    /// with the rate.
    pub(super) fn note(&mut self, result: &StepResult, off_max: f64) {
        self.pause_ns = self.pause_ns.into_iter().chain(result.pause_ns).reduce(f64::max);
        let off = result.off.filter(|_| !result.behind);
        let is_beyond = result.goal == Some(GoalResult::Missed)
            && off.is_some_and(|[low, _]| low > off_max)
            && self.contradicted < CONTRADICTED;
        if is_beyond {
            self.contradicted += 1;
            return;
        }
        self.is_given_up &= result.longer <= self.longer;
        self.longer = self.longer.max(result.longer);
        if let Some(range) = off {
            self.off_high = self.off_high.min(range[1]);
            let length = f64::from(result.longer);
            self.off = Some(self.off.map_or(Off::of(range, length), |off| off.and(range, length)));
        }
        match (result.spoilt, result.behind, result.goal) {
            (false, true, _) | (false, _, Some(GoalResult::Missed)) => {
                self.missed += 1;
                self.running += 1;
            }
            (false, _, Some(GoalResult::Met)) => self.met += 1,
            (true, ..) => {
                (self.vain, self.running, self.can_tell) = (self.vain + 1, 0, false);
                self.is_given_up = self.vain >= SPOILT;
            }
            (false, ..) => {
                (self.vain, self.running) = (self.vain + 1, 0);
                let next = self.next_length(result.longer_by);
                self.is_given_up = next.is_none() || self.vain >= VAIN;
                self.longer = next.unwrap_or(self.longer);
            }
        }
    }

    /// The length of the step after one that did not tell: the shortest that probably tells, and at
    /// first twice as long in any case. None if no step will tell. `longer_by` says how much longer
    /// one would, by the operations beyond the bound.
    fn next_length(&self, longer_by: Option<f64>) -> Option<u32> {
        let mut lengths = LENGTHS.into_iter().filter(|length| *length > self.longer);
        let wanted = longer_by.map(|by| by * f64::from(self.longer));
        let Some(off) = self.off else {
            return match wanted {
                Some(wanted) => {
                    lengths.chain([LONGER_MAX]).find(|length| f64::from(*length) >= wanted)
                }
                None => lengths.find(|length| *length <= BLIND_MAX),
            };
        };
        let next = lengths.find(|length| off.middle.abs() >= FAR * off.half_at(*length));
        next.or_else(|| (self.longer < LENGTHS[0]).then_some(LENGTHS[0]))
    }

    /// The longest step that is of use near this rate, which did not tell.
    pub(super) const fn longest(&self) -> u32 {
        match (self.can_tell, self.off) {
            (false, _) => 1,
            (true, None) => BLIND_MAX,
            (true, Some(_)) => LONG,
        }
    }

    /// The rate at which the longest step probably meets the goals (`side` −1) or misses them (1):
    /// where the figure is far enough from its bound, if its logarithm is straight in that of the
    /// rate from here to `other`. None if one of both is unknown.
    pub(super) fn aim(&self, other: &Self, side: f64) -> Option<f64> {
        let (here, there) = (self.off?, other.off?);
        let way = (self.rate.per_s / other.rate.per_s).ln();
        let slope = ((here.middle - there.middle) / way).max(SLOPE_MIN);
        let wanted = side * FAR * here.half_at(LONG);
        Some(self.rate.per_s * ((wanted - here.middle) / slope).exp())
    }
}

/// The least slope that is believed; noise alone can make it flatter.
const SLOPE_MIN: f64 = 0.2;

impl Off {
    fn of(range: [f64; 2], length: f64) -> Self {
        Self { length: 0.0, middle: 0.0, half: 0.0 }.and(range, length)
    }

    /// With a further step, of this length.
    fn and(self, [low, high]: [f64; 2], length: f64) -> Self {
        let part = length / (self.length + length);
        let half = (high - low) / 2.0 * length.sqrt();
        Self {
            length: self.length + length,
            middle: self.middle + (f64::midpoint(low, high) - self.middle) * part,
            half: self.half + (half - self.half) * part,
        }
    }

    /// Half width that the interval of a step of `length` probably has.
    fn half_at(&self, length: u32) -> f64 {
        self.half / f64::from(length).sqrt()
    }
}
