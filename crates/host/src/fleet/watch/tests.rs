//! The instants at which a watched server is asked.

use super::*;

#[test]
fn a_server_is_asked_before_each_second_ends_and_never_twice_for_one() {
    let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
    assert_eq!(due(at(5_000), None, at(1_000)), at(4_950));
    // The load begins sooner than that.
    assert_eq!(due(at(5_000), None, at(4_970)), at(4_970));
    assert_eq!(due(at(5_000), Some(at(4_970)), at(4_971)), at(5_950));
    assert_eq!(due(at(5_000), Some(at(5_950)), at(5_951)), at(6_950));
    // An answer that came late replaces those that were due meanwhile.
    assert_eq!(due(at(5_000), Some(at(5_955)), at(8_200)), at(6_950));
}
