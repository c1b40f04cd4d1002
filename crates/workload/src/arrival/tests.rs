//! Every law against its closed form, and the words for them.

use super::*;
use crate::tests::{assert_refused, assert_words, critical_distance, distance, exponential};
use memtide_base::rng::{Stream, hash, unit};

const N: usize = 50_000;

fn gaps(arrival: &Arrival) -> Vec<f64> {
    (0..N as u64).map(|i| arrival.unit_gap(unit(hash(5, Stream::GAP, i)))).collect()
}

/// The distribution function of a Pareto law that was scaled to mean 1.
fn pareto(location: f64, scale: f64, shape: f64) -> impl Fn(f64) -> f64 {
    let mean = location + scale / (1.0 - shape);
    move |x| {
        let z = (x * mean - location) / scale;
        1.0 - (1.0 + shape * z).max(0.0).powf(-1.0 / shape)
    }
}

#[test]
fn gaps_follow_their_closed_forms() {
    let critical = critical_distance(N);
    assert!(distance(gaps(&Arrival::Poisson), exponential) < critical);
    assert!(distance(gaps(&Arrival::Uniform), |x| x / 2.0) < critical);
    let upper = gaps(&Arrival::UniformFrom(0.75));
    assert!(distance(upper, |x| ((x - 0.75) * 2.0).clamp(0.0, 1.0)) < critical);
    for (location, scale, shape) in [(0.0, 16.0, 0.15), (3.0, 2.0, 0.4), (1.0, 5.0, -0.5)] {
        let sample = gaps(&Arrival::Pareto(location, scale, shape));
        assert!(distance(sample, pareto(location, scale, shape)) < critical);
    }
    assert!(distance(gaps(&Arrival::Etc), pareto(0.0, 16.0292, 0.154_971)) < critical);
    assert!(gaps(&Arrival::Fixed).iter().all(|&gap| gap == 1.0));
}

#[test]
fn gaps_have_mean_one_and_the_variance_that_is_told() {
    let laws = [
        Arrival::Poisson,
        Arrival::Uniform,
        Arrival::UniformFrom(0.6),
        Arrival::Normal(NormalGaps::new(0.1)),
        Arrival::Normal(NormalGaps::new(1.0)),
        Arrival::Normal(NormalGaps::new(5.0)),
        Arrival::Pareto(4.0, 3.0, 0.1),
        Arrival::Pareto(0.0, 1.0, 0.0),
        Arrival::Etc,
    ];
    for law in laws {
        let sample = gaps(&law);
        let mean = sample.iter().sum::<f64>() / N as f64;
        let told = law.squared_variation();
        assert!((mean - 1.0).abs() < 4.0 * (told / N as f64).sqrt(), "{law}: mean {mean}");
        let variance = sample.iter().map(|gap| (gap - 1.0).powi(2)).sum::<f64>() / N as f64;
        assert!((variance / told - 1.0).abs() < 0.06, "{law}: variance {variance}, told {told}");
    }
    assert!((Arrival::Etc.squared_variation() - 1.4492).abs() < 1e-4);
    assert_eq!(Arrival::Fixed.squared_variation(), 0.0);
    assert_eq!(gaps(&Arrival::Normal(NormalGaps::new(0.0)))[..9], [1.0; 9]);
    assert_eq!(Arrival::UniformFrom(1.0).squared_variation(), 0.0);
    // So narrow a law has nothing below 0.
    let narrow = NormalGaps::new(0.125);
    assert!((narrow.mean - 1.0).abs() < 1e-10, "{narrow:?}");
    assert!((narrow.squared_variation - 1.0 / 64.0).abs() < 1e-10, "{narrow:?}");
    assert_eq!(Arrival::Pareto(0.0, 1.0, 0.5).squared_variation(), f64::INFINITY);
}

#[test]
fn gaps_are_never_negative_nor_infinite() {
    let laws = [Arrival::Poisson, Arrival::Uniform, Arrival::Pareto(0.0, 1e-12, -10.0)];
    for law in laws.into_iter().chain([Arrival::Etc, Arrival::Pareto(0.0, 1.0, 0.99)]) {
        for bits in [0, 1, u64::MAX / 2, u64::MAX] {
            let gap = law.unit_gap(unit(bits));
            assert!(gap >= 0.0 && gap.is_finite(), "{law}: {gap}");
        }
    }
}

#[test]
fn words_are_read_and_written() {
    assert_words::<Arrival>("arrival", 1);
    assert_eq!("pareto:0,16,0.15".parse(), Ok(Arrival::Pareto(0.0, 16.0, 0.15)));
}

#[test]
fn refusals_name_the_fault_and_every_form() {
    assert_refused::<Arrival>("not an arrival", "poison");
}
