//! A sample has the columns of its file.

use super::*;

#[test]
fn objects_have_the_columns_of_a_file_of_samples() {
    let sample = Sample {
        begun: Instant::ZERO,
        index: 0,
        key: b"k".to_vec(),
        size: None,
        intended: Instant::ZERO,
        sent: None,
        received: None,
        kind: Kind::Get,
        outcome: SampleOutcome::Dropped,
        bytes: 0,
        connection: None,
    };
    let object: Value = serde_json::from_str(&sample.to_json()).unwrap();
    let names: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, Sample::COLUMNS.map(|column| column.name));
    for (column, cell) in Sample::COLUMNS.iter().zip(object.as_object().unwrap().values()) {
        assert!(column.is_optional || !cell.is_null(), "{}", column.name);
    }
}
