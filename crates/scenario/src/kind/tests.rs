//! Kinds and their names.

use super::*;

#[test]
fn every_kind_has_one_name_and_every_operation_one_kind() {
    for &kind in Kind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
    for op in OpKind::ALL {
        assert_eq!(Kind::from(op).op(), Some(op));
        assert_eq!(Kind::from(op).name(), op.name());
    }
    assert!(Kind::ALL.is_sorted());
}
