//! What a load's own shape explains: times that follow the rate of a wave are no accident.
//!
//! A cubic of the intended rate is fitted to the residuals of slices; what is left of them is their
//! scatter. It explains steps between up to four rates, and slow changes almost wholly. What it
//! does not explain counts as scatter, which makes intervals wider, never narrower.

/// Powers of the rate that are fitted; the constant is 0, because residuals have the sum 0.
const POWERS: std::ops::RangeInclusive<i32> = 1..=3;
/// A power that adds less than this part of its square to the ones before it is none.
const NEW_MIN: f64 = 1e-6;

/// Residuals of slices, and the number of powers of the rate that were fitted to them.
pub(crate) struct Unexplained {
    pub(crate) residuals: Vec<f64>,
    pub(crate) fitted: usize,
}

impl Unexplained {
    /// What is left of `residuals`, one per slice in proportion to its operations (`counts`), after
    /// a fit to the rate that was intended in each slice; all of it without `rates`.
    pub(crate) fn of(residuals: Vec<f64>, counts: &[f64], rates: &[f64]) -> Self {
        if rates.len() != residuals.len() {
            return Self { residuals, fitted: 0 };
        }
        // Divided by the root of its count, each slice scatters alike.
        let roots: Vec<f64> = counts.iter().map(|count| count.sqrt()).collect();
        let scaled = residuals.iter().zip(&roots);
        let mut left: Vec<f64> =
            scaled.map(|(it, root)| if *root > 0.0 { it / root } else { 0.0 }).collect();
        let highest = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut directions = vec![unit(roots.clone())];
        let mut fitted = 0;
        for power in POWERS {
            let of_slice = rates.iter().zip(&roots);
            let column: Vec<f64> =
                of_slice.map(|(rate, root)| root * (rate / highest).powi(power)).collect();
            let whole = product(&column, &column);
            let column = directions.iter().fold(column, |column, it| without(column, it));
            if product(&column, &column) <= NEW_MIN * whole {
                continue;
            }
            let direction = unit(column);
            left = without(left, &direction);
            directions.push(direction);
            fitted += 1;
        }
        let residuals = left.iter().zip(&roots).map(|(it, root)| it * root).collect();
        Self { residuals, fitted }
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `values` with the length 1; unchanged if all are 0.
fn unit(values: Vec<f64>) -> Vec<f64> {
    let length = product(&values, &values).sqrt();
    if length <= 0.0 {
        return values;
    }
    values.into_iter().map(|value| value / length).collect()
}

/// `values` without their part along `direction`, which has the length 1.
fn without(values: Vec<f64>, direction: &[f64]) -> Vec<f64> {
    let along = product(&values, direction);
    values.into_iter().zip(direction).map(|(value, it)| value - along * it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fractions of 50 operations, or 100 where the rate is twice as high.
    fn slices(fraction: fn(f64) -> f64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let rates: Vec<f64> = (0..64).map(|at| [500.0, 1_000.0, 1_500.0][at / 8 % 3]).collect();
        let counts: Vec<f64> = rates.iter().map(|rate| rate / 10.0).collect();
        let above: Vec<f64> =
            rates.iter().zip(&counts).map(|(rate, count)| fraction(*rate) * count).collect();
        let mean = above.iter().sum::<f64>() / counts.iter().sum::<f64>();
        let residuals = above.iter().zip(&counts).map(|(above, count)| above - mean * count);
        (residuals.collect(), counts, rates)
    }

    #[test]
    fn what_follows_from_three_rates_is_explained_and_scatter_is_kept() {
        let fraction = |rate: f64| if rate > 1_200.0 { 0.4 } else { 0.01 * rate / 500.0 };
        let (residuals, counts, rates) = slices(fraction);
        let size = |of: &[f64]| product(of, of);
        let of = Unexplained::of(residuals.clone(), &counts, &rates);
        assert_eq!(of.fitted, 2);
        assert!(size(&of.residuals) < 1e-12 * size(&residuals), "{:?}", of.residuals);
        let scatter = |at: usize| if at.is_multiple_of(2) { 1.0 } else { -1.0 };
        let noisy: Vec<f64> =
            residuals.iter().enumerate().map(|(at, it)| it + scatter(at)).collect();
        let of = Unexplained::of(noisy, &counts, &rates);
        assert!((size(&of.residuals) - 64.0).abs() < 1.0, "{}", size(&of.residuals));
        assert!(of.residuals.iter().sum::<f64>().abs() < 1e-9);
    }

    #[test]
    fn one_rate_explains_nothing() {
        let residuals = vec![1.0, -1.0, 2.0, -2.0];
        for rates in [&[][..], &[500.0; 4]] {
            let of = Unexplained::of(residuals.clone(), &[10.0; 4], rates);
            assert_eq!(of.fitted, 0);
            assert!(of.residuals.iter().zip(&residuals).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
