//! Names of percentiles.

use super::*;

#[test]
fn percentiles_are_named_as_people_write_them() {
    let cases = [(0.0, "p0"), (0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];
    for (share, word) in cases {
        assert_eq!(percentile_word(share), word);
    }
    assert_eq!(percentile_word(0.9999), "p99.99");
}
