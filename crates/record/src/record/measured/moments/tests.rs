//! No times that operations without an answer may have had give less than the bounds.

use super::*;
use memtide_base::Span;
use memtide_base::rng::Random;
use memtide_scenario::Kind;

const MS: u64 = 1_000_000;

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|value| histogram.record(value));
    histogram
}

/// Issue 58, point 1.
#[test]
fn mean_deviation_and_maximum_of_partly_answered_operations_are_only_bounded() {
    let times = histogram((0..900).map(|_| 2 * MS));
    let all = Distribution::of(&times, 0, Span::from_s(5));
    assert_eq!((all.mean_ns, all.max_ns), (Some(2e6), Some(2 * MS)));
    assert_eq!(
        (all.mean_at_least_ns, all.max_at_least_ns, all.answered_max_ns),
        (None, None, None)
    );
    // A hundred waited for their timeout of 5 s at least.
    let some = Distribution::of(&times, 100, Span::from_s(5));
    assert_eq!((some.mean_ns, some.stddev_ns, some.max_ns), (None, None, None));
    assert_eq!(some.mean_at_least_ns, Some((900.0 * 2e6 + 100.0 * 5e9) / 1_000.0));
    assert_eq!(some.max_at_least_ns, Some(5_000 * MS));
    // Two groups of one value each.
    let deviation = some.stddev_at_least_ns.expect("a bound");
    assert!((deviation / (0.3 * (5e9 - 2e6)) - 1.0).abs() < 1e-9, "{deviation}");
    assert_eq!(some.times(), Some(times.clone()));
    // Fifty of them were cut off after 1 ms.
    let cut = Distribution::cut_off(&times, 100, Span::from_s(5), &histogram([MS; 50]));
    assert_eq!(cut.mean_at_least_ns, Some((900.0 * 2e6 + 50.0 * 1e6 + 50.0 * 5e9) / 1_000.0));
    // Of service nothing is known: they rank above the answered ones.
    let service = Distribution::of(&times, 100, Span::ZERO);
    assert_eq!((service.mean_at_least_ns, service.max_at_least_ns), (Some(2e6), Some(2 * MS)));
    let nothing = Distribution::of(&Histogram::new(), 7, Span::ZERO);
    assert_eq!((nothing.mean_at_least_ns, nothing.max_at_least_ns), (None, None));
}

#[test]
fn no_times_that_keep_the_bounds_give_less() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut values = |count: u64, most: u64| -> Vec<u64> {
            (0..count).map(|_| 1 + random.below(most)).collect()
        };
        let (answered, bounds) = (values(1 + seed % 9, 200), values(seed % 7, 250));
        let longer = values(bounds.len() as u64 + seed % 5, 300);
        let at_least = [0, 120][seed as usize % 2];
        let unanswered = longer.len() as u64;
        let (times, cut) = (histogram(answered.clone()), histogram(bounds.clone()));
        let of = Distribution::cut_off(&times, unanswered, Span::from_ns(at_least), &cut);
        if unanswered == 0 {
            continue;
        }
        // The answered ones and some that were longer than their bounds, or than all answered ones.
        let longest = *answered.iter().max().expect("there is one");
        let other = if at_least == 0 { longest } else { at_least };
        let least = bounds.iter().copied().chain(std::iter::repeat(other));
        let real = least.zip(&longer).map(|(least, more)| least + more % 17 * (more % 2));
        let real: Vec<f64> = answered.iter().copied().chain(real).map(|ns| ns as f64).collect();
        let mean = real.iter().sum::<f64>() / real.len() as f64;
        let square = real.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / real.len() as f64;
        let most = real.iter().copied().fold(0.0, f64::max);
        let holds = |least: Option<f64>, real: f64| least.is_none_or(|it| it <= real * 1.000_001);
        assert!(holds(of.mean_at_least_ns, mean), "seed {seed}: {mean} {of:?}");
        assert!(holds(of.stddev_at_least_ns, square.sqrt()), "seed {seed}: {square} {of:?}");
        assert!(holds(of.max_at_least_ns.map(|ns| ns as f64), most), "seed {seed}: {most} {of:?}");
    }
}

/// Older records have mean, deviation and maximum of the answered operations.
#[test]
fn an_older_record_is_read_as_one_of_today() {
    let times = histogram((0..900).map(|nth| MS + nth));
    let now = Distribution::cut_off(&times, 100, Span::from_s(5), &histogram([3 * MS; 60]));
    let moments = times.moments();
    let older = Distribution {
        mean_ns: moments.mean(),
        mean_ci_low_ns: Some(1e6),
        mean_ci_high_ns: Some(2e6),
        mean_at_least_ns: None,
        stddev_ns: moments.deviation(),
        stddev_at_least_ns: None,
        max_ns: Some(moments.max),
        max_at_least_ns: None,
        answered_max_ns: None,
        ..now.clone()
    };
    let own = Record { response: [(Kind::All, older.clone())].into(), ..Record::default() };
    let record = Record { own: Some(Box::new(own.clone())), ..own };
    let read = Record::from_json(&record.to_json()).expect("a record");
    assert_eq!(read.response[&Kind::All], now);
    assert_eq!(read.judged().response[&Kind::All], now);
    let damaged = Distribution { histogram: None, ..older };
    let record = Record { response: [(Kind::All, damaged)].into(), ..Record::default() };
    let read = Record::from_json(&record.to_json()).expect("a record");
    assert_eq!(
        (read.response[&Kind::All].mean_ns, read.response[&Kind::All].times()),
        (None, None)
    );
}
