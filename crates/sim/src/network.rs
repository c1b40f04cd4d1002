//! The network between workers and servers, as laws: how long bytes take, how fast they flow,
//! and when they get lost or cannot pass.
//!
//! Streams keep their order, as TCP does: a lost segment arrives late, and all behind it with it.

use memtide_base::rng::{Stream, hash, unit};
use memtide_base::{Instant, Law, Span};

/// How bytes travel, one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The time that bytes need, in seconds.
    pub delay: Law,
    /// Bytes per second in each direction of a connection; none flows at once.
    pub bytes_per_s: Option<f64>,
    /// The share of writes that are lost once and come again after `resend`.
    pub loss: f64,
    /// How long it takes to notice a loss and to send again.
    pub resend: Span,
    /// From when to when nothing passes; what is sent meanwhile arrives after it.
    pub partitions: Vec<(Instant, Instant)>,
}

impl Default for Network {
    /// A link without delay, limits or losses.
    fn default() -> Self {
        Self {
            delay: Law::Fixed(0.0),
            bytes_per_s: None,
            loss: 0.0,
            resend: Span::from_ms(200),
            partitions: Vec::new(),
        }
    }
}

/// The draws of a network: one per write.
const DELAY: Stream = Stream(0x6e65_7401);
const LOSS: Stream = Stream(0x6e65_7402);

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
        let flow =
            self.bytes_per_s.map_or(Span::ZERO, |rate| Span::from_s_f64(bytes as f64 / rate));
        let delay = match self.delay {
            Law::Fixed(seconds) => Span::from_s_f64(seconds),
            ref law => Span::from_s_f64(law.quantile(unit(hash(seed, DELAY, nth))).max(0.0)),
        };
        let lost = self.loss > 0.0 && unit(hash(seed, LOSS, nth)) < self.loss;
        let resend = if lost { self.resend } else { Span::ZERO };
        let arrival = (now + delay + resend).max(busy_until) + flow;
        self.after_partitions(arrival)
    }

    fn after_partitions(&self, at: Instant) -> Instant {
        let closed = self.partitions.iter().find(|(from, to)| (*from..*to).contains(&at));
        closed.map_or(at, |&(_, to)| to)
    }
}
