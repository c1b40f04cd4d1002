//! The sentence on verified values.

use super::*;

#[test]
fn wrong_values_are_named_by_what_is_wrong_with_them() {
    let mut found = VerificationCounts { checked: 12_000, ok: 12_000, ..Default::default() };
    assert_eq!(sentence(&found), "12 000 values, all correct");
    found = VerificationCounts { ok: 11_996, corrupt: 3, stale: 1, ..found };
    assert_eq!(sentence(&found), "12 000 values, wrong: 3 corrupt, 1 stale");
    found = VerificationCounts { ok: 12_000, verify_misses: 7, ..Default::default() };
    found.checked = 12_000;
    assert_eq!(sentence(&found), "12 000 values, all correct; 7 more were not returned");
}
