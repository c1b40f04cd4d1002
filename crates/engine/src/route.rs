//! Which of a client's connections an operation takes: the least loaded one that is open and
//! writable, and among equals the one that has waited longest; or any, of a client that has one
//! operation outstanding at most.
//!
//! Connections of equal load that have room form a list, the lists an array by load. Every step is
//! O(1): loads change by one, and the least load in use moves with them.

mod groups;

use crate::plan::{ConnectionTurn, Refill};
use memtide_base::rng::{Stream, below, hash};
use memtide_workload::Op;

pub(crate) use groups::{Groups, Roles};

const NONE: u32 = u32::MAX;

/// The connections of one client, by how many operations each has outstanding.
#[derive(Debug)]
pub(crate) struct Route {
    first: u32,
    nodes: Vec<Node>,
    /// By load, below the depth: the list of available connections that carry that many.
    lists: Vec<List>,
    /// The least load of which the list is not empty; the depth when all are.
    least: usize,
    /// Whether a connection that is being emptied takes no more before it is empty.
    refills_whole: bool,
    single: Option<Single>,
    /// The connections where these are in groups; there are none of its own then.
    groups: Option<Box<Groups>>,
}

/// What a client remembers that has one operation outstanding at most.
#[derive(Debug)]
struct Single {
    turn: ConnectionTurn,
    /// The root and the stream of its draws.
    draws: (u64, Stream),
    /// How many operations took a connection.
    taken: u64,
    /// How many it has outstanding on all connections: none or one.
    outstanding: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    load: u32,
    available: bool,
    /// Whether it takes no more before its load is none.
    empties: bool,
    /// Whether it is in the list of its load: it is available and has room.
    is_listed: bool,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl Route {
    /// Connections `first..first + count`, none of them available yet.
    pub(crate) fn new(first: u32, count: u32, depth: u32) -> Self {
        let node = Node {
            load: 0,
            available: false,
            empties: false,
            is_listed: false,
            before: NONE,
            after: NONE,
        };
        Self {
            first,
            nodes: vec![node; count as usize],
            lists: vec![List { head: NONE, tail: NONE }; depth as usize],
            least: depth as usize,
            refills_whole: false,
            single: None,
            groups: None,
        }
    }

    /// The same, refilled in this way.
    pub(crate) fn refilled(self, refill: Refill) -> Self {
        Self { refills_whole: refill == Refill::Whole, ..self }
    }

    /// The same for client number `client` of a run of this seed, which has one operation
    /// outstanding at most.
    pub(crate) fn single(
        first: u32,
        count: u32,
        turn: ConnectionTurn,
        (seed, client): (u64, u32),
    ) -> Self {
        let draws = (seed, Stream::CONNECTION.of_lane(u64::from(client)));
        let single = Single { turn, draws, taken: 0, outstanding: 0 };
        Self { single: Some(single), ..Self::new(first, count, 1) }
    }

    /// The same with its connections in groups.
    pub(crate) fn grouped(groups: Groups) -> Self {
        let first = groups.first_connection();
        let groups = Some(Box::new(groups));
        Self { groups, ..Self::single(first, 0, ConnectionTurn::RoundRobin, (0, 0)) }
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> u32 {
        match &self.groups {
            None => self.nodes.len() as u32,
            Some(groups) => groups.connections(),
        }
    }

    /// Whether the operation says which connections it takes, see [`Route::aim`].
    pub(crate) fn is_grouped(&self) -> bool {
        self.groups.is_some()
    }

    /// Decides which connections `op` takes, where these are in groups: says how many, none when
    /// nobody is there for it.
    pub(crate) fn aim(&mut self, op: &Op) -> usize {
        self.groups.as_mut().map_or(0, |groups| groups.aim(op).len())
    }

    /// The `nth` of these.
    pub(crate) fn aimed(&self, nth: usize) -> u32 {
        self.groups.as_ref().expect("it was aimed at a group").aimed(nth)
    }

    /// `connection` opened and can be used.
    pub(crate) fn opened(&mut self, connection: u32) {
        if let Some(groups) = &mut self.groups {
            groups.changed(connection, true);
        }
        self.set_available(connection, true);
    }

    /// `connection` was open, and is lost; its load stays.
    pub(crate) fn gone(&mut self, connection: u32) {
        self.set_available(connection, false);
        if let Some(groups) = &mut self.groups {
            groups.changed(connection, false);
        }
    }

    /// Whether the client has one operation outstanding at most.
    pub(crate) fn is_single(&self) -> bool {
        self.single.is_some()
    }

    /// The connection to use now, or `None` when all are full or unavailable.
    #[inline]
    pub(crate) fn pick(&self) -> Option<u32> {
        let Some(&List { head: waiting, .. }) = self.lists.get(self.least) else {
            return self.groups.as_ref().and_then(|groups| self.pick_grouped(groups));
        };
        match &self.single {
            None => Some(self.first + waiting),
            Some(single) => self.pick_single(single, waiting),
        }
    }

    /// The same where connections are in groups: the one to use is known by the operation.
    #[cold]
    fn pick_grouped(&self, groups: &Groups) -> Option<u32> {
        let single = self.single.as_ref()?;
        if single.outstanding == 0 { groups.pick() } else { None }
    }

    /// The same of a client that has one operation outstanding at most; `waiting` has waited
    /// longest.
    fn pick_single(&self, single: &Single, waiting: u32) -> Option<u32> {
        if single.outstanding > 0 {
            return None;
        }
        if single.turn == ConnectionTurn::RoundRobin {
            return Some(self.first + waiting);
        }
        let (seed, stream) = single.draws;
        let count = self.nodes.len() as u64;
        let drawn = below(hash(seed, stream, single.taken), count) as u32;
        // Those that are not open are passed over.
        let places = (drawn..self.connections()).chain(0..drawn);
        places.map(|place| self.first + place).find(|&connection| self.has_room(connection))
    }

    /// Whether `connection` could take one more.
    #[inline]
    pub(crate) fn has_room(&self, connection: u32) -> bool {
        let idle = self.single.as_ref().is_none_or(|single| single.outstanding == 0);
        if let Some(groups) = &self.groups {
            return idle && groups.has_room(connection);
        }
        self.nodes[(connection - self.first) as usize].is_listed && idle
    }

    /// `connection` took one more.
    #[inline]
    pub(crate) fn take(&mut self, connection: u32) {
        if let Some(single) = &mut self.single {
            single.taken += 1;
            single.outstanding += 1;
        }
        if let Some(groups) = &mut self.groups {
            return groups.of(connection).take(connection);
        }
        self.change(connection, |load| load + 1);
    }

    /// `connection` is free of `freed` of them.
    pub(crate) fn free(&mut self, connection: u32, freed: u32) {
        if let Some(single) = &mut self.single {
            single.outstanding -= freed;
        }
        if let Some(groups) = &mut self.groups {
            return groups.of(connection).free(connection, freed);
        }
        self.change(connection, |load| load - freed);
    }

    /// `connection` can be used, or cannot; its load stays.
    pub(crate) fn set_available(&mut self, connection: u32, available: bool) {
        if let Some(groups) = &mut self.groups {
            return groups.of(connection).set_available(connection, available);
        }
        let at = connection - self.first;
        if self.nodes[at as usize].available == available {
            return;
        }
        if available {
            self.nodes[at as usize].available = true;
            self.append(at);
        } else {
            self.unlink(at);
            self.nodes[at as usize].available = false;
            self.raise_least();
        }
    }

    fn change(&mut self, connection: u32, load: impl Fn(u32) -> u32) {
        let at = connection - self.first;
        self.unlink(at);
        let depth = self.lists.len();
        let node = &mut self.nodes[at as usize];
        let before = node.load;
        node.load = load(before);
        if self.refills_whole {
            let less = node.empties || node.load < before || node.load as usize >= depth;
            node.empties = node.load > 0 && less;
        }
        self.append(at);
        self.raise_least();
    }

    /// Puts it at the end of the list of its load, if it is available and has room.
    fn append(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        let load = node.load as usize;
        let Some(list) = self.lists.get_mut(load) else { return };
        if !node.available || node.empties {
            return;
        }
        node.is_listed = true;
        let tail = std::mem::replace(&mut list.tail, at);
        node.before = tail;
        node.after = NONE;
        match tail {
            NONE => list.head = at,
            tail => self.nodes[tail as usize].after = at,
        }
        self.least = self.least.min(load);
    }

    /// Takes it out of the list that it is in, if it is in one.
    fn unlink(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        if !std::mem::take(&mut node.is_listed) {
            return;
        }
        let Node { load, before, after, .. } = *node;
        let list = &mut self.lists[load as usize];
        match before {
            NONE => list.head = after,
            before => self.nodes[before as usize].after = after,
        }
        match after {
            NONE => list.tail = before,
            after => self.nodes[after as usize].before = before,
        }
    }

    /// After a list may have lost its last: finds the least load anew, which is one more where a
    /// connection moved on by one.
    fn raise_least(&mut self) {
        while self.lists.get(self.least).is_some_and(|list| list.head == NONE) {
            self.least += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_base::Random;

    #[test]
    fn equals_take_turns_and_full_ones_are_skipped() {
        let mut route = Route::new(10, 3, 2);
        assert_eq!(route.pick(), None);
        (10..13).for_each(|connection| route.set_available(connection, true));
        let mut taken = Vec::new();
        while let Some(connection) = route.pick() {
            route.take(connection);
            taken.push(connection);
        }
        assert_eq!(taken, [10, 11, 12, 10, 11, 12]);
        route.free(11, 1);
        assert_eq!(route.pick(), Some(11));
        route.set_available(11, false);
        assert_eq!(route.pick(), None);
        assert!(!route.has_room(11) && !route.has_room(10));
    }

    #[test]
    fn a_connection_that_is_refilled_whole_is_emptied_first() {
        let mut route = Route::new(0, 2, 3).refilled(Refill::Whole);
        route.set_available(0, true);
        (0..3).for_each(|_| route.take(0));
        route.free(0, 2);
        assert_eq!(route.pick(), None, "it has been full");
        route.set_available(0, false);
        route.set_available(0, true);
        assert!(!route.has_room(0) && route.pick().is_none(), "and is not empty yet");
        route.free(0, 1);
        assert_eq!(route.pick(), Some(0));
        (0..2).for_each(|_| route.take(0));
        assert!(route.has_room(0), "it was never full");
        route.free(0, 1);
        assert!(!route.has_room(0), "one of two has ended");
        route.set_available(1, true);
        route.free(0, 1);
        assert_eq!(route.pick(), Some(1), "of equals the one that has waited longest");
    }

    #[test]
    fn a_single_operation_takes_each_connection_in_turn_or_any() {
        for (turn, even) in [(ConnectionTurn::RoundRobin, true), (ConnectionTurn::Random, false)] {
            let mut route = Route::single(20, 8, turn, (3, 5));
            (20..28).for_each(|connection| route.set_available(connection, true));
            route.set_available(22, false);
            let mut times = [0u32; 8];
            for _ in 0..7_000 {
                let connection = route.pick().expect("nothing is outstanding");
                route.take(connection);
                assert_eq!(route.pick(), None, "one is outstanding");
                assert!(!route.has_room(23));
                route.free(connection, 1);
                times[(connection - 20) as usize] += 1;
            }
            assert_eq!(times[2], 0, "it is not open");
            let right = |&times: &u32| if even { times == 1_000 } else { times > 700 };
            assert!(times.iter().enumerate().all(|(at, of)| at == 2 || right(of)), "{times:?}");
        }
    }

    #[test]
    fn the_pick_is_always_a_least_loaded_one() {
        let seed = 5;
        let mut random = Random::new(seed);
        let mut route = Route::new(0, 20, 6);
        let mut model: Vec<Option<u32>> = vec![None; 20];
        let mut loads = [0u32; 20];
        for _ in 0..20_000 {
            let connection = random.below(20) as usize;
            match random.below(4) {
                0 => {
                    let available = model[connection].is_none();
                    model[connection] = available.then_some(loads[connection]);
                    route.set_available(connection as u32, available);
                }
                1 if loads[connection] > 0 => {
                    loads[connection] -= 1;
                    route.free(connection as u32, 1);
                }
                _ => {
                    if let Some(pick) = route.pick() {
                        loads[pick as usize] += 1;
                        route.take(pick);
                    }
                }
            }
            for (at, slot) in model.iter_mut().enumerate() {
                *slot = slot.map(|_| loads[at]);
            }
            let least = model.iter().flatten().min().copied().filter(|&load| load < 6);
            assert_eq!(route.pick().map(|at| loads[at as usize]), least, "seed {seed}");
        }
    }
}
