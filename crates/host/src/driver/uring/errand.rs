//! What a completion is of, packed into the 64 bits that travel through the kernel.

use memtide_base::ConnectionId;

/// What the kernel was asked to do for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// To say when a connect is decided.
    Open,
    /// To receive, again and again.
    Receive,
    /// To send at once what goes.
    Send,
    /// To say when a full socket takes more.
    Room,
    /// To give the socket its place in the table, or to free it.
    Place,
}

/// A task, the connection, and which of the sockets that had its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    pub(super) task: Task,
    /// Below 2²⁴.
    pub(super) generation: u32,
    pub(super) id: ConnectionId,
}

impl Errand {
    pub(super) fn pack(self) -> u64 {
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
