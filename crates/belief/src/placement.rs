//! The side of a bound on which a figure of an endless run lies, as goals ask.
//!
//! A percentile is judged by the share of operations above the bound, which is known even where the
//! percentile has no interval: if nearly all operations took longer than the bound, no length of
//! run is needed to tell. A run whose operations depend on each other for too long is judged by its
//! eighths, and only if the bound is further away than the figure moved.

use crate::interval::{Confidence, Interval, SLICES_MIN, Sample};
use memtide_metrics::summary::samples_needed;
use memtide_metrics::{Slice, slices};

/// Independent operations that a run must be worth before the whole of it says that a percentile is
/// below a bound. Runs that happen to miss the slow times look more independent than they are.
const BELOW_MIN: f64 = 80.0;
/// As many for the other side.
const ABOVE_MIN: f64 = 50.0;
/// As many for a mean that is below its bound: few operations weigh much on it.
const MEAN_BELOW_MIN: f64 = 150.0;
/// As many for a mean that is above its bound.
const MEAN_ABOVE_MIN: f64 = 100.0;
/// The parts of the window that are compared where the whole does not tell.
const PARTS: usize = 8;
/// A figure above its bound must be further away than this part of its movement between the parts.
const MOVED_ABOVE: f64 = 1.0;
/// A figure below its bound must be further away: the slow times may just not have come yet.
const MOVED_BELOW: f64 = 5.0;
/// The percentiles that limit what those above them may claim.
const CHAIN: [f64; 3] = [0.9, 0.99, 0.999];
/// A bound that is further than this factor above the longest time, or below the shortest, decides
/// even where operations depend on each other.
const FAR: f64 = 100.0;
/// Factor between lengths that are tried.
const LONGER_STEP: f64 = 1.25;
/// The most of these factors: a run that would have to be a thousand times longer is no advice.
const LONGER_STEPS: i32 = 31;

/// A bound of a figure of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The bound, in ns.
    pub ns: f64,
    /// The most of the figure that may be left without memtide's own delay: the share of operations
    /// that took longer than the bound even so, or for a mean the part of it that is left.
    pub without_own: f64,
    /// True if the figure rises or falls during the run, so that each part must tell.
    pub drifts: bool,
}

/// A side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The figure is at or below the bound.
    Below,
    /// The figure is above the bound, also without memtide's own delay.
    Above,
}

/// What a run says about a figure and a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Placement {
    /// The side; `None` if the run does not decide it.
    pub side: Option<Side>,
    /// Of a percentile, the interval of the share of operations above the bound; none if the run is
    /// too short, or its parts were judged.
    pub share: Option<[f64; 2]>,
    /// A run longer by this factor would probably decide; `None` if it decides, or if unknown.
    pub longer: Option<f64>,
    /// True if the figure is above the bound, but memtide's own delay may be the reason.
    pub by_own: bool,
}

impl Placement {
    fn at(side: Side) -> Self {
        Self { side: Some(side), ..Self::default() }
    }
}

/// Shares of the operations above a bound.
#[derive(Clone, Copy)]
struct Shares {
    /// Those that are there even without memtide's own delay.
    without_own: f64,
    surely: f64,
    possibly: f64,
}

/// Independent operations that would say as much.
#[derive(Clone, Copy)]
struct Effective {
    /// Of the figure itself, with regard to how well their number is known.
    of_share: f64,
    of_median: f64,
}

impl Sample<'_> {
    /// The side of `bound` on which percentile `p` lies, between 0 and 1.
    pub fn place(&self, p: f64, bound: &Bound, confidence: Confidence) -> Placement {
        let count = self.count() as f64;
        if count == 0.0 {
            return Placement::default();
        }
        // More operations without an answer than may be above any bound.
        if self.unanswered as f64 > (1.0 - p) * count {
            return Placement::at(Side::Above);
        }
        if self.is_far_below(bound) && self.count() >= samples_needed(p) {
            return Placement::at(Side::Below);
        }
        if self.is_far_above(bound) {
            return Placement::at(Side::Above);
        }
        let above = self.whole.above(bound.ns);
        let [surely, possibly] =
            [above.surely, above.possibly].map(|above| (above + self.unanswered) as f64 / count);
        let without_own = bound.without_own.min(surely);
        let shares = Shares { without_own, surely, possibly };
        let effective = self.effective_of(p, 1.0 - surely, confidence);
        let placed = shares.placed(p, effective.of_share, confidence);
        let needed = if placed.side == Some(Side::Below) { BELOW_MIN } else { ABOVE_MIN };
        let is_long = effective.of_median >= needed;
        // A longer run that says enough about the share must also be long enough at all.
        let longer = placed.longer.map(|by| by.max(BELOW_MIN / effective.of_median));
        if is_long && !bound.drifts {
            return Placement { longer, ..placed };
        }
        let moved = if is_long { [0.0; 2] } else { [MOVED_BELOW, MOVED_ABOVE] };
        let side = self.place_parts(p, bound, confidence, moved).side;
        let by_own = placed.by_own || side == Some(Side::Above) && without_own <= 1.0 - p;
        let side = side.filter(|side| !by_own && (!is_long || placed.side == Some(*side)));
        let of_median = needed / effective.of_median;
        let longer = longer.unwrap_or(0.0).max(of_median);
        let is_open = side.is_none() && !by_own && !bound.drifts && longer > 1.0;
        Placement { side, share: None, longer: is_open.then_some(longer), by_own }
    }

    /// The side of `bound` on which the mean of answered operations lies.
    pub fn place_mean(&self, bound: &Bound, confidence: Confidence) -> Placement {
        if self.is_far_below(bound) {
            return Placement::at(Side::Below);
        }
        if self.is_far_above(bound) {
            return Placement::at(Side::Above);
        }
        let of_median = self.effective_of(0.5, 0.5, confidence).of_median;
        let interval = self.mean_at(confidence).ok().filter(|_| !bound.drifts);
        let by_interval =
            interval.map(|Interval { low, high }| by_distance([low, high], bound.ns, [0.0; 2]));
        let needed = match by_interval.and_then(|placed| placed.side) {
            Some(Side::Below) => MEAN_BELOW_MIN,
            _ => MEAN_ABOVE_MIN,
        };
        let is_long = of_median >= needed;
        let placed = match by_interval.filter(|_| is_long) {
            Some(placed) => placed,
            None => self.place_parts_of_mean(bound),
        };
        let longer = (placed.side.is_none() && !is_long).then(|| needed / of_median);
        let least =
            interval.filter(|_| is_long).map(|it| it.low).or_else(|| self.whole.moments().mean());
        let by_own = placed.side == Some(Side::Above)
            && least.is_some_and(|least| least * bound.without_own <= bound.ns);
        let side = placed.side.filter(|_| !by_own);
        Placement { side, longer: longer.filter(|by| *by > 1.0), by_own, share: None }
    }

    /// True if all operations were answered in a hundredth of the bound: then they need not be
    /// worth many independent ones.
    fn is_far_below(&self, bound: &Bound) -> bool {
        let longest = self.whole.moments().max as f64;
        self.unanswered == 0 && self.whole.count() > 0 && longest * FAR <= bound.ns
    }

    /// True if all operations took a hundred times as long as the bound: memtide's own delay is not
    /// as large a part of each of them.
    fn is_far_above(&self, bound: &Bound) -> bool {
        self.count() > 0 && self.whole.moments().min as f64 >= FAR * bound.ns
    }

    /// The effective operations of a percentile `p` of which the fraction `below` lies below the
    /// bound. They are those of the percentile if fewer operations are above the bound than it
    /// allows, because rare operations say little about how they depend on each other.
    fn effective_of(&self, p: f64, below: f64, confidence: Confidence) -> Effective {
        let count = self.count() as f64;
        if self.slices.is_empty() {
            return Effective { of_share: count, of_median: count };
        }
        if self.slices.len() < SLICES_MIN || !self.holds_all() {
            return Effective { of_share: 1.0, of_median: 1.0 };
        }
        let last = below.min(p).clamp(1e-6, 1.0 - 1e-9);
        let links = CHAIN.into_iter().filter(|link| *link < last);
        let chain: Vec<f64> = [0.5].into_iter().chain(links).chain([last]).collect();
        let each = self.effective(&chain, confidence);
        let of_median = each[0].plain;
        let is_low = last < 0.5;
        let limits = each.iter().zip(&chain).filter(|(_, link)| is_low || **link >= 0.9);
        let least = limits.map(|(of, _)| of.narrowed).fold(f64::INFINITY, f64::min);
        let own = each[each.len() - 1].narrowed;
        Effective { of_share: own.min(least), of_median }
    }

    /// The side on which every part of the run lies, if the bound is further from the nearest part
    /// than `moved` times the distance between the parts' figures (below, above).
    fn place_parts(
        &self,
        p: f64,
        bound: &Bound,
        confidence: Confidence,
        moved: [f64; 2],
    ) -> Placement {
        let Some(parts) = self.parts() else { return Placement::default() };
        let mut ends = [f64::INFINITY, 0.0f64];
        let (mut is_below, mut is_above) = (true, true);
        let mut figures = Vec::new();
        for part in &parts {
            let shares = Shares::of_slice(part, bound.ns);
            let count = part.count() as f64;
            let side = shares.placed(p, count, confidence).side;
            is_below &= side == Some(Side::Below);
            is_above &= side == Some(Side::Above);
            let [low, high] = bucket_of(part, p);
            ends = [ends[0].min(low), ends[1].max(high)];
            figures.push(low);
        }
        let placed = by_distance(ends, bound.ns, away(&figures, moved));
        let agrees = match placed.side {
            Some(Side::Below) => is_below,
            Some(Side::Above) => is_above,
            None => false,
        };
        if agrees { placed } else { Placement::default() }
    }

    /// The side on which the means of all parts lie, if the bound is further away than they moved.
    fn place_parts_of_mean(&self, bound: &Bound) -> Placement {
        let Some(parts) = self.parts() else { return Placement::default() };
        if parts.iter().any(|part| part.answered == 0) {
            return Placement::default();
        }
        let means = parts.iter().map(|part| part.sum_ns as f64 / part.answered as f64);
        let means: Vec<f64> = means.collect();
        let ends = means.iter().fold([f64::INFINITY, 0.0], |[low, high], &mean| {
            [f64::min(low, mean), f64::max(high, mean)]
        });
        by_distance(ends, bound.ns, away(&means, [MOVED_BELOW, MOVED_ABOVE]))
    }

    /// The eighths of the run; `None` if there are too few slices, or one of the parts is empty.
    fn parts(&self) -> Option<Vec<Slice>> {
        let count = self.slices.len();
        if count < SLICES_MIN || !self.holds_all() {
            return None;
        }
        let parts = (0..PARTS).map(|part| {
            let mut sum = Slice::default();
            let slices = &self.slices[part * count / PARTS..(part + 1) * count / PARTS];
            slices.iter().for_each(|slice| sum.absorb(slice));
            sum
        });
        let parts: Vec<Slice> = parts.collect();
        parts.iter().all(|part| part.count() > 0).then_some(parts)
    }
}

impl Shares {
    /// Those of one part of a run, by the coarse buckets of its slices. What memtide's own delay is
    /// in a part is unknown here.
    fn of_slice(part: &Slice, bound_ns: f64) -> Self {
        let (mut surely, mut possibly) = (part.unanswered, part.unanswered);
        for (&bucket, &count) in &part.buckets {
            let [low, high] = [bucket, bucket + 1].map(|it| slices::coarse_floor(it) as f64);
            surely += if low > bound_ns { count } else { 0 };
            possibly += if high - 1.0 > bound_ns { count } else { 0 };
        }
        let [surely, possibly] = [surely, possibly].map(|of| of as f64 / part.count() as f64);
        Self { without_own: surely, surely, possibly }
    }

    /// The side of a bound by the interval of these shares, from as many independent operations.
    fn placed(self, p: f64, effective: f64, confidence: Confidence) -> Placement {
        let allowed = 1.0 - p;
        let low = confidence.share_low(self.surely, effective);
        let high = confidence.share_high(self.possibly, effective);
        let without_own = confidence.share_low(self.without_own, effective);
        let side = match (high < allowed, without_own > allowed) {
            (true, _) => Some(Side::Below),
            (_, true) => Some(Side::Above),
            _ => None,
        };
        let by_own = side.is_none() && low > allowed;
        let is_open = side.is_none() && !by_own;
        let longer = is_open.then(|| self.longer(allowed, effective, confidence)).flatten();
        Placement { side, share: Some([low, high]), longer, by_own }
    }

    /// How much longer a run would tell if its shares stayed as they are; none if they are on both
    /// sides of what is allowed.
    fn longer(self, allowed: f64, effective: f64, confidence: Confidence) -> Option<f64> {
        let is_below = self.possibly < allowed;
        if !is_below && self.without_own <= allowed {
            return None;
        }
        let steps = first_of(LONGER_STEPS, |steps| {
            let effective = effective * LONGER_STEP.powi(steps);
            match is_below {
                true => confidence.share_high(self.possibly, effective) < allowed,
                false => confidence.share_low(self.without_own, effective) > allowed,
            }
        });
        steps.map(|steps| LONGER_STEP.powi(steps))
    }
}

/// Returns the smallest number from 1 to `last` for which `is` holds, and `None` if it does not
/// hold for `last`. Where it holds for one number, it must hold for all larger ones.
fn first_of(last: i32, is: impl Fn(i32) -> bool) -> Option<i32> {
    let (mut no, mut yes) = (0, is(last).then_some(last)?);
    while yes - no > 1 {
        let middle = no.midpoint(yes);
        *(if is(middle) { &mut yes } else { &mut no }) = middle;
    }
    Some(yes)
}

/// The side of `bound_ns` on which figures between `ends` lie, if it is further away than `moved`
/// times the distance between them (below, above).
fn by_distance([low, high]: [f64; 2], bound_ns: f64, moved: [f64; 2]) -> Placement {
    let width = high - low;
    let [below, above] = moved.map(|times| times * width);
    match (bound_ns - high, low - bound_ns) {
        (left, _) if left >= 0.0 && left >= below => Placement::at(Side::Below),
        (_, left) if left > 0.0 && left >= above => Placement::at(Side::Above),
        _ => Placement::default(),
    }
}

/// How far the bound must be, as [`by_distance`] takes it: a figure that rises from each part to
/// the next moves away from a bound below it, and one that falls from a bound above it, so that it
/// need not be far away.
fn away(figures: &[f64], [below, above]: [f64; 2]) -> [f64; 2] {
    let rises = figures.is_sorted() && figures.first() < figures.last();
    let falls = figures.is_sorted_by(|one, next| one >= next) && figures.first() > figures.last();
    [if falls { 0.0 } else { below }, if rises { 0.0 } else { above }]
}

/// The edges of the bucket that holds percentile `p` of a part; without an end if it falls among
/// unanswered operations.
fn bucket_of(part: &Slice, p: f64) -> [f64; 2] {
    let wanted = (p * part.count() as f64).ceil().max(1.0);
    let mut below = 0.0;
    for (&bucket, &count) in &part.buckets {
        below += count as f64;
        if below >= wanted {
            return [bucket, bucket + 1].map(|it| slices::coarse_floor(it) as f64);
        }
    }
    [f64::INFINITY; 2]
}

#[cfg(test)]
mod tests;
