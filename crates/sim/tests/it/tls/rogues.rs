//! Servers that break TLS, in virtual time: every connection and operation is counted, nothing
//! hangs, and the run can be replayed.

use super::{CHURN, churn, world};
use crate::prelude::*;
use memtide_world::{Filter, FilterPlan, PeerError, SendBuffer};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a server's end does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// It sends this many bytes, and then nothing.
    Stops(usize),
    /// At its nth reception it sends half of what it has to say, and closes.
    Leaves(u32),
    /// It answers the first bytes with this alert, and closes.
    Alerts(u8),
    /// It sends a record for each byte.
    Trickles,
    /// It answers in plain text after the handshake.
    Undresses,
    /// It changes this byte of all that it sends.
    Flips(usize),
}

#[derive(Debug)]
struct Rogue {
    inner: Box<dyn Filter>,
    deed: Deed,
    receptions: u32,
    /// Bytes sent so far.
    sent: usize,
}

impl Rogue {
    fn is_leaving(&self) -> bool {
        matches!(self.deed, Deed::Leaves(nth) if self.receptions >= nth)
    }
}

/// What `end` sends for these bytes of the protocol.
fn said(end: &mut dyn Filter, plain: &[u8]) -> Vec<u8> {
    let mut out = SendBuffer::with_capacity(0, 0);
    out.bytes_mut().extend_from_slice(plain);
    end.poll_transmit(&mut out);
    std::mem::take(out.bytes_mut())
}

impl Filter for Rogue {
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError> {
        self.inner.handle_bytes(wire, plain)?;
        self.receptions += 1;
        match self.is_leaving() || matches!(self.deed, Deed::Alerts(_)) {
            true => Err(PeerError::Unreadable { why: "are enough" }),
            false => Ok(()),
        }
    }

    fn poll_transmit(&mut self, out: &mut SendBuffer) {
        let plain = std::mem::take(out.bytes_mut());
        if self.is_leaving() || matches!(self.deed, Deed::Alerts(_)) {
            return;
        }
        let from = self.sent;
        let mut wire = match self.deed {
            Deed::Trickles if !plain.is_empty() => {
                plain.iter().flat_map(|&byte| said(&mut *self.inner, &[byte])).collect()
            }
            Deed::Undresses if !plain.is_empty() => plain,
            _ => said(&mut *self.inner, &plain),
        };
        self.sent += wire.len();
        match self.deed {
            Deed::Stops(most) => wire.truncate(most.saturating_sub(from)),
            Deed::Flips(at) if (from..self.sent).contains(&at) => wire[at - from] ^= 0x55,
            _ => {}
        }
        *out.bytes_mut() = wire;
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn poll_close(&mut self, out: &mut SendBuffer) {
        match self.deed {
            Deed::Alerts(alert) => out.bytes_mut().extend([0x15, 3, 3, 0, 2, 2, alert]),
            Deed::Leaves(_) => {
                let answer: &[u8] = if self.inner.is_open() { b"END\r\n" } else { b"" };
                let wire = said(&mut *self.inner, answer);
                out.bytes_mut().extend_from_slice(&wire[..wire.len() / 2]);
            }
            _ => self.inner.poll_close(out),
        }
    }
}

/// Filters of which every `every`th does this deed.
fn rogues(filters: FilterPlan, deed: Deed, every: u64) -> FilterPlan {
    let made = AtomicU64::new(0);
    FilterPlan::new(move |server| {
        let nth = made.fetch_add(1, Ordering::Relaxed);
        let inner = filters.make(server);
        match nth % every == every - 1 {
            true => Box::new(Rogue { inner, deed, receptions: 0, sent: 0 }),
            false => inner,
        }
    })
}

/// The run of a world in which every `every`th connection does this deed.
fn run(mut world: World, deed: Deed, every: u64) -> Rehearsal {
    world.breaks = Some(Box::new(move |filters| rogues(filters, deed, every)));
    world.network.delay = Law::Fixed(100e-6);
    world.rehearse()
}

const BREAKING: [Deed; 12] = [
    Deed::Stops(0),
    Deed::Stops(1),
    Deed::Stops(5),
    Deed::Stops(100),
    Deed::Stops(200),
    Deed::Leaves(1),
    Deed::Leaves(2),
    Deed::Alerts(40),
    Deed::Alerts(80),
    Deed::Undresses,
    Deed::Flips(0),
    Deed::Flips(150),
];

#[test]
fn each_connection_that_breaks_is_counted_once() {
    for deed in BREAKING {
        for resume in ["on", "off"] {
            let words = [("timeout", "100ms"), ("tls-resume", resume)];
            let one = || run(world(CHURN, true).with(&words).seed(5), deed, 5);
            let rehearsal = one();
            let record = &rehearsal.record;
            record.check_conservation().unwrap_or_else(|why| panic!("{deed:?}: {why}"));
            let counts = &churn(record).measure;
            assert_eq!(counts.intended, 200, "{deed:?}");
            let broken = counts.failed + counts.lost;
            assert_eq!(counts.completed + broken, 200, "{deed:?}: {counts:?}");
            // Some of every fifth belong to questions before and after the load.
            assert!((38..=40).contains(&broken), "{deed:?}: {counts:?}");
            let handshakes = &record.totals.connections;
            let done = handshakes.handshakes_full + handshakes.handshakes_resumed;
            assert_eq!(done, handshakes.opened, "{deed:?}");
            assert_eq!(one().hash, rehearsal.hash, "{deed:?}");
        }
    }
}

#[test]
fn connections_that_stay_come_back_after_each_break() {
    let words = "rate=500 duration=2s connections=8 threads=2 keys=100 load=never timeout=50ms \
                 reconnect=5ms mix=get=3,set=1";
    for deed in [Deed::Leaves(9), Deed::Stops(3_000), Deed::Flips(2_500)] {
        let rehearsal = run(world(words, true).seed(5), deed, 2);
        let totals = &rehearsal.record.totals;
        rehearsal.record.check_conservation().unwrap_or_else(|why| panic!("{deed:?}: {why}"));
        assert!(totals.answered * 10 > totals.intended * 7, "{deed:?}: {totals:?}");
        assert_eq!(totals.answered + totals.lost + totals.timed_out, totals.intended);
        // A server that says nothing more keeps its connections.
        let stays = matches!(deed, Deed::Stops(_));
        assert_eq!(totals.connections.opened == 8, stays, "{deed:?}: {:?}", totals.connections);
        assert_eq!(totals.timed_out > 0, stays, "{deed:?}: {totals:?}");
    }
}

/// Neither records of one byte nor the pieces in which they come change an operation.
#[test]
fn a_record_for_each_byte_changes_no_operation() {
    let words = "rate=1k duration=500ms connections=4 keys=100 mix=get=3,set=1 verify=1";
    for bytes_per_s in [None, Some(3e5)] {
        let mut world = world(words, true).seed(5);
        world.network.bytes_per_s = bytes_per_s;
        let rehearsal = run(world, Deed::Trickles, 1);
        let totals = &rehearsal.record.totals;
        assert_eq!(totals.answered, totals.intended);
        assert_eq!(totals.verification.corrupt, 0);
    }
}

/// A server that breaks every handshake is named, before the load and in finite time.
#[test]
fn a_server_that_breaks_every_handshake_is_named() {
    for (deed, words) in [
        (Deed::Stops(100), "did not end the handshake of TLS in time"),
        (Deed::Leaves(1), "closed the connection within the handshake of TLS"),
        (Deed::Alerts(40), "refused the handshake of TLS"),
        (Deed::Alerts(70), "has no version of TLS in common"),
    ] {
        let mut world = world(CHURN, true).with(&[("timeout", "100ms")]);
        world.breaks = Some(Box::new(move |filters| rogues(filters, deed, 1)));
        let failure = world.try_rehearse().map_or_else(Some, |rehearsal| rehearsal.failure);
        let failure = failure.unwrap_or_else(|| panic!("{deed:?} is fine"));
        let said = failure.message().to_owned();
        assert!(said.contains("sim0") && said.contains(words), "{deed:?}: {said}");
    }
}
