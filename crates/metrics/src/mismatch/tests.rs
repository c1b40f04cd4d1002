//! Wrong values beyond the room are counted.

use super::*;

fn mismatch(op: u64) -> Mismatch {
    let (server, class) = (ServerId(0), VerifyClass::Stale);
    Mismatch { op, key: 1, server, class, version_min: 2, version: Some(1), offset: 8 }
}

#[test]
fn what_does_not_fit_is_counted() {
    let (mut part, mut sum) = (Mismatches::reserved(2), Mismatches::reserved(3));
    for round in 0..2 {
        (0..3).for_each(|op| part.push(mismatch(10 * round + op)));
        assert_eq!((part.kept().len(), part.lost()), (2, 1));
        sum.absorb(&part);
        part.clear();
    }
    let ops: Vec<u64> = sum.kept().iter().map(|mismatch| mismatch.op).collect();
    assert_eq!((ops, sum.lost()), (vec![0, 1, 10], 3));
    assert_eq!(part.lost(), 0);
}
