//! Batches that are too long.

use super::*;

#[test]
fn a_batch_that_is_too_long_is_halved_between_lines() {
    let batch = Batch { lines: b"a 1\nbb 2\nc 3\n".to_vec(), points: 3 };
    let [first, second] = batch.halves().unwrap();
    assert_eq!((first.points, second.points), (2, 1));
    assert_eq!([first.lines, second.lines].concat(), batch.lines);
    let batch = Batch::of(b"a 1\nlonger than all before it 2\n".to_vec());
    let [first, second] = batch.halves().unwrap();
    assert_eq!((first.points, second.points), (1, 1));
    assert_eq!(Batch::of(b"a 1\n".to_vec()).halves(), None);
}
