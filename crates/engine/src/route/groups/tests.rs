//! Writers and readers: which servers an operation goes to, and what is passed over.

use super::super::Route;
use super::*;
use memtide_world::plan::ConnectionTurn;

const fn id(number: u32) -> ConnectionId {
    ConnectionId(number)
}

/// Three servers with two connections each from number 10 on, all open.
fn servers(writers: usize, copies: Replicate) -> Route {
    let route = |nth: u32| Single::new(id(10 + 2 * nth), 2, ConnectionTurn::RoundRobin, 1, 0);
    let mix = "get=9,set=1".parse().expect("a mix");
    let roles = Roles::Servers { writers, copies };
    let groups = Groups::new((0..3).map(route).collect(), roles, &mix, 0);
    let mut route = Route::ByKind(Box::new(groups));
    (10..16).for_each(|connection| route.opened(id(connection)));
    route
}

fn op(kind: OpKind, key: u64) -> Op {
    Op { index: 0, key, kind, keys: 1 }
}

/// The servers that an operation takes; the operation ends at once.
fn go(route: &mut Route, kind: OpKind, key: u64) -> Vec<u32> {
    route.pick().expect("a connection is free");
    let count = route.aim(&op(kind, key)).expect("it is aimed");
    let taken: Vec<ConnectionId> = (0..count).map(|nth| route.aimed(nth)).collect();
    taken.iter().for_each(|&connection| route.take(connection));
    assert!(taken.is_empty() || route.pick().is_none(), "one operation at a time");
    taken.iter().for_each(|&connection| route.free(connection, 1));
    taken.iter().map(|connection| (connection.0 - 10) / 2).collect()
}

#[test]
fn writes_go_to_all_writers_and_reads_to_another_than_the_first() {
    let mut route = servers(2, Replicate::All);
    for key in 0..10 {
        let first = (key % 2) as u32;
        assert_eq!(go(&mut route, OpKind::Set, key), [first, 1 - first]);
        assert_eq!(go(&mut route, OpKind::Get, key), [1 - first]);
    }
    let mut route = servers(3, Replicate::All);
    let read: Vec<_> = (0..4).flat_map(|_| go(&mut route, OpKind::Get, 1)).collect();
    assert!(read.contains(&0) && read.contains(&2) && !read.contains(&1), "{read:?}");
    let mut route = servers(1, Replicate::All);
    assert_eq!(go(&mut route, OpKind::Set, 5), [0]);
    assert!(!go(&mut route, OpKind::Get, 5).contains(&0));
}

#[test]
fn who_is_away_is_passed_over_and_who_is_busy_is_waited_for() {
    let mut route = servers(2, Replicate::All);
    route.set_available(id(10), false);
    route.set_available(id(11), false);
    assert_eq!(route.pick(), None, "server 0 is there and has no room");
    route.gone(id(10));
    route.gone(id(11));
    assert_eq!(go(&mut route, OpKind::Set, 0), [1]);
    assert_eq!(go(&mut route, OpKind::Get, 1), [1], "the first is better than none");
    route.gone(id(12));
    route.gone(id(13));
    assert_eq!(go(&mut route, OpKind::Set, 0), [0; 0]);
    assert_eq!(go(&mut route, OpKind::Get, 0), [2]);
    route.opened(id(11));
    assert_eq!(go(&mut route, OpKind::Set, 0), [0]);
}

#[test]
fn one_copy_goes_to_each_writer_in_turn_and_reads_to_all() {
    let mut route = servers(2, Replicate::One);
    let written: Vec<_> = (0..4).flat_map(|_| go(&mut route, OpKind::Set, 0)).collect();
    assert_eq!(written, [0, 1, 0, 1]);
    let read: Vec<_> = (0..3).flat_map(|_| go(&mut route, OpKind::Get, 0)).collect();
    assert!([0, 1, 2].iter().all(|server| read.contains(server)), "{read:?}");
    // Other kinds between its turns left each kind with one server.
    let mut mixed = servers(2, Replicate::One);
    let (mut stored, mut deleted) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        stored.extend(go(&mut mixed, OpKind::Set, 0));
        deleted.extend(go(&mut mixed, OpKind::Delete, 0));
        go(&mut mixed, OpKind::Get, 0);
    }
    assert_eq!((stored, deleted), (vec![0, 1, 0, 1], vec![0, 1, 0, 1]));
}

#[test]
fn gets_go_by_datagrams_and_all_else_in_a_stream() {
    let stream = Single::new(id(0), 3, ConnectionTurn::RoundRobin, 1, 0);
    let datagrams = Single::new(id(3), 1, ConnectionTurn::RoundRobin, 1, 0);
    let mix = "get=9,set=1".parse().expect("a mix");
    let groups = Groups::new(vec![stream, datagrams], Roles::Split, &mix, 7);
    let mut route = Route::ByKind(Box::new(groups));
    (0..3).for_each(|connection| route.opened(id(connection)));
    assert_eq!(route.pick(), None, "the next may be a get");
    route.opened(id(3));
    let mut taken = Vec::new();
    for kind in [OpKind::Set, OpKind::Get, OpKind::Set, OpKind::Gets, OpKind::Cas] {
        assert!(route.pick().is_some());
        assert_eq!(route.aim(&op(kind, 1)), Some(1));
        taken.push(route.aimed(0).0);
        route.take(route.aimed(0));
        route.free(route.aimed(0), 1);
    }
    assert_eq!(taken, [0, 3, 1, 3, 2]);
}
