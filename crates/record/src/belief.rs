//! What follows from the counts and times of a record: totals and rates, the intervals of its
//! figures, and memtide's own share of them.
//!
//! [`Record::derive`] treats a run, a simulation and a merged record alike. Grades follow from what
//! it sets.

mod drift;
mod eighths;
mod figure;
mod judged;
mod placed;
mod wave;

pub(crate) use figure::SOME_UNANSWERED;
pub use figure::{Channel, GradedFigure, LATE, Ranged};
pub use judged::joined;

use crate::record::{
    Distribution, Lateness, LoopKind, OwnShare, Percentile, Record, Slicing, per_second,
};
use memtide_base::Span;
use memtide_belief::{Own, Ranks, Refusal, Sample, interval, own};
use memtide_metrics::{Histogram, LATE_CLASSES, Slice, slices};
use memtide_scenario::Kind;
use std::collections::BTreeMap;
use wave::Intended;

/// Why a record from before slices were kept has no intervals.
const NO_SLICES: &str = "kept no slices";

impl Record {
    /// Sets the figures that follow from counts, slices and the window's length: totals, rates of
    /// servers and of connection churn, the cost in CPU time, and for each figure its confidence
    /// interval and memtide's own share.
    pub fn derive(&mut self) {
        let length = Span::from_ns(self.window_ns);
        self.measured_s = length.as_s_f64();
        self.totals = self.phases.measure.totals.clone();
        for server in &mut self.servers {
            server.rate_per_s = per_second(server.totals.answered, length);
        }
        if let Some(churn) = &mut self.churn {
            churn.started_per_s = per_second(churn.measure.started, length);
        }
        let sent = self.sent_in_window.values().fold(0u64, |sum, count| sum.saturating_add(*count));
        self.client.set_cost(sent);
        self.believe();
    }

    /// Sets the intervals, and the bounds of memtide's own share.
    fn believe(&mut self) {
        let (others, kinds) = (self.others(), self.response.keys());
        let punctual: BTreeMap<Kind, Histogram<u64>> =
            kinds.filter_map(|kind| Some((*kind, self.punctual_of(*kind)?))).collect();
        let slicing = self.slicing.take();
        let all = slicing.as_ref().and_then(|of| of.channel(of.response.get(&Kind::All)).ok());
        let intended = slicing.as_ref().map(|slicing| self.intended(slicing));
        self.set_rate_interval(intended.as_ref(), all.as_deref());
        self.find_drift(slicing.as_ref().zip(all.as_deref()));
        let rates = intended.as_ref().map_or(&[][..], |intended| &intended.rates);
        let window = Window { slicing: slicing.as_ref(), rates, others };
        for (kind, times) in &mut self.response {
            let kept = slicing.as_ref().and_then(|of| of.response.get(kind));
            window.believe(times, kept, punctual.get(kind));
        }
        for (kind, times) in &mut self.service {
            let kept = slicing.as_ref().and_then(|of| of.service.get(kind));
            window.believe(times, kept, None);
        }
        let is_alone = self.servers.len() == 1;
        for server in &mut self.servers {
            let kept = slicing.as_ref().and_then(|of| match is_alone {
                true => of.response.get(&Kind::All),
                false => of.servers.get(&server.name),
            });
            let punctual = punctual.get(&Kind::All).filter(|_| is_alone);
            window.believe(&mut server.response, kept, punctual);
        }
        self.slicing = slicing;
    }

    /// Response times of a kind of operation without the most that memtide may have added; none if
    /// the record does not hold them.
    fn punctual_of(&self, kind: Kind) -> Option<Histogram<u64>> {
        let punctual = self.punctual.get(&kind)?.times()?;
        let response = self.response.get(&kind)?.times()?;
        let drawn = self.drawn.get(&kind).and_then(Distribution::times);
        Some(own::punctual(&response, drawn.as_ref(), &punctual))
    }

    /// The interval of the rate: from the scatter of the slices' operations around those that were
    /// intended.
    fn set_rate_interval(&mut self, intended: Option<&Intended>, all: Option<&[Slice]>) {
        let half = intended.zip(all).and_then(|(intended, all)| {
            let each = all.iter().map(Slice::count).zip(intended.operations.iter().copied());
            interval::rate_half_width(&each.collect::<Vec<_>>())
        });
        let rate = &mut self.rate;
        let ends = half.filter(|_| rate.achieved_per_s.is_finite());
        rate.achieved_ci_low_per_s = ends.map(|half| rate.achieved_per_s * (1.0 - half).max(0.0));
        rate.achieved_ci_high_per_s = ends.map(|half| rate.achieved_per_s * (1.0 + half));
    }

    /// By class of lateness, the fraction of operations that other workers' lateness may have
    /// delayed: of each server's operations, in proportion to their number.
    fn others(&self) -> [f64; LATE_CLASSES] {
        let late = self.servers.iter().filter_map(|server| server.late.as_ref());
        let all: f64 = late.clone().map(|late| late.operations as f64).sum();
        late.fold([0.0; LATE_CLASSES], |mut sum, late| {
            let Lateness { operations, late_ns, weighted_ns } = late;
            let weighted: Vec<u128> = weighted_ns.iter().map(|wide| wide.0).collect();
            let of = own::others(late_ns, &weighted, *operations, self.window_ns);
            for (sum, part) in sum.iter_mut().zip(of) {
                *sum += part * *operations as f64 / all.max(1.0);
            }
            sum
        })
    }

    /// True if operations of several workers relieved each other while one was late for more than
    /// a hundredth of the time: no bound is known of memtide's own share then.
    fn is_unbounded(&self) -> bool {
        let late = self.servers.iter().filter_map(|server| server.late.as_ref());
        let late =
            late.flat_map(|late| &late.late_ns).fold(0u64, |sum, ns| sum.saturating_add(*ns));
        let many = self.plan.workers > 1 || self.shards.len() > 1;
        self.loop_kind == LoopKind::Closed && many && late > self.window_ns / 100
    }
}

/// What the intervals of all figures of a window are found from.
struct Window<'a> {
    slicing: Option<&'a Slicing>,
    /// The rate that was intended in each slice; empty if all have the same.
    rates: &'a [f64],
    /// By class of lateness, what other workers' lateness may have delayed.
    others: [f64; LATE_CLASSES],
}

impl Window<'_> {
    /// Sets the intervals of `times`, whose slices are `kept`; and the bounds of memtide's own
    /// share if `punctual` are known.
    fn believe(
        &self,
        times: &mut Distribution,
        kept: Option<&String>,
        punctual: Option<&Histogram<u64>>,
    ) {
        let Some(whole) = times.times() else { return };
        let slices = match self.slicing {
            Some(slicing) => slicing.channel(kept),
            None => Err(NO_SLICES.to_owned()),
        };
        let own = punctual.map(|punctual| times.own_of(punctual, self.others));
        times.set_belief(&whole, slices, self.rates, own);
        // What holds for all figures is said once.
        if self.slicing.is_none_or(|slicing| slicing.unusable.is_some()) {
            times.no_interval.clear();
        }
    }
}

impl Slicing {
    /// The slices of a channel.
    ///
    /// # Errors
    /// The reason why there are none, as a clause for people.
    fn channel(&self, text: Option<&String>) -> Result<Vec<Slice>, String> {
        if let Some(why) = &self.unusable {
            return Err(why.clone());
        }
        let text = text.ok_or_else(|| "no slices were kept of it".to_owned())?;
        let read = slices::from_text(text, self.count as usize);
        read.ok_or_else(|| "its slices are damaged".to_owned())
    }
}

impl Distribution {
    /// What bounds memtide's own share of these times.
    fn own_of<'a>(&self, punctual: &'a Histogram<u64>, others: [f64; LATE_CLASSES]) -> Own<'a> {
        let unanswered = self.unanswered as f64 / self.count.max(1) as f64;
        Own { punctual, unanswered, others }
    }

    /// Sets the intervals of all figures from the `slices` of these times with intended rates,
    /// of which `whole` are those answered, or the reasons for their absence; and the bounds of
    /// memtide's own share.
    fn set_belief(
        &mut self,
        whole: &Histogram<u64>,
        slices: Result<Vec<Slice>, String>,
        rates: &[f64],
        own: Option<Own<'_>>,
    ) {
        self.n_effective.clear();
        self.no_interval.clear();
        let unanswered = self.unanswered;
        let mut share = OwnShare::default();
        let sample = slices
            .as_ref()
            .map(|slices| Sample { whole, unanswered, slices, rates })
            .map_err(Clone::clone);
        for (percentile, ranks) in published(&sample) {
            let value = self.percentile(percentile);
            let of = ranks.and_then(|ranks| {
                let between = sample.as_ref().ok().and_then(|sample| sample.between(&ranks));
                Ok((
                    ranks,
                    between
                        .filter(|_| value.is_some())
                        .ok_or_else(|| Refusal::Unanswered.words())?,
                ))
            });
            let interval = of.as_ref().ok().map(|(_, of)| [of.low as u64, of.high as u64]);
            self.set_interval(percentile, interval);
            if let (Some(own), Some(value)) = (&own, value) {
                let low = own.at(percentile.fraction()) as u64;
                share.low_ns.insert(percentile, low.min(value));
            }
            match of {
                Ok((ranks, interval)) => {
                    self.n_effective.insert(percentile, ranks.effective);
                    if let Some(own) = &own {
                        let low = own.at(ranks.low).min(interval.low) as u64;
                        share.range_low_ns.insert(percentile, low);
                    }
                }
                Err(why) => drop(self.no_interval.insert(percentile, why)),
            }
        }
        let is_mean_known = self.mean_ns.is_some();
        let mean = sample.ok().and_then(|sample| sample.mean().ok()).filter(|_| is_mean_known);
        self.mean_ci_low_ns = mean.map(|mean| mean.low);
        self.mean_ci_high_ns = mean.map(|mean| mean.high);
        if let (Some(own), Some(value)) = (&own, self.mean_ns) {
            let low = own.mean().min(value);
            share.mean_low_ns = Some(low);
            share.mean_range_low_ns = mean.map(|mean| mean.low * low / value.max(1e-9));
        }
        self.own = own.map(|_| share);
    }
}

/// The ranks of every published percentile, or why they are unknown. The 95th is no link of the
/// chain, so that it changes nothing above it.
fn published(sample: &Result<Sample<'_>, String>) -> Vec<(Percentile, Result<Ranks, String>)> {
    let sample = match sample {
        Ok(sample) => sample,
        Err(why) => return Percentile::ALL.iter().map(|of| (*of, Err(why.clone()))).collect(),
    };
    let mut all = chain(sample, &Percentile::CHAIN);
    all.extend(chain(sample, &[Percentile::P50, Percentile::P90, Percentile::P95]).pop());
    all
}

/// The ranks of these percentiles, each of which depends on the one before.
fn chain(
    sample: &Sample<'_>,
    percentiles: &[Percentile],
) -> Vec<(Percentile, Result<Ranks, String>)> {
    let fractions: Vec<f64> = percentiles.iter().map(|of| of.fraction()).collect();
    let ranks = sample.ranks(&fractions).into_iter();
    let ranks = ranks.map(|ranks| ranks.map_err(|refusal| refusal.words()));
    percentiles.iter().copied().zip(ranks).collect()
}

#[cfg(test)]
mod tests;
