//! A connection whose requests and replies are datagrams. It has one operation in flight, and the
//! operation's number identifies its reply. An operation that timed out has therefore ended: later
//! parts of its reply are counted and discarded. Nothing is retransmitted.

use super::link::Wrap;
use super::{Connection, ConnectionEvents, Ending, FollowUp};
use memtide_base::{Instant, Span};
use memtide_codec::udp::Taken;
use memtide_metrics::{DatagramClass, Fate};
use memtide_world::driver::PeerError;

impl Connection {
    /// True if this connection is a socket for datagrams.
    pub(crate) fn is_over_datagrams(&self) -> bool {
        matches!(self.link.wrap, Wrap::Datagrams(_))
    }

    /// Reads a datagram. If it completes a reply, ends the operation that the reply belongs to.
    #[inline(never)]
    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl ConnectionEvents,
    ) -> Result<(), PeerError> {
        let wrap = std::mem::replace(&mut self.link.wrap, Wrap::None);
        let Wrap::Datagrams(mut reassembler) = wrap else {
            unreachable!("replies come in datagrams")
        };
        let mut read = Ok(());
        let class = match reassembler.take(datagram) {
            Taken::Message(message) => {
                let before = self.in_flight();
                read = message
                    .pieces()
                    .try_for_each(|piece| self.handle_plain(now, piece, follow_ups, sink));
                debug_assert!(self.in_flight() + 1 >= before, "a reply ends one operation");
                if self.in_flight() < before {
                    reassembler.answered();
                }
                None
            }
            Taken::Part { disordered } => disordered.then_some(DatagramClass::Disordered),
            Taken::Duplicate => Some(DatagramClass::Duplicate),
            Taken::Late => Some(DatagramClass::Late),
            Taken::Foreign => Some(DatagramClass::Foreign),
            Taken::Empty => None,
        };
        if let Some(class) = class {
            sink.datagrams(now, class, 1);
        }
        self.link.wrap = Wrap::Datagrams(reassembler);
        read
    }

    /// Times out the operation in flight if `timeout` has passed since its intended instant.
    /// Returns the instant of the next check.
    #[cold]
    pub(super) fn give_up(
        &mut self,
        now: Instant,
        timeout: Span,
        sink: &mut impl ConnectionEvents,
    ) -> Instant {
        let Some(entry) = self.pipeline.front().copied() else { return Instant::NEVER };
        let deadline = entry.intended + timeout;
        if deadline > now {
            return deadline;
        }
        let Wrap::Datagrams(reassembler) = &mut self.link.wrap else {
            unreachable!("replies come in datagrams")
        };
        let missing = reassembler.give_up();
        sink.datagrams(now, DatagramClass::Lost, u64::from(missing));
        sink.settle(&entry, Ending::unanswered(Fate::TimedOut));
        sink.forgotten();
        self.pipeline.pop_front();
        // The next request needs another number than this one.
        self.answered = self.answered.wrapping_add(1);
        self.free_since = now;
        self.forget_reply();
        Instant::NEVER
    }
}
