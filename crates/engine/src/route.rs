//! Chooses the connection for a client's operation. It knows how many operations each connection
//! carries, and neither their content nor the connections' state.

mod groups;
mod pool;
mod single;

use groups::{Groups, Roles};
use memtide_base::ConnectionId;
use memtide_workload::Op;
use memtide_world::plan::{Clients, Plan, Reach, Seat};
use pool::Pool;
use single::Single;

/// The distribution of one client's operations over its connections.
#[derive(Debug)]
pub(crate) enum Route {
    /// Each operation takes the least loaded connection that is open and writable; among equals the
    /// one that has waited longest.
    LeastLoaded(Pool),
    /// At most one operation is outstanding, on any connection.
    OneAtATime(Single),
    /// At most one operation is outstanding. Its kind selects the connections, and a write may take
    /// several at once.
    ByKind(Box<Groups>),
}

impl Route {
    /// The route over the connections of `seat`, none of which is available yet.
    pub(crate) fn new(plan: &Plan, seat: &Seat) -> Self {
        let Clients::Counted { connections, turn, reach, .. } = plan.clients else {
            return Self::LeastLoaded(Pool::new(seat.first, seat.count, plan.depth, plan.refill));
        };
        let single = |first, count| Single::new(first, count, turn, plan.seed, seat.number);
        let (roles, each) = match reach {
            Reach::Server => return Self::OneAtATime(single(seat.first, seat.count)),
            Reach::Split { .. } => (Roles::Split, vec![connections - 1, 1]),
            Reach::Servers { writers, copies } => {
                let each = connections / plan.servers.len() as u32;
                let writers = usize::from(writers);
                (Roles::Servers { writers, copies }, vec![each; plan.servers.len()])
            }
        };
        let mut next = seat.first.0;
        let groups = each.into_iter().map(|count| {
            next += count;
            single(ConnectionId(next - count), count)
        });
        Self::ByKind(Box::new(Groups::new(groups.collect(), roles, &plan.source.mix, seat.number)))
    }

    /// Chooses the connections for `op` if its kind decides them; returns how many, 0 if no such
    /// connection is open. `None` means that any connection that [`Route::pick`] returns will do.
    #[inline]
    pub(crate) fn aim(&mut self, op: &Op) -> Option<usize> {
        match self {
            Self::ByKind(groups) => Some(groups.aim(op).len()),
            Self::LeastLoaded(_) | Self::OneAtATime(_) => None,
        }
    }

    /// The `nth` of the connections that `aim` chose.
    pub(crate) fn aimed(&self, nth: usize) -> ConnectionId {
        let Self::ByKind(groups) = self else { unreachable!("it was aimed at a group") };
        groups.aimed(nth)
    }

    /// Records that `connection` opened and can be used.
    pub(crate) fn opened(&mut self, connection: ConnectionId) {
        if let Self::ByKind(groups) = self {
            groups.changed(connection, true);
        }
        self.set_available(connection, true);
    }

    /// Records that `connection` was lost; the count of its operations stays.
    pub(crate) fn gone(&mut self, connection: ConnectionId) {
        self.set_available(connection, false);
        if let Self::ByKind(groups) = self {
            groups.changed(connection, false);
        }
    }

    /// True if the client has at most one operation outstanding.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        !matches!(self, Self::LeastLoaded(_))
    }

    /// The connection for the next operation, or `None` if all are full or unavailable.
    #[inline]
    pub(crate) fn pick(&self) -> Option<ConnectionId> {
        match self {
            Self::LeastLoaded(pool) => pool.pick(),
            Self::OneAtATime(_) | Self::ByKind(_) => self.pick_one(),
        }
    }

    /// The free connection of a client that has at most one operation outstanding. A separate
    /// function, so that other routes do not pay for it.
    #[cold]
    fn pick_one(&self) -> Option<ConnectionId> {
        match self {
            Self::LeastLoaded(pool) => pool.pick(),
            Self::OneAtATime(single) => single.pick(),
            Self::ByKind(groups) => groups.pick(),
        }
    }

    /// True if `connection` has room for one more operation.
    #[inline]
    pub(crate) fn has_room(&self, connection: ConnectionId) -> bool {
        match self {
            Self::LeastLoaded(pool) => pool.has_room(connection),
            Self::OneAtATime(single) => single.has_room(connection),
            Self::ByKind(groups) => groups.has_room(connection),
        }
    }

    /// How many operations `pick` gives to `connection`, which it returned, one after the other, if
    /// nothing else changes: at least one, and up to `most`.
    #[inline]
    pub(crate) fn run(&self, connection: ConnectionId, most: usize) -> usize {
        match self {
            Self::LeastLoaded(pool) => pool.run(connection, most),
            Self::OneAtATime(_) | Self::ByKind(_) => 1,
        }
    }

    /// Counts `count` more operations on `connection`, which [`Self::run`] allowed.
    #[inline]
    pub(crate) fn take_many(&mut self, connection: ConnectionId, count: u32) {
        match self {
            Self::LeastLoaded(pool) => pool.take_many(connection, count),
            Self::OneAtATime(_) | Self::ByKind(_) => self.take(connection),
        }
    }

    /// Counts one more operation on `connection`.
    #[inline(always)]
    pub(crate) fn take(&mut self, connection: ConnectionId) {
        match self {
            Self::LeastLoaded(pool) => pool.take(connection),
            Self::OneAtATime(single) => single.take(connection),
            Self::ByKind(groups) => groups.take(connection),
        }
    }

    /// Counts `freed` fewer operations on `connection`.
    #[inline]
    pub(crate) fn free(&mut self, connection: ConnectionId, freed: u32) {
        match self {
            Self::LeastLoaded(pool) => pool.free(connection, freed),
            Self::OneAtATime(single) => single.free(connection, freed),
            Self::ByKind(groups) => groups.free(connection, freed),
        }
    }

    /// Records whether `connection` can be used; the count of its operations stays.
    pub(crate) fn set_available(&mut self, connection: ConnectionId, available: bool) {
        match self {
            Self::LeastLoaded(pool) => pool.set_available(connection, available),
            Self::OneAtATime(single) => single.set_available(connection, available),
            Self::ByKind(groups) => groups.set_available(connection, available),
        }
    }
}
