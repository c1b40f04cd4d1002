//! A table of sockets that is registered with the io_uring. A request that names a slot of it saves
//! the kernel looking up a descriptor and holding its file, some 1 % of the cost of a request and
//! its answer.

use io_uring::types::Fd;
use io_uring::{Submitter, opcode, squeue};
use memtide_base::ConnectionId;
use std::os::fd::RawFd;

/// The most slots of one table (`IORING_MAX_FIXED_FILES`).
const PLACES_MAX: u32 = 1 << 20;
/// Only sockets of this generation get a slot. Before Linux 6.13 a registered socket is kept until
/// all requests end that were in progress when it was freed, and receives stay armed, so under
/// connection churn such sockets would pile up.
const GENERATION: u32 = 1;
const NONE: RawFd = -1;

/// The socket of each slot; a connection's slot is its number.
#[derive(Debug)]
pub(super) struct Files {
    places: Vec<RawFd>,
    /// Slots whose change was not submitted yet.
    changed: Vec<ConnectionId>,
}

/// The name of a socket in a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) fd: Fd,
    pub(super) flags: squeue::Flags,
}

impl Files {
    /// Registers a table with a slot for each of `connections`, as far as the kernel allows.
    pub(super) fn register(submitter: &Submitter<'_>, connections: u32) -> Self {
        let wanted = connections.min(PLACES_MAX);
        // The kernel refuses more slots than files may be open. Without slots all works, at a
        // higher cost.
        let places = submitter.register_files_sparse(wanted).map_or(0, |()| wanted as usize);
        assert!(places <= PLACES_MAX as usize, "the kernel takes no larger table");
        Self { places: vec![NONE; places], changed: Vec::with_capacity(places) }
    }

    /// Puts the new socket `fd` of connection `id` into its slot, if its generation gets one.
    pub(super) fn keep(&mut self, id: ConnectionId, generation: u32, fd: RawFd) {
        if generation == GENERATION && id.index() < self.places.len() {
            self.change(id, fd);
        }
    }

    /// Frees the slot of connection `id`.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        if self.has(id) {
            self.change(id, NONE);
        }
    }

    /// The name of `fd`, the socket of connection `id`, in a request that is submitted after the
    /// changes.
    pub(super) fn name(&self, id: ConnectionId, fd: RawFd) -> File {
        match self.has(id) {
            true => File { fd: Fd(id.0 as RawFd), flags: squeue::Flags::FIXED_FILE },
            false => File { fd: Fd(fd), flags: squeue::Flags::empty() },
        }
    }

    /// The next request that changes a slot, and its connection. The kernel reads the table when
    /// the request is submitted.
    pub(super) fn next_change(&mut self) -> Option<(ConnectionId, squeue::Entry)> {
        let id = self.changed.pop()?;
        let place = &raw const self.places[id.index()];
        Some((id, opcode::FilesUpdate::new(place, 1).offset(id.0 as i32).build()))
    }

    fn has(&self, id: ConnectionId) -> bool {
        self.places.get(id.index()).is_some_and(|place| *place != NONE)
    }

    fn change(&mut self, id: ConnectionId, fd: RawFd) {
        self.places[id.index()] = fd;
        self.changed.push(id);
    }
}

#[cfg(test)]
mod tests;
