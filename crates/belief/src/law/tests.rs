//! Quantiles against printed tables and closed forms.

use super::*;

#[test]
fn students_quantiles_are_those_of_printed_tables() {
    let table = [(1.0, 12.7062), (2.0, 4.30265), (5.0, 2.57058), (10.0, 2.22814), (120.0, 1.97993)];
    for (freedom, t) in table {
        let found = student(0.05, freedom);
        assert!((found / t - 1.0).abs() < 3e-6, "{freedom}: {found}, not {t}");
    }
    assert!((student(0.05, 1e9) - NORMAL_975).abs() < 1e-6);
}

#[test]
fn beta_quantiles_of_one_operation_are_powers() {
    // The distribution is xᵃ if b is 1, and 1 − (1 − x)ᵇ if a is 1.
    for n in [1.0f64, 2.5, 40.0, 1e6] {
        assert!((beta_quantile(0.3, n, 1.0) / 0.3f64.powf(1.0 / n) - 1.0).abs() < 1e-9);
        let low = -(0.7f64.ln() / n).exp_m1();
        assert!((beta_quantile(0.3, 1.0, n) / low - 1.0).abs() < 1e-9, "{n}");
    }
}

#[test]
fn the_beta_quantile_inverts_the_distribution() {
    for (a, b) in [(1.0, 1.0), (2.5, 700.0), (0.4, 9e3), (1e3, 1e5), (5e7, 5e7), (41.0, 4e6)] {
        for p in [0.025, 0.3, 0.975] {
            let x = beta_quantile(p, a, b);
            let back = beta_part(x, a, b);
            assert!((back - p).abs() < 1e-8, "B({a}, {b}) at {p}: {x} gives {back}");
        }
    }
}
