//! The side of a goal's bound on which a figure of response times lies.

use crate::record::{Distribution, Drifting, LoopKind, Record};
use crate::warning::Warning;
use memtide_base::Span;
use memtide_belief::{Bound, Confidence, Own, Placement, Sample, Side, growth};
use memtide_metrics::Slice;
use memtide_scenario::{Kind, Measure};

/// Response times that grow by less than this part of the window say nothing of an overload.
const GROWTH_MIN: f64 = 0.01;
/// Steps of the bisection that finds a share: its error is far below one operation of a run.
const BISECTIONS: u32 = 50;

impl Record {
    /// The side of `bound_ns` on which a percentile or the mean of response times lies, with this
    /// confidence. None if no such operation was measured, and for the maximum.
    pub fn placed(
        &self,
        kind: Kind,
        measure: Measure,
        bound_ns: f64,
        confidence: Confidence,
    ) -> Option<Placement> {
        let times = self.response.get(&kind).filter(|times| times.count > 0)?;
        let whole = times.times()?;
        let slices = self.slices_of(kind);
        let intended = self.slicing.as_ref().map(|slicing| self.intended(slicing));
        let rates = intended.as_ref().map_or(&[][..], |intended| &intended.rates);
        let sample = Sample { whole: &whole, unanswered: times.unanswered, slices: &slices, rates };
        let beside = Drifting::beside(Some(measure));
        let drifts = beside.is_some_and(|beside| self.drift.contains_key(&beside));
        let placed = match measure {
            Measure::Max => return None,
            // Without slices nothing is known of its error.
            Measure::Mean if !self.has_slices() || times.mean_ns.is_none() => return None,
            Measure::Percentile(percent) => {
                let without_own = self.above_without_own(kind, percent, bound_ns);
                let bound = Bound { ns: bound_ns, without_own, drifts };
                sample.place(percent / 100.0, &bound, confidence)
            }
            Measure::Mean => {
                let own = self.response_figure(kind, measure).and_then(|figure| figure.own);
                let bound = Bound { ns: bound_ns, without_own: 1.0 - own.unwrap_or(0.0), drifts };
                sample.place_mean(&bound, confidence)
            }
        };
        let side = placed.side.or_else(|| self.side_by_eighths(kind, measure, bound_ns, &placed));
        // Nothing is known of how long an operation without an answer would have taken.
        let side = side.filter(|side| {
            measure != Measure::Mean || times.unanswered == 0 || *side == Side::Above
        });
        Some(Placement { side, ..placed })
    }

    /// The slices of a kind's response times; empty if there are none.
    fn slices_of(&self, kind: Kind) -> Vec<Slice> {
        let slicing = self.slicing.as_ref();
        let slices = slicing.and_then(|of| of.channel(of.response.get(&kind)).ok());
        slices.unwrap_or_default()
    }

    /// The side by the eighths of the window, where these decide about the figure because all
    /// operations are alike for a while.
    fn side_by_eighths(
        &self,
        kind: Kind,
        measure: Measure,
        bound_ns: f64,
        placed: &Placement,
    ) -> Option<Side> {
        let figure = self.response_figure(kind, measure)?;
        let ([low, _], [_, high]) = (figure.range?, figure.eighths?);
        match (high <= bound_ns, low > bound_ns) {
            _ if placed.by_own => None,
            (true, _) => Some(Side::Below),
            (_, true) => Some(Side::Above),
            _ => None,
        }
    }

    /// The share of a kind's operations that took longer than `bound_ns` also without what memtide
    /// itself may have added. 1 if nothing is known of that.
    fn above_without_own(&self, kind: Kind, percent: f64, bound_ns: f64) -> f64 {
        let Some(times) = self.response.get(&kind) else { return 1.0 };
        let punctual = self.punctual.get(&kind).and_then(Distribution::times);
        if let Some(punctual) = &punctual {
            return above(&times.own_of(punctual, self.others()), bound_ns);
        }
        // Where memtide's own share is not bounded apart, it is as large as that of all operations.
        let all = self.response_figure(Kind::All, Measure::Percentile(percent));
        let own = all.and_then(|all| all.own).unwrap_or(0.0);
        let Some(whole) = times.times().filter(|_| own < 1.0) else { return 0.0 };
        let surely = whole.above(bound_ns / (1.0 - own)).surely + times.unanswered;
        surely as f64 / times.count as f64
    }

    /// The warning that the servers carried less than was due, if they did.
    pub fn overloaded(&self) -> Option<Warning> {
        self.overload().map(|[from, to]| Warning::Overloaded { from, to })
    }

    /// The mean response times of the first and the last eighth of the window, if they grew in each
    /// because the servers carried less than was due; none otherwise. Of an open loop without a
    /// wave; what memtide's own delay may explain does not count.
    pub fn overload(&self) -> Option<[Span; 2]> {
        let is_steady =
            self.loop_kind == LoopKind::Open && matches!(&*self.plan.wave, "" | "constant");
        let slices = self.slices_of(Kind::All);
        let [first, last] = growth(&slices).filter(|_| is_steady)?;
        let own = self.response_figure(Kind::All, Measure::Mean).and_then(|mean| mean.own);
        let left = 1.0 - own.unwrap_or(0.0);
        let grown_ns = (last - first) * left;
        let enough = grown_ns >= GROWTH_MIN * self.window_ns as f64;
        enough.then(|| [first, last].map(|ns| Span::from_ns(ns as u64)))
    }
}

/// The share of operations above `bound_ns` without memtide's own delay, at least. Operations
/// without an answer are above every bound.
fn above(own: &Own<'_>, bound_ns: f64) -> f64 {
    let answered = 1.0 - own.unanswered;
    let (mut low, mut high) = (0.0, answered);
    if own.at(answered) <= bound_ns {
        return own.unanswered;
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        *(if own.at(middle) > bound_ns { &mut high } else { &mut low }) = middle;
    }
    1.0 - high
}
