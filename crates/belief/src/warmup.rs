//! The end of a warm-up: the instant from which a load is steady, found while it runs.
//!
//! Source of the rule: White, Simulation 69 (1997), MSER: of all beginnings, the one after which
//! the mean has the least standard error. It stops where the rest of a transient is as small as the
//! noise, so as much again is left out: a load is steady once it cuts nothing in the later half.

/// With fewer slices nothing is said.
const SLICES_MIN: usize = 10;
/// More slices are merged in pairs.
const SLICES_MAX: usize = 256;
/// Slices that a cut leaves at least.
const LEFT_MIN: usize = 3;
/// Two parts differ if their means do by more than this many standard errors: noise invites a cut
/// in many steady loads.
const DIFFERS: f64 = 2.25;

/// Answers in one slice of a warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmupSlice {
    /// Answered operations.
    pub answered: u64,
    /// The sum of their response times, in nanoseconds.
    pub response_ns: u64,
    /// Keys that were read.
    pub keys: u64,
    /// Keys that were found.
    pub hits: u64,
}

impl WarmupSlice {
    /// Adds what another slice, or another part of the load in this one, counted.
    pub fn absorb(&mut self, more: Self) {
        self.answered = self.answered.saturating_add(more.answered);
        self.response_ns = self.response_ns.saturating_add(more.response_ns);
        self.keys = self.keys.saturating_add(more.keys);
        self.hits = self.hits.saturating_add(more.hits);
    }
}

/// A warm-up so far.
#[derive(Clone, Debug)]
pub struct Settling {
    slices: Vec<WarmupSlice>,
    /// Slices that were taken for each that is kept.
    each: usize,
    /// Slices that were taken for the last that is kept.
    in_last: usize,
}

impl Default for Settling {
    fn default() -> Self {
        Self { slices: Vec::new(), each: 1, in_last: 1 }
    }
}

impl Settling {
    /// Adds the next slice; all are equally long. One without an answer says nothing.
    pub fn take(&mut self, slice: WarmupSlice) {
        match self.slices.last_mut() {
            Some(last) if self.in_last < self.each || last.answered == 0 => {
                last.absorb(slice);
                self.in_last += 1;
            }
            _ => {
                self.slices.push(slice);
                self.in_last = 1;
            }
        }
        if self.slices.len() == SLICES_MAX && self.in_last >= self.each {
            let pairs = self.slices.chunks_exact(2).map(|pair| {
                let mut sum = pair[0];
                sum.absorb(pair[1]);
                sum
            });
            self.slices = pairs.collect();
            self.each *= 2;
            self.in_last = self.each;
        }
    }

    /// True if the load has been steady for at least as long as it was not: its mean response time,
    /// and its hit ratio.
    pub fn is_settled(&self) -> bool {
        let response = ratios(self.slices.iter().map(|it| (it.response_ns, it.answered)));
        let hits = ratios(self.slices.iter().map(|slice| (slice.hits, slice.keys)));
        response.len() >= SLICES_MIN && is_level(&response) && is_level(&hits)
    }
}

/// The ratios of parts to wholes that are not 0.
fn ratios(slices: impl Iterator<Item = (u64, u64)>) -> Vec<f64> {
    let some = slices.filter(|(_, whole)| *whole > 0);
    some.map(|(part, whole)| part as f64 / whole as f64).collect()
}

/// True if no beginning that ends in the later half of `values` differs from the rest, and the
/// later half has no trend.
fn is_level(values: &[f64]) -> bool {
    let (cut, half) = (cut_of(values), values.len() / 2);
    let late = &values[half..];
    let (first, rest) = late.split_at(late.len() / 2);
    let is_cut = cut > half && differ(&values[..cut], &values[cut..], noise(values));
    !is_cut && !differ(first, rest, noise(late))
}

/// How many of the first values MSER leaves out.
fn cut_of(values: &[f64]) -> usize {
    let most = values.len().saturating_sub(LEFT_MIN);
    let errors = (0..=most).map(|cut| (cut, squared_error(&values[cut..])));
    errors.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(cut, _)| cut)
}

/// The square of the standard error of a mean, but for a factor that all have in common.
fn squared_error(values: &[f64]) -> f64 {
    squares(values) / (values.len() as f64).powi(2)
}

/// True if the means of two parts differ by more than values of this variance explain.
fn differ(first: &[f64], rest: &[f64], variance: f64) -> bool {
    let parts = 1.0 / (first.len() as f64).max(1.0) + 1.0 / (rest.len() as f64).max(1.0);
    let difference = mean(first) - mean(rest);
    difference.powi(2) > DIFFERS.powi(2) * variance * parts
}

/// The variance of single values, from the differences of neighbours: a trend adds little to it.
fn noise(values: &[f64]) -> f64 {
    let next = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
    next.sum::<f64>() / (2.0 * (values.len() as f64 - 1.0)).max(1.0)
}

/// The sum of squared differences from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len() as f64).max(1.0)
}

#[cfg(test)]
mod tests;
