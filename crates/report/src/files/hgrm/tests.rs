//! Rows of percentile tables are the values at their ranks.

use super::*;

fn rows(text: &str) -> Vec<(f64, f64, u64)> {
    let lines = text.lines().skip(2).filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let mut cells = line.split_whitespace();
        let mut next = || cells.next().unwrap().parse::<f64>().unwrap();
        (next(), next(), next() as u64)
    };
    lines.map(row).collect()
}

#[test]
fn each_row_is_the_value_at_its_rank() {
    let mut times = Histogram::new();
    (1..=10_000).for_each(|n| times.record(n * 1_000));
    let text = table(&times, 0);
    let rows = rows(&text);
    assert!(rows.len() > 40 && rows[0].1 == 0.0, "{text}");
    assert!(rows.windows(2).all(|two| two[0].1 < two[1].1 && two[0].0 <= two[1].0), "{text}");
    for (ms, level, count) in &rows[..rows.len() - 1] {
        let exact = times.value_at_rank(rank(*level, 10_000)).unwrap();
        assert!((ms * NS_PER_MS - exact as f64).abs() < 1.0, "{level}: {text}");
        assert!(*count >= rank(*level, 10_000), "{text}");
    }
    assert_eq!(rows.last(), Some(&(10.0, 1.0, 10_000)));
    assert!(text.contains("Total count    =        10000]"), "{text}");
}

#[test]
fn operations_without_an_answer_rank_above_the_table() {
    let mut times = Histogram::new();
    (0..900).for_each(|n| times.record(1_000 + n));
    let text = table(&times, 100);
    let rows = rows(&text);
    assert!(rows.last().unwrap().1 <= 0.9 && rows.last().unwrap().2 <= 900, "{text}");
    assert!(text.contains("#[Unanswered =       100 of 1000, which rank above"), "{text}");
    // Issue 58, point 1: they are not those of the operations that were answered.
    assert!(!text.contains("#[Mean") && !text.contains("#[Max"), "{text}");
    let nothing = table(&Histogram::new(), 0);
    assert!(self::rows(&nothing).is_empty(), "{nothing}");
}
