//! The network between workers and servers as probability laws: the delay of bytes, their rate, and
//! their losses.
//!
//! Streams keep their order, as TCP does: a lost segment arrives late, and all behind it with it.
//! Datagrams arrive in any order, once, twice or never.

use memtide_base::rng::{Stream, hash, unit};
use memtide_base::{Instant, Law, Span};

/// The properties of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The delay of a write, in seconds.
    pub delay: Law,
    /// Bytes per second in each direction of a connection; `None` for no limit.
    pub bytes_per_s: Option<f64>,
    /// The share of writes that are lost once and sent again after `resend`; for datagrams, the
    /// share that is lost for good.
    pub loss: f64,
    /// The share of datagrams that arrive twice.
    pub duplicates: f64,
    /// The time that it takes to notice a loss and to send again.
    pub resend: Span,
    /// The times in which nothing passes. Bytes of streams that would arrive within one arrive
    /// after it; datagrams are lost.
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

/// The stream of the network's draws, one draw per write.
const DELAY: Stream = Stream(0x6e65_7401);
const LOSS: Stream = Stream(0x6e65_7402);
const DUPLICATES: Stream = Stream(0x6e65_7403);

impl Network {
    /// The instant at which `bytes` written at `now` have arrived, as the `nth` write of this
    /// world. It is not before `busy_until`, at which the connection's earlier bytes in that
    /// direction arrive.
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

    /// The instant at which a datagram of `bytes` bytes arrives that was written at `now` as the
    /// `nth` write of this world; `None` if it is lost. `copy` 1 is its duplicate, if it has one,
    /// with a delay of its own.
    pub(crate) fn datagram(
        &self,
        seed: u64,
        nth: u64,
        copy: u64,
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
