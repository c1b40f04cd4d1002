//! Silent servers: one that stands still is noticed in closed and open loops, through workers and
//! shares; quiet loads and a memtide that stood still itself never make a server silent.

use crate::prelude::*;
use memtide_merge::merge;
use memtide_record::{ServerRecord, WarningRecord};

/// The warnings that a server was silent.
fn silent(record: &Record) -> Vec<&str> {
    let is_it = |it: &&WarningRecord| it.code == "server_silent";
    record.warnings.iter().filter(is_it).map(|it| &*it.message).collect()
}

fn check(record: &Record) -> Option<&str> {
    let mut checks = record.believable.checks.iter();
    Some(&*checks.find(|check| check.code == CheckKind::Silence)?.message)
}

/// 12 s of `words` on a server that stands still for 6 of them.
fn stopped(words: &[(&'static str, &str)]) -> World {
    let world = World::of("duration=12s load=never keys=100 connections=8 timeout=10s");
    let mut world = world.with(words).behaviour("fixed:10ms+pause:3s,6s,once");
    world.keeps_samples = false;
    world
}

const FOR_SIX: &str = "was silent for 6.0 of 12.0 s";

/// It had no warning, and p99 was believed.
#[test]
fn a_closed_loop_notices_a_server_that_stands_still_and_is_not_believed() {
    for threads in ["1", "3"] {
        let record = stopped(&[("rate", "0"), ("threads", threads)]).rehearse().record;
        let warnings = silent(&record);
        assert!(matches!(&warnings[..], [one] if one.contains(FOR_SIX)), "{warnings:?}");
        assert!(check(&record).is_some_and(|why| why.contains(FOR_SIX)), "{:?}", record.believable);
        assert_eq!(record.believable.verdict, Verdict::No);
        assert_eq!(record.exit, 0, "no server is lost");
    }
}

#[test]
fn an_open_loop_notices_it_and_has_measured_it() {
    for rate in ["10", "2k"] {
        let record = stopped(&[("rate", rate), ("threads", "2")]).rehearse().record;
        let warnings = silent(&record);
        assert!(
            matches!(&warnings[..], [one] if one.contains("was silent for 5.")
            || one.contains(FOR_SIX)),
            "{rate}: {warnings:?}"
        );
        assert_eq!(check(&record), None, "{rate}");
    }
}

#[test]
fn of_two_servers_the_silent_one_is_named() {
    let mut world = stopped(&[("rate", "0"), ("threads", "2")]);
    world.servers.push(world.servers[0].clone());
    world.servers[1].behaviour = "fixed:10ms".parse().expect("a behaviour");
    let record = world.rehearse().record;
    let warnings = silent(&record);
    let name = &record.servers[0].name;
    assert!(matches!(&warnings[..], [one] if one.starts_with(name)), "{warnings:?}");
}

#[test]
fn stalls_with_a_rhythm_are_said_as_such() {
    let world = stopped(&[("rate", "0")]).behaviour("fixed:10ms+pause:2s,290ms");
    let record = world.rehearse().record;
    let warnings = silent(&record);
    let rhythm = "stalled 5 times for 300 ms, every 2.0 s: it was silent for 1.5 of 12.0 s";
    assert!(matches!(&warnings[..], [one] if one.ends_with(rhythm)), "{warnings:?}");
}

#[test]
fn shares_know_a_silence_that_all_had() {
    let share = |number, behaviour: &str| {
        let mut world = stopped(&[("rate", "0")]).behaviour(behaviour);
        world.share = Some(Share::one(number, 2));
        world.rehearse().record
    };
    let merged = |two| merge(&[share(0, "fixed:10ms+pause:3s,6s,once"), two], Scenarios::Same);
    let both = merged(share(1, "fixed:10ms+pause:4s,6s,once")).unwrap();
    assert!(silent(&both)[0].contains("was silent for 5.0 of 12.0 s"), "{:?}", silent(&both));
    assert!(check(&both).is_some_and(|why| why.contains("5.0 of 12.0 s")));
    // The other share had replies: the network of the first may have failed.
    let one = merged(share(1, "fixed:10ms")).unwrap();
    assert_eq!((silent(&one), check(&one)), (Vec::new(), None));
}

#[test]
fn memtide_that_stood_still_blames_no_server() {
    for kind in [PauseKind::Stopped, PauseKind::OtherThreads] {
        for rate in ["0", "100"] {
            let mut world = stopped(&[("rate", rate)]).behaviour("fixed:10ms");
            let (from, length) = (Span::from_s(4), Span::from_s(1));
            world.pauses = vec![WorkerPause { worker: 0, from, length, kind }];
            let record = world.rehearse().record;
            assert_eq!(silent(&record), [""; 0], "{kind:?}, {rate}/s");
        }
    }
}

/// Loads that ask for little, of which the server answers each within its usual time.
fn quiet(seed: u64) -> World {
    let mut draw = Random::new(seed);
    let mut word = |choices: &[&'static str]| choices[draw.below(choices.len() as u64) as usize];
    let load = word(&[
        "rate=0 pause-after-reply=1s connections=1",
        "rate=0 pause-after-reply=300ms connections=4",
        "rate=0 connections=2",
        "calls=3 connection-rate=2",
        "calls=5 connection-rate=4",
        "rate=1 connections=4",
        "rate=20 connections=8 threads=2",
        "rate=0 clients=3",
    ]);
    let behaviour = word(&[
        "exponential:5ms",
        "exponential:10ms",
        "queue:1,exponential:20ms",
        "exponential:100ms",
        "fixed:400ms",
        "fixed:1s",
    ]);
    let mut world = World::of(load).behaviour(behaviour).seed(seed);
    let common = [("duration", "20s"), ("load", "never"), ("keys", "100"), ("timeout", "10s")];
    world = world.with(&common);
    world.keeps_samples = false;
    world
}

/// `QUIET_RUNS=200` makes 200 of them.
#[test]
fn no_server_is_silent_in_quiet_runs() {
    let runs = std::env::var("QUIET_RUNS").map_or(24, |runs| runs.parse().expect("a number"));
    for seed in 0..runs {
        let record = quiet(seed).rehearse().record;
        assert!(record.totals.answered > 0, "seed {seed}");
        assert_eq!(silent(&record), [""; 0], "seed {seed}: {:?}", record.scenario);
        let silence = |server: &ServerRecord| server.silence.clone();
        assert!(record.servers.iter().all(|server| silence(server).is_none()), "seed {seed}");
    }
}
