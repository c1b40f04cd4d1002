//! Every kind of operation, against every kind of server and in every arrangement of connections:
//! the servers' counts equal those of the requests, and every operation is accounted for.

use crate::prelude::*;
use memtide_record::WarmupEnd;

const EVERY_KIND: &str = "get=5,gets=1,set=2,add=1,replace=1,append=1,prepend=1,cas=1,delete=1,\
                          incr=1,decr=1,touch=1,gat=1,gats=1";

/// Exactly 6 000 operations of every kind; none may time out, even on a slow machine.
pub(crate) fn every_kind(peer: &Peer, flags: &str) -> Record {
    let line = format!(
        "run -s {} --mix {EVERY_KIND} --keys 400 --ops-max 6k --timeout 50s --json - {flags}",
        peer.name
    );
    let run = memtide(&line).exits(0);
    let record = run.record();
    assert_eq!(record.totals.intended, 6_000, "{run}");
    assert_eq!(record.totals.answered + record.totals.unacknowledged, 6_000, "{run}");
    assert_eq!(record.ended_by, EndedBy::Operations);
    assert_counters_equal(&record);
    for (kind, weight) in kinds() {
        let sent = record.phases.measure.ops[&kind];
        // 6000 operations over weights of 19; the draw is the same in every run.
        let expected = 6_000.0 * weight / 19.0;
        assert!((sent as f64 - expected).abs() < 5.0 * expected.sqrt(), "{sent} of {kind}");
        // In the binary and the meta protocol only touch has no quiet form.
        let answers_touch = flags.contains("binary") || flags.contains("meta");
        let always = answers_always(kind) || (kind == Kind::Touch && answers_touch);
        let unacknowledged = flags.contains("noreply") && !always;
        let timed = record.response[&kind].count;
        assert_eq!(timed, if unacknowledged { 0 } else { sent }, "{kind}: {run}");
    }
    record
}

fn kinds() -> impl Iterator<Item = (Kind, f64)> {
    EVERY_KIND.split(',').map(|part| {
        let (name, weight) = part.split_once('=').unwrap();
        let kind = Kind::ALL.iter().copied().find(|kind| kind.name() == name).unwrap();
        (kind, weight.parse().unwrap())
    })
}

fn answers_always(kind: Kind) -> bool {
    matches!(kind, Kind::Get | Kind::Gets | Kind::Cas | Kind::Gat | Kind::Gats)
}

#[test]
fn memcached_counts_every_kind_as_it_was_sent() {
    let peer = Peer::memcached("-t 2");
    let record = every_kind(&peer, "");
    let load = &record.phases.load.ops;
    let ops = &record.phases.measure.ops;
    assert_eq!(peer.figure("cmd_touch"), ops[&Kind::Touch] + ops[&Kind::Gat] + ops[&Kind::Gats]);
    assert_eq!(load.keys().collect::<Vec<_>>(), [&Kind::Get, &Kind::Set]);
    for name in ["stored", "not_stored", "deleted", "not_found", "touched", "number", "values"] {
        assert!(record.totals.replies[name] > 0, "no reply {name}: {:?}", record.totals.replies);
    }
}

#[test]
fn every_kind_works_at_every_server_in_every_arrangement() {
    for peer in [Peer::memcached("-t 2"), Peer::embedded("--threads 2")] {
        every_kind(&peer, "--threads 2 --connections 6 --depth 16");
        for schedule in ["shared", "connection"] {
            let record = every_kind(&peer, &format!("--rate 10k --schedule {schedule}"));
            assert_eq!(record.plan.schedule, schedule);
        }
    }
}

#[test]
fn operations_without_reply_are_counted_by_the_server_and_end_as_unacknowledged() {
    for peer in [Peer::memcached("-t 2"), Peer::embedded("")] {
        for threads in [1, 2] {
            let record = every_kind(&peer, &format!("--noreply --threads {threads}"));
            let ops = &record.phases.measure.ops;
            let quiet: u64 = kinds()
                .filter(|(kind, _)| !answers_always(*kind))
                .map(|(kind, _)| ops[&kind])
                .sum();
            assert_eq!(record.totals.unacknowledged, quiet);
        }
    }
}

/// All operations were intended at the start of the load, so none was in the measured window.
#[test]
fn a_closed_loop_without_replies_intends_each_operation_when_its_slot_is_free() {
    let peer = Peer::memcached("");
    let line = "--mix set=1 --noreply --rate 0 --threads 1 --connections 2 --warmup 300ms";
    let line = format!("run -s {} {line} --duration 1s --keys 100 --json -", peer.name);
    let record = memtide(&line).exits(0).record();
    let (totals, warmup) = (&record.totals, &record.phases.warmup.totals);
    assert!(totals.intended > 1_000 && warmup.intended > 100, "{totals:?}");
    let lag = &record.lag[&Kind::All];
    assert!(lag.p50_ns.is_some_and(|ns| ns < 100_000_000), "{lag:?}");
}

#[test]
fn a_multiget_is_one_operation_of_many_keys() {
    for (peer, protocol) in [
        (Peer::memcached("-t 2"), "text"),
        (Peer::embedded(""), "text"),
        (Peer::memcached("-t 2"), "binary"),
        (Peer::embedded(""), "binary"),
        (Peer::memcached("-t 2"), "meta"),
        (Peer::embedded(""), "meta"),
    ] {
        let line = format!(
            "run -s {} --protocol {protocol} --mix get=1,gets=1 --multiget 10 --keys 1k \
             --ops-max 2k --verify 1 --json -",
            peer.name
        );
        let before = peer.figure("cmd_get");
        let record = memtide(&line).exits(0).record();
        let totals = &record.totals;
        assert_eq!((totals.answered, totals.keys), (2_000, 20_000));
        assert_eq!((totals.hits, totals.misses), (20_000, 0));
        assert_counters_equal(&record);
        // Over meta, the server is asked for what it lacks with one get.
        let asked = u64::from(protocol == "meta");
        let probed = record.phases.load.totals.keys + asked;
        assert_eq!(peer.figure("cmd_get") - before, 20_000 + probed);
    }
}

/// Asserts that `peer` counted the gets and sets of all phases, and no others.
fn server_counts_all_phases(peer: &Peer, record: &Record) {
    let phases = record.phases.each();
    let of = |kind| -> u64 { phases.iter().filter_map(|(_, phase)| phase.ops.get(&kind)).sum() };
    assert_eq!((peer.figure("cmd_get"), peer.figure("cmd_set")), (of(Kind::Get), of(Kind::Set)));
}

#[test]
fn counts_of_all_phases_together_are_the_servers() {
    let peer = Peer::memcached("");
    let window = "--rate 2k --warmup 200ms --duration 300ms";
    let line = format!("run -s {} {window} --keys 300 --timeout 20s --json -", peer.name);
    let run = memtide(&line).exits(0);
    let record = run.record();
    assert_counters_equal(&record);
    let phases = &record.phases;
    assert!(phases.warmup.totals.intended > 0 && phases.measure.totals.intended > 0, "{run}");
    server_counts_all_phases(&peer, &record);
}

#[test]
fn a_window_that_is_opened_by_command_keeps_every_count() {
    let peer = Peer::memcached("");
    let load = "--rate 4k --arrival fixed --threads 2 --keys 300 --timeout 20s";
    let window = "--warmup auto --duration 5s";
    let run = memtide(&format!("run -s {} {load} {window} --json -", peer.name)).exits(0);
    let record = run.record();
    assert_counters_equal(&record);
    let (plan, phases) = (&record.plan, &record.phases);
    // A busy machine may not be steady; the window then opens after 30 % of the duration.
    let is_latest = plan.warmup_end == WarmupEnd::Unsteady && plan.warmup_s == 1.5;
    assert!(is_latest || plan.warmup_end == WarmupEnd::Steady && plan.warmup_s > 1.0, "{run}");
    assert!(is_latest == record.warnings.iter().any(|it| it.code == "unsteady_warmup"), "{run}");
    // Operation i is due at i × 250 us, whichever thread makes it.
    let before = (plan.warmup_s * 4_000.0).ceil() as u64;
    assert_eq!((phases.warmup.totals.intended, record.totals.intended), (before, 20_000), "{run}");
    assert_eq!((record.planned, record.measured_s), (Some(20_000), 5.0), "{run}");
    server_counts_all_phases(&peer, &record);
}

#[test]
fn a_window_that_is_closed_by_command_keeps_every_count() {
    let peer = Peer::memcached("");
    let load = "--rate 4k --arrival fixed --threads 2 --keys 300 --timeout 20s";
    let window = "--warmup 300ms --at-most 6s --json -";
    let mut command = program();
    command.args(format!("run -s {} {load} {window}", peer.name).split(' '));
    command.args(["--precision", "rate 5%"]);
    let run = Running::of(&mut command).finish().exits(0);
    let record = run.record();
    assert_counters_equal(&record);
    let precision = record.plan.precision.as_ref().expect("it was asked for");
    // On a busy machine the rate may not settle; the window then closes at the latest instant.
    let is_latest = precision.reached == Some(false) && record.measured_s == 6.0;
    let is_told = precision.reached == Some(true) && (2.15..5.9).contains(&record.measured_s);
    assert!(is_latest || is_told, "{run}");
    // Operation i is due at i × 250 us, whichever thread makes it.
    let end_s = record.plan.warmup_s + record.measured_s;
    let until = ((end_s * 1e9).round() as u64).div_ceil(250_000);
    assert_eq!(record.totals.intended, until - 1_200, "{run}");
    server_counts_all_phases(&peer, &record);
}

#[test]
fn a_server_is_reached_at_a_unix_socket() {
    let peer = Peer::memcached_unix("reach");
    every_kind(&peer, "");
}

#[test]
fn a_server_is_reached_over_ipv6() {
    // Some containers have no ::1, and nothing can be reached there.
    let Some(peer) = Peer::memcached_v6("") else { return };
    every_kind(&peer, "");
}

#[test]
fn several_servers_have_a_row_each() {
    let (first, second) = (Peer::memcached(""), Peer::memcached(""));
    let flags = "--connections 3 --keys 300 --ops-max 4k";
    let line = format!("run -s {},{} {flags}", first.name, second.name);
    let run = memtide(&format!("{line} --json -")).exits(0);
    let record = run.record();
    assert_counters_equal(&record);
    assert_eq!(record.plan.connections, 6, "connections are to each server");
    let rows = &record.servers;
    assert_eq!(rows.len(), 2);
    for (row, peer) in rows.iter().zip([&first, &second]) {
        assert_eq!((&row.name, row.connections), (&peer.name, 3));
        assert!(row.totals.answered > 0, "{run}");
        assert_eq!(row.totals.intended, Some(row.totals.answered));
        assert_eq!(row.response.count, row.totals.answered);
    }
    assert_eq!(rows[0].totals.answered + rows[1].totals.answered, record.totals.answered);
    let text = memtide(&format!("{line} --full")).exits(0);
    for peer in [&first, &second] {
        let row = text.out.lines().find(|line| line.starts_with(&peer.name));
        assert!(row.is_some(), "no row of {}: {text}", peer.name);
    }
}

#[test]
fn every_way_to_wait_to_connect_and_to_end_makes_the_same_load() {
    let peer = Peer::memcached("");
    let window = "--rate 1k --arrival fixed --duration 300ms --keys 100 --timeout 20s --json -";
    let choices = "--wait sleep|--wait hybrid|--wait spin|--pin|--bind 127.0.0.1,127.0.0.2|\
         --cooldown drain|--connections 1 --depth 1|--connections 100 --threads 3";
    for flags in choices.split('|') {
        let run = memtide(&format!("run -s {} {window} {flags}", peer.name)).exits(0);
        let record = run.record();
        assert_counters_equal(&record);
        assert!((299..=301).contains(&record.totals.intended), "{run}");
        assert_eq!(record.totals.answered, record.totals.intended, "{run}");
        if flags.contains("drain") {
            assert_eq!(record.phases.cooldown.totals.intended, 0, "{run}");
        }
    }
}
