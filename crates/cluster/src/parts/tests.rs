//! Records in parts, whole and damaged.

use super::*;

#[test]
fn parts_make_the_record_again() {
    for length in [0, 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES] {
        let record: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let mut assembly = Assembly::default();
        let mut whole = None;
        for part in parts(b"run", &record) {
            assert_eq!(whole, None, "{length}");
            whole = assembly.add(b"run", &part).unwrap();
        }
        assert_eq!(whole, Some(record), "{length}");
    }
}

#[test]
fn other_parts_are_refused_by_name() {
    let part = parts(b"run", b"record").next().unwrap();
    let refused = |part: RecordPart| Assembly::default().add(b"run", &part).unwrap_err();
    assert!(refused(RecordPart { run: b"other".to_vec(), ..part.clone() }).contains("another"));
    assert!(refused(RecordPart { digest: vec![0; 32], ..part.clone() }).contains("digest"));
    assert!(refused(RecordPart { bytes_total: 3, ..part.clone() }).contains("longer"));
    assert!(refused(RecordPart { bytes_total: u64::MAX, ..part }).contains("allowed"));
}
