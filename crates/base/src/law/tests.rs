//! Quantiles and moments against closed forms and published figures.

use super::*;
use crate::rng::{Stream, hash, unit};

fn sample(law: &Law, n: u64) -> Vec<f64> {
    let mut draws: Vec<f64> =
        (0..n).map(|i| law.quantile(unit(hash(11, Stream::VALUE_SIZE, i)))).collect();
    draws.sort_by(f64::total_cmp);
    draws
}

/// Kolmogorov's distance of a sample from the uniform law, for laws with a closed-form CDF.
fn distance(law: &Law, cdf: impl Fn(f64) -> f64, n: u64) -> f64 {
    sample(law, n)
        .iter()
        .enumerate()
        .map(|(i, &x)| (cdf(x) - (i as f64 + 0.5) / n as f64).abs())
        .fold(0.0, f64::max)
}

#[test]
fn samples_follow_their_closed_forms() {
    let n = 20_000;
    let bound = 1.63 / (n as f64).sqrt(); // Kolmogorov, 1 %
    assert!(distance(&Law::Uniform(2.0, 6.0), |x| (x - 2.0) / 4.0, n) < bound);
    assert!(distance(&Law::Exponential(3.0), |x| 1.0 - (-x / 3.0).exp(), n) < bound);
    let pareto = Law::Pareto(1.0, 2.0, 0.25);
    assert!(distance(&pareto, |x| 1.0 - (1.0 + 0.25 * (x - 1.0) / 2.0).powf(-4.0), n) < bound);
    let gev = Law::Gev(30.0, 8.0, 0.1);
    let gev_cdf = |x: f64| (-(1.0 + 0.1 * (x - 30.0) / 8.0).powf(-10.0)).exp();
    assert!(distance(&gev, gev_cdf, n) < bound);
}

#[test]
fn the_normal_law_has_its_known_quantiles() {
    let law = Law::Normal(0.0, 1.0);
    for (u, x) in [(0.5, 0.0), (0.975, 1.959_964), (0.001, -3.090_232), (0.999_9, 3.719_016)] {
        assert!((law.quantile(u) - x).abs() < 1e-5, "{u}");
    }
}

#[test]
fn etc_has_the_published_figures() {
    let close = |got: f64, want: f64, tolerance: f64| {
        assert!((got / want - 1.0).abs() < tolerance, "{got} is not {want}");
    };
    close(ETC_KEY.quantile(0.5), 33.85, 0.001);
    close(ETC_KEY.quantile(0.99), 76.28, 0.001);
    close(ETC_GAP_US.mean().unwrap(), 18.969, 0.001);
    close(Law::EtcValue.mean().unwrap(), 194.445, 0.001);
    close(Law::EtcValue.quantile(0.75), 213.9, 0.002);
    close(Law::EtcValue.quantile(0.99), 1898.7, 0.002);
    close(Law::EtcValue.quantile(0.999), 4972.0, 0.002);
}

#[test]
fn tables_draw_by_weight() {
    let law = Law::table(&[(100.0, 1.0), (10.0, 3.0)]).unwrap();
    assert_eq!(law.quantile(0.74), 10.0);
    assert_eq!(law.quantile(0.76), 100.0);
    assert_eq!(law.mean(), Some(32.5));
    assert_eq!(Law::table(&[]), None);
    assert_eq!(Law::table(&[(1.0, -1.0), (2.0, 2.0)]), None);
}

#[test]
fn mutilates_normal_law_is_the_transform_of_one_number() {
    let law = Law::MutilateNormal(30.0, 5.0);
    // By hand: at a quarter the cosine is 0, at a half it is -1.
    assert!((law.quantile(0.25) - 30.0).abs() < 1e-12);
    let half = 30.0 - 5.0 * (2.0 * 2f64.ln()).sqrt();
    assert!((law.quantile(0.5) - half).abs() < 1e-12);
    const DRAWS: u32 = 1_000_000;
    let draws = (0..DRAWS).map(|i| law.quantile((f64::from(i) + 0.5) / f64::from(DRAWS)));
    let mean = draws.sum::<f64>() / f64::from(DRAWS);
    assert!((mean - law.mean().unwrap()).abs() < 1e-3, "{mean}");
}
