//! Datagrams to a server and back: which leave, when, and the effect of each fault.

use super::*;
use crate::{Behaviour, ServerProfile, StoreOptions};
use memtide_base::Span;
use memtide_codec::udp::{BODY_BYTES_MAX, Reassembler, Taken};

const ITEM_BYTES_MAX: usize = 1 << 20;

struct World {
    store: Store,
    state: Option<ProfileState>,
    datagrams: Datagrams<u8>,
    clock: Clock,
}

impl World {
    fn plain() -> Self {
        let options =
            StoreOptions { memory_bytes_max: 1 << 26, item_bytes_max: ITEM_BYTES_MAX, shards: 1 };
        Self {
            store: Store::new(options),
            state: None,
            datagrams: Datagrams::new(ITEM_BYTES_MAX),
            clock: Clock { now: Instant::ZERO, unix_s: 1_700_000_000 },
        }
    }

    fn new(behaviour: &str, faults: &str) -> Self {
        let behaviour = behaviour.parse::<Behaviour>().unwrap();
        let profile = ServerProfile { behaviour, faults: faults.parse().unwrap(), seed: 7 };
        Self { state: Some(ProfileState::new(profile)), ..Self::plain() }
    }

    fn send(&mut self, client: u8, header: Header, body: &[u8]) {
        let datagram = [&header.bytes()[..], body].concat();
        let (store, state) = (&self.store, self.state.as_mut());
        self.datagrams.handle_datagram(self.clock, client, &datagram, store, state);
    }

    /// The datagrams that leave at once.
    fn leaving(&mut self) -> Vec<(u8, Header, Vec<u8>)> {
        let mut left = Vec::new();
        while let Some((client, datagram)) = self.datagrams.poll_transmit(self.clock.now) {
            let (header, body) = Header::read(&datagram).unwrap();
            left.push((client, header, body.to_vec()));
        }
        left
    }

    fn ask(&mut self, request: u16, body: &[u8]) -> Vec<(u8, Header, Vec<u8>)> {
        self.send(1, Header::of_request(request), body);
        self.leaving()
    }

    /// Stores over a connection, because the value does not fit into a datagram.
    fn store(&mut self, key: &str, bytes: usize) {
        let request = format!("set {key} 0 0 {bytes}\r\n{}\r\n", "v".repeat(bytes));
        let mut out = Vec::new();
        let mut session = Session::new(ITEM_BYTES_MAX);
        session.handle_bytes(self.clock, request.as_bytes(), &self.store, &mut out);
        assert_eq!(out, b"STORED\r\n");
    }

    fn count(&self, kind: FaultKind) -> u64 {
        self.state.as_ref().unwrap().fault_count(kind)
    }
}

#[test]
fn an_answer_repeats_the_number_of_its_request_and_goes_to_who_asked() {
    for mut world in [World::plain(), World::new("instant", "none")] {
        world.send(3, Header::of_request(700), b"set a 0 0 1\r\n1\r\n");
        world.send(4, Header::of_request(5), b"get a\r\n");
        let header = |request| Header { request, sequence: 0, total: 1 };
        let stored = (3, header(700), b"STORED\r\n".to_vec());
        let value = (4, header(5), b"VALUE a 0 1\r\n1\r\nEND\r\n".to_vec());
        assert_eq!(world.leaving(), [stored, value]);
        assert_eq!(world.datagrams.poll_timeout(), None);
    }
}

#[test]
fn a_long_answer_is_cut_into_datagrams_of_at_most_1400_bytes() {
    let mut world = World::plain();
    world.store("a", 5000);
    let left = world.ask(9, b"get a\r\n");
    let numbers: Vec<_> = left.iter().map(|(_, h, _)| (h.request, h.sequence, h.total)).collect();
    assert_eq!(numbers, [(9, 0, 4), (9, 1, 4), (9, 2, 4), (9, 3, 4)]);
    assert!(left[..3].iter().all(|(.., body)| body.len() == BODY_BYTES_MAX));
    let whole: Vec<u8> = left.into_iter().flat_map(|(.., body)| body).collect();
    assert_eq!(whole.len(), "VALUE a 0 5000\r\n".len() + 5000 + "\r\nEND\r\n".len());
}

#[test]
fn what_is_no_whole_request_in_one_datagram_is_not_answered() {
    let mut world = World::plain();
    let several = Header { request: 1, sequence: 0, total: 2 };
    world.send(1, several, b"get a\r\n");
    world.datagrams.handle_datagram(world.clock, 1, b"get a\r\n", &world.store, None);
    assert_eq!(world.ask(2, b"get a"), []);
    // The truncated part does not belong to the next request.
    assert_eq!(world.ask(3, b"get a\r\n")[0].2, b"END\r\n");
    assert_eq!(world.ask(4, b"set a 0 0 1 noreply\r\n1\r\n"), []);
}

#[test]
fn frames_are_answered_in_frames() {
    let mut world = World::plain();
    let mut noop = Vec::new();
    memtide_codec::binary::encode::bare(&mut noop, memtide_codec::binary::Opcode::Noop, 77);
    let left = world.ask(1, &noop);
    assert_eq!((left.len(), left[0].2[0], left[0].2.len()), (1, 0x81, 24));
}

#[test]
fn answers_leave_when_they_are_due_and_not_in_the_order_of_requests() {
    let mut world = World::new("exponential:1ms", "none");
    for request in 0..100 {
        world.send(1, Header::of_request(request), b"get a\r\n");
    }
    let mut requests = Vec::new();
    while let Some(at) = world.datagrams.poll_timeout() {
        world.clock.now = at - Span::from_ns(1);
        assert_eq!(world.leaving(), []);
        world.clock.now = at;
        requests.extend(world.leaving().into_iter().map(|(_, header, _)| header.request));
    }
    assert_eq!(requests.len(), 100);
    assert!(!requests.is_sorted());
}

#[test]
fn a_request_that_would_end_a_connection_has_no_answer() {
    for fault in ["reset:1", "stall:1"] {
        let mut world = World::new("instant", fault);
        assert_eq!(world.ask(1, b"get a\r\n"), [], "{fault}");
        assert_eq!(world.ask(2, b"version\r\n").len(), 1, "{fault}");
    }
}

#[test]
fn every_fault_of_datagrams_does_what_it_says_as_often_as_it_counts() {
    let faults = "udp-loss:5%,udp-duplicate:5%,udp-disorder:5%,udp-late:5%";
    let mut world = World::new("instant", faults);
    world.store("a", 4000);
    let mut client = Reassembler::new(ITEM_BYTES_MAX);
    let (mut duplicate, mut disordered, mut late, mut given_up, mut sum) = (0, 0, 0, 0, 0);
    for _ in 0..5_000 {
        let request = client.begin();
        let mut answered = false;
        for (_, header, body) in world.ask(request, b"get a\r\n") {
            sum += 1;
            match client.take(&[&header.bytes()[..], &body].concat()) {
                Taken::Message(_) => answered = true,
                Taken::Part { disordered: early } => disordered += u64::from(early),
                Taken::Duplicate => duplicate += 1,
                Taken::Late => late += 1,
                Taken::Empty | Taken::Foreign => panic!("{header:?}"),
            }
            if answered {
                client.answered();
            }
        }
        if !answered {
            given_up += 1;
            client.give_up();
        }
    }
    let kinds = [FaultKind::UdpLoss, FaultKind::UdpDuplicate, FaultKind::UdpLate];
    let [lost, copied, held] = kinds.map(|kind| world.count(kind));
    let moved = world.count(FaultKind::UdpDisorder);
    assert!([lost, copied, held, moved].into_iter().all(|count| count > 400), "{sum}");
    // Datagrams held at the end have not left.
    let still = world.datagrams.held.values().map(VecDeque::len).sum::<usize>() as u64;
    assert_eq!(sum, 5_000 * 3 - lost + copied - still);
    assert_eq!(late, held - still);
    assert_eq!(duplicate, copied);
    assert!(disordered >= moved / 2, "{disordered} of {moved}");
    assert!(given_up <= lost + held && given_up > 0);
}

#[test]
fn too_much_that_waits_is_lost() {
    let mut world = World::new("fixed:1s", "none");
    world.store("a", ITEM_BYTES_MAX / 2);
    for request in 0..200 {
        world.send(1, Header::of_request(request), b"get a\r\n");
    }
    assert!(world.datagrams.bytes <= WAITING_BYTES_MAX);
    world.clock.now += Span::from_s(2);
    let left = world.leaving();
    assert!(left.len() < 200 * ITEM_BYTES_MAX / 2 / BODY_BYTES_MAX, "{}", left.len());
    assert_eq!((world.datagrams.bytes, world.datagrams.poll_timeout()), (0, None));
}

#[test]
fn an_answer_that_is_too_long_for_datagrams_is_lost() {
    for mut world in [World::plain(), World::new("instant", "none")] {
        world.store("a", ITEM_BYTES_MAX / 2);
        let body = "get a\r\n".repeat(100);
        assert_eq!(world.ask(1, body.as_bytes()), []);
        assert!(world.ask(2, "get a\r\n".repeat(30).as_bytes()).len() > 30 << 19 >> 11);
    }
}
