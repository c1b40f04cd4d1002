//! Pictures show their figures, and none is too empty or too wide to be drawn.

use super::*;

fn times() -> Histogram<u64> {
    let mut times = Histogram::new();
    for i in 0..20_000u64 {
        let share = (i as f64 + 0.5) / 20_000.0;
        times.record((60_000.0 - 40_000.0 * (1.0 - share).ln()) as u64);
    }
    (0..40).for_each(|i| times.record(2_000_000 + i * 50_000));
    times
}

/// A server whose median is 100 µs and whose times grow without bound towards 10 000/s.
fn curve() -> Curve {
    let point = |rate_per_s: f64| {
        let mean = 1e9 / (10_000.0 - rate_per_s);
        let at = |tail: f64| Some((mean * -tail.ln()) as u64);
        CurvePoint { rate_per_s, p50_ns: at(0.5), p95_ns: at(0.05), p99_ns: at(0.01) }
    };
    Curve {
        unit: RateUnit::default(),
        title: "a scan".to_owned(),
        points: (1..=19).map(|step| point(f64::from(step) * 500.0)).collect(),
        goal: Some(CurveGoal { words: "all.p95<1ms".to_owned(), limit_ns: 1_000_000 }),
    }
}

/// Writes a picture to the folder in `KEEP_PICTURES`, to look at.
fn keep(name: &str, bytes: &[u8]) {
    if let Some(folder) = std::env::var_os("KEEP_PICTURES") {
        std::fs::write(std::path::Path::new(&folder).join(name), bytes).unwrap();
    }
}

fn assert_png(bytes: &[u8]) {
    let decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((frame.width, frame.height), (960, 540));
    assert!(pixels.iter().any(|&value| value < 100), "something dark is on it");
}

#[test]
fn a_histogram_names_its_percentiles() {
    let svg = histogram_svg("read", &times());
    keep("histogram.svg", svg.as_bytes());
    for word in ["read", "time, ms", "operations", "p50 8", "p95 1", "p99 2"] {
        assert!(svg.contains(word), "{word} is missing in {svg}");
    }
    let png = histogram_png("read", &times());
    keep("histogram.png", &png);
    assert_png(&png);
}

#[test]
fn a_curve_names_its_lines_and_its_goal() {
    let svg = curve_svg(&curve());
    keep("curve.svg", svg.as_bytes());
    for word in ["a scan", "operations per second", "p50", "p95", "p99", "all.p95&lt;1ms"] {
        assert!(svg.contains(word), "{word} is missing in {svg}");
    }
    let png = curve_png(&curve());
    keep("curve.png", &png);
    assert_png(&png);
}

#[test]
fn the_same_figures_are_the_same_picture() {
    assert_eq!(histogram_png("read", &times()), histogram_png("read", &times()));
    assert_eq!(curve_svg(&curve()), curve_svg(&curve()));
}

#[test]
fn extremes_can_be_drawn() {
    let mut one = Histogram::new();
    one.record(0);
    let mut wide = one.clone();
    wide.record(3_600_000_000_000);
    for times in [Histogram::new(), one, wide] {
        assert_png(&histogram_png("", &times));
        assert!(histogram_svg("<&>", &times).contains("&lt;&amp;&gt;"));
    }
    let point = |rate_per_s, ns| CurvePoint { rate_per_s, p50_ns: ns, p95_ns: None, p99_ns: ns };
    for points in [
        vec![],
        vec![point(0.0, None)],
        vec![point(1.0, Some(0))],
        vec![point(1e-3, Some(1)), point(1e12, Some(u64::MAX))],
        vec![point(f64::NAN, Some(5)), point(f64::INFINITY, Some(5))],
    ] {
        let curve = Curve { points, unit: RateUnit::Keys, ..Curve::default() };
        assert!(curve_svg(&curve).contains("keys per second"));
        assert_png(&curve_png(&curve));
        assert!(curve_svg(&curve).ends_with("</svg>\n"));
    }
}

#[test]
fn every_range_of_times_has_ticks() {
    let ticks = |least_ns: u64, most_ns: u64| -> Vec<String> {
        let axis = time_axis([least_ns, most_ns].into_iter());
        axis.round_ticks(10).iter().map(time_tick).collect()
    };
    let text = |least_ns, most_ns| ticks(least_ns, most_ns).join(" ");
    assert_eq!(text(60_000, 3_000_000), "0.05 0.1 0.2 0.5 1 2");
    assert_eq!(text(600_000, 600_000), "0.5 0.6 0.7 0.8 0.9");
    assert_eq!(text(1, 3_600_000_000_000), "0.000001 0.0001 0.01 1 100 10000 1000000");
    for exponent in 0..43 {
        for factor in [1, 2, 10, 1000] {
            let least = 1.5f64.powi(exponent) as u64;
            let count = ticks(least, least * factor).len();
            assert!((2..=10).contains(&count), "{count} ticks from {least}, {factor} times");
        }
    }
}

#[test]
fn ticks_are_short() {
    let ticks = [0.0, 0.001, 0.05, 0.2, 1.0, 1.5, 100.0, 1500.0].map(|ms| time_tick(&(ms * 1e6)));
    assert_eq!(ticks, ["0", "0.001", "0.05", "0.2", "1", "1.5", "100", "1500"]);
    let ticks = [0.0, 0.5, 250.0, 9_000.0, 20_000.0, 1.5e6, 2e9].map(|count| count_tick(&count));
    assert_eq!(ticks, ["0", "0.5", "250", "9000", "20k", "1.5M", "2G"]);
}
