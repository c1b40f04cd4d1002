//! Clients with windows of objects, several connections each, and verification of the values that
//! they read and of their lifetimes: exact counts in virtual time.

use crate::prelude::*;
use memtide_record::VerificationCounts;

/// Sixteen clients with windows of 500 objects each; a closed loop of `ops` operations.
fn world(ops: &str, more: &[(&'static str, &str)]) -> World {
    let world = World::of(&format!(
        "rate=0 ops-max={ops} clients=16 threads=2 window=500 mix-order=turn verify=1 timeout=2s"
    ));
    let mut world = world.with(more).behaviour("fixed:20us");
    world.keeps_samples = false;
    world
}

fn faulty(mut world: World, faults: &str) -> World {
    for profile in &mut world.servers {
        profile.faults = faults.parse().expect("a list of faults");
    }
    world
}

fn planted(rehearsal: &Rehearsal, kind: FaultKind) -> u64 {
    rehearsal.faults.iter().find(|(of, _)| *of == kind).map_or(0, |&(_, count)| count)
}

fn found(rehearsal: &Rehearsal) -> VerificationCounts {
    rehearsal.record.phases.verification()
}

/// Sets and keys of gets in the measured window.
fn sets_and_keys(rehearsal: &Rehearsal) -> (u64, u64) {
    let measure = &rehearsal.record.phases.measure;
    (measure.ops.get(&Kind::Set).copied().unwrap_or(0), measure.totals.keys)
}

#[test]
fn a_healthy_server_misses_nothing_and_is_never_accused() {
    for more in [
        &[("overwrite", "20%"), ("multiget", "7")][..],
        &[("window-pick", "sequential"), ("protocol", "binary")],
        &[("mix-order", "drawn"), ("connections-per-client", "4")],
        &[("rate", "100k"), ("connection-turn", "random"), ("connections-per-client", "4")],
    ] {
        let rehearsal = world("100k", more).rehearse();
        let totals = &rehearsal.record.totals;
        assert_eq!((totals.misses, totals.answered), (0, 100_000), "{more:?}");
        let right =
            VerificationCounts { checked: totals.keys, ok: totals.keys, ..found(&rehearsal) };
        assert_eq!(found(&rehearsal), right);
        assert_eq!((right.wrong(), right.verify_misses), (0, 0));
        assert_eq!(rehearsal.record.exit, 0);
    }
}

#[test]
fn in_turn_the_shares_are_exact_for_any_number_of_workers() {
    let mut hashes = Vec::new();
    for threads in ["1", "2", "5"] {
        let rehearsal = world("160k", &[("threads", threads)]).rehearse();
        assert_eq!(sets_and_keys(&rehearsal), (16_000, 144_000));
        hashes.push(rehearsal.record.totals.bytes_received);
    }
    assert!(hashes.iter().all(|bytes| *bytes == hashes[0]), "{hashes:?}");
}

#[test]
fn keys_are_the_unit_of_rate_and_number_and_none_is_lost() {
    let more = [("rate-unit", "keys"), ("multiget", "10")];
    let rehearsal = world("100007", &more).rehearse();
    let (sets, keys) = sets_and_keys(&rehearsal);
    assert_eq!(sets + keys, 100_007);
    // 100 007 keys are 6 250 for each client and one more for seven of them: 625 sets each, no
    // more.
    assert!((16 * 625..=16 * 625 + 7).contains(&sets), "{sets} sets");
    let paced = [("rate", "10240"), ("arrival", "fixed"), ("duration", "10s")];
    let rehearsal = world("1G", &[&more[..], &paced].concat()).rehearse();
    let (sets, keys) = sets_and_keys(&rehearsal);
    assert!((sets + keys).abs_diff(102_400) < 1_024, "{} in 10 s", sets + keys);
    let rate = &rehearsal.record.rate;
    assert!((rate.keys_per_s.expect("keys are counted") / 10_240.0 - 1.0).abs() < 0.01, "{rate:?}");
}

#[test]
fn over_datagrams_a_client_goes_on_after_each_loss() {
    for turn in ["round-robin", "random"] {
        for connections in ["1", "4"] {
            let more = [
                ("transport", "udp"),
                ("timeout", "50ms"),
                ("connections-per-client", connections),
                ("connection-turn", turn),
                ("overwrite", "20%"),
            ];
            let rehearsal = faulty(world("100k", &more), "udp-loss:1%").rehearse();
            let totals = &rehearsal.record.totals;
            let lost = planted(&rehearsal, FaultKind::UdpLoss);
            assert!(lost > 500, "{turn} {connections}: {lost}");
            assert_eq!((totals.intended, totals.timed_out), (100_000, lost));
            assert_eq!(totals.answered, 100_000 - lost, "none is left behind");
            // An object whose store was not acknowledged is not read.
            assert_eq!((found(&rehearsal).wrong(), found(&rehearsal).verify_misses), (0, 0));
        }
    }
}

#[test]
fn without_windows_a_get_of_many_keys_counts_them_too() {
    let world = World::of(
        "rate=0 ops-max=100001 rate-unit=keys multiget=10 keys=1000 threads=3 connections=7",
    );
    let rehearsal = world.rehearse();
    let (sets, keys) = sets_and_keys(&rehearsal);
    assert_eq!(sets + keys, 100_001);
}

#[test]
fn sets_that_fail_are_operations_and_the_mix_holds() {
    let rehearsal = faulty(world("160k", &[]), "server-error:100%@set").rehearse();
    assert_eq!(sets_and_keys(&rehearsal), (16_000, 144_000));
    assert_eq!(rehearsal.record.totals.failed, 16_000);
}

#[test]
fn a_run_that_only_reads_fills_its_windows_before() {
    for servers in 1..=3 {
        let mut world = world("100k", &[("mix", "get=1")]);
        world.servers = vec![world.servers[0].clone(); servers];
        let rehearsal = world.rehearse();
        let phases = &rehearsal.record.phases;
        assert_eq!(phases.load.ops.get(&Kind::Set), Some(&8_000), "{servers} servers");
        assert_eq!(phases.measure.ops.keys().copied().collect::<Vec<_>>(), [Kind::Get]);
        assert_eq!((phases.measure.totals.misses, phases.measure.totals.hits), (0, 100_000));
        assert_eq!(found(&rehearsal).ok, 100_000);
    }
}

#[test]
fn a_client_has_one_operation_at_a_time_and_uses_all_its_connections() {
    for turn in ["round-robin", "random"] {
        let more = [
            ("connections-per-client", "8"),
            ("connection-turn", turn),
            ("clients", "6"),
            ("threads", "1"),
            ("samples", "samples"),
        ];
        let mut world = world("48k", &more);
        world.keeps_samples = true;
        let rehearsal = world.rehearse();
        assert_eq!(rehearsal.record.in_flight_at_send.max, Some(6));
        assert_eq!(rehearsal.plan.connections, 48);
        let mut times = [0u64; 48];
        rehearsal.samples.iter().for_each(|sample| times[sample.connection as usize] += 1);
        let even = |&times: &u64| if turn == "random" { times > 800 } else { times == 1_000 };
        assert!(times.iter().all(even), "{turn}: {times:?}");
        // A closed loop is as fast as its answers, over any connection.
        let mut of_client: Vec<_> = rehearsal.samples.iter().filter(|s| s.connection < 8).collect();
        of_client.sort_by_key(|sample| sample.sent);
        assert!(of_client.windows(2).all(|pair| pair[1].intended == pair[0].received));
    }
}

#[test]
fn clients_outlive_the_loss_of_their_connections() {
    let more = [("connections-per-client", "4"), ("rate", "20k")];
    let second = |s: u64| Instant::from_ns(s * 1_000_000_000);
    let mut dying = world("120k", &more);
    dying.servers = vec![ServerProfile::default(); 2];
    dying.deaths = vec![(0, second(2), second(3))];
    let rehearsal = dying.rehearse();
    let totals = &rehearsal.record.totals;
    assert_eq!(totals.answered + totals.lost, 120_000, "{totals:?}");
    assert!(rehearsal.failure.is_none());
    let resetting = faulty(world("120k", &more), "reset:0.1%");
    let rehearsal = resetting.rehearse();
    let totals = &rehearsal.record.totals;
    assert_eq!(
        (totals.answered + totals.lost, totals.lost),
        (120_000, planted(&rehearsal, FaultKind::Reset))
    );
    assert_eq!(found(&rehearsal).wrong(), 0);
}

#[test]
fn every_planted_fault_is_found_in_its_class_and_nothing_else() {
    let faults = "flip:0.001,other-key:0.001,stale:0.002,truncate:0.001";
    for more in [
        &[("overwrite", "30%")][..],
        &[("overwrite", "30%"), ("protocol", "binary")],
        &[("overwrite", "30%"), ("multiget", "5")],
    ] {
        let world = world("300k", more).behaviour("fixed:400us");
        let rehearsal = faulty(world, faults).rehearse();
        let counts = found(&rehearsal);
        let seen = [counts.corrupt, counts.wrong_key, counts.stale, counts.truncated];
        let kinds = [FaultKind::Flip, FaultKind::OtherKey, FaultKind::Stale, FaultKind::Truncate];
        assert_eq!(seen, kinds.map(|kind| planted(&rehearsal, kind)), "{more:?}");
        assert!(seen.iter().all(|&count| count > 10), "{more:?}: {seen:?}");
        assert_eq!(counts.wrong(), seen.iter().sum::<u64>());
        assert_eq!((rehearsal.record.exit, counts.verify_misses), (1, 0));
    }
}

#[test]
fn a_value_that_expires_too_early_is_found_each_time() {
    let more = [("expiry", "1000"), ("expiry-share", "30%"), ("verify-expiry", "true")];
    for (ops, multiget) in [("1M", "1"), ("200k", "6")] {
        let more = [&more[..], &[("multiget", multiget)]].concat();
        let rehearsal = faulty(world(ops, &more), "expire-early:0.001").rehearse();
        let counts = found(&rehearsal);
        let struck = planted(&rehearsal, FaultKind::ExpireEarly);
        // A missing value that never expires is a miss, not a server's fault.
        assert_eq!(counts.unexpired_unget + counts.verify_misses, struck);
        assert!(counts.unexpired_unget > 30 && counts.verify_misses > 60, "{counts:?}");
        assert_eq!(counts.expired_get, 0);
        assert_eq!((counts.wrong(), rehearsal.record.exit), (counts.unexpired_unget, 1));
    }
}

/// Two windows that are filled at the beginning, with values that expire after 20 s. A client reads
/// every 8 s, each object once: at 16 s and at 24 s, which is not near any expiry.
fn slow(faults: &str) -> Rehearsal {
    let more = fields(
        "mix=get=1 window-pick=sequential expiry=20 expiry-share=50% verify-expiry=true \
         rate=0.125 arrival=fixed clients=2",
    );
    faulty(world("1000", &more), faults).rehearse()
}

#[test]
fn a_value_that_expires_too_late_is_found_each_time() {
    for faults in ["expire-late:1", "expire-late:0.1"] {
        let rehearsal = slow(faults);
        let counts = found(&rehearsal);
        let struck = planted(&rehearsal, FaultKind::ExpireLate);
        assert!(struck > 30, "{struck}");
        assert_eq!((counts.expired_get, counts.unexpired_unget), (struck, 0), "{faults}");
        assert_eq!((counts.verify_misses, counts.wrong()), (0, struck));
    }
    let counts = found(&slow("none"));
    assert_eq!((counts.wrong(), counts.verify_misses), (0, 0));
}

#[test]
fn expiry_raises_no_false_alarm_whatever_the_moment() {
    // Objects with a lifetime of 5 s are set, overwritten and read all the time, so reads fall into
    // every part of a second around their expiry; answers are late, connections are lost, a worker
    // stalls.
    for seed in 1..=4 {
        let more = fields(
            "expiry=5 expiry-share=70% verify-expiry=true overwrite=10% multiget=3 rate=4k \
             duration=30s connections-per-client=2",
        );
        let mut world = faulty(world("1G", &more), "reset:0.01%").seed(seed);
        world = world.behaviour("exponential:200us");
        let (from, length) = (Span::from_s(11), Span::from_ms(2_700));
        world.pauses = vec![WorkerPause { worker: 1, from, length, kind: PauseKind::Stopped }];
        let rehearsal = world.rehearse();
        let totals = &rehearsal.record.totals;
        assert!(totals.misses > 1_000, "seed {seed}: things do expire, {}", totals.misses);
        let counts = found(&rehearsal);
        assert_eq!((counts.wrong(), counts.checked), (0, counts.ok), "seed {seed}: {counts:?}");
    }
}
