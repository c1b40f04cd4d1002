//! A table of sockets that is registered with the io_uring: a request that names a place in it
//! spares the kernel to look up a descriptor and to hold on to its file, some 1 % of what a
//! request and its answer cost.

use io_uring::types::Fd;
use io_uring::{Submitter, opcode, squeue};
use memtide_base::ConnectionId;
use std::os::fd::RawFd;

/// Places that the kernel gives to one table (`IORING_MAX_FIXED_FILES`).
const PLACES_MAX: u32 = 1 << 20;
/// The generation of the only sockets that get a place: before Linux 6.13 a socket that had one
/// is kept until all requests end that were under way when it lost it, and receives stay armed.
/// Where connections come and go all the time these sockets would pile up.
const GENERATION: u32 = 1;
const NONE: RawFd = -1;

/// Which socket is in which place; a connection's place is its number.
#[derive(Debug)]
pub(super) struct Files {
    places: Vec<RawFd>,
    /// Places of which the kernel has not been told.
    changed: Vec<ConnectionId>,
}

/// How a request names a socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) fd: Fd,
    pub(super) flags: squeue::Flags,
}

impl Files {
    /// A table with a place for each of `connections`, as far as the kernel gives them.
    pub(super) fn register(submitter: &Submitter<'_>, connections: u32) -> Self {
        let wanted = connections.min(PLACES_MAX);
        // It refuses more places than files may be open. Without places all works, but costs more.
        let places = submitter.register_files_sparse(wanted).map_or(0, |()| wanted as usize);
        Self { places: vec![NONE; places], changed: Vec::with_capacity(places) }
    }

    /// Gives the new socket `fd` of connection `id` its place, if its generation gets any.
    pub(super) fn keep(&mut self, id: ConnectionId, generation: u32, fd: RawFd) {
        if generation == GENERATION && id.index() < self.places.len() {
            self.change(id, fd);
        }
    }

    /// Frees the place of connection `id`.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        if self.has(id) {
            self.change(id, NONE);
        }
    }

    /// How a request that follows the changes names `fd`, the socket of connection `id`.
    pub(super) fn name(&self, id: ConnectionId, fd: RawFd) -> File {
        match self.has(id) {
            true => File { fd: Fd(id.0 as RawFd), flags: squeue::Flags::FIXED_FILE },
            false => File { fd: Fd(fd), flags: squeue::Flags::empty() },
        }
    }

    /// The next request that tells the kernel of a change, and whose place it is. It reads the
    /// table when it is made.
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
mod tests {
    use super::*;

    #[test]
    fn only_first_sockets_get_a_place_and_only_if_there_is_one() {
        let mut files = Files { places: vec![NONE; 2], changed: Vec::new() };
        let by_place = |files: &Files, id| {
            files.name(ConnectionId(id), 77).flags.contains(squeue::Flags::FIXED_FILE)
        };
        files.keep(ConnectionId(1), GENERATION, 77);
        files.keep(ConnectionId(0), GENERATION + 1, 77);
        files.keep(ConnectionId(2), GENERATION, 77);
        assert_eq!([0, 1, 2].map(|id| by_place(&files, id)), [false, true, false]);
        assert_eq!(files.next_change().map(|(id, _)| id), Some(ConnectionId(1)));
        files.forget(ConnectionId(1));
        files.forget(ConnectionId(2));
        assert!(!by_place(&files, 1));
        assert_eq!(files.next_change().map(|(id, _)| id), Some(ConnectionId(1)));
        assert!(files.next_change().is_none());
    }
}
