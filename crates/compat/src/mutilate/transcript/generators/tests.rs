//! The lines of generators, as the originals log them.

use super::*;
use crate::tests::rows;

#[test]
fn each_law_is_told_as_the_originals_tell_it() {
    for row in rows(include_str!("lines.txt")) {
        let [word, of_mutilate, of_mcperf] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let law = |bounds| Law::read(word, bounds).unwrap().unwrap();
        assert_eq!(MUTILATE.line(law(false)), format!("{of_mutilate}\n"), "{word}");
        assert_eq!(MCPERF.line(law(true)), format!("{of_mcperf}\n"), "{word}");
    }
}
