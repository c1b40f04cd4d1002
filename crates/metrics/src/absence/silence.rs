//! Silences of servers: times in which no reply came although operations were in flight, one by
//! one in bounded memory, and how long replies usually take. What counts as silent is decided
//! elsewhere.

use memtide_base::{Instant, ServerId, Span};

/// The shortest time without a reply that is kept.
pub const SILENCE_MIN: Span = Span::from_ms(100);
/// The number of silences kept of a whole run: the longest.
const RUN_KEPT_MAX: usize = 10_000;
/// Buckets of reply times: two for each power of two nanoseconds.
const BUCKETS: usize = 2 * u64::BITS as usize;

/// A time in which one worker had an operation in flight to a server, and no reply from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilentStretch {
    /// The server, in the plan's order.
    pub server: ServerId,
    /// The beginning.
    pub from: Instant,
    /// The end: a reply came, or the run ended.
    pub until: Instant,
}

impl SilentStretch {
    /// The length.
    pub fn length(&self) -> Span {
        self.until.since(self.from)
    }
}

/// Times from sending to the reply, sampled evenly over time, so that a few stalls hardly count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyTimes([u32; BUCKETS]);

impl Default for ReplyTimes {
    fn default() -> Self {
        Self([0; BUCKETS])
    }
}

impl ReplyTimes {
    /// Counts a reply that took `time`.
    pub fn record(&mut self, time: Span) {
        let ns = time.ns().max(2);
        let power = ns.ilog2();
        let half = (ns >> (power - 1)) & 1;
        self.0[(2 * power + half as u32) as usize] += 1;
    }

    /// Adds all that `other` counted.
    pub fn absorb(&mut self, other: &Self) {
        for (sum, part) in self.0.iter_mut().zip(&other.0) {
            *sum = sum.saturating_add(*part);
        }
    }

    /// The median, at most 1.5 times too large; zero if nothing was counted.
    pub fn median(&self) -> Span {
        let all: u64 = self.0.iter().map(|&count| u64::from(count)).sum();
        let mut left = all.div_ceil(2);
        for (bucket, &count) in self.0.iter().enumerate() {
            left = left.saturating_sub(u64::from(count));
            if count > 0 && left == 0 {
                let next = (3 + bucket as u128 % 2) << (bucket / 2 - 1);
                return Span::from_ns(u64::try_from(next).unwrap_or(u64::MAX));
            }
        }
        Span::ZERO
    }
}

/// The silences and reply times of one worker or of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silences {
    /// Usual reply times, by server.
    servers: Vec<ReplyTimes>,
    kept: Vec<SilentStretch>,
    kept_max: usize,
    is_of_run: bool,
}

impl Silences {
    /// Empty silences of a run over `servers` servers; allocates when the first one is kept.
    pub(crate) fn of_run(servers: usize) -> Self {
        let servers = vec![ReplyTimes::default(); servers];
        Self { servers, kept: Vec::new(), kept_max: RUN_KEPT_MAX, is_of_run: true }
    }

    /// Empty silences of a worker; allocates room for `kept_max` silences now.
    pub(crate) fn reserved(servers: usize, kept_max: usize) -> Self {
        let servers = vec![ReplyTimes::default(); servers];
        Self { servers, kept: Vec::with_capacity(kept_max), kept_max, is_of_run: false }
    }

    /// Counts a reply of `server` that took `time`.
    pub fn replied(&mut self, server: ServerId, time: Span) {
        self.servers[server.index()].record(time);
    }

    /// Keeps a silence, if there is room. A run makes room: it leaves out the shorter half.
    pub fn push(&mut self, silence: SilentStretch) {
        if self.kept.len() == self.kept_max && self.is_of_run {
            self.kept.sort_by_key(|silence| std::cmp::Reverse(silence.length()));
            self.kept.truncate(self.kept_max / 2);
        }
        if self.kept.len() < self.kept_max {
            self.kept.push(silence);
        }
    }

    /// Adds all that `other` holds.
    pub(crate) fn absorb(&mut self, other: &Self) {
        assert!(other.servers.len() <= self.servers.len(), "merging loses nothing");
        for (sum, part) in self.servers.iter_mut().zip(&other.servers) {
            sum.absorb(part);
        }
        other.kept.iter().for_each(|&silence| self.push(silence));
    }

    /// Clears all counts but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.servers.fill(ReplyTimes::default());
        self.kept.clear();
    }

    /// Usual reply times, by server.
    pub fn servers(&self) -> &[ReplyTimes] {
        &self.servers
    }

    /// The silences of all workers that fitted into memory.
    pub fn kept(&self) -> &[SilentStretch] {
        &self.kept
    }
}

#[cfg(test)]
mod tests;
