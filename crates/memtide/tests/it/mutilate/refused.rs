//! Values that a server refuses: the originals count every reply, and so do their faces, with a
//! line on stderr that says how many were refused, and why. Keys that no server takes are cut, with
//! a note.

use super::parser::{self, Dialect};
use super::{fresh, records};
use crate::child::{memtide, record_at, shared};
use crate::peer::Peer;

/// memcached without options takes no value of this length.
const TOO_LARGE: &str = "-V 1048576 -r 10 -q 200";
const WHY: &str = "with 'SERVER_ERROR object too large for cache'; use smaller values \
                   (--valuesize, -V), or let the server take larger ones (memcached -I)\n";

#[test]
fn refused_sets_count_in_totals_and_rows_and_one_line_tells_of_them() {
    let _turn = shared();
    let peer = Peer::memcached("");
    for (name, dialect) in [("mutilate", Dialect::Mutilate), ("mcperf", Dialect::Mcperf)] {
        let json = fresh(&format!("{name}-refused.json"));
        let flags = format!("{TOO_LARGE} -u 0.5 -t 1 --json {}", json.display());
        let ran = memtide(&format!("{name} -s {} {flags}", peer.name)).exits(0);
        let report = parser::report(dialect, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
        let record = record_at(&json);
        let (totals, refused) = (&record.totals, record.totals.refused);
        assert!(refused > 10 && totals.failed == 0, "{ran}");
        assert_eq!(refused, record.phases.measure.ops[&memtide_scenario::Kind::Set], "{ran}");
        assert_eq!(report.total.ops, totals.answered, "{ran}");
        assert_eq!(report.counts.misses.0, totals.answered - refused, "every get: {ran}");
        assert!(report.rows[1].iter().all(|us| *us >= 0.0) && report.rows[1][0] > 0.0, "{ran}");
        let of = totals.answered;
        let words = format!(
            "memtide: the server refused {refused} of {of} requests (the table counts them, as the \
             original does) and 10 of 10 sets of the fill {WHY}"
        );
        assert_eq!(ran.err, words, "{ran}");
        // The verdict does not take an error for an answer.
        assert!(!record.believable.holds(), "{ran}");
    }
}

#[test]
fn a_fill_that_is_refused_ends_as_the_original_does_with_that_line() {
    let _turn = shared();
    let peer = Peer::memcached("");
    for name in ["mutilate", "mcperf"] {
        let ran = memtide(&format!("{name} -s {} {TOO_LARGE} --loadonly", peer.name)).exits(0);
        let words = format!("memtide: the server refused 10 of 10 sets of the fill {WHY}");
        assert_eq!(ran.err, words, "{ran}");
        assert!(ran.out.is_empty() || ran.out.starts_with("Warning! Detected max cpu"), "{ran}");
    }
}

#[test]
fn a_scan_tells_once_of_all_its_steps() {
    let _turn = shared();
    let (peer, json) = (Peer::memcached(""), fresh("scan-refused.json"));
    let flags =
        format!("-V 1048576 -r 10 -u 0.5 -t 1 --scan 100:200:100 --json {}", json.display());
    let ran = memtide(&format!("mutilate -s {} {flags}", peer.name)).exits(0);
    let scan =
        parser::scan(Dialect::Mutilate, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    assert_eq!(scan.rows.len(), 2, "{ran}");
    let steps = records(&json);
    let sum = |of: fn(&memtide_record::Record) -> u64| steps.iter().map(of).sum::<u64>();
    let (refused, of) = (sum(|it| it.totals.refused), sum(|it| it.totals.answered));
    assert!(
        ran.err.starts_with(&format!("memtide: the server refused {refused} of {of} ")),
        "{ran}"
    );
    assert_eq!(ran.err.lines().count(), 1, "{ran}");
}

/// Keys were cut to 250 bytes without a word.
#[test]
fn keys_that_are_cut_have_a_note() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("mutilate -s {} -r 10 --loadonly -K", peer.name);
    for (law, is_noted) in [("300", true), ("normal:250,30", true), ("250", false)] {
        let noted = memtide(&format!("{line} {law} --notes")).exits(0);
        let note = noted.err.lines().find(|line| line.contains("longer than 250 bytes"));
        assert_eq!(note.is_some(), is_noted, "{noted}");
        assert!(note.is_none_or(|note| note.starts_with("--keysize (-K) ")), "{noted}");
        let plain = memtide(&format!("{line} {law}")).exits(0);
        assert_eq!((plain.err.as_str(), plain.out == noted.out), ("", true), "{plain}");
    }
    for (flags, count) in [("--key-size normal:240,30", 1), ("--key-size 200", 0)] {
        for (quiet, most) in [("", 1), ("--quiet", 0)] {
            let ran = memtide(&format!("run --plan {flags} {quiet}")).exits(0);
            let notes = ran.err.matches("longer than 250 bytes, memcached's limit").count();
            assert_eq!(notes, count.min(most), "{ran}");
        }
    }
}
