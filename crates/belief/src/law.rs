//! Quantiles of the beta and of Student's distribution, with as many operations as a run has.

/// The normal distribution's quantile of 97.5 %.
pub(crate) const NORMAL_975: f64 = 1.959_963_984_540_054;
/// The normal distribution's 99 % quantile.
pub(crate) const NORMAL_99: f64 = 2.326_347_874_040_841;

/// The normal distribution's 99.5 % quantile.
pub(crate) const NORMAL_995: f64 = 2.575_829_303_548_901;
/// The normal distribution's 99.75 % quantile.
pub(crate) const NORMAL_9975: f64 = 2.807_033_768_343_811;
/// The normal distribution's 99.875 % quantile.
pub(crate) const NORMAL_99875: f64 = 3.023_341_439_739_286;

/// The bound beyond which, on both sides together, Student's distribution with `freedom` degrees of
/// freedom, at least 1, has the part `beyond`.
pub(crate) fn student(beyond: f64, freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    // ν ÷ (ν + t²) has a beta distribution.
    let rest = beta_quantile(beyond, freedom / 2.0, 0.5);
    (freedom * (1.0 - rest) / rest).sqrt()
}

/// Quantile `p` of the beta distribution with parameters `a` and `b`: the distribution inverted by
/// Newton's method, between bounds that every step narrows.
pub(crate) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    let mut x = a / (a + b);
    for _ in 0..STEPS_MAX {
        let error = beta_part(x, a, b) - p;
        *if error < 0.0 { &mut low } else { &mut high } = x;
        let newton = x - error / beta_density(x, a, b);
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        if (next - x).abs() <= x * PRECISION {
            return next;
        }
        x = next;
    }
    x
}

/// Halving alone needs no more steps than this.
const STEPS_MAX: usize = 200;
/// Relative precision of a quantile.
const PRECISION: f64 = 1e-12;

/// Density of the beta distribution.
fn beta_density(x: f64, a: f64, b: f64) -> f64 {
    (log_front(x, a, b) - x.ln() - (-x).ln_1p()).exp()
}

/// Logarithm of xᵃ (1 − x)ᵇ ÷ B(a, b).
fn log_front(x: f64, a: f64, b: f64) -> f64 {
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    a * x.ln() + b * (-x).ln_1p() - log_beta
}

/// The beta distribution at `x`: the regularised incomplete beta function, by its continued
/// fraction on the side where that converges. Source: DiDonato and Morris, ACM TOMS 18 (1992);
/// evaluated as Lentz does.
fn beta_part(x: f64, a: f64, b: f64) -> f64 {
    match x {
        x if x <= 0.0 => 0.0,
        x if x >= 1.0 => 1.0,
        x if x < (a + 1.0) / (a + b + 2.0) => {
            log_front(x, a, b).exp() / (a * continued_fraction(x, a, b))
        }
        x => 1.0 - log_front(x, a, b).exp() / (b * continued_fraction(1.0 - x, b, a)),
    }
}

fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    let (mut value, mut numerator, mut denominator) = (1.0, 1.0, 0.0);
    for n in 1..TERMS_MAX {
        let of = coefficient(n, x, a, b);
        denominator = 1.0 / apart_from_0(1.0 + of * denominator);
        numerator = apart_from_0(1.0 + of / numerator);
        let step = numerator * denominator;
        value *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The coefficient of term `n` of the continued fraction.
fn coefficient(n: usize, x: f64, a: f64, b: f64) -> f64 {
    let m = (n / 2) as f64;
    match n % 2 {
        0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
        _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
    }
}

/// A fraction of 10¹⁰ operations needs about the root of this number of terms.
const TERMS_MAX: usize = 1_000_000;

fn apart_from_0(value: f64) -> f64 {
    if value.abs() < 1e-300 { 1e-300 } else { value }
}

#[cfg(test)]
mod tests;
