//! The server's side of UDP: requests of all clients in, datagrams out when they are due. There are
//! no connections. A request is one datagram; a truncated request is not completed by a later
//! datagram, and answers that exceed the memory for waiting datagrams are lost. Owns no socket and
//! reads no clock.

use super::Endpoint;
use crate::clock::Clock;
use crate::fault::FaultKind;
use crate::profile::ProfileState;
use crate::session::{Flow, Session};
use crate::store::{Store, StoreAt};
use crate::table;
use memtide_base::Instant;
use memtide_codec::udp::{self, Header};
use std::collections::{BTreeMap, VecDeque};

/// All datagrams that wait to leave. A `P` identifies a client.
///
/// After [`Datagrams::handle_datagram`], ask [`Datagrams::poll_timeout`] and call
/// [`Datagrams::poll_transmit`] from that instant on until it has nothing more.
#[derive(Debug)]
pub struct Datagrams<P> {
    item_bytes_max: usize,
    /// Waiting datagrams by their instant and their number.
    waiting: BTreeMap<(Instant, u64), (P, Vec<u8>)>,
    number: u64,
    bytes: usize,
    /// Held-back datagrams, which leave with the next answer to their client.
    held: BTreeMap<P, VecDeque<Vec<u8>>>,
    /// The answer that is being split into datagrams.
    answer: Vec<u8>,
}

/// The most bytes that wait to leave; datagrams beyond it are lost.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// The longest answers to the requests of one datagram. Longer ones are lost, and later requests of
/// the datagram are not carried out.
pub(super) const ANSWER_BYTES_MAX: usize = 16 << 20;
/// The most clients with held-back datagrams, and the most datagrams for each; datagrams beyond it
/// leave in time.
const HELD_CLIENTS_MAX: usize = 4096;
const HELD_MAX: usize = 64;

impl<P: Copy + Ord> Datagrams<P> {
    /// The state for a store with this limit for items.
    pub fn new(item_bytes_max: usize) -> Self {
        Self {
            item_bytes_max,
            waiting: BTreeMap::new(),
            number: 0,
            bytes: 0,
            held: BTreeMap::new(),
            answer: Vec::new(),
        }
    }

    /// Handles a datagram that arrived from `client` at `clock.now` and carries out its request.
    /// Without a profile the answer is correct and leaves at once. Like memcached, it does not
    /// answer a datagram without a whole header, nor one of a request in several datagrams.
    pub fn handle_datagram(
        &mut self,
        clock: Clock,
        client: P,
        datagram: &[u8],
        store: &Store,
        state: Option<&mut ProfileState>,
    ) {
        let Some((header, body)) = Header::read(datagram) else { return };
        if header.total != 1 {
            return;
        }
        let mut answer = std::mem::take(&mut self.answer);
        let (item_bytes_max, at) = (self.item_bytes_max, StoreAt { clock, store });
        match state {
            None => {
                if answer_once(item_bytes_max, body, at, &mut answer) {
                    for datagram in datagrams(header.request, &answer) {
                        self.push(clock.now, client, datagram);
                    }
                }
            }
            Some(state) => {
                let leaves = Endpoint::answer_once(item_bytes_max, body, at, state, &mut answer);
                if leaves.is_none() {
                    answer.clear();
                }
                let leaves = leaves.unwrap_or(clock.now);
                let mut datagrams = datagrams(header.request, &answer).collect();
                let late = self.strike(client, &mut datagrams, state);
                let held = self.held.remove(&client).into_iter().flatten();
                for datagram in datagrams.into_iter().chain(held) {
                    self.push(leaves, client, datagram);
                }
                if !late.is_empty() {
                    debug_assert!(late.len() <= HELD_MAX, "too many datagrams are held back");
                    self.held.insert(client, late);
                    debug_assert!(self.held.len() <= HELD_CLIENTS_MAX, "too many clients wait");
                }
            }
        }
        table::empty(&mut answer);
        self.answer = answer;
    }

    /// The instant of the next datagram; `None` if nothing waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(&(at, _), _)| at)
    }

    /// The next datagram that is due by `now`, with its client.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(P, Vec<u8>)> {
        let first = self.waiting.first_entry().filter(|first| first.key().0 <= now)?;
        let (client, datagram) = first.remove();
        self.bytes -= datagram.len();
        Some((client, datagram))
    }

    /// Applies faults to the datagrams of an answer; returns those that are held back.
    fn strike(
        &self,
        client: P,
        datagrams: &mut VecDeque<Vec<u8>>,
        state: &mut ProfileState,
    ) -> VecDeque<Vec<u8>> {
        let mut late = VecDeque::new();
        let can_hold = self.held.len() < HELD_CLIENTS_MAX || self.held.contains_key(&client);
        let mut leaving = VecDeque::new();
        // A datagram that was moved behind another one is not struck again.
        let mut behind = None;
        while let Some(datagram) = datagrams.pop_front() {
            let is_last = datagrams.is_empty();
            let struck = state.strike_datagram(|kind| match kind {
                FaultKind::UdpDisorder => !is_last && behind.is_none(),
                FaultKind::UdpLate => can_hold && late.len() < HELD_MAX,
                _ => true,
            });
            let before = behind.take();
            match struck {
                None => leaving.push_back(datagram),
                Some(FaultKind::UdpDuplicate) => leaving.extend([datagram.clone(), datagram]),
                Some(FaultKind::UdpDisorder) => behind = Some(datagram),
                Some(FaultKind::UdpLate) => late.push_back(datagram),
                Some(_) => {}
            }
            leaving.extend(before);
        }
        *datagrams = leaving;
        late
    }

    fn push(&mut self, leaves: Instant, client: P, datagram: Vec<u8>) {
        if self.bytes + datagram.len() <= WAITING_BYTES_MAX {
            self.bytes += datagram.len();
            debug_assert!(self.bytes <= WAITING_BYTES_MAX, "datagrams without room are lost");
            self.number += 1;
            self.waiting.insert((leaves, self.number), (client, datagram));
        }
    }
}

/// Answers correctly and at once; false if the answer is too long.
fn answer_once(
    item_bytes_max: usize,
    body: &[u8],
    StoreAt { clock, store }: StoreAt<'_>,
    answer: &mut Vec<u8>,
) -> bool {
    let mut session = Session::new(item_bytes_max);
    let mut flow = session.handle_within(clock, body, store, answer, ANSWER_BYTES_MAX);
    while flow == Flow::Paused && answer.len() < ANSWER_BYTES_MAX {
        flow = session.handle_within(clock, &[], store, answer, ANSWER_BYTES_MAX);
    }
    flow != Flow::Paused
}

/// The datagrams of an answer; none if there are more than can be numbered.
fn datagrams(request: u16, answer: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let parts = udp::split(request, answer).into_iter().flatten();
    parts.map(|(header, body)| [&header.bytes()[..], body].concat())
}

#[cfg(test)]
mod tests;
