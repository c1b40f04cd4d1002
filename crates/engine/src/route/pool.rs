//! Connections ordered by the number of operations outstanding on each, and those of equal load by
//! how long they have waited. It knows which have room, and not which client takes them.
//!
//! Connections of equal load that have room form a list, the lists an array by load. Every step is
//! O(1): loads change by one, and the least load in use moves with them.

use memtide_base::{ConnectionId, Id, Table};
use memtide_world::plan::Refill;

/// A range of connections and their loads.
#[derive(Debug)]
pub(crate) struct Pool {
    first: ConnectionId,
    nodes: Table<Spot, Node>,
    /// For each load below the depth: the list of available connections with that load.
    lists: Vec<List>,
    /// The smallest load whose list is not empty; the depth if all are.
    least: usize,
    /// True if a connection that is full or has begun to empty takes no more operations until it is
    /// empty.
    refills_whole: bool,
}

/// A connection, counted from the first of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot(u32);

/// No connection.
const NONE: Spot = Spot(u32::MAX);

impl Id for Spot {
    fn at(position: usize) -> Self {
        Self(position as u32)
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    load: u32,
    available: bool,
    /// True if it takes no more operations until its load is zero.
    empties: bool,
    /// True if it is in the list of its load: it is available and has room.
    is_listed: bool,
    before: Spot,
    after: Spot,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: Spot,
    tail: Spot,
}

impl Pool {
    /// A pool of connections `first..first + count`, none of them available yet, each with room for
    /// `depth` operations.
    pub(super) fn new(first: ConnectionId, count: u32, depth: u32, refill: Refill) -> Self {
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
            nodes: (0..count).map(|_| node).collect(),
            lists: vec![List { head: NONE, tail: NONE }; depth as usize],
            least: depth as usize,
            refills_whole: refill == Refill::Whole,
        }
    }

    /// The first of its connections.
    pub(super) fn first(&self) -> ConnectionId {
        self.first
    }

    /// All its connections, from `nth` on, then those before `nth`.
    pub(super) fn from(&self, nth: u32) -> impl Iterator<Item = ConnectionId> {
        let count = self.nodes.len() as u32;
        (nth..count).chain(0..nth).map(|spot| ConnectionId(self.first.0 + spot))
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The connection of least load that has waited longest, or `None` if all are full or
    /// unavailable.
    #[inline]
    pub(super) fn pick(&self) -> Option<ConnectionId> {
        let list = self.lists.get(self.least)?;
        debug_assert!(self.nodes[list.head].is_listed, "the least loaded has room");
        Some(ConnectionId(self.first.0 + list.head.0))
    }

    /// True if `connection` has room for one more operation.
    #[inline]
    pub(super) fn has_room(&self, connection: ConnectionId) -> bool {
        self.nodes[self.spot(connection)].is_listed
    }

    /// How many operations `pick` gives to `connection`, which it returned, one after the other, if
    /// nothing else changes: at least one, and up to `most`.
    #[inline]
    pub(super) fn run(&self, connection: ConnectionId, most: usize) -> usize {
        let spot = self.spot(connection);
        let load = self.nodes[spot].load as usize;
        let Some([list, higher @ ..]) = self.lists.get(load..) else { return 1 };
        if list.tail != spot {
            return 1;
        }
        let higher = &higher[..higher.len().min(most - 1)];
        1 + higher.iter().take_while(|list| list.head == NONE).count()
    }

    /// Counts `count` more operations on `connection`, which [`Self::run`] allowed.
    pub(super) fn take_many(&mut self, connection: ConnectionId, count: u32) {
        debug_assert!(self.run(connection, count as usize) >= count as usize, "others come first");
        self.change(connection, |load| load + count);
    }

    #[inline(always)]
    pub(super) fn take(&mut self, connection: ConnectionId) {
        if !self.take_alone(connection) {
            self.change(connection, |load| load + 1);
        }
    }

    /// Counts one more operation on a connection that is alone in its list and will be alone in the
    /// next, as one is that a batch of replies emptied: nothing is linked. False if it is not so.
    #[inline(always)]
    fn take_alone(&mut self, connection: ConnectionId) -> bool {
        let spot = self.spot(connection);
        let node = &mut self.nodes[spot];
        let load = node.load as usize;
        let Some([list, next]) = self.lists.get_mut(load..).and_then(<[List]>::first_chunk_mut)
        else {
            return false;
        };
        let alone = list.head == spot && list.tail == spot && next.head == NONE;
        if !alone || !node.is_listed || self.refills_whole {
            return false;
        }
        node.load += 1;
        (*list, *next) = (List { head: NONE, tail: NONE }, *list);
        self.least += usize::from(self.least == load);
        true
    }

    pub(super) fn free(&mut self, connection: ConnectionId, freed: u32) {
        self.change(connection, |load| {
            debug_assert!(freed <= load, "more operations left a connection than it had");
            load - freed
        });
    }

    pub(super) fn set_available(&mut self, connection: ConnectionId, available: bool) {
        let spot = self.spot(connection);
        if self.nodes[spot].available == available {
            return;
        }
        if available {
            self.nodes[spot].available = true;
            self.append(spot);
        } else {
            self.unlink(spot);
            self.nodes[spot].available = false;
            self.raise_least();
        }
    }

    #[inline]
    fn spot(&self, connection: ConnectionId) -> Spot {
        Spot(connection.0 - self.first.0)
    }

    #[inline(never)]
    fn change(&mut self, connection: ConnectionId, load: impl Fn(u32) -> u32) {
        let spot = self.spot(connection);
        self.unlink(spot);
        let depth = self.lists.len();
        let node = &mut self.nodes[spot];
        let before = node.load;
        node.load = load(before);
        debug_assert!(node.load as usize <= depth, "a connection carries more than its depth");
        if self.refills_whole {
            let less = node.empties || node.load < before || node.load as usize >= depth;
            node.empties = node.load > 0 && less;
        }
        self.append(spot);
        self.raise_least();
    }

    /// Appends a connection to the list of its load, if it is available and has room.
    #[inline(always)]
    fn append(&mut self, spot: Spot) {
        let node = &mut self.nodes[spot];
        let load = node.load as usize;
        let Some(list) = self.lists.get_mut(load) else { return };
        if !node.available || node.empties {
            return;
        }
        debug_assert!(!node.is_listed, "a connection is in one list");
        node.is_listed = true;
        let tail = std::mem::replace(&mut list.tail, spot);
        node.before = tail;
        node.after = NONE;
        match tail {
            NONE => list.head = spot,
            tail => {
                debug_assert_eq!(
                    self.nodes[tail].after, NONE,
                    "nothing follows the last of a list"
                );
                self.nodes[tail].after = spot;
            }
        }
        self.least = self.least.min(load);
    }

    /// Removes a connection from its list, if it is in one.
    #[inline(always)]
    fn unlink(&mut self, spot: Spot) {
        let node = &mut self.nodes[spot];
        if !std::mem::take(&mut node.is_listed) {
            return;
        }
        let Node { load, before, after, .. } = *node;
        let list = self.lists.get_mut(load as usize).expect("a list has its load");
        match before {
            NONE => list.head = after,
            before => {
                debug_assert_eq!(self.nodes[before].after, spot, "a list is linked both ways");
                self.nodes[before].after = after;
            }
        }
        match after {
            NONE => list.tail = before,
            after => {
                debug_assert_eq!(self.nodes[after].before, spot, "a list is linked both ways");
                self.nodes[after].before = before;
            }
        }
    }

    /// Restores `least` after a list may have become empty; it is one more if the connection moved
    /// to the next load.
    fn raise_least(&mut self) {
        while self.lists.get(self.least).is_some_and(|list| list.head == NONE) {
            self.least += 1;
        }
    }
}

#[cfg(test)]
mod tests;
