//! Connection churn, where connections are the load: the fate of each, and how long connecting and
//! the connections lasted. Their calls are operations and counted as such.

use crate::counter::{classes, summed};
use crate::histogram::{Count, Histogram};
use std::ops::AddAssign;

classes! {
    /// How an intended connection ended. Each ends in exactly one way.
    ChurnFate {
        /// All its calls were made and have ended, and it was closed.
        Completed = "lived";
        /// Never opened: connection refused.
        Refused = "refused";
        /// Never opened: unreachable.
        Unreachable = "unreachable";
        /// Never opened in time: the server did not answer, or no slot was free.
        ConnectTimedOut = "connect_timed_out";
        /// Never opened: the kernel gave up waiting for an answer.
        ConnectUnanswered = "connect_unanswered";
        /// Never opened: reset.
        ConnectReset = "connect_reset";
        /// Never opened: this process has no file descriptors left.
        NoDescriptors = "no_descriptors";
        /// Never opened: the system has no file descriptors left.
        FileTableFull = "file_table_full";
        /// Never opened: no local port was free.
        NoPorts = "no_ports";
        /// Never opened, for another reason.
        ConnectOther = "connect_other";
        /// Opened, and closed early by the server.
        Closed = "closed";
        /// Opened, and reset early.
        Reset = "reset";
        /// Opened, and closed because the server broke the protocol.
        Protocol = "protocol";
        /// Opened, and refused because the server has too many connections.
        TurnedAway = "turned_away";
        /// Opened, and closed because a call timed out.
        CallTimedOut = "call_timed_out";
        /// Opened, and the kernel gave up waiting for an answer.
        LostUnanswered = "lost_unanswered";
        /// Opened, and lost for another reason.
        LostOther = "lost_other";
        /// Never opened: every slot was taken, and the scenario says to drop.
        Dropped = "dropped";
        /// The run ended first.
        Abandoned = "abandoned";
    }
}

impl ChurnFate {
    /// True if the connect failed.
    pub const fn is_failed(self) -> bool {
        matches!(
            self,
            Self::Refused
                | Self::Unreachable
                | Self::ConnectTimedOut
                | Self::ConnectUnanswered
                | Self::ConnectReset
                | Self::NoDescriptors
                | Self::FileTableFull
                | Self::NoPorts
                | Self::ConnectOther
        )
    }

    /// True if the connection opened and was lost early.
    pub const fn is_lost(self) -> bool {
        matches!(
            self,
            Self::Closed
                | Self::Reset
                | Self::Protocol
                | Self::TurnedAway
                | Self::CallTimedOut
                | Self::LostUnanswered
                | Self::LostOther
        )
    }
}

summed! {
    /// Connection counts of one phase.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    ChurnCounters {
        /// Connections that the schedule, or the end of another connection, made due.
        intended;
        /// Intended connections whose connect began.
        started;
        /// Started connections that opened.
        opened;
        /// Calls never made, because their connection did not open or was lost early.
        calls_unmade;
    }
    each {
        /// Fates, in the order of [`ChurnFate::ALL`].
        fates: [u64; ChurnFate::COUNT];
    }
}

impl ChurnCounters {
    /// The number of connections that have ended. It equals `intended` once a phase is over.
    pub fn ended(&self) -> u64 {
        self.fates.iter().sum()
    }

    /// The number of connections whose fate `which` accepts.
    pub fn of(&self, which: impl Fn(ChurnFate) -> bool) -> u64 {
        let chosen = ChurnFate::ALL.into_iter().filter(|fate| which(*fate));
        chosen.map(|fate| self.fates[fate as usize]).sum()
    }
}

/// The measurements of connection churn; times cover the measured connections only.
#[derive(Clone, Debug)]
pub struct Churn<C: Count> {
    /// Counts, per segment.
    pub segments: Vec<ChurnCounters>,
    /// Time from a connection's intended instant until it is open.
    pub connect_response: Histogram<C>,
    /// Time from the connect until the connection is open.
    pub connect_service: Histogram<C>,
    /// Time from the connect until the connection is established.
    pub connect_tcp: Histogram<C>,
    /// Time from the established connection until it is open: TLS and authentication.
    pub handshake: Histogram<C>,
    /// Time from the open connection to its first answer.
    pub first_reply: Histogram<C>,
    /// Time from the connect to the end of a connection that opened.
    pub lifetime: Histogram<C>,
}

impl<C: Count> Churn<C> {
    /// The number of its distributions.
    pub(crate) const DISTRIBUTIONS: usize = 6;

    pub(crate) fn new(segments: usize) -> Self {
        Self {
            segments: vec![ChurnCounters::default(); segments],
            connect_response: Histogram::new(),
            connect_service: Histogram::new(),
            connect_tcp: Histogram::new(),
            handshake: Histogram::new(),
            first_reply: Histogram::new(),
            lifetime: Histogram::new(),
        }
    }
}

impl Churn<u32> {
    pub(crate) fn clear(&mut self) {
        self.segments.fill(ChurnCounters::default());
        self.connect_response.clear();
        self.connect_service.clear();
        self.connect_tcp.clear();
        self.handshake.clear();
        self.first_reply.clear();
        self.lifetime.clear();
    }
}

impl Churn<u64> {
    pub(crate) fn absorb(&mut self, other: &Churn<u32>) {
        for (sum, part) in self.segments.iter_mut().zip(&other.segments) {
            *sum += part;
            assert!(sum.opened <= sum.started && sum.started <= sum.intended, "openings add up");
            assert!(sum.ended() <= sum.intended, "more connections ended than were intended");
        }
        self.connect_response.absorb(&other.connect_response);
        self.connect_service.absorb(&other.connect_service);
        self.connect_tcp.absorb(&other.connect_tcp);
        self.handshake.absorb(&other.handshake);
        self.first_reply.absorb(&other.first_reply);
        self.lifetime.absorb(&other.lifetime);
    }
}

#[cfg(test)]
mod tests;
