//! The grade that follows from the width of a range.

use super::*;

#[test]
fn the_width_of_the_range_decides_the_grade() {
    let graded = |low, high| Grade::of(half_width(low, high)).to_string();
    assert_eq!(graded(100.0, 100.0), "yes");
    assert_eq!(graded(100.0, 105.0), "yes");
    assert_eq!(graded(100.0, 106.0), "within ± 3 %");
    assert_eq!(graded(100.0, 140.0), "within ± 19 %");
    assert_eq!(graded(100.0, 168.0), "within ± 30 %");
    assert_eq!(graded(100.0, 170.0), "no");
    assert_eq!(graded(0.0, 1.0), "no", "nothing is known from below");
    assert_eq!(graded(0.0, 0.0), "yes", "all times are 0");
    assert_eq!(Grade::at_most_within(0.01).to_string(), "within ± 1 %");
    assert_eq!(Grade::at_most_within(0.4), Grade::No);
}
