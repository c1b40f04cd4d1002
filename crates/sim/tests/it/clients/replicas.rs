//! Servers that all clients reach: copies of writes are filled and scheduled once, and a server
//! that dies is skipped and used again once it is back.

use crate::prelude::*;
use memtide_record::Figure;

const fn s(seconds: u64) -> Instant {
    Instant::from_ns(seconds * 1_000_000_000)
}

/// Eight clients of two servers, with nine gets for each set.
fn world(more: &[(&'static str, &str)]) -> World {
    let world = World::of(
        "server=a,b clients=8 threads=2 window=200 mix-order=turn verify=1 timeout=2s writers=2",
    );
    let mut world = world.with(more);
    world.servers = vec![ServerProfile::default(); 2];
    let mut world = world.behaviour("fixed:100us");
    world.keeps_samples = false;
    world
}

/// A counter summed over the servers.
fn counted(rehearsal: &Rehearsal, name: &str) -> i64 {
    let of = |figures: &BTreeMap<String, Figure>| match figures.get(name) {
        Some(Figure::Whole(number)) => *number,
        other => panic!("{name}: {other:?}"),
    };
    rehearsal.record.server.delta.values().map(of).sum()
}

#[test]
fn windows_that_are_only_read_are_filled_on_all_writers_before() {
    let more = [("mix", "get=1"), ("rate", "0"), ("ops-max", "20k"), ("load", "always")];
    let rehearsal = world(&more).rehearse();
    let record = &rehearsal.record;
    assert_eq!(record.phases.load.totals.replies["stored"], 2 * 8 * 200);
    assert_eq!((record.totals.hits, record.totals.misses), (20_000, 0));
    assert_eq!(counted(&rehearsal, "cmd_set"), 2 * 8 * 200);
}

#[test]
fn at_a_rate_the_schedule_counts_a_write_once() {
    let rehearsal = world(&[("rate", "10k"), ("duration", "10s")]).rehearse();
    let record = &rehearsal.record;
    let rate = record.believable.checks.iter().find(|check| check.code == CheckKind::Rate);
    assert_eq!(rate.map(|check| check.result), Some(CheckResult::Passed), "{rate:?}");
    let asked = record.rate.target_per_s.expect("a rate was asked for");
    assert!((asked / 10_000.0 - 1.0).abs() < 0.05, "{:?}", record.rate);
    // The achieved rate counts each write once, in all and by kind.
    assert!((record.rate.achieved_per_s / asked - 1.0).abs() < 0.02, "{:?}", record.rate);
    let by_kind: f64 = record.rate.kinds_per_s.values().sum();
    assert!((by_kind - record.rate.achieved_per_s).abs() < 1e-6, "{:?}", record.rate);
    let copies = record.copies_in_window[&Kind::Set];
    assert_eq!(2 * copies, record.sent_in_window[&Kind::Set]);
    let sent: u64 = record.sent_in_window.values().sum();
    assert!((sent as f64 / 110_000.0 - 1.0).abs() < 0.05, "{sent}");
}

#[test]
fn a_server_that_dies_is_passed_over_and_taken_back() {
    for (pace, ops) in [(("rate", "4k"), ("duration", "9s")), (("rate", "0"), ("duration", "9s"))] {
        let mut world = world(&[pace, ops, ("overwrite", "20%"), ("protocol", "binary")]);
        world.deaths = vec![(1, s(3), s(5))];
        let rehearsal = world.rehearse();
        let record = &rehearsal.record;
        assert!(rehearsal.failure.is_none());
        let totals = &record.totals;
        assert!(totals.lost <= 8, "each client had one operation under way: {totals:?}");
        assert_eq!(totals.answered + totals.lost, totals.intended);
        assert!(record.intervals.iter().all(|interval| interval.ops > 1_000), "reads go on");
        assert_eq!(record.phases.verification().wrong(), 0);
        let [there, died] = &record.servers[..] else { panic!("two servers") };
        assert!(there.reconnects.is_zero() && there.outages.is_empty());
        assert_eq!((died.reconnects.lost, died.reconnects.reconnected), (8, 8));
        let [away] = died.outages[..] else { panic!("{:?}", died.outages) };
        // The run begins with its world.
        let since_start = |unix_ms: u64| unix_ms - record.started_unix_ms;
        assert_eq!(since_start(away.from_unix_ms), 3_000);
        let until = since_start(away.until_unix_ms.expect("it came back"));
        assert!((5_000..6_100).contains(&until), "{away:?}");
        // Writes that the dead server missed are misses and no faults; it is read again when it is
        // back.
        assert!(died.totals.hits > 2_000 && totals.misses > 0, "{totals:?}");
    }
}
