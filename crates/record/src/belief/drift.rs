//! Figures that rise or fall during the window: they are not one number.

use super::GradedFigure;
use super::wave::Phases;
use crate::record::{Drifting, LoopKind, Record, Slicing};
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
    /// Sets `drift` from the slices of all response times, and from the rows. Without slices
    /// (pooled runs) nothing is known. A wave is compared period by period; a ramp has none, and
    /// nothing is known of it.
    pub(super) fn find_drift(&mut self, slices: Option<(&Slicing, &[Slice])>) {
        self.drift.clear();
        let Some((slicing, slices)) = slices else { return };
        let phases = self.phases();
        let by_time = slices.iter().enumerate().map(|(at, slice)| {
            let middle_s = (at as f64 + 0.5) * slicing.width_ns as f64 / 1e9;
            (middle_s, slice.clone())
        });
        let slices = phases.alike(by_time, self.measured_s, Slice::absorb);
        let mut found = vec![
            (Drifting::P50, Drift::of_percentile(&slices, 0.5)),
            (Drifting::P99, Drift::of_percentile(&slices, 0.99)),
        ];
        // The rate of a schedule is what was asked for.
        if self.loop_kind == LoopKind::Closed {
            let each: Vec<_> = slices.iter().map(|slice| (slice.count() as f64, 1.0)).collect();
            // The last slice may be shorter.
            let whole = &each[..each.len().saturating_sub(1)];
            found.push((Drifting::Rate, Drift::of_ratio(whole)));
        }
        found.push((Drifting::HitRatio, self.hit_ratio_drift(phases)));
        let established = found.into_iter().filter_map(|(figure, drift)| {
            let drift = drift.filter(Drift::is_established)?;
            Some((figure, drift.change))
        });
        self.drift = established.collect();
    }

    fn hit_ratio_drift(&self, phases: Phases) -> Option<Drift> {
        let rows = self.intervals.iter().map(|row| {
            let middle_s = row.start_s + row.length_s / 2.0;
            (middle_s, (row.hits as f64, (row.hits + row.misses) as f64))
        });
        let rows = phases.alike(rows, self.measured_s, |sum, more| {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        });
        Drift::of_ratio(&rows)
    }

    /// True if the figure rose or fell during the window.
    pub fn drifts(&self, figure: &GradedFigure) -> bool {
        Drifting::beside(figure.measure).is_some_and(|beside| self.drift.contains_key(&beside))
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
