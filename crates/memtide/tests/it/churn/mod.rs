//! Connection churn over both drivers: counted, closed as the scenario says, and ended in time when
//! connections cannot be opened.

use crate::prelude::*;
use memtide_record::{ChurnCounts, ChurnRecord};

/// Runs `line` over every driver that this kernel supports.
fn over_every_door(line: &str, look: impl Fn(&Finished)) {
    for io in ["epoll", "uring"] {
        let run = memtide(&format!("{line} --io {io}"));
        let none = io == "uring" && run.code == Some(2) && run.err.contains("cannot be used");
        if !none {
            look(&run);
        }
    }
}

fn churn(record: &Record) -> &ChurnRecord {
    record.churn.as_ref().expect("connections are the load")
}

#[test]
fn a_thousand_connections_of_ten_calls_all_live() {
    let peer = Peer::memcached("");
    for linger in ["", "--linger 0", "--linger 1s"] {
        let line = format!(
            "run -s {} --connection-rate 1000 --call-rate 1000 --calls 10 \
             --connections-total 1000 --threads 1 --keys 100 --timeout 20s --json - {linger}",
            peer.name
        );
        over_every_door(&line, |run| {
            assert_eq!(run.code, Some(0), "{run}");
            let record = run.record();
            let expected = ChurnCounts {
                intended: 1_000,
                started: 1_000,
                opened: 1_000,
                completed: 1_000,
                ..ChurnCounts::default()
            };
            assert_eq!(churn(&record).measure, expected, "{run}");
            assert_eq!(record.totals.answered, 10_000, "{run}");
            assert_eq!(record.ended_by, EndedBy::Operations, "{run}");
            // On a slow machine, too, no connection opens early.
            assert!(record.measured_s >= 0.999 && churn(&record).connect.count == 1_000, "{run}");
            assert_counters_equal(&record);
        });
        until("connections remain open", || peer.figure("curr_connections") <= 3);
    }
}

#[test]
fn descriptors_that_run_out_are_counted_and_explained() {
    let peer = Peer::memcached("");
    for io in ["epoll", "uring"] {
        // About forty of these are open at once.
        let line = format!(
            "run -s {} --connection-rate 200 --calls 5 --call-rate 20 --arrival fixed \
             --connections-total 100 --threads 1 --load never --io {io} --json -",
            peer.name
        );
        let _turn = shared();
        let run = start_after("ulimit -n 20", &line).finish();
        if io == "uring" && run.err.contains("cannot be used") {
            continue;
        }
        assert_eq!(run.code, Some(0), "{run}");
        let record = run.record();
        let measure = &churn(&record).measure;
        let none = measure.causes["no_descriptors"];
        assert!(none > 0 && measure.completed > 0 && none + measure.completed == 100, "{run}");
        let warning = record.warnings.iter().find(|w| w.code == "descriptors_exhausted");
        assert!(warning.is_some_and(|warning| warning.remedy.contains("ulimit")), "{run}");
    }
}
