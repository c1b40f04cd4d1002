//! The purpose of a request, packed into the 64 bits that the kernel returns with its completion.

use memtide_base::ConnectionId;

/// A request to the kernel for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Wait for the result of a connect.
    Open,
    /// Receive, repeatedly.
    Receive,
    /// Send as much as the kernel takes at once.
    Send,
    /// Wait until a full socket takes more.
    Room,
    /// Register the socket in the table, or free its slot.
    Place,
}

/// A task, the connection, and the generation of its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestTag {
    pub(super) task: Task,
    /// Below 2²⁴.
    pub(super) generation: u32,
    pub(super) id: ConnectionId,
}

impl RequestTag {
    pub(super) fn pack(self) -> u64 {
        debug_assert!(self.generation < 1 << 24, "a generation has 24 bits");
        (self.task as u64) << 56 | u64::from(self.generation) << 32 | u64::from(self.id.0)
    }

    pub(super) fn unpack(bits: u64) -> Self {
        let task = match bits >> 56 {
            0 => Task::Open,
            1 => Task::Receive,
            2 => Task::Send,
            3 => Task::Room,
            _ => Task::Place,
        };
        let generation = (bits >> 32) as u32 & 0xff_ffff;
        Self { task, generation, id: ConnectionId(bits as u32) }
    }
}
