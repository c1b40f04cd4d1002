//! Dates of the Gregorian calendar.

use super::*;

#[test]
fn both_directions_agree_over_four_centuries() {
    let mut unix_s = 0;
    while unix_s < 400 * 366 * 86_400 {
        let text = utc(unix_s);
        let part = |from: usize, to: usize| text[from..to].parse::<i64>().unwrap();
        let days = days_since_1970(part(0, 4), part(5, 7), part(8, 10));
        assert_eq!(days as u64, unix_s / 86_400, "{text}");
        unix_s += 86_400 * 13 + 1;
    }
    assert_eq!(utc(951_782_399), "2000-02-28 23:59:59 UTC");
}
