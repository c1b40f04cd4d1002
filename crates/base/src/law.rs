//! Probability laws as inverse distribution functions.
//!
//! A law turns one uniform number in (0, 1) into one draw, so a draw that belongs to an index is
//! `law.quantile(unit(hash(seed, stream, index)))` and needs no state. Parameters follow
//! mutilate's order. The Facebook constants are those of Atikoglu et al., "Workload analysis of a
//! large-scale key-value store", SIGMETRICS 2012.

use std::f64::consts::PI;

/// A probability law on the real numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// A constant.
    Fixed(f64),
    /// Evenly between two bounds.
    Uniform(f64, f64),
    /// Normal: mean, standard deviation.
    Normal(f64, f64),
    /// Nearly normal, as mutilate draws it: the Box–Muller transform with one uniform number in
    /// place of two. The parameters are the mean and standard deviation of the normal law that is
    /// approximated. The mean of the draws is 0.056 deviations higher, and no draw is below -1.2
    /// deviations.
    MutilateNormal(f64, f64),
    /// Exponential: mean.
    Exponential(f64),
    /// Generalised Pareto: location, scale, shape.
    Pareto(f64, f64, f64),
    /// Generalised extreme value: location, scale, shape.
    Gev(f64, f64, f64),
    /// Value sizes of Facebook's ETC pool: a table below 15 bytes, a Pareto tail from there.
    EtcValue,
    /// Discrete values with their cumulative probability, ascending, ending at 1.
    Table(Vec<(f64, f64)>),
}

/// Gaps between requests of the ETC pool, in microseconds.
pub const ETC_GAP_US: Law = Law::Pareto(0.0, 16.0292, 0.154_971);
/// Key sizes of the ETC pool, in bytes.
pub const ETC_KEY: Law = Law::Gev(30.7984, 8.20449, 0.078_688);

/// Probability of each ETC value size from 0 to 14 bytes.
const ETC_SMALL: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
    0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
];
/// The tail of ETC value sizes, as mutilate places it: from 15 bytes up.
const ETC_TAIL: (f64, f64, f64) = (15.0, 214.476, 0.348_238);

/// The integral of √(-2 ln u) · cos(2πu) over u from 0 to 1, which has no closed form.
const MUTILATE_NORMAL_MEAN: f64 = 0.056_367_058;

impl Law {
    /// A table of weighted values. Weights need not add up to 1. `None` if their sum is not
    /// positive and finite.
    pub fn table(weighted: &[(f64, f64)]) -> Option<Self> {
        let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
        let usable = weighted.iter().all(|&(_, weight)| weight >= 0.0);
        if !usable || total.is_nan() || total <= 0.0 || total.is_infinite() {
            return None;
        }
        let mut sorted = weighted.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        for entry in &mut sorted {
            below += entry.1 / total;
            entry.1 = below;
        }
        sorted.last_mut().expect("a positive total needs an entry").1 = 1.0;
        Some(Self::Table(sorted))
    }

    /// The draw that belongs to `u`, which must be in (0, 1).
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Self::Fixed(value) => *value,
            Self::Uniform(low, high) => low + (high - low) * u,
            Self::Normal(mean, deviation) => mean + deviation * normal_quantile(u),
            Self::MutilateNormal(mean, deviation) => {
                mean + deviation * (-2.0 * u.ln()).sqrt() * (2.0 * PI * u).cos()
            }
            Self::Exponential(mean) => -mean * (-u).ln_1p(),
            Self::Pareto(location, scale, shape) => pareto_quantile(u, *location, *scale, *shape),
            Self::Gev(location, scale, shape) => {
                let log = -u.ln();
                if shape.abs() < 1e-12 {
                    location - scale * log.ln()
                } else {
                    location + scale * (log.powf(-shape) - 1.0) / shape
                }
            }
            Self::EtcValue => etc_value_quantile(u),
            Self::Table(entries) => {
                let at = entries.partition_point(|&(_, below)| below < u);
                entries[at.min(entries.len() - 1)].0
            }
        }
    }

    /// The mean; `None` if it is infinite or has no closed form here.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Fixed(value) => Some(*value),
            Self::Uniform(low, high) => Some((low + high) / 2.0),
            Self::Normal(mean, _) | Self::Exponential(mean) => Some(*mean),
            Self::MutilateNormal(mean, deviation) => Some(mean + MUTILATE_NORMAL_MEAN * deviation),
            Self::Pareto(location, scale, shape) if *shape < 1.0 => {
                Some(location + scale / (1.0 - shape))
            }
            Self::EtcValue => {
                let small: f64 =
                    ETC_SMALL.iter().enumerate().map(|(size, p)| size as f64 * p).sum();
                let (location, scale, shape) = ETC_TAIL;
                let tail = 1.0 - ETC_SMALL.iter().sum::<f64>();
                Some(small + tail * (location + scale / (1.0 - shape)))
            }
            Self::Table(entries) => {
                let mut before = 0.0;
                Some(entries.iter().fold(0.0, |sum, &(value, below)| {
                    let p = below - before;
                    before = below;
                    sum + value * p
                }))
            }
            Self::Pareto(..) | Self::Gev(..) => None,
        }
    }
}

fn pareto_quantile(u: f64, location: f64, scale: f64, shape: f64) -> f64 {
    if shape.abs() < 1e-12 {
        location - scale * (-u).ln_1p()
    } else {
        location + scale * ((1.0 - u).powf(-shape) - 1.0) / shape
    }
}

fn etc_value_quantile(u: f64) -> f64 {
    let mut below = 0.0;
    for (size, p) in ETC_SMALL.iter().enumerate() {
        below += p;
        if u <= below {
            return size as f64;
        }
    }
    let (location, scale, shape) = ETC_TAIL;
    pareto_quantile((u - below) / (1.0 - below), location, scale, shape)
}

/// Inverse of the standard normal distribution function: Acklam's rational approximation,
/// relative error below 1.2e-9.
fn normal_quantile(u: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    const TAIL: f64 = 0.024_25;
    let tail = |q: f64| polynomial(&C, q) / (polynomial(&D, q) * q + 1.0);
    if u < TAIL {
        tail((-2.0 * u.ln()).sqrt())
    } else if u > 1.0 - TAIL {
        -tail((-2.0 * (-u).ln_1p()).sqrt())
    } else {
        let q = u - 0.5;
        let r = q * q;
        q * polynomial(&A, r) / (polynomial(&B, r) * r + 1.0)
    }
}

/// A polynomial with these coefficients, highest power first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests;
