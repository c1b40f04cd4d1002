//! Everything follows from the seed.

use crate::harness::World;
use memtide_server::Conduct;

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
    world.servers = vec![Conduct::default(), Conduct::default()];
    world.behaviour("queue:2,exponential:200us").seed(seed)
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_one_another() {
    let (first, again, other) = (world(7).rehearse(), world(7).rehearse(), world(8).rehearse());
    assert_eq!((first.hash, first.events), (again.hash, again.events));
    assert_eq!(first.samples, again.samples);
    assert_eq!(first.record, again.record);
    assert_ne!(first.hash, other.hash);
}
