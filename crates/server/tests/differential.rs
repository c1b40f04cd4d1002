//! The server against a real memcached: the same random requests must yield the same bytes and the
//! same counters. Expiries within the run are left to other tests.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests reach the world"
)]

#[path = "differential/meta.rs"]
mod meta;

use memtide_base::{Instant, Random};
use memtide_codec::text::{ReplyDecoder, encode};
use memtide_codec::{Keys, Reply, Request, Verb, base64};
use memtide_server::{Clock, Flow, Session, Store, StoreOptions};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

const SEED: u64 = 0x6d65_6d63_6163_6865;
const REQUESTS: u64 = 500;
/// Sequences of requests, for more than [`COMMANDS_MIN`] commands with any memcached.
const SEQUENCES: u64 = 100;
/// The fewest commands that both servers must answer alike.
const COMMANDS_MIN: u64 = 100_000;
const ITEM_BYTES_MAX: usize = 1 << 20;
/// The latest Unix time that fits in the 32 bits which memcached gives to an expiry.
const LATEST_S: i64 = i32::MAX as i64;
/// No key and no value has a minus sign: for numbers from 2^63 on, memcached looks for one beyond
/// the value's end, in memory left by another item. There it may read the address of an item, and
/// addresses differ in each process, so about one memcached in two hundred refuses such a number.
const KEYS: [&str; 6] = ["a", "bb", "counter", "0", "noreply", "key_that_is_longer_than_a_word"];

/// The counters that must be equal. get_expired is not included: memcached searches for items to
/// reclaim at every store, and does not count those that it finds.
const COUNTERS: &str = "cmd_get cmd_set cmd_flush cmd_touch get_hits get_misses delete_misses \
                        delete_hits incr_misses incr_hits decr_misses decr_hits cas_misses \
                        cas_hits cas_badval touch_hits touch_misses store_too_large \
                        store_no_memory bytes curr_items total_items evictions";

/// A miss that memcached 1.6.18 refuses, because it does not know a flag.
const PROBE: &[u8] = b"mg a E1\r\n";

/// A process whose addresses have a minus sign is followed by another, up to this number. A real
/// difference between the servers shows in every process.
const PROCESSES_MAX: u64 = 3;

#[test]
fn a_real_memcached_answers_and_counts_the_same() {
    let same = (0..PROCESSES_MAX).any(|_| std::panic::catch_unwind(answer_and_count).is_ok());
    assert!(same, "each of {PROCESSES_MAX} processes of memcached differed: see above");
}

fn answer_and_count() {
    let mut theirs = Theirs::start();
    let newest = theirs.is_newest();
    let mut ours = Ours::new();
    if newest {
        // The counters must be equal.
        ours.ask(PROBE);
    }
    let (mut cas, mut commands) = (CasPairs::default(), 0);
    for sequence in 0..SEQUENCES {
        let mut random = Random::new(SEED + sequence);
        for step in 0..REQUESTS {
            let place = format!("seed {}, step {step}", SEED + sequence);
            // Later versions refuse other classic lines; meta is what they are compared in.
            let in_meta = newest || random.below(2) == 0;
            let (count, (to_them, to_us)) = match in_meta {
                true => meta::draw(&mut random, &cas, newest),
                false => (1, draw(&mut random, &cas)),
            };
            commands += count;
            let (them, us) = (theirs.ask(&to_them), ours.ask(&to_us));
            let place = format!("{place}: {}", excerpt(&to_us));
            match in_meta {
                true => meta::compare(&them, &us, &mut cas, &place),
                false => cas.compare(&them, &us, &place),
            }
        }
        // Reading every key makes both servers remove expired items.
        let every = format!("get {}\r\n{}", KEYS.join(" "), meta::every_other_key());
        assert_eq!(excerpt(&theirs.ask(every.as_bytes())), excerpt(&ours.ask(every.as_bytes())));
        let (them, us) = (counters(&theirs.ask(b"stats\r\n")), counters(&ours.ask(b"stats\r\n")));
        for name in COUNTERS.split(' ') {
            assert_eq!(us.get(name), them.get(name), "{name} after seed {}", SEED + sequence);
        }
    }
    assert!(commands >= COMMANDS_MIN, "{commands} commands");
    assert!(cas.pairs.len() > 100, "too few cas numbers were seen to say anything");
}

/// What is sent in one write, and what both servers must answer: quiet commands, and the longest
/// keys.
#[test]
fn the_corners_of_meta_are_answered_as_memcached_does() {
    let mut theirs = Theirs::start();
    let mut ours = Ours::new();
    let key = |bytes: usize| "k".repeat(bytes);
    let raw = |bytes: usize| {
        let mut text = Vec::new();
        base64::encode(&mut text, &vec![7; bytes]);
        String::from_utf8(text).expect("base64 is text")
    };
    let refused = "CLIENT_ERROR bad command line format\r\n";
    let corners = [
        (
            "ms hit 2 q\r\nab\r\nmg miss q O1\r\nmg hit v q O7 k\r\nmd miss q O9\r\n\
             ma miss q O4\r\nmn\r\n"
                .to_owned(),
            "VA 2 O7 khit\r\nab\r\nNF O9\r\nNF O4\r\nMN\r\n".to_owned(),
        ),
        (format!("mg {} k\r\n", key(250)), format!("EN k{}\r\n", key(250))),
        (format!("mg {} k\r\n", key(251)), refused.to_owned()),
        (format!("mg {} b k\r\n", raw(186)), format!("EN k{} b\r\n", raw(186))),
        (format!("mg {} b k\r\n", raw(187)), refused.to_owned()),
        (
            "ms a 1 q\r\n1\r\nma a q\r\nms a 1 q MR C1\r\n2\r\nmd a q\r\n".to_owned(),
            "EX\r\n".to_owned(),
        ),
        (
            "mg a N30 v t\r\nmg a N30 v\r\n".to_owned(),
            "VA 0 t30 W\r\n\r\nVA 0 Z\r\n\r\n".to_owned(),
        ),
        ("md a I T30 q\r\nmg a\r\nmg a\r\n".to_owned(), "HD X W\r\nHD Z X\r\n".to_owned()),
        (
            "ms a 1 T30\r\n1\r\nmg a R60\r\nmg a R60\r\n".to_owned(),
            "HD\r\nHD W\r\nHD Z\r\n".to_owned(),
        ),
    ];
    for (request, expected) in corners {
        let both = [theirs.ask(request.as_bytes()), ours.ask(request.as_bytes())];
        for answer in both {
            assert_eq!(excerpt(&answer), excerpt(expected.as_bytes()), "{request}");
        }
    }
}

/// A request for memcached and its equivalent for the server; only cas numbers differ.
fn draw(random: &mut Random, cas: &CasPairs) -> (Vec<u8>, Vec<u8>) {
    if random.below(8) == 0 {
        let line = odd_line(random);
        return (line.clone(), line);
    }
    let value = value(random);
    let keys = (0..1 + random.below(40)).map(|_| key(random)).collect::<Vec<_>>().join(" ");
    let mut request = request(random, &keys, &value);
    let (mut to_them, mut to_us) = (Vec::new(), Vec::new());
    let (their_cas, our_cas) = cas.any(random);
    for (out, number) in [(&mut to_them, their_cas), (&mut to_us, our_cas)] {
        if let Request::Store { cas: Some(cas), .. } = &mut request {
            *cas = number;
        }
        encode::request(out, &request);
    }
    (to_them, to_us)
}

fn request<'a>(random: &mut Random, keys: &'a str, value: &'a [u8]) -> Request<'a> {
    use Verb::{Add, Append, Cas, Decr, Gat, Gats, Get, Gets, Incr, Prepend, Replace, Set};
    let key = key(random).as_bytes();
    let noreply = random.below(6) == 0;
    let expiry = [0, 0, 0, 1000, 2_592_000, -1, 2_592_001, LATEST_S][pick(random, 8)];
    match random.below(20) {
        0..4 => {
            let verb = [Get, Gets, Gat, Gats][pick(random, 4)];
            let expiry = matches!(verb, Gat | Gats).then_some(expiry);
            Request::Retrieve { verb, expiry, keys: Keys::spaced(keys.as_bytes()) }
        }
        4..13 => {
            let verb = [Set, Set, Add, Replace, Append, Prepend, Cas, Cas][pick(random, 8)];
            let flags = [0, 0, 1, u32::MAX][pick(random, 4)];
            let cas = (verb == Cas).then_some(0);
            Request::Store { verb, key, flags, expiry, value, cas, noreply }
        }
        13..17 => {
            let delta = [0, 1, 9, 1000, u64::MAX, u64::MAX / 2][pick(random, 6)];
            Request::Arithmetic { verb: [Incr, Decr][pick(random, 2)], key, delta, noreply }
        }
        17 => Request::Delete { key, noreply },
        18 => Request::Touch { key, expiry, noreply },
        _ if random.below(10) == 0 => Request::FlushAll { delay: None, noreply },
        _ => Request::Verbosity { level: 0, noreply },
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    match random.below(40) {
        0..15 => (random.bits() >> random.below(64)).to_string().into_bytes(),
        15 => b"18446744073709551615".to_vec(),
        16 => b"18446744073709551616".to_vec(),
        17 => b" 12 ".to_vec(),
        18 => b"+5".to_vec(),
        19 => b"12 34".to_vec(),
        20 => b"7x".to_vec(),
        21 => Vec::new(),
        22 => b"\r\nEND\r\n".to_vec(),
        23 => vec![b'v'; ITEM_BYTES_MAX],
        // Close to the largest item with a short key.
        24 => vec![b'v'; ITEM_BYTES_MAX - 55 - pick(random, 12)],
        _ => (0..random.below(200)).map(|_| b'a' + random.below(26) as u8).collect(),
    }
}

/// Lines that are refused, or nearly; `LONG` is a key that is too long. They include no refused
/// flush_all, which memcached counts in cmd_flush although nothing was flushed, and no key that is
/// too long behind others, because memcached counts those before it.
const ODD_LINES: &str = "\
    get\r\n|gets\r\n|gat x a\r\n|GET a\r\n|x\r\n|\r\n|  get   a  bb \r\n|get a\n|\
    set a 0 0\r\n|set a 0 0 1 2 3\r\n|set a 0 0 1 junk\r\n1\r\n|set a x 0 1\r\n1\r\n|\
    set a 0 x 1 noreply\r\n1\r\n|set a 0 0 -1\r\n|set a 0 0 3\r\nabcdef\r\n|\
    append a 0 0 1 noreply\r\nabcversion\r\n|cas a 0 0 1\r\n|cas a 0 0 1 x\r\n1\r\n|\
    incr a\r\n|incr a x\r\n|decr a -1\r\n|incr a 18446744073709551616\r\n|incr a 1 junk\r\n|\
    delete\r\n|delete a 0\r\n|delete a 1\r\n|delete a b c d\r\n|delete a 0 noreply\r\n|\
    touch a\r\n|touch a x\r\n|verbosity\r\n|verbosity x\r\n|verbosity noreply\r\n|\
    stats nonsense\r\n|get LONG a bb\r\n|set LONG 0 0 1\r\n1\r\n|delete LONG\r\n|\
    touch LONG 0\r\n|incr LONG 1 noreply\r\n";

fn odd_line(random: &mut Random) -> Vec<u8> {
    let lines: Vec<&str> = ODD_LINES.split('|').collect();
    // The version differs, and is requested only to mark the end of the answers.
    let line = lines[pick(random, lines.len())].replace("version", "nothing");
    line.replace("LONG", &"k".repeat(251)).into_bytes()
}

fn key(random: &mut Random) -> &'static str {
    KEYS[pick(random, KEYS.len())]
}

fn pick(random: &mut Random, count: usize) -> usize {
    random.below(count as u64) as usize
}

/// The pairs of memcached's and the server's cas numbers.
#[derive(Default)]
struct CasPairs {
    pairs: Vec<(u64, u64)>,
    ours: HashMap<u64, u64>,
}

impl CasPairs {
    fn any(&self, random: &mut Random) -> (u64, u64) {
        let recent = self.pairs.len().saturating_sub(8);
        match self.pairs[recent..].len() {
            0 => (u64::MAX, u64::MAX),
            count => self.pairs[recent + pick(random, count)],
        }
    }

    /// Asserts that two cas numbers are a pair, now and from now on.
    fn pair(&mut self, theirs: u64, ours: u64, place: &str) {
        let known = self.ours.insert(theirs, ours);
        if known.is_none() {
            assert!(self.pairs.iter().all(|pair| pair.1 != ours), "{place}");
            self.pairs.push((theirs, ours));
        }
        assert_eq!(known.unwrap_or(ours), ours, "{place}");
    }

    /// Compares byte for byte, except for cas numbers, whose pairs must stay the same.
    fn compare(&mut self, them: &[u8], us: &[u8], place: &str) {
        let (their_numbers, our_numbers) = (cas_numbers(them), cas_numbers(us));
        assert_eq!(their_numbers.len(), our_numbers.len(), "{place}");
        let mut renamed = Vec::new();
        let mut decoder = ReplyDecoder::new();
        let (mut input, mut numbers) = (us, their_numbers.iter());
        while let Ok(Some(mut reply)) = decoder.next(&mut input) {
            if let Reply::Value { cas: Some(cas), .. } = &mut reply {
                let theirs = *numbers.next().expect("as many as in their answer");
                self.pair(theirs, *cas, place);
                *cas = theirs;
            }
            encode::reply(&mut renamed, &reply);
        }
        let us = if their_numbers.is_empty() { us } else { &renamed };
        assert!(us == them, "{place}\n  we: {}\nthey: {}", excerpt(us), excerpt(them));
    }
}

fn cas_numbers(answer: &[u8]) -> Vec<u64> {
    let (mut decoder, mut input, mut numbers) = (ReplyDecoder::new(), answer, Vec::new());
    while let Ok(Some(reply)) = decoder.next(&mut input) {
        if let Reply::Value { cas: Some(cas), .. } = reply {
            numbers.push(cas);
        }
    }
    numbers
}

fn counters(answer: &[u8]) -> HashMap<String, String> {
    let text = std::str::from_utf8(answer).expect("counters are text");
    let pair = |line: &str| {
        let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
        Some((name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

fn excerpt(bytes: &[u8]) -> String {
    let end = if bytes.len() > 300 { "…" } else { "" };
    format!("'{}{end}'", bytes[..bytes.len().min(300)].escape_ascii())
}

/// A memcached of this test, stopped when dropped.
struct Theirs {
    child: Child,
    stream: TcpStream,
}

impl Theirs {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child =
            Command::new(std::env::var("MEMTIDE_TEST_MEMCACHED").as_deref().unwrap_or("memcached"))
                .args(["-l", "127.0.0.1", "-u", "nobody", "-t", "1", "-m", "64"])
                // Without its background threads, which sometimes hold an item, so that decr makes
                // a new, shorter item instead of padding with spaces.
                .args(["-o", "no_modern"])
                .args(["-p", &port.to_string()])
                .spawn()
                .expect("this test needs a memcached on the PATH: apt-get install memcached");
        let connected = (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        let Some(stream) = connected else {
            let _ = child.kill();
            let ended = child.wait();
            panic!("memcached did not listen on port {port} within five seconds: {ended:?}");
        };
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self { child, stream }
    }

    /// True if it knows every flag of the meta protocol.
    fn is_newest(&mut self) -> bool {
        self.ask(PROBE).starts_with(b"EN")
    }

    /// All answers; the answer to `version` marks their end.
    fn ask(&mut self, request: &[u8]) -> Vec<u8> {
        const END: &[u8] = b"VERSION 1.";
        self.stream.write_all(&[request, b"version\r\n"].concat()).unwrap();
        let mut answer = Vec::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            let count = self.stream.read(&mut piece).expect("memcached answers in time");
            assert!(count > 0, "memcached closed after {}", excerpt(request));
            answer.extend_from_slice(&piece[..count]);
            let tail = answer.len().saturating_sub(40);
            let start = answer[tail..].windows(END.len()).position(|window| window == END);
            if let (Some(start), true) = (start, answer.ends_with(b"\r\n")) {
                answer.truncate(tail + start);
                return answer;
            }
        }
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // If it has already ended, there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Ours {
    store: Store,
    session: Session,
}

impl Ours {
    fn new() -> Self {
        let item_bytes_max = ITEM_BYTES_MAX;
        let options = StoreOptions { memory_bytes_max: 64 << 20, item_bytes_max, shards: 4 };
        Self { store: Store::new(options), session: Session::new(item_bytes_max) }
    }

    fn ask(&mut self, request: &[u8]) -> Vec<u8> {
        let unix_s = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let clock = Clock { now: Instant::ZERO, unix_s };
        let mut out = Vec::new();
        let flow = self.session.handle_bytes(clock, request, &self.store, &mut out);
        assert_eq!(flow, Flow::Continue);
        out
    }
}
