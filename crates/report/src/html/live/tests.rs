//! The page of a run under way, from hand-made seconds.

use super::*;
use crate::live::tests::second;
use memtide_record::Event;

#[test]
fn the_part_of_a_page_has_charts_figures_and_the_suspicion() {
    let mut live = Live::new(&["all.p99<1ms".parse().unwrap()]);
    assert!(!live_part(&live).contains("<svg"));
    for number in 0..5 {
        let ns = if number == 4 { 40_000_000 } else { 300_000 };
        live.on(&Event::Interval(Box::new(second(number, 1_000, ns, 6_000))));
    }
    let part = live_part(&live);
    assert!(part.contains("data-suspect=\"server\""), "{part}");
    assert!(part.contains("missed so far") && part.contains("<td>5 000</td>"), "{part}");
    assert!(part.matches("<svg").count() >= 4);
    assert!(part.len() < 100_000, "{}", part.len());
}

#[test]
fn five_minutes_are_a_bounded_page_that_loads_nothing() {
    let mut live = Live::new(&[]);
    for number in 0..300 {
        let ns = 200_000 + 10_000 * (number * 7 % 50);
        live.on(&Event::Interval(Box::new(second(number, 1_000, ns, 6_000))));
    }
    let (page, part) = (live_page(&live), live_part(&live));
    assert!(part.len() < 200_000, "{}", part.len());
    for text in [&page, &part] {
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("src="));
    }
}
