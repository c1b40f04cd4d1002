//! Rows are merged before there are too many, and lose nothing.

use super::*;

#[test]
fn memory_is_bounded_and_nothing_is_lost() {
    let mut series = Series::<Row>::new(Span::from_s(1), ROWS_MAX);
    for number in 0..10_000u64 {
        let row = series.row_mut(number);
        row.intended += 1;
        *row.response.entry(number % 7).or_default() += 1;
        let mut time = Histogram::<u32>::new();
        time.record(number);
        row.gets.get_or_insert_default().service.absorb_times(&time);
    }
    assert!(series.rows().len() <= ROWS_MAX);
    assert_eq!(series.width(), Span::from_s(16));
    assert_eq!(series.rows().iter().map(|row| row.intended).sum::<u64>(), 10_000);
    let gets = series.rows()[10].gets.as_ref().unwrap().service.histogram();
    assert_eq!((gets.count(), gets.moments().min, gets.moments().max), (16, 160, 175));
    assert_eq!(gets.moments().mean(), Some(167.5));
    assert!(gets.value_at_rank(8).unwrap().abs_diff(167) <= 1);
    let (width, slices) = series.slices();
    assert!(slices.len() <= SLICES_MAX);
    assert_eq!(width, Span::from_s(160));
    assert_eq!(slices.iter().flat_map(|row| row.response.values()).sum::<u64>(), 10_000);
}
