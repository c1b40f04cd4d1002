//! The only place that makes intended instants. An instant is an offset from the schedule's start,
//! given out once and never changed; the schedule does not learn the operation's outcome.

use crate::arrival::Arrival;
use crate::size::Draws;
use crate::wave::{Cursor, RateCurve};
use memtide_base::rng::Stream;
use memtide_base::{Law, Span};

/// The part of the run's one sequence that a schedule takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The lane's number, below `count`. It takes the operations whose index is equal to it modulo
    /// `count`.
    pub index: u32,
    /// The number of lanes that share the sequence, at least 1.
    pub count: u32,
    /// True if the lane draws gaps of its own instead of the run's. Poisson lanes always do:
    /// together they are a Poisson sequence again.
    pub own_stream: bool,
}

/// The index and instant of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Position in the run's sequence.
    pub index: u64,
    /// The intended instant as an offset from the schedule's start; [`Span::MAX`] means never.
    pub at: Span,
}

/// The intended instants of one lane, in order, without end.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrival: Arrival,
    curve: RateCurve,
    cursor: Cursor,
    seed: u64,
    lane: Lane,
    walk: Walk,
    gaps: Gaps,
    due: Due,
}

/// How a lane computes its next operation's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// The position of operation i has a closed form.
    Grid,
    /// The lane sums the run's gaps, also those of the other lanes' operations.
    Shared,
    /// The lane sums gaps of its own, stretched by the number of lanes.
    Own,
}

/// A sum of gaps of mean 1, kept as an integer and a fraction so that it loses no digits as it
/// grows.
#[derive(Clone, Debug)]
struct Gaps {
    draws: Draws,
    stream: Stream,
    /// The draw of the first gap.
    first: u64,
    drawn: u64,
    whole: u64,
    part: f64,
}

impl Schedule {
    /// The schedule of a lane, at its first operation.
    pub fn new(arrival: Arrival, curve: RateCurve, seed: u64, lane: Lane) -> Self {
        assert!(lane.index < lane.count, "a lane is one of those that share the sequence");
        let walk = if arrival.position(0).is_some() {
            Walk::Grid
        } else if lane.own_stream || arrival == Arrival::Poisson {
            Walk::Own
        } else {
            Walk::Shared
        };
        let stream = if walk == Walk::Own && lane.count > 1 {
            Stream::GAP.of_lane(u64::from(lane.index))
        } else {
            Stream::GAP
        };
        let gaps = Gaps { draws: Draws::Seed, stream, first: 0, drawn: 0, whole: 0, part: 0.0 };
        let due = Due { index: u64::from(lane.index), at: Span::ZERO };
        let cursor = Cursor::default();
        let mut schedule = Self { arrival, curve, cursor, seed, lane, walk, gaps, due };
        schedule.step(u64::from(lane.index) + 1);
        schedule
    }

    /// The schedule of a lane that draws its gaps from `stream`.
    pub fn of_stream(
        arrival: Arrival,
        curve: RateCurve,
        seed: u64,
        stream: Stream,
        lane: Lane,
    ) -> Self {
        let mut schedule = Self::new(arrival, curve, seed, lane);
        schedule.gaps.stream = match schedule.walk {
            Walk::Own if lane.count > 1 => stream.of_lane(u64::from(lane.index)),
            _ => stream,
        };
        schedule.gaps.clear();
        schedule.step(u64::from(lane.index) + 1);
        schedule
    }

    /// This lane with gaps drawn from `draws`. If these are a C program's draws, it also starts as
    /// that program does: the run's first operation is due at once, and draw i is the gap after
    /// operation i.
    pub fn with_draws(mut self, draws: Draws) -> Self {
        if draws == Draws::Seed {
            return self;
        }
        if self.walk == Walk::Own {
            self.walk = Walk::Shared;
        }
        self.gaps.draws = draws;
        self.gaps.clear();
        self.cursor = Cursor::default();
        self.step(u64::from(self.lane.index));
        self
    }

    /// Starts the schedule over with the gaps of `stream` (from draw `first` on if the draws have
    /// no streams); its next operation is due at once. For a schedule that waited for an event.
    pub fn restart(&mut self, stream: Stream, first: u64) {
        self.gaps.clear();
        match self.gaps.draws {
            Draws::Seed => self.gaps.stream = stream,
            Draws::Rand48(_) => self.gaps.first = first,
        }
        self.cursor = Cursor::default();
        self.due = Due { index: u64::from(self.lane.index), at: Span::ZERO };
    }

    /// The next operation.
    pub fn due(&self) -> Due {
        self.due
    }

    /// Advances to the next operation.
    pub fn advance(&mut self) {
        let before = self.due;
        self.due.index += u64::from(self.lane.count);
        self.step(u64::from(self.lane.count));
        self.assert_follows(before);
    }

    /// Advances `times` operations (at least one).
    pub fn advance_by(&mut self, times: u16) {
        debug_assert!(times > 0, "an operation is at least one");
        let before = self.due;
        self.due.index += u64::from(self.lane.count) * u64::from(times);
        if self.walk == Walk::Own {
            self.gaps.add(&self.arrival, self.seed, u64::from(times) - 1);
        }
        self.step(u64::from(self.lane.count) * u64::from(times));
        self.assert_follows(before);
    }

    /// Advances `times` operations in constant time, for operations that are only counted. Gaps
    /// that are drawn are not drawn one by one: their sum is, from the normal law to which it
    /// tends.
    pub fn skip(&mut self, times: u64) {
        let ahead = u64::from(self.lane.count) * times;
        self.due.index += ahead;
        match self.walk {
            Walk::Grid => {}
            Walk::Shared => self.gaps.add_sum(&self.arrival, self.seed, ahead),
            Walk::Own => self.gaps.add_sum(&self.arrival, self.seed, times),
        }
        self.place();
    }

    /// The number of the run's operations that are expected before `at`.
    pub fn position(&self, at: Span) -> f64 {
        self.arrival.expected(self.curve.cumulative(at))
    }

    /// The number of the lane's operations, from the one due next, that are expected before
    /// `position` of the run.
    pub fn expected_before(&self, position: f64) -> f64 {
        let passed = match self.walk {
            Walk::Grid => self.due.index as f64,
            Walk::Shared => self.gaps.times(1),
            Walk::Own => self.gaps.times(u64::from(self.lane.count)),
        };
        ((position - passed) / f64::from(self.lane.count)).max(0.0)
    }

    /// Asserts that the next operation is this lane's and not due before the one `before` it,
    /// except for the last nanosecond, which may vary within a sine.
    #[inline(always)]
    fn assert_follows(&self, before: Due) {
        let lane = u64::from(self.lane.index);
        debug_assert_eq!(self.due.index % u64::from(self.lane.count), lane, "it is of the lane");
        debug_assert!(self.due.at + Span::from_ns(1) >= before.at, "intended instants go back");
    }

    /// The number of the lane's operations, from the one due next, that come before operation
    /// `end`.
    pub fn left_before(&self, end: u64) -> u64 {
        end.saturating_sub(self.due.index).div_ceil(u64::from(self.lane.count))
    }

    /// Computes the instant of `due.index`, which is `ahead` operations of the run further on.
    fn step(&mut self, ahead: u64) {
        match self.walk {
            Walk::Grid => {}
            Walk::Shared => self.gaps.add(&self.arrival, self.seed, ahead),
            Walk::Own => self.gaps.add(&self.arrival, self.seed, 1),
        }
        self.place();
    }

    /// Computes the instant of `due.index`, whose gaps are summed.
    #[inline(always)]
    fn place(&mut self) {
        let position = match self.walk {
            Walk::Grid => self.arrival.position(self.due.index).unwrap_or(f64::INFINITY),
            Walk::Shared => self.gaps.times(1),
            Walk::Own => self.gaps.times(u64::from(self.lane.count)),
        };
        self.due.at = self.curve.invert(position, &mut self.cursor);
    }
}

impl Gaps {
    fn clear(&mut self) {
        *self = Self { drawn: 0, whole: 0, part: 0.0, ..*self };
    }

    fn add(&mut self, arrival: &Arrival, seed: u64, count: u64) {
        for _ in 0..count {
            let index = self.first.wrapping_add(self.drawn);
            self.part += arrival.unit_gap(self.draws.unit(seed, self.stream, index));
            self.drawn += 1;
            self.carry();
        }
    }

    /// Adds the sum of `count` gaps, as one draw. A law without a variance adds its mean.
    fn add_sum(&mut self, arrival: &Arrival, seed: u64, count: u64) {
        let index = self.first.wrapping_add(self.drawn);
        let variance = Some(arrival.squared_variation()).filter(|it| it.is_finite());
        let deviation = (variance.unwrap_or(0.0) * count as f64).sqrt();
        let sum = Law::Normal(count as f64, deviation);
        self.part += sum.quantile(self.draws.unit(seed, self.stream, index)).max(0.0);
        self.drawn += count;
        self.carry();
    }

    #[inline(always)]
    fn carry(&mut self) {
        let whole = self.part as u64;
        self.whole += whole;
        self.part -= whole as f64;
    }

    /// The sum multiplied by `factor`.
    fn times(&self, factor: u64) -> f64 {
        (self.whole * factor) as f64 + self.part * factor as f64
    }
}

#[cfg(test)]
mod tests;
