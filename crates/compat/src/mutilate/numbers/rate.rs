//! How many connections there are.
//!
//! The rates that they offer always add up to the asked rate: the originals' sums come out higher
//! for ranges of ports, for `-C`, and in masterless mode.

/// How connections are laid out over servers and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Servers, each port of a range being one; at least 1.
    pub servers: u32,
    /// Threads; 0 if only agents make load.
    pub threads: u32,
    /// Connections of each thread to each of its servers; at least 1.
    pub each: u32,
    /// Threads take the servers in turn, instead of every thread all servers.
    pub is_roundrobin: bool,
}

impl Connections {
    /// How many there are in all.
    pub fn total(&self) -> u64 {
        self.of_threads(self.threads)
    }

    /// How many there are in a process that has this many threads.
    pub fn of_threads(&self, threads: u32) -> u64 {
        let pairs = if self.is_roundrobin {
            u64::from(self.servers.max(threads))
        } else {
            u64::from(self.servers) * u64::from(threads)
        };
        pairs.saturating_mul(u64::from(self.each))
    }
}
