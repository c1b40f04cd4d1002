//! Rates that change over time: the dynamic fork's intervals, and improved mutilate's sinusoid.
//!
//! The random waveform equals libstdc++'s, number for number. Offers no load.

use memtide_base::Span;

/// `--qps_interval`: a total rate for each interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    /// The source of the rates.
    pub waveform: Waveform,
    /// The length of each interval; above 0.
    pub interval: Span,
    /// The number of intervals; the end of the run may cut the last one short.
    pub intervals: u32,
}

/// The source of a dynamic run's rates.
#[derive(Clone, Debug, PartialEq)]
pub enum Waveform {
    /// Whole numbers drawn uniformly.
    Random {
        /// The least rate, in operations a second.
        min: u32,
        /// The greatest rate; not below the least.
        max: u32,
        /// The seed as written; `None` for 0, which requests another draw in each run.
        seed: Option<i32>,
    },
    /// Rates as written, in operations per second; 0 is a pause without agents.
    Supplied(Vec<u32>),
}

/// The modulus of the generator minstd_rand0.
const MODULUS: u64 = 2_147_483_647;
/// Its multiplier.
const MULTIPLIER: u64 = 16_807;

impl Dynamic {
    /// False if all rates are 0.
    pub fn has_rate(&self) -> bool {
        match &self.waveform {
            Waveform::Supplied(targets) => targets.iter().any(|target| *target > 0),
            Waveform::Random { max, .. } => *max > 0,
        }
    }

    /// The total rate of each interval. `fresh_seed` is used if the waveform is random and has no
    /// seed of its own.
    pub fn targets(&self, fresh_seed: u64) -> Vec<u32> {
        let count = self.intervals as usize;
        match &self.waveform {
            Waveform::Supplied(targets) => targets.iter().copied().take(count).collect(),
            Waveform::Random { min, max, seed } => {
                // A negative seed is widened to 64 bits, sign first, as C++ does.
                let seed = seed.map_or(fresh_seed, |seed| i64::from(seed).cast_unsigned());
                let mut state = if seed % MODULUS == 0 { 1 } else { seed % MODULUS };
                (0..count).map(|_| draw(&mut state, *min, *max)).collect()
            }
        }
    }
}

/// One draw of `uniform_int_distribution` over `default_random_engine`.
fn draw(state: &mut u64, min: u32, max: u32) -> u32 {
    let width = u64::from(max - min) + 1;
    // The generator returns 1 to MODULUS - 1; draws that do not fill a whole bucket are repeated.
    let bucket = (MODULUS - 2) / width;
    loop {
        *state = *state * MULTIPLIER % MODULUS;
        let offset = *state - 1;
        if offset < width * bucket {
            let above = u32::try_from(offset / bucket).expect("less than the width, which fits");
            return min + above;
        }
    }
}

/// `--sin`: a total rate that follows a sine around its mean, upwards first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sinusoid {
    /// The mean, in operations a second; above 0.
    pub mean_ops: f64,
    /// The amplitude, in operations per second; not above the mean.
    pub amplitude_ops: f64,
    /// The period; above 0.
    pub period: Span,
}
