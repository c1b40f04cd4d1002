//! Makes instants unique within a series, because a second point with the same one replaces the
//! first.

use std::collections::BTreeMap;

/// The most runs of used instants that are remembered, over all series: about 32 MiB with the
/// overhead of the trees.
const RUNS_MAX: usize = 1 << 20;

/// The instants that series have used, as runs without a gap. When memory is full, a series forgets
/// its oldest runs and accepts no instant before them any more, so none is ever used twice.
#[derive(Debug)]
pub(super) struct Instants {
    series: Vec<Used>,
    runs: usize,
    runs_max: usize,
}

impl Default for Instants {
    fn default() -> Self {
        Self { series: Vec::new(), runs: 0, runs_max: RUNS_MAX }
    }
}

impl Instants {
    /// Takes the first free instant of `series` from `at` on, in nanoseconds. Series are numbered
    /// from 0 without gaps.
    pub(super) fn take(&mut self, series: usize, at: u64) -> u64 {
        if series >= self.series.len() {
            self.series.resize_with(series + 1, Used::default);
        }
        let used = &mut self.series[series];
        let before = used.runs.len();
        let free = used.take(at);
        self.runs = self.runs + used.runs.len() - before;
        if self.runs > self.runs_max {
            self.forget();
        }
        assert!(self.runs <= self.runs_max, "the oldest instants are forgotten");
        assert!(free >= at, "a point moves back in time");
        free
    }

    /// Forgets the older half of all runs.
    fn forget(&mut self) {
        let mut ends: Vec<u64> =
            self.series.iter().flat_map(|used| used.runs.values().copied()).collect();
        let middle = ends.len() / 2;
        let until = *ends.select_nth_unstable(middle).1;
        self.series.iter_mut().for_each(|used| used.forget(until));
        self.runs = self.series.iter().map(|used| used.runs.len()).sum();
    }
}

/// The instants that one series has used.
#[derive(Debug, Default)]
struct Used {
    /// The first and the last instant of each run. Between two runs is a gap.
    runs: BTreeMap<u64, u64>,
    /// All instants before this one count as used.
    from: u64,
}

impl Used {
    fn take(&mut self, at: u64) -> u64 {
        let at = at.max(self.from);
        let before = self.runs.range_mut(..=at).next_back();
        let (first, free) = match before {
            Some((&first, last)) if *last + 1 >= at => {
                *last += 1;
                (first, *last)
            }
            _ => {
                self.runs.insert(at, at);
                (at, at)
            }
        };
        // The instant may have closed the gap to the next run.
        if let Some(last) = self.runs.remove(&(free + 1)) {
            self.runs.insert(first, last);
        }
        free
    }

    /// Forgets the runs that end at `until` or before.
    fn forget(&mut self, until: u64) {
        while let Some(oldest) = self.runs.first_entry().filter(|run| *run.get() <= until) {
            self.from = oldest.remove() + 1;
        }
    }
}

#[cfg(test)]
mod tests;
