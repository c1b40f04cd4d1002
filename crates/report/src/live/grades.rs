//! How far the percentiles so far can be believed: the rules of a record, from what is known while
//! the run is under way. A record has shorter slices and knows memtide's own share more exactly.

use super::LiveTimes;
use memtide_belief::grade::half_width;
use memtide_belief::{Grade, Sample};
use memtide_metrics::slices::coarse;
use memtide_metrics::{Histogram, Quantile, Slice, quantile};
use memtide_record::Interval;
use memtide_scenario::Kind;

/// Largest number of slices; two neighbours then become one.
const SLICES_MAX: usize = 64;
/// The percentiles that have grades, and their names. The median decides whether any has one.
const GRADED: [(f64, &str); 2] = [(0.5, "p50"), (0.99, "p99")];

/// What the grades follow from.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveGrades {
    /// Measured operations in order of time, each slice of equally many seconds but the last.
    slices: Vec<Slice>,
    /// Seconds of a slice, as a power of two, and of the last one so far.
    doublings: u32,
    in_last: u32,
    service: Histogram<u64>,
}

impl LiveGrades {
    /// Adds another second.
    pub(super) fn add(&mut self, second: &Interval) {
        second.service.get(&Kind::All).into_iter().for_each(|times| self.service.absorb(times));
        let unanswered = second.unanswered.get(&Kind::All).copied().unwrap_or(0);
        let mut slice = Slice { unanswered, ..Slice::default() };
        if let Some(times) = second.response.get(&Kind::All) {
            for (ns, count) in times.recorded() {
                *slice.buckets.entry(coarse(ns)).or_default() += count;
            }
            slice.answered = times.count();
            slice.sum_ns = times.moments().sum;
        }
        if slice.count() == 0 {
            return;
        }
        match self.slices.last_mut() {
            Some(last) if self.in_last < 1 << self.doublings => {
                last.absorb(&slice);
                self.in_last += 1;
            }
            _ => {
                self.slices.push(slice);
                self.in_last = 1;
            }
        }
        if self.slices.len() == SLICES_MAX && self.in_last == 1 << self.doublings {
            self.slices = self.slices.chunks(2).map(sum).collect();
            self.doublings += 1;
            self.in_last = 1 << self.doublings;
        }
    }

    /// The grades of percentiles of the whole load so far; empty until enough seconds are over.
    pub(super) fn words(&self, all: &LiveTimes) -> Vec<(&'static str, Grade)> {
        let LiveTimes { times: whole, unanswered } = all;
        let unanswered = *unanswered;
        let sample = Sample { whole, unanswered, slices: &self.slices, rates: &[] };
        let ranks = sample.ranks(&GRADED.map(|(share, _)| share));
        let graded = GRADED.iter().zip(ranks).filter_map(|(&(share, name), ranks)| {
            let interval = sample.between(&ranks.ok()?)?;
            let low = interval.low * self.punctual(whole, unanswered, share);
            Some((name, Grade::of(half_width(low, interval.high))))
        });
        graded.collect()
    }

    /// The part of a percentile that remains without all lag, which may be memtide's own.
    fn punctual(&self, whole: &Histogram<u64>, unanswered: u64, share: f64) -> f64 {
        let service = quantile(&self.service, unanswered, share);
        match (service, quantile(whole, unanswered, share)) {
            (Quantile::Known(service), Quantile::Known(response)) if response > 0 => {
                (service as f64 / response as f64).min(1.0)
            }
            _ => 0.0,
        }
    }
}

fn sum(slices: &[Slice]) -> Slice {
    let mut sum = slices[0].clone();
    slices[1..].iter().for_each(|slice| sum.absorb(slice));
    sum
}
