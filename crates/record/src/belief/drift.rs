//! Figures that rise or fall during the window: they are not one number.

use super::GradedFigure;
use crate::record::{Drifting, LoopKind, Record};
use memtide_belief::{Drift, Grade};
use memtide_metrics::Slice;
use memtide_scenario::Measure;

impl Drifting {
    /// The figure whose trend tells about `measure`: of the percentiles, that below or at it.
    pub(super) fn beside(measure: Option<Measure>) -> Option<Self> {
        match measure {
            None => Some(Self::Rate),
            Some(Measure::Percentile(percent)) if percent < 99.0 => Some(Self::P50),
            Some(Measure::Percentile(_)) => Some(Self::P99),
            Some(Measure::Mean) => Some(Self::P50),
            Some(Measure::Max) => None,
        }
    }
}

impl Record {
    /// Sets `drift` from the `slices` of all response times, and from the rows. Without slices
    /// (pooled runs) nothing is known.
    pub(super) fn find_drift(&mut self, slices: Option<&[Slice]>) {
        self.drift.clear();
        let Some(slices) = slices else { return };
        let of = |p| Drift::of_percentile(slices, p);
        let mut found = vec![(Drifting::P50, of(0.5)), (Drifting::P99, of(0.99))];
        // The rate of a schedule is what was asked for.
        if self.loop_kind == LoopKind::Closed {
            let each: Vec<_> = slices.iter().map(|slice| (slice.count() as f64, 1.0)).collect();
            // The last slice may be shorter.
            let whole = &each[..each.len().saturating_sub(1)];
            found.push((Drifting::Rate, Drift::of_ratio(whole)));
        }
        let hits =
            self.intervals.iter().map(|row| (row.hits as f64, (row.hits + row.misses) as f64));
        found.push((Drifting::HitRatio, Drift::of_ratio(&hits.collect::<Vec<_>>())));
        let established = found.into_iter().filter_map(|(figure, drift)| {
            let drift = drift.filter(Drift::is_established)?;
            Some((figure, drift.change))
        });
        self.drift = established.collect();
    }

    /// The figure, at most within half of its change if it drifts.
    pub(super) fn with_drift(&self, figure: GradedFigure) -> GradedFigure {
        let change = Drifting::beside(figure.measure).and_then(|beside| self.drift.get(&beside));
        let Some(change) = change else { return figure };
        let half_width = figure.half_width.map(|x| x.max(change.abs() / 2.0));
        let grade = half_width.map_or(Grade::No, Grade::at_most_within);
        let turn = if *change > 0.0 { "rise" } else { "fall" };
        // Changes are fractions of the middle, below which a fall can lie.
        let reason = match *change <= -1.0 {
            true => "a fall by more than half during the run".to_owned(),
            false => format!("a {turn} of {:.0} % during the run", change.abs() * 100.0),
        };
        GradedFigure { grade, half_width, reason: Some(reason), ..figure }
    }
}
