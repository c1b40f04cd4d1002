//! Authentication: `-U` and `-P`, by SASL with `--binary`, and over the text protocol without.

use super::parser::{self, Dialect};
use super::{face, fresh, record_at};
use crate::binary::{Guarded, PASSWORD, USER};
use crate::child::assert_counters_equal;

fn logs_in(guarded: &Guarded, flags: &str) {
    let server = &guarded.peer.name;
    let line = format!("-s {server} -t 1 -q 1000 -r 500 -T 2 -c 2 -u 0.1 {flags}");
    for (name, dialect) in [("mutilate", Dialect::Mutilate), ("mcperf", Dialect::Mcperf)] {
        let json = fresh("credentials.json");
        let right = format!("-U {USER} -P {PASSWORD} --json {}", json.display());
        let ran = face(&format!("{name} {line} {right}")).exits(0);
        let report = parser::report(dialect, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert_eq!(report.counts.misses.0, 0, "{ran}");
        assert_counters_equal(&record_at(&json));
        assert!(!std::fs::read_to_string(&json).unwrap().contains(PASSWORD), "{ran}");
        for wrong in ["-U tim -P wrong", "-U nobody -P tanstaafl", ""] {
            let ran = face(&format!("{name} {line} {wrong}")).exits(255);
            assert_eq!(ran.out, "", "{ran}");
            assert!(!ran.err.contains(PASSWORD), "{ran}");
        }
    }
}

#[test]
fn by_sasl() {
    logs_in(&Guarded::sasl(), "--binary");
}

#[test]
fn in_lines() {
    logs_in(&Guarded::lines(), "");
}
