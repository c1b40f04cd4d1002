//! Whole connections: which answers leave, when, in which order, the effect of each fault, and
//! exact counts.

use super::*;
use crate::{Behaviour, FaultKind, ServerProfile, StoreOptions};
use memtide_base::{Random, Span};
use std::collections::HashMap;

const ITEM_BYTES_MAX: usize = 4096;
const BEGINNING_S: u64 = 1_700_000_000;

/// A server, the connections to it, and a time that the test moves.
struct World {
    store: Store,
    state: ProfileState,
    clock: Clock,
}

impl World {
    fn new(behaviour: &str, faults: &str) -> Self {
        let options =
            StoreOptions { memory_bytes_max: 1 << 20, item_bytes_max: ITEM_BYTES_MAX, shards: 4 };
        let behaviour = behaviour.parse::<Behaviour>().unwrap();
        let profile = ServerProfile { behaviour, faults: faults.parse().unwrap(), seed: 3 };
        Self {
            store: Store::new(options),
            state: ProfileState::new(profile),
            clock: Clock { now: Instant::ZERO, unix_s: BEGINNING_S },
        }
    }

    /// A server whose behaviour is instant.
    fn with_faults(faults: &str) -> Self {
        Self::new("instant", faults)
    }

    fn connect(&mut self) -> Endpoint {
        Endpoint::accept(&mut self.state, ITEM_BYTES_MAX).expect("nobody is refused here")
    }

    fn pass(&mut self, span: Span) {
        self.clock.now += span;
        self.clock.unix_s = BEGINNING_S + self.clock.now.ns() / 1_000_000_000;
    }

    fn send(&mut self, endpoint: &mut Endpoint, request: &str) {
        endpoint.handle_bytes(self.clock, request.as_bytes(), &self.store, &mut self.state);
    }

    /// Sends a request, and takes the answers that leave at once.
    fn ask(&mut self, endpoint: &mut Endpoint, request: &str) -> (String, After) {
        self.send(endpoint, request);
        taken(endpoint, self.clock.now)
    }

    /// The answer on a new connection.
    fn answer(&mut self, request: &str) -> String {
        let mut endpoint = self.connect();
        self.ask(&mut endpoint, request).0
    }

    /// The counts of `stats faults`, which must equal those of the state.
    fn counts(&mut self) -> HashMap<&'static str, u64> {
        let told = self.answer("stats faults\r\n");
        let kinds = FaultKind::ALL.into_iter();
        let lines = kinds.clone().map(|kind| {
            let name = kind.word().replace('-', "_");
            format!("STAT fault_{name} {}\r\n", self.state.fault_count(kind))
        });
        assert_eq!(told, lines.collect::<String>() + "END\r\n");
        kinds.map(|kind| (kind.word(), self.state.fault_count(kind))).filter(|c| c.1 > 0).collect()
    }
}

fn taken(endpoint: &mut Endpoint, now: Instant) -> (String, After) {
    let mut out = Vec::new();
    let after = endpoint.poll_transmit(now, &mut out);
    (String::from_utf8_lossy(&out).into_owned(), after)
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Span::from_us(us)
}

#[test]
fn answers_wait_for_their_instants() {
    let mut world = World::new("fixed:50us", "none");
    let mut endpoint = world.connect();
    assert_eq!(endpoint.poll_timeout(), None);
    world.send(&mut endpoint, "set a 0 0 1\r\n1\r\nget");
    world.clock.now = at_us(10);
    world.send(&mut endpoint, " a\r\n");
    assert_eq!(endpoint.poll_timeout(), Some(at_us(50)));
    assert_eq!(taken(&mut endpoint, at_us(49)), (String::new(), After::Open));
    assert_eq!(taken(&mut endpoint, at_us(59)), ("STORED\r\n".to_owned(), After::Open));
    assert_eq!(endpoint.poll_timeout(), Some(at_us(60)));
    let found = "VALUE a 0 1\r\n1\r\nEND\r\n".to_owned();
    assert_eq!(taken(&mut endpoint, at_us(60)), (found, After::Open));
    assert_eq!(endpoint.poll_timeout(), None);
}

#[test]
fn one_queue_serves_all_connections() {
    let mut world = World::new("queue:1,fixed:1ms", "none");
    let (mut one, mut two) = (world.connect(), world.connect());
    world.send(&mut one, "get a\r\nget a\r\n");
    world.send(&mut two, "delete a\r\n");
    assert_eq!(taken(&mut one, at_us(1000)).0, "END\r\n");
    assert_eq!(one.poll_timeout(), Some(at_us(2000)));
    assert_eq!(two.poll_timeout(), Some(at_us(3000)));
    // Requests without a key do not queue.
    assert_eq!(world.answer("verbosity 1\r\n"), "OK\r\n");
}

#[test]
fn answers_of_a_connection_leave_in_order_and_whole() {
    for (law, seed) in [("exponential:1ms", 1), ("queue:3,lognormal:1ms,2", 2)] {
        let mut world = World::new(&format!("{law}+pause:20ms,5ms"), "none");
        let mut random = Random::new(seed);
        let mut endpoints: Vec<_> = (0..8).map(|_| world.connect()).collect();
        let mut asked = [0_u64; 8];
        let mut texts = vec![String::new(); 8];
        for (number, endpoint) in endpoints.iter_mut().enumerate() {
            world.ask(endpoint, &format!("set n{number} 0 0 1 noreply\r\n0\r\n"));
        }
        for _ in 0..20_000 {
            world.pass(Span::from_ns(random.below(400_000)));
            let number = random.below(8) as usize;
            let (endpoint, text) = (&mut endpoints[number], &mut texts[number]);
            if random.below(2) == 0 {
                world.send(endpoint, &format!("incr n{number} 1\r\n"));
                asked[number] += 1;
            }
            let before = endpoint.poll_timeout();
            let (answer, after) = taken(endpoint, world.clock.now);
            assert_eq!(after, After::Open);
            assert_eq!(answer.is_empty(), before.is_none_or(|at| at > world.clock.now));
            assert!(endpoint.poll_timeout().is_none_or(|at| at > world.clock.now));
            text.push_str(&answer);
        }
        for (number, endpoint) in endpoints.iter_mut().enumerate() {
            texts[number].push_str(&taken(endpoint, Instant::NEVER).0);
            let expected: String = (1..=asked[number]).map(|n| format!("{n}\r\n")).collect();
            assert!(texts[number] == expected, "{law}, connection {number}, seed {seed}");
        }
    }
}

#[test]
fn a_pause_holds_everything_on_the_wire() {
    let mut world = World::new("pause:1s,200ms", "none");
    world.pass(Span::from_ms(1100));
    let mut endpoint = world.connect();
    world.send(&mut endpoint, "version\r\nnonsense\r\nget a\r\nquit\r\n");
    assert_eq!(endpoint.poll_timeout(), Some(at_us(1_200_000)));
    assert_eq!(taken(&mut endpoint, at_us(1_199_999)), (String::new(), After::Open));
    let (answer, after) = taken(&mut endpoint, at_us(1_200_000));
    assert!(answer.ends_with("\r\nERROR\r\nEND\r\n"), "{answer}");
    assert_eq!(after, After::Close);
}

#[test]
fn a_healthy_instant_endpoint_answers_as_a_session_does() {
    let request = "set a 1 0 3\r\nabc\r\nget a b\r\ngats 10 a\r\nincr a 1\r\nset b 0 0 9999\r\n";
    let request =
        format!("{request}{}\r\nset c 0 0 1\r\n12345\r\nstats faults\r\n", "v".repeat(9999));
    let mut whole = World::with_faults("none");
    let expected = {
        let mut out = Vec::new();
        let mut session = crate::Session::new(ITEM_BYTES_MAX);
        session.handle_bytes(whole.clock, request.as_bytes(), &whole.store, &mut out);
        String::from_utf8(out).unwrap()
    };
    whole = World::with_faults("none");
    assert_eq!(whole.answer(&request), expected);
    // The cut of the bytes does not matter.
    let mut cut = World::with_faults("none");
    let mut endpoint = cut.connect();
    let mut answer = String::new();
    for at in 0..request.len() {
        answer.push_str(&cut.ask(&mut endpoint, &request[at..=at]).0);
    }
    assert_eq!(answer, expected);
}

#[test]
fn the_connection_ends_where_it_must() {
    let mut world = World::new("fixed:1ms", "none");
    for request in ["get a\r\nquit\r\nget a\r\n", "get a\r\nGET / HTTP/1.1\r\n\r\n"] {
        let mut endpoint = world.connect();
        world.send(&mut endpoint, request);
        let due = world.clock.now + Span::from_ms(1);
        assert_eq!(taken(&mut endpoint, world.clock.now), (String::new(), After::Open));
        assert_eq!(taken(&mut endpoint, due), ("END\r\n".to_owned(), After::Close));
    }
}

#[test]
fn a_reset_comes_in_place_of_the_answer() {
    let mut world = World::new("fixed:1ms", "reset:1@set");
    let mut endpoint = world.connect();
    world.send(&mut endpoint, "get a\r\n");
    world.clock.now = at_us(500);
    world.send(&mut endpoint, "set a 0 0 1\r\n1\r\nget a\r\n");
    assert_eq!(taken(&mut endpoint, at_us(1000)), ("END\r\n".to_owned(), After::Open));
    assert_eq!(endpoint.poll_timeout(), Some(at_us(1500)));
    assert_eq!(taken(&mut endpoint, at_us(1500)), (String::new(), After::Reset));
    assert_eq!(world.counts(), HashMap::from([("reset", 1)]));
    // The value was stored nevertheless, and the bytes after it were not read.
    assert!(world.store.value(world.clock, b"a").is_some());
}

#[test]
fn a_stalled_connection_says_nothing_more() {
    let mut world = World::with_faults("stall:1@get");
    let mut endpoint = world.connect();
    let (answer, after) = world.ask(&mut endpoint, "set a 0 0 1\r\n1\r\nget a\r\nversion\r\n");
    assert_eq!((answer.as_str(), after), ("STORED\r\n", After::Open));
    assert_eq!(world.ask(&mut endpoint, "version\r\nquit\r\n"), (String::new(), After::Open));
    assert_eq!(endpoint.poll_timeout(), None);
    assert_eq!(world.counts(), HashMap::from([("stall", 1)]));
}

#[test]
fn a_refused_connection_has_no_endpoint() {
    let mut world = World::with_faults("refuse:25%");
    let refused =
        (0..10_000).filter(|_| Endpoint::accept(&mut world.state, ITEM_BYTES_MAX).is_none());
    let refused = refused.count() as u64;
    assert!((2300..2700).contains(&refused));
    assert_eq!(world.state.fault_count(FaultKind::Refuse), refused);
}

#[test]
fn faults_strike_meta_commands_too() {
    let store = "ms a 10 q F7\r\n0123456789\r\nms b 5 q\r\nother\r\n";
    let ask = |fault: &str| {
        let mut world = World::with_faults(&format!("{fault}:1@get"));
        assert_eq!(world.answer(store), "");
        let answer = world.answer("mg a v k f O1\r\n");
        (answer, world.counts().get(fault).copied().unwrap_or(0))
    };
    let (whole, none) = ("VA 10 ka f7 O1\r\n0123456789\r\n", "EN ka O1\r\n");
    assert_eq!(ask("expire-early"), (none.to_owned(), 1));
    assert_eq!(ask("other-key"), ("VA 5 ka f7 O1\r\nother\r\n".to_owned(), 1));
    let (answer, count) = ask("server-error");
    assert!(answer.starts_with("SERVER_ERROR ") && count == 1, "{answer}");
    for fault in ["truncate", "flip"] {
        let (answer, count) = ask(fault);
        assert!(answer.contains(" ka f7 O1\r\n") && answer != whole && count == 1, "{answer}");
    }
    // What has no value has none that could be wrong; a quiet miss has no answer at all.
    let mut world = World::with_faults("flip:1");
    assert_eq!(
        world.answer("mg a v q\r\nmg a\r\nma a N0 v\r\nmn\r\n"),
        "EN\r\nVA 1\r\n0\r\nMN\r\n"
    );
    assert!(world.counts().is_empty());
}

#[test]
fn a_truncated_value_is_well_formed() {
    let mut world = World::with_faults("truncate:1");
    world.answer("set a 7 0 10\r\n0123456789\r\nset empty 0 0 0\r\n\r\n");
    for _ in 0..100 {
        let answer = world.answer("get a\r\n");
        let bytes = (0..10).find(|bytes| {
            answer == format!("VALUE a 7 {bytes}\r\n{}\r\nEND\r\n", &"0123456789"[..*bytes])
        });
        assert!(bytes.is_some(), "{answer}");
    }
    assert_eq!(world.answer("get empty\r\n"), "VALUE empty 0 0\r\n\r\nEND\r\n");
    assert_eq!(world.answer("get none\r\n"), "END\r\n");
    assert_eq!(world.counts(), HashMap::from([("truncate", 100)]));
}

#[test]
fn a_flip_changes_one_bit_of_one_value() {
    let mut world = World::with_faults("flip:1@gets");
    world.answer("set a 0 0 4\r\nAAAA\r\nset b 0 0 4\r\nAAAA\r\nset c 0 0 0\r\n\r\n");
    let healthy = "VALUE a 0 4\r\nAAAA\r\nVALUE c 0 0\r\n\r\nVALUE b 0 4\r\nAAAA\r\nEND\r\n";
    assert_eq!(world.answer("get a c b\r\n"), healthy);
    let healthy = world.with_cas();
    let mut places = std::collections::HashSet::new();
    for _ in 0..200 {
        let mut endpoint = world.connect();
        world.send(&mut endpoint, "gets a c b\r\n");
        let mut out = Vec::new();
        endpoint.poll_transmit(world.clock.now, &mut out);
        assert_eq!(out.len(), healthy.len());
        let differing: Vec<usize> = (0..out.len()).filter(|at| out[*at] != healthy[*at]).collect();
        let [place] = differing[..] else { panic!("{differing:?}") };
        assert_eq!((out[place] ^ b'A').count_ones(), 1);
        places.insert(place);
    }
    assert_eq!(places.len(), 8);
    assert_eq!(world.counts(), HashMap::from([("flip", 200)]));
}

impl World {
    /// The right answer to `gets a c b`.
    fn with_cas(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut session = crate::Session::new(ITEM_BYTES_MAX);
        session.handle_bytes(self.clock, b"gets a c b\r\n", &self.store, &mut out);
        out
    }
}

#[test]
fn another_keys_value_comes_under_the_asked_key() {
    let mut world = World::with_faults("other-key:1");
    world.answer("set a 1 0 1\r\na\r\nset same 0 0 1\r\na\r\n");
    assert_eq!(world.answer("get a\r\n"), "VALUE a 1 1\r\na\r\nEND\r\n");
    assert_eq!(world.counts(), HashMap::new());
    world.answer("set b 2 -1 1\r\nb\r\nset c 3 0 2\r\ncc\r\n");
    for _ in 0..50 {
        assert_eq!(world.answer("get a\r\n"), "VALUE a 1 2\r\ncc\r\nEND\r\n");
    }
    assert_eq!(world.counts(), HashMap::from([("other-key", 50)]));
}

#[test]
fn a_stale_value_is_the_one_before_and_long_replaced() {
    let mut world = World::with_faults("stale:1@get");
    let new = |value: &str| format!("VALUE a 0 1\r\n{value}\r\nEND\r\n");
    assert_eq!(world.answer("set a 0 0 1\r\n1\r\nget a\r\n"), format!("STORED\r\n{}", new("1")));
    world.answer("set a 0 0 1\r\n2\r\n");
    world.pass(Span::from_ms(99));
    assert_eq!(world.answer("get a\r\n"), new("2"));
    world.pass(Span::from_ms(1));
    assert_eq!(world.answer("get a\r\ngets a\r\n"), new("1") + "VALUE a 0 1 2\r\n2\r\nEND\r\n");
    // A store that does not change the value does not change its older value.
    world.answer("add a 0 0 1\r\n9\r\ntouch a 0\r\nset a 0 0 1\r\n2\r\n");
    assert_eq!(world.answer("get a\r\n"), new("1"));
    world.answer("incr a 1\r\n");
    world.pass(Span::from_ms(100));
    assert_eq!(world.answer("get a\r\n"), new("2"));
    // A value that replaced none has no older value.
    world.answer("delete a\r\nset a 0 0 1\r\n4\r\n");
    world.pass(Span::from_s(1));
    assert_eq!(world.answer("get a\r\n"), new("4"));
    world.answer("set a 0 0 1\r\n5\r\nflush_all\r\n");
    world.pass(Span::from_s(1));
    assert_eq!(world.answer("get a\r\n"), "END\r\n");
    assert_eq!(world.answer("set a 0 0 1\r\n6\r\nget a\r\n"), format!("STORED\r\n{}", new("6")));
    assert_eq!(world.counts(), HashMap::from([("stale", 3)]));
}

#[test]
fn expiry_comes_too_early_or_too_late() {
    let mut world = World::with_faults("expire-early:1@get,expire-late:1");
    world.answer("set a 0 0 1\r\n1\r\nset b 2 5 1\r\n2\r\n");
    let answer = world.answer("get a b\r\n");
    let left = ["VALUE a 0 1\r\n1\r\nEND\r\n", "VALUE b 2 1\r\n2\r\nEND\r\n"];
    assert!(left.contains(&answer.as_str()), "{answer}");
    assert_eq!(world.counts(), HashMap::from([("expire-early", 1)]));
    world.pass(Span::from_s(5));
    let cas = world.answer("gets b a none\r\n");
    assert_eq!(cas, "VALUE b 2 1 2\r\n2\r\nVALUE a 0 1 1\r\n1\r\nEND\r\n");
    assert_eq!(world.counts(), HashMap::from([("expire-early", 1), ("expire-late", 1)]));
    // The server has noticed it, and its counters are true.
    assert_eq!(world.answer("gets b\r\n"), "END\r\n");
    assert!(world.answer("stats\r\n").contains("STAT get_expired 1\r\n"));
}

#[test]
fn errors_and_garbage_come_in_place_of_the_answer() {
    let mut world = World::with_faults("server-error:1@set,garbage:1@delete");
    let mut endpoint = world.connect();
    let (answer, _) = world.ask(&mut endpoint, "set a 0 0 1\r\n1\r\nget a\r\n");
    let error = "SERVER_ERROR this fault was asked for\r\n";
    assert_eq!(answer, format!("{error}VALUE a 0 1\r\n1\r\nEND\r\n"));
    let (answer, _) = world.ask(&mut endpoint, "delete a\r\nget a\r\n");
    let mut decoder = memtide_codec::text::ReplyDecoder::new();
    assert!(decoder.next(&mut answer.as_bytes()).is_err(), "{answer}");
    assert!(answer.ends_with("\r\nEND\r\n"), "{answer}");
    // A request without an answer cannot be answered wrongly.
    assert_eq!(world.answer("set a 0 0 1 noreply\r\n1\r\ndelete a noreply\r\n"), "");
    assert_eq!(world.counts(), HashMap::from([("server-error", 1), ("garbage", 1)]));
    assert_eq!(world.answer("stats reset\r\n"), "RESET\r\n");
    assert_eq!(world.counts(), HashMap::new());
}

#[test]
fn the_first_fault_of_the_list_that_can_strike_does() {
    let mut world = World::with_faults("flip:1,server-error:1@get,garbage:1");
    assert!(world.answer("get a\r\n").starts_with("SERVER_ERROR "));
    assert!(world.answer("set a 0 0 1\r\n1\r\n").starts_with('?'));
    assert!(world.answer("get a\r\n").starts_with("VALUE a 0 1\r\n"));
    let each = [("flip", 1), ("server-error", 1), ("garbage", 1)];
    assert_eq!(world.counts(), HashMap::from(each));
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_the_same_instants() {
    let (first, counts) = trace();
    assert!((first, counts.clone()) == trace());
    // Every kind happened except refuse and the four of datagrams.
    assert_eq!(counts.len(), FaultKind::ALL.len() - 5, "{counts:?}");
}

type Departure = (Instant, Vec<u8>, After);

/// The bytes and instants of a run with every fault, and the count of each.
fn trace() -> (Vec<Departure>, HashMap<&'static str, u64>) {
    let faults = "reset:0.5%,stall:0.5%,truncate:2%,flip:2%,other-key:2%,stale:5%,expire-early:2%,\
                  expire-late:5%,server-error:2%,garbage:2%";
    let mut world = World::new("queue:2,exponential:100us+pause:1s,50ms", faults);
    let mut random = Random::new(7);
    let mut endpoint = world.connect();
    let mut trace = Vec::new();
    for _ in 0..20_000 {
        world.pass(Span::from_ns(random.below(20_000_000)));
        let key = random.below(20);
        let request = match random.below(3) {
            0 => format!("set k{key} 0 {} 4\r\n{:04}\r\n", random.below(3), random.below(10_000)),
            1 => format!("get k{key}\r\n"),
            _ => format!("gets k{key} k{} k1\r\n", random.below(20)),
        };
        world.send(&mut endpoint, &request);
        let mut after = After::Reset;
        if let Some(at) = endpoint.poll_timeout() {
            let mut out = Vec::new();
            after = endpoint.poll_transmit(at, &mut out);
            trace.push((at, out, after));
        }
        // The connection was reset, or has stalled.
        if after == After::Reset {
            endpoint = world.connect();
        }
    }
    (trace, world.counts())
}

#[test]
fn a_client_that_asks_too_much_at_once_must_wait() {
    let mut world = World::new("fixed:1s", "none");
    let mut endpoint = world.connect();
    assert!(endpoint.wants_bytes(world.clock.now));
    world.answer(&format!("set a 0 0 4000\r\n{}\r\n", "v".repeat(4000)));
    let many = "get a\r\n".repeat(1000);
    let mut rounds = 0;
    while endpoint.wants_bytes(world.clock.now) {
        world.send(&mut endpoint, &many);
        rounds += 1;
    }
    assert_eq!(rounds, 5);
    // Kept requests begin when there is room.
    let mut seconds = 0;
    let mut out = Vec::new();
    while endpoint.poll_timeout().is_some() {
        assert!(!endpoint.can_go_on(world.clock.now));
        world.pass(Span::from_s(1));
        seconds += 1;
        endpoint.poll_transmit(world.clock.now, &mut out);
        while endpoint.can_go_on(world.clock.now) {
            world.send(&mut endpoint, "");
        }
    }
    assert_eq!(seconds, 2);
    assert_eq!(out.len(), 5000 * ("VALUE a 0 4000\r\n\r\nEND\r\n".len() + 4000));
    assert!(endpoint.wants_bytes(world.clock.now) && endpoint.poll_timeout().is_none());
}

#[test]
fn what_is_due_and_not_taken_is_bounded() {
    for faults in ["none", "flip:0.5"] {
        let mut world = World::with_faults(faults);
        let mut endpoint = world.connect();
        world.answer(&format!("set a 0 0 4000\r\n{}\r\n", "v".repeat(4000)));
        world.send(&mut endpoint, &"get a\r\n".repeat(5000));
        // The result is the same as if it came in any pieces while nothing is taken.
        world.send(&mut endpoint, "get ");
        world.send(&mut endpoint, "none\r\nquit\r\nget a\r\n");
        let (mut all, mut rounds) = (Vec::new(), 0);
        let after = loop {
            let mut out = Vec::new();
            let after = endpoint.poll_transmit(world.clock.now, &mut out);
            assert!(out.len() < (256 << 10) + 5000, "{}", out.len());
            all.extend(out);
            rounds += 1;
            if !endpoint.can_go_on(world.clock.now) {
                break after;
            }
            world.send(&mut endpoint, "");
        };
        assert!(rounds > 70);
        assert_eq!(after, After::Close);
        assert_eq!(all.len(), 5000 * ("VALUE a 0 4000\r\n\r\nEND\r\n".len() + 4000) + 5);
    }
}

#[test]
fn an_answer_that_must_stand_whole_has_a_longest() {
    let mut world = World::with_faults("flip:0.5");
    world.answer(&format!("set a 0 0 4000\r\n{}\r\n", "v".repeat(4000)));
    let keys = "a ".repeat((64 << 20) / 4000 + 1);
    let answer = world.answer(&format!("get {keys}\r\nget none\r\n"));
    assert_eq!(answer, "SERVER_ERROR out of memory writing get response\r\nEND\r\n");
}
