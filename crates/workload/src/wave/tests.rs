//! The curve against its own integral and inverse, also at its corners, and the words for waves.

use super::*;
use crate::tests::{assert_refused, assert_words, words};
use memtide_base::Random;

fn curve(word: &str) -> RateCurve {
    let wave = word.parse().unwrap_or_else(|error| panic!("{error}"));
    RateCurve::new(&wave, 1234.5, Span::from_s(3), Span::from_s(20), 9)
}

fn invert(curve: &RateCurve, target: f64) -> Span {
    curve.invert(target, &mut Cursor::default())
}

#[test]
fn the_sum_is_the_integral_of_the_rate() {
    for word in words("wave") {
        let curve = curve(&word);
        let (mut sum, mut at_ms) = (0.0, 0);
        while at_ms < 40_000 {
            // The middle of each millisecond; steps and levels change between milliseconds.
            sum += curve.rate(Span::from_us(at_ms * 1000 + 500)) / 1e3;
            at_ms += 1;
            if at_ms % 777 == 0 {
                let told = curve.cumulative(Span::from_ms(at_ms));
                assert!((told - sum).abs() < 1e-6 * sum + 1e-3, "{word} {at_ms}: {told} {sum}");
            }
        }
    }
}

#[test]
fn before_its_window_a_wave_stands_at_its_first_rate() {
    for (word, rate) in
        [("constant", 1234.5), ("ramp:10,500", 10.0), ("step:7,9@1s", 7.0), ("sine:50,20,9s", 50.0)]
    {
        let curve = curve(word);
        for ms in [0, 1, 1500, 2999] {
            assert_eq!(curve.rate(Span::from_ms(ms)), rate, "{word}");
        }
        assert_eq!(curve.cumulative(Span::from_s(2)), 2.0 * rate);
        assert_eq!(invert(&curve, rate), Span::from_s(1));
    }
    let random = curve("random:10,20@1s");
    assert_eq!(random.rate(Span::ZERO), random.rate(Span::from_ms(3999)));
    assert_ne!(random.rate(Span::ZERO), random.rate(Span::from_ms(4001)));
}

#[test]
fn the_inverse_undoes_the_sum_to_the_nanosecond() {
    let seed = 31;
    let mut random = Random::new(seed);
    for word in words("wave") {
        let curve = curve(&word);
        for _ in 0..5000 {
            let at = Span::from_ns(random.below(200_000_000_000));
            let rate = curve.rate(at);
            if rate < 1.0 {
                continue; // Where nothing is expected, no instant stands out.
            }
            let back = invert(&curve, curve.cumulative(at));
            let off_ns = back.ns().abs_diff(at.ns());
            // Half a nanosecond of rounding, and the error of the sum at low rates.
            let digits_ns = 1e9 * 1e-9 / rate;
            assert!(
                off_ns as f64 <= 1.0 + digits_ns,
                "seed {seed}, {word}: {at:?} became {back:?}"
            );
        }
    }
}

#[test]
fn the_inverse_never_goes_back_nor_hangs() {
    for word in words("wave") {
        let curve = curve(&word);
        let mut cursor = Cursor::default();
        let mut last = Span::ZERO;
        for k in 0..300_000 {
            let at = curve.invert(f64::from(k) * 0.37, &mut cursor);
            assert!(at >= last, "{word}: position {k} goes back from {last:?} to {at:?}");
            assert!(at == Span::MAX || curve.rate(at) >= 0.0);
            last = at;
        }
    }
}

#[test]
fn a_trough_of_rate_zero_is_passed() {
    // Amplitude and mean are equal: the rate touches 0 at three quarters of each wave.
    let wave = "sine:100,100,1s".parse().unwrap();
    let curve = RateCurve::new(&wave, 0.0, Span::ZERO, Span::ZERO, 1);
    let trough = curve.cumulative(Span::from_ms(750));
    for off in [-1e-3, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-3] {
        let at = invert(&curve, trough + off);
        assert!((curve.cumulative(at) - trough - off).abs() < 1e-7, "{off}: {at:?}");
    }
}

#[test]
fn stretches_without_rate_are_skipped() {
    let curve = |word: &str| {
        let wave = word.parse().unwrap();
        RateCurve::new(&wave, 0.0, Span::ZERO, Span::from_s(10), 1)
    };
    let first_off = curve("step:0,100@1s");
    assert_eq!(invert(&first_off, 0.0), Span::from_s(1));
    assert_eq!(invert(&first_off, 50.0), Span::from_ms(1500));
    assert_eq!(invert(&first_off, 100.0), Span::from_s(3));
    let then_off = curve("step:100,0,0@1s");
    assert_eq!(invert(&then_off, 99.0), Span::from_ms(990));
    assert_eq!(invert(&then_off, 100.0), Span::from_s(3));
    assert_eq!(invert(&then_off, 1e9), Span::from_s(30_000_000));
}

#[test]
fn a_rate_that_stays_zero_means_never() {
    let curve = |word: &str, rate| {
        RateCurve::new(&word.parse().unwrap(), rate, Span::ZERO, Span::from_s(10), 1)
    };
    let fading = curve("ramp:100,0", 0.0);
    assert!(invert(&fading, 499.999) < Span::from_s(10));
    assert_eq!(invert(&fading, 500.0), Span::MAX);
    assert_eq!(invert(&fading, 1e18), Span::MAX);
    for target in [0.0, 1.0, f64::INFINITY] {
        assert_eq!(invert(&curve("constant", 0.0), target), Span::MAX);
    }
    assert_eq!(curve("constant", 0.0).cumulative(Span::from_s(5)), 0.0);
}

#[test]
fn ramps_hit_their_closed_form() {
    let curve = |word: &str, window| {
        RateCurve::new(&word.parse().unwrap(), 0.0, Span::ZERO, Span::from_s(window), 1)
    };
    // From 0 to 100 in 10 s: 5 t² operations in t seconds.
    let up = curve("ramp:0,100", 10);
    assert_eq!(invert(&up, 0.0), Span::ZERO);
    assert_eq!(invert(&up, 125.0), Span::from_s(5));
    assert_eq!(invert(&up, 600.0), Span::from_s(11));
    assert_eq!(up.rate(Span::from_s(60)), 100.0);
    let flat = curve("ramp:50,50", 10);
    assert_eq!(invert(&flat, 125.0), Span::from_ms(2500));
    // Without a window the ramp ends at once.
    let jump = curve("ramp:50,200", 0);
    assert_eq!(invert(&jump, 100.0), Span::from_ms(500));
}

#[test]
fn a_cursor_changes_no_answer() {
    let curve = curve("random:0,20k@10ms");
    let mut cursor = Cursor::default();
    for target in [5e4, 2e5, 1e3, 1e6, 0.0, 1e6, 9.9e5] {
        assert_eq!(curve.invert(target, &mut cursor), invert(&curve, target));
    }
}

#[test]
fn random_levels_lie_between_their_bounds() {
    let curve = curve("random:5k,20k@1s");
    let rates: Vec<f64> = (0..1000).map(|s| curve.rate(Span::from_s(3 + s))).collect();
    assert!(rates.iter().all(|rate| (5e3..=2e4).contains(rate)));
    let mean = rates.iter().sum::<f64>() / 1000.0;
    // Four standard errors of the mean of a uniform law.
    assert!((mean - 12_500.0).abs() < 4.0 * 15_000.0 / 12_000f64.sqrt(), "{mean}");
}

#[test]
fn words_are_read_and_written() {
    assert_words::<Wave>("wave", 5);
    assert_eq!("sine:10k,5k,1.5s".parse::<Wave>().unwrap().to_string(), "sine:10000,5000,1500ms");
    let step = Wave::Step { rates: vec![1e3, 5e3], every: Span::from_ns(10_000_001) };
    assert_eq!(step.to_string().parse(), Ok(step));
}

#[test]
fn refusals_name_the_fault_and_every_form() {
    let unknown = assert_refused::<Wave>("not a wave", "sinus:1k,1k,1s");
    assert!(GRAMMAR.names.iter().all(|name| unknown.contains(name)), "{unknown}");
    let long = vec!["1"; 100_001].join(",");
    let error = format!("step:{long}@1s").parse::<Wave>().unwrap_err().to_string();
    assert!(error.contains("at most 100000 rates"), "{error}");
}

#[test]
fn thousands_of_steps_are_kept_one_by_one() {
    let rates: Vec<String> = (0..20_000u64).map(|k| (k * 7_919 % 1_000 + 1).to_string()).collect();
    let word = format!("step:{}@100ms", rates.join(","));
    let wave: Wave = word.parse().unwrap();
    assert_eq!(wave.to_string(), word);
    let curve = RateCurve::new(&wave, 0.0, Span::ZERO, Span::ZERO, 1);
    let mut cursor = Cursor::default();
    for (k, rate) in rates.iter().enumerate() {
        let rate: f64 = rate.parse().unwrap();
        let middle = Span::from_ms(k as u64 * 100 + 50);
        assert_eq!(curve.rate(middle), rate);
        let back = curve.invert(curve.cumulative(middle), &mut cursor);
        assert!(back.ns().abs_diff(middle.ns()) < 1_000, "step {k}: {back} for {middle}");
    }
}
