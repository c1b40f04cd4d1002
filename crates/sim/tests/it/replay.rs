//! Everything follows from the seed.

mod slices;

use crate::prelude::*;

fn world(seed: u64) -> World {
    let mut world = World::of(
        "rate=5k duration=2s warmup=500ms mix=get=5,gets=1,set=2,cas=1,delete=1,incr=1 \
         keys=500 threads=3 connections=9",
    );
    world.servers = vec![ServerProfile::default(), ServerProfile::default()];
    world.behaviour("queue:2,exponential:200us").seed(seed)
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
