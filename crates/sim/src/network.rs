//! The network between workers and servers, as laws: how long bytes take, how fast they flow,
//! and when they get lost or cannot pass.
//!
//! Streams keep their order, as TCP does: a lost segment arrives late, and all behind it with it.
//! Datagrams arrive when they do, once, twice or never.

use memtide_base::rng::{Stream, hash, unit};
use memtide_base::{Instant, Law, Span};

/// How bytes travel, one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The time that bytes need, in seconds.
    pub delay: Law,
    /// Bytes per second in each direction of a connection; none flows at once.
    pub bytes_per_s: Option<f64>,
    /// The share of writes that are lost once and come again after `resend`; of datagrams the share
    /// that is lost for good.
    pub loss: f64,
    /// The share of datagrams that arrive twice.
    pub duplicates: f64,
    /// How long it takes to notice a loss and to send again.
    pub resend: Span,
    /// From when to when nothing passes; what would arrive meanwhile does so after it, and a
    /// datagram never.
    pub partitions: Vec<(Instant, Instant)>,
}

impl Default for Network {
    /// A link without delay, limits or losses.
    fn default() -> Self {
        Self {
            delay: Law::Fixed(0.0),
            bytes_per_s: None,
            loss: 0.0,
            duplicates: 0.0,
            resend: Span::from_ms(200),
            partitions: Vec::new(),
        }
    }
}

/// The draws of a network: one per write.
const DELAY: Stream = Stream(0x6e65_7401);
const LOSS: Stream = Stream(0x6e65_7402);
const DUPLICATES: Stream = Stream(0x6e65_7403);

impl Network {
    /// When `bytes` written at `now` have arrived, being the `nth` write of this world; not
    /// before `busy_until`, when the connection's earlier bytes in that direction have.
    pub(crate) fn arrival(
        &self,
        seed: u64,
        nth: u64,
        now: Instant,
        bytes: usize,
        busy_until: Instant,
    ) -> Instant {
        let resend = if self.loses(seed, nth) { self.resend } else { Span::ZERO };
        let begun = (now + self.delay(seed, nth) + resend).max(busy_until);
        let arrival = begun + self.flow(bytes);
        let arrival = self.partition(arrival).map_or(arrival, |&(_, to)| to);
        debug_assert!(arrival >= now.max(busy_until), "bytes overtake earlier ones, or time");
        arrival
    }

    /// When a datagram of `bytes` bytes arrives that was written at `now` as the `nth` write of
    /// this world, if it does; `copy` 1 is its double, if it has one, and takes a time of its own.
    pub(crate) fn datagram(
        &self,
        seed: u64,
        (nth, copy): (u64, u64),
        now: Instant,
        bytes: usize,
    ) -> Option<Instant> {
        let doubled =
            || self.duplicates > 0.0 && unit(hash(seed, DUPLICATES, nth)) < self.duplicates;
        if self.loses(seed, nth) || (copy > 0 && !doubled()) {
            return None;
        }
        let arrival = now + self.delay(seed, nth | copy << 63) + self.flow(bytes);
        self.partition(arrival).is_none().then_some(arrival)
    }

    fn loses(&self, seed: u64, nth: u64) -> bool {
        self.loss > 0.0 && unit(hash(seed, LOSS, nth)) < self.loss
    }

    fn delay(&self, seed: u64, nth: u64) -> Span {
        match self.delay {
            Law::Fixed(seconds) => Span::from_s_f64(seconds),
            ref law => Span::from_s_f64(law.quantile(unit(hash(seed, DELAY, nth))).max(0.0)),
        }
    }

    fn flow(&self, bytes: usize) -> Span {
        self.bytes_per_s.map_or(Span::ZERO, |rate| Span::from_s_f64(bytes as f64 / rate))
    }

    /// The partition in which `at` lies.
    fn partition(&self, at: Instant) -> Option<&(Instant, Instant)> {
        self.partitions.iter().find(|(from, to)| (*from..*to).contains(&at))
    }
}
