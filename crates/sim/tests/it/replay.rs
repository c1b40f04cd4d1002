//! Everything follows from the seed.

use crate::harness::World;
use memtide_server::ServerProfile;

fn world(seed: u64) -> World {
    let mut world = World::new(&[
        ("rate", "5k"),
        ("duration", "2s"),
        ("warmup", "500ms"),
        ("mix", "get=5,gets=1,set=2,cas=1,delete=1,incr=1"),
        ("keys", "500"),
        ("threads", "3"),
        ("connections", "9"),
    ]);
    world.servers = vec![ServerProfile::default(), ServerProfile::default()];
    world.behaviour("queue:2,exponential:200us").seed(seed)
}

/// The binary protocol: other bytes, so another trace, but the same load.
#[test]
fn frames_are_replayed_and_carry_the_same_load() {
    let lines = world(7).rehearse();
    let frames = || {
        let mut world = world(7);
        world.words.push(("protocol", "binary".to_owned()));
        world.words.push(("multiget", "3".to_owned()));
        world.words.push(("verify", "1".to_owned()));
        world.rehearse()
    };
    let (first, again) = (frames(), frames());
    assert_eq!((first.hash, first.events), (again.hash, again.events));
    assert_eq!(first.record, again.record);
    assert_ne!(first.hash, lines.hash);
    let (ours, theirs) = (&first.record.totals, &lines.record.totals);
    assert_eq!((ours.intended, ours.answered), (theirs.intended, theirs.intended));
    assert!(first.record.phases.verification().checked > 1_000);
    assert_eq!(first.record.phases.verification().wrong(), 0);
}

/// Values are signed with the world's time, so a run can be replayed at any other time.
#[test]
fn a_run_is_dated_by_its_world() {
    let record = world(7).rehearse().record;
    assert_eq!(record.started_unix_ms, 1_800_000_000_000);
    let lasted_ms = record.ended_unix_ms - record.started_unix_ms;
    assert!((2_500..5_000).contains(&lasted_ms), "{lasted_ms} ms");
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_one_another() {
    let (first, again, other) = (world(7).rehearse(), world(7).rehearse(), world(8).rehearse());
    assert_eq!((first.hash, first.events), (again.hash, again.events));
    assert_eq!(first.samples, again.samples);
    assert_eq!(first.record, again.record);
    assert_ne!(first.hash, other.hash);
}
