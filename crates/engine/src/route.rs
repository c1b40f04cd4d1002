//! Which of a client's connections an operation takes. It knows how many operations each carries,
//! and neither what they ask nor what the connections say.

mod groups;
mod pool;
mod single;

use crate::plan::{Clients, Plan, Reach, Seat};
use groups::{Groups, Roles};
use memtide_base::ConnectionId;
use memtide_workload::Op;
use pool::Pool;
use single::Single;

/// How the operations of one client are spread over its connections.
#[derive(Debug)]
pub(crate) enum Route {
    /// Each takes the least loaded that is open and writable, and among equals the one that has
    /// waited longest.
    LeastLoaded(Pool),
    /// One is outstanding at most, on any of them.
    OneAtATime(Single),
    /// One is outstanding at most; its kind says on which of the connections, and a write may be
    /// on several at once.
    ByKind(Box<Groups>),
}

impl Route {
    /// Of the connections of `seat`, none of which is available yet.
    pub(crate) fn new(plan: &Plan, seat: &Seat) -> Self {
        let Clients::Counted { connections, turn, reach, .. } = plan.clients else {
            return Self::LeastLoaded(Pool::new(seat.first, seat.count, plan.depth, plan.refill));
        };
        let single = |first, count| Single::new(first, count, turn, (plan.seed, seat.number));
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
        let group = |count| {
            next += count;
            single(ConnectionId(next - count), count)
        };
        let groups = each.into_iter().map(group).collect();
        Self::ByKind(Box::new(Groups::new(groups, roles, &plan.source.mix, seat.number)))
    }

    /// Decides which connections `op` takes, where its kind says so: says how many, none when
    /// no such connection is open. `None` where any that [`Route::pick`] finds will do.
    #[inline]
    pub(crate) fn aim(&mut self, op: &Op) -> Option<usize> {
        match self {
            Self::ByKind(groups) => Some(groups.aim(op).len()),
            Self::LeastLoaded(_) | Self::OneAtATime(_) => None,
        }
    }

    /// The `nth` of these.
    pub(crate) fn aimed(&self, nth: usize) -> ConnectionId {
        let Self::ByKind(groups) = self else { unreachable!("it was aimed at a group") };
        groups.aimed(nth)
    }

    /// `connection` opened and can be used.
    pub(crate) fn opened(&mut self, connection: ConnectionId) {
        if let Self::ByKind(groups) = self {
            groups.changed(connection, true);
        }
        self.set_available(connection, true);
    }

    /// `connection` was open, and is lost; its load stays.
    pub(crate) fn gone(&mut self, connection: ConnectionId) {
        self.set_available(connection, false);
        if let Self::ByKind(groups) = self {
            groups.changed(connection, false);
        }
    }

    /// Whether the client has one operation outstanding at most.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        !matches!(self, Self::LeastLoaded(_))
    }

    /// The connection to use now, or `None` when all are full or unavailable.
    #[inline]
    pub(crate) fn pick(&self) -> Option<ConnectionId> {
        match self {
            Self::LeastLoaded(pool) => pool.pick(),
            Self::OneAtATime(_) | Self::ByKind(_) => self.pick_one(),
        }
    }

    /// The free connection of a client that has one operation outstanding at most. It is a
    /// function of its own, so that other routes do not pay for it.
    #[cold]
    fn pick_one(&self) -> Option<ConnectionId> {
        match self {
            Self::LeastLoaded(pool) => pool.pick(),
            Self::OneAtATime(single) => single.pick(),
            Self::ByKind(groups) => groups.pick(),
        }
    }

    /// Whether `connection` could take one more.
    #[inline]
    pub(crate) fn has_room(&self, connection: ConnectionId) -> bool {
        match self {
            Self::LeastLoaded(pool) => pool.has_room(connection),
            Self::OneAtATime(single) => single.has_room(connection),
            Self::ByKind(groups) => groups.has_room(connection),
        }
    }

    /// `connection` took one more.
    #[inline]
    pub(crate) fn take(&mut self, connection: ConnectionId) {
        match self {
            Self::LeastLoaded(pool) => pool.take(connection),
            Self::OneAtATime(single) => single.take(connection),
            Self::ByKind(groups) => groups.take(connection),
        }
    }

    /// `connection` is free of `freed` of them.
    #[inline]
    pub(crate) fn free(&mut self, connection: ConnectionId, freed: u32) {
        match self {
            Self::LeastLoaded(pool) => pool.free(connection, freed),
            Self::OneAtATime(single) => single.free(connection, freed),
            Self::ByKind(groups) => groups.free(connection, freed),
        }
    }

    /// `connection` can be used, or cannot; its load stays.
    pub(crate) fn set_available(&mut self, connection: ConnectionId, available: bool) {
        match self {
            Self::LeastLoaded(pool) => pool.set_available(connection, available),
            Self::OneAtATime(single) => single.set_available(connection, available),
            Self::ByKind(groups) => groups.set_available(connection, available),
        }
    }
}
