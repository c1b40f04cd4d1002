//! The operations of a workload and their outcomes.

use super::*;

#[test]
fn names_positions_and_kinds_agree() {
    for (index, kind) in OpKind::ALL.into_iter().enumerate() {
        assert_eq!(kind.index(), index);
        assert_eq!(OpKind::from_name(kind.name()), Some(kind));
        assert_eq!(kind.name(), format!("{kind:?}").to_lowercase());
    }
    assert_eq!(OpKind::from_name("GET"), None);
    assert_eq!(OpKind::from_name(""), None);
}
