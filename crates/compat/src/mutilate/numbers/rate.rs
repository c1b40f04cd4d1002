//! The number of connections.
//!
//! The rates of all connections always add up to the requested rate. The originals' sums are higher
//! for ranges of ports, for `-C`, and in masterless mode.

/// The distribution of connections over servers and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// The number of servers, each port of a range counting as one; at least 1.
    pub servers: u32,
    /// The number of threads; 0 if only agents make load.
    pub threads: u32,
    /// Connections of each thread to each of its servers; at least 1.
    pub each: u32,
    /// True if threads take the servers in turn, false if every thread takes all servers.
    pub is_roundrobin: bool,
}

impl Connections {
    /// The number of connections in all.
    pub fn total(&self) -> u64 {
        self.of_threads(self.threads)
    }

    /// The number of connections of a process that has this many threads.
    pub fn of_threads(&self, threads: u32) -> u64 {
        let pairs = if self.is_roundrobin {
            u64::from(self.servers.max(threads))
        } else {
            u64::from(self.servers) * u64::from(threads)
        };
        pairs.saturating_mul(u64::from(self.each))
    }
}
