//! The line about verification: whether the servers returned the stored values.

use crate::counts::counted_parts;
use crate::layout::{TextLayout, labelled};
use crate::number::whole;
use memtide_record::{Record, VerificationCounts};

/// Adds the results of verification over all phases; nothing without verification.
pub(super) fn verification(out: &mut TextLayout, record: &Record) {
    let found = record.phases.verification();
    if found.checked > 0 {
        labelled(out, "verified", &sentence(&found));
    }
    if found.expired_get + found.unexpired_unget > 0 {
        let VerificationCounts { expired_get, unexpired_unget, .. } = found;
        let text = format!(
            "wrong: {} returned after their expiry, {} missing before it",
            whole(expired_get),
            whole(unexpired_unget)
        );
        labelled(out, "expiry", &text);
    }
}

fn sentence(found: &VerificationCounts) -> String {
    let VerificationCounts { corrupt, wrong_key, stale, truncated, .. } = *found;
    let parts = [
        (corrupt, "corrupt"),
        (wrong_key, "of another key"),
        (stale, "stale"),
        (truncated, "truncated"),
    ];
    let wrong = counted_parts(&parts);
    let checked = whole(found.checked);
    let mut text = match wrong.is_empty() {
        true => format!("{checked} values, all correct"),
        false => format!("{checked} values, wrong: {}", wrong.join(", ")),
    };
    if found.verify_misses > 0 {
        text.push_str(&format!("; {} more were not returned", whole(found.verify_misses)));
    }
    text
}

#[cfg(test)]
mod tests {
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
}
