//! Figures that hardly move from one eighth of the window to the next, although their interval is
//! refused or wide; and those that move within a bucket of the slices, whose interval cannot know.
//!
//! An interval follows from how alike operations are. Where all of them are slower for a while by
//! a little, as on a machine whose clock rate changes, many thousands say as much as a few dozen
//! independent ones, and the ranks of so few reach far into the tail. Eight stretches that each
//! measured nearly the same value say more.

use super::wave::Phases;
use crate::record::Record;
use memtide_base::units::format_time;
use memtide_belief::grade::{YES_MAX, half_width};
use memtide_metrics::slices::coarse;
use memtide_metrics::{Histogram, Quantile, quantile};
use memtide_scenario::Kind;

/// The parts of the window.
const PARTS: usize = 8;
/// The ends are moved outwards by this part of the ratio between them: where a state lasts for a
/// fifth of the window, so that neighbours are alike, one in twenty ranges is wrong then.
const BEYOND_ENDS: f64 = 0.25;
/// Half the width up to which their values count as alike, and above which an interval is wide.
const ALIKE_MAX: f64 = 0.1;
/// Operations on the rarer side of the percentile that each part has: with fewer, its own value
/// is an accident.
const BEYOND_MIN: f64 = 50.0;

impl Record {
    /// The range that the eighths of the window give percentile `p` of all response times, if they
    /// are alike and `interval` is refused or wide, or is narrow although they move; else none.
    pub(super) fn deciding_eighths(&self, p: f64, interval: Option<[f64; 2]>) -> Option<[f64; 2]> {
        let known = interval.map_or(f64::INFINITY, |[low, high]| half_width(low, high));
        let is_wide = known > ALIKE_MAX;
        if !self.has_slices() || !is_wide && !self.is_hidden(p) {
            return None;
        }
        let [lowest, highest] = self.eighths(p)?;
        let further = (highest / lowest).powf(BEYOND_ENDS);
        let (low, high) = (lowest / further, highest * further);
        let half = half_width(low, high);
        let decides = is_wide || half > known.max(YES_MAX);
        (half <= ALIKE_MAX && decides).then_some([low, high])
    }

    /// True if most operations are in that bucket of the slices which holds percentile `p`: the
    /// slices do not show how these move within it, and look alike although all may have moved by a
    /// few percent. The rows over time have fine histograms, so their eighths show it.
    fn is_hidden(&self, p: f64) -> bool {
        let all = self.response.get(&Kind::All);
        let Some((all, times)) = all.and_then(|all| Some((all, all.times()?))) else {
            return false;
        };
        let Quantile::Known(ns) = quantile(&times, all.unanswered, p) else { return false };
        let inside = times.recorded().filter(|(of, _)| coarse(*of) == coarse(ns));
        inside.map(|(_, count)| count).sum::<u64>() > times.count() / 2
    }

    /// The lowest and highest value of percentile `p` in the eighths, with the edges of their
    /// buckets; none if a part has too few operations, or the percentile falls among unanswered
    /// ones.
    fn eighths(&self, p: f64) -> Option<[f64; 2]> {
        let count = self.slices.len();
        let bounds = self.eighth_bounds();
        let parts = bounds.windows(2).map(|pair| pair[0]..pair[1]);
        let mut ends = [f64::INFINITY, 0.0];
        for part in parts.filter(|_| count >= PARTS) {
            let (mut times, mut unanswered) = (Histogram::<u64>::new(), 0u64);
            for slice in &self.slices[part] {
                times.absorb(&slice.times()?);
                unanswered = unanswered.saturating_add(slice.unanswered);
            }
            let operations = times.count().saturating_add(unanswered) as f64;
            let Quantile::Known(_) = quantile(&times, unanswered, p) else { return None };
            if operations * p.min(1.0 - p) < BEYOND_MIN {
                return None;
            }
            let (low, high) = times.edges_at_rank((p * operations).ceil() as u64)?;
            ends = [ends[0].min(low as f64), ends[1].max(high as f64)];
        }
        (count >= PARTS).then_some(ends)
    }

    /// The slices with which the eighths of the window begin, and the end of the last: with a wave,
    /// eighths of its whole periods, if there are as many.
    fn eighth_bounds(&self) -> Vec<usize> {
        let count = self.slices.len();
        let width_s = self.slices.first().map_or(0.0, |slice| slice.length_s);
        let parts = 0..=PARTS;
        match self.phases() {
            Phases::Periods(period_s) if self.measured_s / period_s >= PARTS as f64 => {
                let periods = (self.measured_s / period_s) as usize;
                let begin_s = parts.map(|part| (periods * part / PARTS) as f64 * period_s);
                begin_s.map(|s| ((s / width_s).round() as usize).min(count)).collect()
            }
            _ => parts.map(|part| part * count / PARTS).collect(),
        }
    }
}

/// The reason of a figure that the eighths of the window decide.
pub(super) fn moved([low, high]: [f64; 2]) -> String {
    format!("about {} to {} in each eighth of the run", format_time(low), format_time(high))
}
