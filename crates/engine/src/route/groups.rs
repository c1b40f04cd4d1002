//! The connections of a client in groups, by server or by transport. The kind of an operation
//! decides which groups it may take, and a write may take several at once.
//!
//! An operation waits for a group whose connections are open and have no room. A group without an
//! open connection is skipped if another will do.

use super::single::Single;
use memtide_base::ConnectionId;
use memtide_workload::{Mix, Op, OpKind};
use memtide_world::plan::Replicate;

/// The groups and their purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Roles {
    /// Two groups: the second carries get and gets, the first everything else.
    Split,
    /// One for each server; writes go to the first `writers` of them.
    Servers {
        /// The number of servers that receive writes, at least 1.
        writers: usize,
        /// The number of writers that each write goes to.
        copies: Replicate,
    },
}

/// The groups of one client.
#[derive(Debug)]
pub(crate) struct Groups {
    roles: Roles,
    /// True if the mix has operations for the writers, and true if it has some for the readers.
    needs: [bool; 2],
    routes: Vec<Single>,
    /// The number of open connections of each group.
    open: Vec<u32>,
    /// The group that each kind tries first where several will do. Kinds take turns of their own:
    /// in a mix with a fixed order, each would always meet the same one.
    turns: [usize; OpKind::COUNT],
    /// The connections that the present operation takes.
    aimed: Vec<ConnectionId>,
    /// Operations outstanding on all connections; at most the copies of one write.
    outstanding: u32,
}

/// True if an operation of this kind changes a server's items.
fn writes(kind: OpKind) -> bool {
    !kind.reads() || kind.stores_value()
}

impl Roles {
    /// True if an operation of this kind goes to the readers.
    fn reads(self, kind: OpKind) -> bool {
        match self {
            Self::Split => kind.allows_many_keys(),
            Self::Servers { .. } => !writes(kind),
        }
    }
}

impl Groups {
    /// The groups of client number `client`, in the order of its connections, for this mix.
    pub(crate) fn new(routes: Vec<Single>, roles: Roles, mix: &Mix, client: u32) -> Self {
        let count = routes.len();
        let needs = [false, true].map(|reads| mix.kinds().any(|kind| roles.reads(kind) == reads));
        // Clients start with different servers, so that they do not move in lockstep.
        let turn = client as usize % count;
        let aimed = Vec::with_capacity(count);
        Self {
            roles,
            needs,
            routes,
            open: vec![0; count],
            turns: [turn; OpKind::COUNT],
            aimed,
            outstanding: 0,
        }
    }

    #[cold]
    pub(super) fn has_room(&self, connection: ConnectionId) -> bool {
        self.outstanding == 0 && self.routes[self.group_of(connection)].has_room(connection)
    }

    pub(super) fn take(&mut self, connection: ConnectionId) {
        self.outstanding += 1;
        self.of(connection).take(connection);
    }

    pub(super) fn free(&mut self, connection: ConnectionId, freed: u32) {
        debug_assert!(freed <= self.outstanding, "more copies end than are outstanding");
        self.outstanding -= freed;
        self.of(connection).free(connection, freed);
    }

    pub(super) fn set_available(&mut self, connection: ConnectionId, available: bool) {
        self.of(connection).set_available(connection, available);
    }

    fn of(&mut self, connection: ConnectionId) -> &mut Single {
        let group = self.group_of(connection);
        &mut self.routes[group]
    }

    /// Records that a connection opened or was lost.
    pub(super) fn changed(&mut self, connection: ConnectionId, is_open: bool) {
        let group = self.group_of(connection);
        debug_assert!(is_open || self.open[group] > 0, "a connection is lost that was not open");
        match is_open {
            true => self.open[group] += 1,
            false => self.open[group] -= 1,
        }
    }

    /// A connection with room if the client can make its next operation, whichever kind that is.
    pub(super) fn pick(&self) -> Option<ConnectionId> {
        if self.outstanding > 0 {
            return None;
        }
        let [needs_writers, needs_readers] = self.needs;
        let usable = match self.roles {
            Roles::Split => {
                let needed = [needs_writers, needs_readers];
                let mut groups = needed.iter().zip(&self.routes).filter(|(needed, _)| **needed);
                return groups.try_fold(None, |_, (_, route)| route.pick().map(Some))?;
            }
            Roles::Servers { writers, .. } if !needs_readers => writers,
            Roles::Servers { .. } => self.routes.len(),
        };
        let mut groups = self.open.iter().zip(&self.routes);
        if groups.any(|(open, route)| *open > 0 && route.pick().is_none()) {
            return None;
        }
        self.routes[..usable].iter().find_map(Single::pick)
    }

    /// Chooses the connections for `op`; none if no such connection is open.
    #[inline(never)]
    pub(super) fn aim(&mut self, op: &Op) -> &[ConnectionId] {
        self.aimed.clear();
        match self.roles {
            Roles::Split => {
                let group = usize::from(self.roles.reads(op.kind));
                self.aimed.extend(self.routes[group].pick());
            }
            Roles::Servers { writers, copies } if writes(op.kind) => {
                let first = self.first(op, writers, copies);
                let there =
                    (0..writers).filter_map(|nth| self.routes[(first + nth) % writers].pick());
                match copies {
                    Replicate::All => self.aimed.extend(there),
                    Replicate::One => self.aimed.extend(there.take(1)),
                }
            }
            Roles::Servers { writers, copies } => {
                let read = self.reader(op, writers, copies);
                self.aimed.extend(read);
            }
        }
        let turn = &mut self.turns[op.kind.index()];
        *turn = turn.wrapping_add(1);
        debug_assert!(self.aimed.len() <= self.routes.len(), "a server gets one copy of a write");
        &self.aimed
    }

    /// The server that receives a write of the key first, among the first `writers`.
    fn first(&self, op: &Op, writers: usize, copies: Replicate) -> usize {
        match copies {
            Replicate::All => (op.key % writers as u64) as usize,
            Replicate::One => self.turns[op.kind.index()] % writers,
        }
    }

    /// The connection for a read: to a server that has the write but did not receive it first, if
    /// there is one, else to any server. With a single writer, to a server that holds replicated
    /// data.
    fn reader(&self, op: &Op, writers: usize, copies: Replicate) -> Option<ConnectionId> {
        let all = self.routes.len();
        if copies == Replicate::One {
            return self.any(op, all, None);
        }
        let first = self.first(op, writers, copies);
        let among = if writers > 1 { writers } else { all };
        let others = self.any(op, among, Some(first));
        others.or_else(|| self.routes[first].pick()).or_else(|| self.any(op, all, None))
    }

    /// A connection of one of the first `count` groups, in turn, other than `but`.
    fn any(&self, op: &Op, count: usize, but: Option<usize>) -> Option<ConnectionId> {
        let turn = self.turns[op.kind.index()];
        let groups = (0..count).map(|nth| turn.wrapping_add(nth) % count);
        let mut groups = groups.filter(|group| Some(*group) != but);
        groups.find_map(|group| self.routes[group].pick())
    }

    pub(super) fn aimed(&self, nth: usize) -> ConnectionId {
        self.aimed[nth]
    }

    fn group_of(&self, connection: ConnectionId) -> usize {
        self.routes.partition_point(|route| route.first() <= connection) - 1
    }
}

#[cfg(test)]
mod tests;
