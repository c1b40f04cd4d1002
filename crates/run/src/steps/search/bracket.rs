//! The native search: an interval around the highest rate that meets the goals, halved until it is
//! narrow.
//!
//! What disturbs a step only ever lengthens its times: a step that met the goals settles its rate,
//! and a miss is believed once it is the third running. A rate whose steps do not tell lies inside
//! the interval, whose ends are then found by long steps where they will tell.

use super::tried::{LONG, LONGER_MAX, Standing, Tried};
use crate::steps::course::{Course, Decision, StepResult, Trial};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::steps::{Answer, StepRole, Undecided};

/// Lowest rate to test, as a fraction of the highest.
const FLOOR: f64 = 0.01;
/// The first rate as a fraction of the peak: few servers keep a goal above it.
const START: f64 = 0.8;
/// Factor of the first step down; each further one has the square of the last.
const DOWN: f64 = 0.75;
/// An end that is further from the rates that did not tell than this many resolutions is wide: one
/// more long step is then worth its time.
const WIDE: f64 = 1.5;
/// Factor by which a rate that turns out too low is raised.
const RAISE: f64 = 1.25;

/// Range and resolution of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Unit of the rates.
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
}

impl Bracket {
    /// A search that has not begun. Rates must be above 0, the lowest at most the highest, the
    /// resolution above 0.
    pub fn new(limits: Limits) -> Self {
        let floor = Rate::new(0.0, limits.unit);
        Self { limits, floor, tried: Vec::new(), down: DOWN, high_ns: None }
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
        if let Some(doubtful) = self.above().iter().find(|it| it.is_doubtful()) {
            return Self::again(doubtful);
        }
        let Some(low) = self.low().map(|low| self.tried[low]) else { return self.descend() };
        let undecided = self.above().iter();
        let undecided = undecided.take_while(|it| it.standing() == Standing::Undecided).count();
        let (gap, rest) = self.above().split_at(undecided);
        if let Some(first) = gap.first()
            && let Some(decision) = self.toward(first, &low, -1.0)
        {
            return decision;
        }
        let base = gap.last().unwrap_or(&low);
        match rest.first().map(|next| (next, next.standing())) {
            // Where memtide cannot make the load, a higher rate only takes time.
            None if gap.iter().all(|it| it.can_tell) => self.raise(base.rate),
            None | Some((_, Standing::Met | Standing::Undecided)) => Decision::Over,
            Some((next, Standing::Open)) => Self::again(next),
            Some((next, standing)) => {
                let narrower = match gap.is_empty() {
                    true => self.between(base, next),
                    false => self.toward(base, next, 1.0),
                };
                narrower.unwrap_or_else(|| match standing {
                    Standing::Missing => Self::again(next),
                    _ => Decision::Over,
                })
            }
        }
    }

    /// The first step at the middle of two rates; none if they are close.
    fn between(&self, low: &Tried, high: &Tried) -> Option<Decision> {
        let is_wide = high.rate > low.rate * (1.0 + self.limits.resolution);
        is_wide.then(|| self.narrow(self.rate(middle(low, high)), 1))
    }

    /// A long step between `open`, a rate that did not tell, and `known`, one below it that meets
    /// the goals (`side` −1) or one above that misses them (1): near `open`, but so far away that
    /// it probably tells. None if nothing is gained by it.
    fn toward(&self, open: &Tried, known: &Tried, side: f64) -> Option<Decision> {
        // What is gained in less than that does not pay for a long step.
        let step = 1.0 + self.limits.resolution / 2.0;
        // How far a rate is from `open`, as a factor above 1.
        let away = |per_s: f64| (per_s / open.rate.per_s).powf(side);
        let aim = open.aim(known, side).filter(|_| open.can_tell);
        let is_here = aim.is_some_and(|per_s| away(per_s) < step);
        if is_here && open.longer < LONG {
            let longer = LONG;
            let role = StepRole::Confirm;
            return Some(Decision::Try(Trial { rate: open.rate, role, longer }));
        }
        let aim = match aim {
            Some(_) if is_here => open.rate.per_s * step.powf(side),
            Some(per_s) => per_s,
            None => middle(open, known),
        };
        let end = away(known.rate.per_s);
        // The aim is a guess from scattered figures: if it gains nothing although the end is far,
        // the middle of both may tell.
        let wide = 1.0 + self.limits.resolution * WIDE;
        let middle = (end > wide).then(|| middle(open, known));
        let aim = Some(aim).filter(|per_s| away(*per_s) * step < end).or(middle)?;
        Some(self.narrow(self.rate(aim), open.longest()))
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
            Standing::Missing => Self::again(&lowest),
            _ => self.shortest_open().map_or(Decision::Over, Self::again),
        }
    }

    /// The rate that needs the shortest step to tell, of those that did not; the highest of them.
    /// At lower rates fewer operations come, so that the lowest one often needs the longest step.
    fn shortest_open(&self) -> Option<&Tried> {
        let open = self.tried.iter().rev().filter(|it| it.standing() == Standing::Open);
        open.min_by_key(|it| it.longer)
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
            self.tried.insert(at, Tried::new(result.rate));
        }
        let off_max = self.tried[at..].iter().map(|it| it.off_high).fold(f64::INFINITY, f64::min);
        self.tried[at].note(result, off_max);
        self.high_ns = self.high_ns.into_iter().chain(result.high_ns).reduce(f64::min);
    }

    /// The lowest rate that is assumed to miss the goals.
    fn high(&self) -> Option<Rate> {
        let mut above = self.above().iter();
        let missed = above.find(|it| matches!(it.standing(), Standing::Missed | Standing::Missing));
        missed.map(|it| it.rate)
    }

    /// The rates that did not tell, next to those that meet the goals.
    fn undecided(&self) -> Option<Undecided> {
        let open = self.above().iter();
        let open =
            open.take_while(|it| matches!(it.standing(), Standing::Undecided | Standing::Open));
        let (first, last) = (open.clone().next()?, open.clone().last()?);
        // Below a rate that met the goals, the goals could be decided.
        let decidable_ns = self.high_ns.filter(|_| self.low().is_none());
        Some(Undecided {
            from_per_s: first.rate.per_s,
            to_per_s: last.rate.per_s,
            decidable_ns: decidable_ns.map(rounded_up),
            pause_ns: open.filter_map(|it| it.pause_ns).reduce(f64::max),
        })
    }
}

/// The middle of two rates, per second.
fn middle(one: &Tried, other: &Tried) -> f64 {
    (one.rate.per_s * other.rate.per_s).sqrt()
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

    fn bracket(&self) -> [Option<Rate>; 2] {
        [self.low().map(|low| self.tried[low].rate), self.high()]
    }
}
