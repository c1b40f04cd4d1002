//! Load over UDP: faults of a network and a server on datagrams cost exactly the operations that
//! they must, and all of them are counted.

use crate::prelude::*;
use memtide_record::{DatagramCounts, Totals};

fn world(words: &[(&'static str, &str)]) -> World {
    let world = World::of(
        "transport=udp rate=2k duration=20s keys=500 connections=32 timeout=50ms verify=1",
    );
    world.with(words)
}

fn s(seconds: u64) -> Instant {
    Instant::from_ns(seconds * 1_000_000_000)
}

/// The sums over all phases except the fill, which is made over TCP.
struct Sums {
    intended: u64,
    answered: u64,
    timed_out: u64,
    wrong: u64,
    checked: u64,
    datagrams: DatagramCounts,
}

fn sums(rehearsal: &Rehearsal) -> Sums {
    let phases = &rehearsal.record.phases;
    let all = [&phases.warmup, &phases.measure, &phases.cooldown];
    let sum = |of: &dyn Fn(&Totals) -> u64| all.iter().map(|phase| of(&phase.totals)).sum();
    let sums = Sums {
        intended: sum(&|totals| totals.intended),
        answered: sum(&|totals| totals.answered),
        timed_out: sum(&|totals| totals.timed_out),
        wrong: sum(&|totals| totals.verification.wrong()),
        checked: sum(&|totals| totals.verification.checked),
        datagrams: DatagramCounts {
            disordered: sum(&|totals| totals.datagrams.disordered),
            duplicate: sum(&|totals| totals.datagrams.duplicate),
            late: sum(&|totals| totals.datagrams.late),
            lost: sum(&|totals| totals.datagrams.lost),
            foreign: sum(&|totals| totals.datagrams.foreign),
        },
    };
    // Operations that wait at the very end are abandoned with the unmeasured load.
    let abandoned = phases.cooldown.totals.abandoned;
    let ended = sums.answered + sums.timed_out + abandoned;
    assert_eq!(ended, sums.intended, "nothing else can happen here");
    assert_eq!((sums.wrong, sums.datagrams.foreign), (0, 0));
    assert!(rehearsal.failure.is_none());
    sums
}

fn made(rehearsal: &Rehearsal, kind: FaultKind) -> u64 {
    let mut kinds = rehearsal.faults.iter();
    kinds.find(|(of, _)| *of == kind).map_or(0, |&(_, count)| count)
}

#[test]
fn a_network_without_faults_costs_nothing() {
    for protocol in ["text", "binary"] {
        for (mix, multiget) in [("get=9,set=1", "1"), ("get=1,cas=1,delete=1", "7")] {
            let words = [("protocol", protocol), ("mix", mix), ("multiget", multiget)];
            let rehearsal = world(&words).rehearse();
            let sums = sums(&rehearsal);
            assert_eq!(sums.timed_out, 0, "{protocol} {mix}");
            assert!(sums.checked > 1_000, "{protocol} {mix}");
            assert!(sums.datagrams.is_zero(), "{protocol} {mix}");
        }
    }
}

#[test]
fn replies_of_one_datagram_are_lost_as_often_as_the_server_loses_them() {
    for protocol in ["text", "binary"] {
        let mut world = world(&[("protocol", protocol)]);
        world.servers[0].faults = "udp-loss:1%,udp-duplicate:1%".parse().unwrap();
        let rehearsal = world.rehearse();
        let sums = sums(&rehearsal);
        let lost = made(&rehearsal, FaultKind::UdpLoss);
        assert!(lost > 300, "{lost}");
        assert_eq!(sums.timed_out, lost);
        assert_eq!(sums.datagrams.duplicate, made(&rehearsal, FaultKind::UdpDuplicate));
        // The length of a reply is unknown if none of its parts came.
        assert_eq!((sums.datagrams.lost, sums.datagrams.disordered), (0, 0));
    }
}

#[test]
fn replies_of_many_datagrams_come_out_whole_or_not_at_all() {
    for protocol in ["text", "binary"] {
        let words = [("protocol", protocol), ("mix", "get=1"), ("value-size", "5000")];
        let mut world = world(&words);
        world.servers[0].faults =
            "udp-loss:0.5%,udp-duplicate:2%,udp-disorder:5%,udp-late:0.5%".parse().unwrap();
        let rehearsal = world.rehearse();
        let sums = sums(&rehearsal);
        let [lost, late] = [FaultKind::UdpLoss, FaultKind::UdpLate].map(|k| made(&rehearsal, k));
        assert_eq!(sums.datagrams.lost, lost + late);
        assert!(sums.timed_out <= lost + late && sums.timed_out * 2 > lost + late);
        assert_eq!(sums.datagrams.duplicate, made(&rehearsal, FaultKind::UdpDuplicate));
        // A held-back datagram leaves with the next reply, which the same client may not have
        // requested.
        assert!(sums.datagrams.late <= late && sums.datagrams.late + 100 > late);
        assert!(sums.datagrams.disordered >= made(&rehearsal, FaultKind::UdpDisorder) / 2);
    }
}

fn rough() -> Network {
    Network {
        delay: Law::Exponential(0.001),
        loss: 0.01,
        duplicates: 0.02,
        // The fill is not tested here.
        resend: Span::from_ms(1),
        partitions: vec![(s(6), s(7))],
        ..Network::default()
    }
}

#[test]
fn a_rough_network_is_survived_and_counted() {
    for protocol in ["text", "binary"] {
        let words = [("protocol", protocol), ("value-size", "uniform:100,4000"), ("mix", "get=1")];
        let mut world = world(&words);
        world.network = rough();
        let rehearsal = world.rehearse();
        let sums = sums(&rehearsal);
        assert!(sums.timed_out > 2_000, "a second and a few percent: {}", sums.timed_out);
        assert!(sums.answered > 30_000, "{}", sums.answered);
        let DatagramCounts { disordered, duplicate, late, lost, .. } = sums.datagrams;
        assert!(disordered > 1_000 && duplicate > 1_000 && lost > 100, "{:?}", sums.datagrams);
        // An exponential delay of 1 ms on average hardly ever exceeds 50 ms.
        assert!(late < 100, "{late}");
    }
}

#[test]
fn answers_that_come_after_the_timeout_are_late_and_belong_to_nobody() {
    let words = [("rate", "500"), ("load", "never"), ("verify", "0")];
    let rehearsal = world(&words).behaviour("exponential:30ms").rehearse();
    let sums = sums(&rehearsal);
    assert!(sums.timed_out > 500, "{}", sums.timed_out);
    assert!(sums.datagrams.late > 500, "{:?}", sums.datagrams);
    assert_eq!((sums.datagrams.duplicate, sums.datagrams.lost), (0, 0));
    assert!(sums.datagrams.late <= sums.timed_out);
}

#[test]
fn a_closed_loop_goes_on_after_each_loss_and_ends_exactly() {
    let mut world = world(&[("rate", "0"), ("connections", "4"), ("ops-max", "20k")]);
    world.words.retain(|(name, _)| *name != "duration");
    let (delay, resend) = (Law::Fixed(10e-6), Span::from_ms(1));
    world.network = Network { delay, resend, loss: 0.01, ..Network::default() };
    let rehearsal = world.rehearse();
    let sums = sums(&rehearsal);
    assert_eq!(sums.intended, 20_000);
    assert!((200..800).contains(&sums.timed_out), "{}", sums.timed_out);
}

#[test]
fn a_request_that_does_not_fit_is_refused_and_counted() {
    let words = [("mix", "set=1"), ("value-size", "uniform:1000,2000"), ("verify", "0")];
    let rehearsal = world(&words).rehearse();
    let totals = &rehearsal.record.totals;
    assert!(totals.failed > 10_000 && totals.answered > 10_000, "{totals:?}");
    assert_eq!(totals.errors["request_too_long"], totals.failed);
    assert_eq!((totals.answered, totals.sent), (totals.intended - totals.failed, totals.answered));
}

#[test]
fn a_server_that_dies_is_asked_again_when_it_is_back() {
    let mut world = world(&[("mix", "get=1"), ("timeout", "3s")]);
    world.deaths = vec![(0, s(5), s(6))];
    let rehearsal = world.rehearse();
    let totals = &rehearsal.record.totals;
    assert!(totals.connections.lost > 0 && totals.lost > 0, "{totals:?}");
    assert!(totals.answered > 37_000, "{totals:?}");
    assert_eq!(totals.answered + totals.lost + totals.timed_out, totals.intended);
    assert!(rehearsal.failure.is_none());
}
