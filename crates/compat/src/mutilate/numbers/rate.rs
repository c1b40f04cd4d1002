//! How many connections there are, and which share of the asked rate each offers.
//!
//! The shares always add up to the asked rate: the originals' sums come out higher for ranges of
//! ports, for `-C`, and in masterless mode.

/// How connections are laid out over servers and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Servers, each port of a range being one; at least 1.
    pub servers: u32,
    /// Threads; at least 1.
    pub threads: u32,
    /// Connections of each thread to each of its servers; at least 1.
    pub each: u32,
    /// Threads take the servers in turn, instead of every thread all servers.
    pub is_roundrobin: bool,
}

impl Connections {
    /// How many there are in all.
    pub fn total(&self) -> u64 {
        let pairs = if self.is_roundrobin {
            u64::from(self.servers.max(self.threads))
        } else {
            u64::from(self.servers) * u64::from(self.threads)
        };
        pairs.saturating_mul(u64::from(self.each))
    }

    /// The share of `rate_ops`, the total asked for, that one connection offers. `None` for 0:
    /// connections then send as fast as answers come.
    pub fn rate_ops_each(&self, rate_ops: f64) -> Option<f64> {
        (rate_ops > 0.0).then(|| rate_ops / self.total() as f64)
    }
}
