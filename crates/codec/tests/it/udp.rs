//! Datagrams: the vectors in `tests/wire/udp`, one datagram a line; and answers whose parts are
//! shuffled, duplicated, lost and late arrive whole or not at all.

use crate::wire::{repeated, unhex};
use memtide_base::Random;
use memtide_codec::udp::{self, BODY_BYTES_MAX, Header, Reassembler, Taken};
use std::path::Path;

/// The longest message in the vectors.
const BYTES_MAX: usize = 10 * BODY_BYTES_MAX;
/// The seed of the first random client; the others follow.
const SEED: u64 = 20_260_731;

#[test]
fn every_vector_of_datagrams_means_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/udp/datagrams.wire");
    let text = std::fs::read_to_string(path).unwrap();
    let cases = text.split("-- ").skip(1);
    let mut count = 0;
    for case in cases {
        let (mut ends, mut got, mut expected) = (Ends::new(), Vec::new(), Vec::new());
        for line in case.lines().skip(1).filter(|line| !line.starts_with('#')) {
            let rest = line.get(3..).unwrap_or_default();
            match line.get(..2) {
                Some("Cx") => ends.sends(&unhex(rest), &mut got),
                Some("Sx") => ends.receives(&unhex(rest), &mut got),
                Some("=>") => expected.push(repeated(rest)),
                _ => assert!(line.is_empty(), "a line that is none of a vector: {line}"),
            }
        }
        assert_eq!(got, expected, "{case}");
        count += 1;
    }
    assert!(count >= 10, "only {count} cases were found");
}

/// A client with one request outstanding, and the outcome of each datagram that it receives.
struct Ends {
    reassembler: Reassembler,
    awaits: bool,
}

impl Ends {
    fn new() -> Self {
        Self { reassembler: Reassembler::new(BYTES_MAX), awaits: false }
    }

    fn sends(&mut self, datagram: &[u8], got: &mut Vec<String>) {
        match Header::read(datagram) {
            Some((header, body)) if header == Header::of_request(header.request) => {
                if std::mem::replace(&mut self.awaits, true) {
                    got.push(format!("given up, {} missing", self.reassembler.give_up()));
                }
                assert_eq!(self.reassembler.begin(), header.request);
                got.push(format!("request {} '{}'", header.request, body.escape_ascii()));
            }
            _ => got.push("no request".to_owned()),
        }
    }

    fn receives(&mut self, datagram: &[u8], got: &mut Vec<String>) {
        let (said, ends) = match self.reassembler.take(datagram) {
            Taken::Message(message) => {
                let bytes = message.pieces().collect::<Vec<_>>().concat();
                (format!("message '{}'", bytes.escape_ascii()), bytes.ends_with(b"END\r\n"))
            }
            Taken::Part { disordered: true } => ("part out of order".to_owned(), false),
            Taken::Part { disordered: false } => ("part".to_owned(), false),
            Taken::Duplicate => ("duplicate".to_owned(), false),
            Taken::Late => ("late".to_owned(), false),
            Taken::Empty => ("empty".to_owned(), false),
            Taken::Foreign => ("foreign".to_owned(), false),
        };
        got.push(said);
        if ends {
            self.reassembler.answered();
            self.awaits = false;
        }
    }
}

/// A datagram on the wire.
type Datagram = Vec<u8>;

/// An answer whose parts have random lengths.
fn uneven(random: &mut Random, request: u16, answer: &[u8]) -> Vec<Datagram> {
    let mut bodies = Vec::new();
    let mut rest = answer;
    while !rest.is_empty() {
        let bytes = 1 + random.below(rest.len().min(BODY_BYTES_MAX) as u64) as usize;
        let (body, after) = rest.split_at(if bodies.len() == 9 { rest.len() } else { bytes });
        bodies.push(body);
        rest = after;
    }
    let total = bodies.len() as u16;
    let parts = (0..total).zip(bodies);
    parts
        .map(|(sequence, body)| [&Header { request, sequence, total }.bytes()[..], body].concat())
        .collect()
}

fn datagrams(request: u16, answer: &[u8]) -> Vec<Datagram> {
    let parts = udp::split(request, answer).unwrap();
    parts.map(|(header, body)| [&header.bytes()[..], body].concat()).collect()
}

fn drawn_answer(random: &mut Random) -> Vec<u8> {
    let bytes = match random.below(4) {
        0 => 1 + random.below(40),
        1 => BODY_BYTES_MAX as u64 - 1 + random.below(3),
        2 => BODY_BYTES_MAX as u64 * (1 + random.below(5)),
        _ => 1 + random.below(BYTES_MAX as u64),
    };
    (0..bytes).map(|_| random.bits() as u8).collect()
}

/// The faults of a simulated network on an answer, and the counts that the reassembler must report.
#[derive(Debug, Default, PartialEq, Eq)]
struct Books {
    whole: u64,
    missing: u64,
    duplicate: u64,
    late: u64,
    disordered: u64,
}

#[test]
fn answers_come_out_whole_or_not_at_all_whatever_the_network_does() {
    for seed in SEED..SEED + 200 {
        check_one_client(&mut Random::new(seed), seed);
    }
}

/// Some hundred requests on one socket: parts are lost, duplicated, shuffled, or arrive after the
/// next request began.
fn check_one_client(random: &mut Random, seed: u64) {
    let mut reassembler = Reassembler::new(BYTES_MAX);
    let (mut books, mut expected) = (Books::default(), Books::default());
    let mut stragglers: Vec<Datagram> = Vec::new();
    for _ in 0..300 {
        let request = reassembler.begin();
        let answer = drawn_answer(random);
        let is_uneven = answer.len() < BODY_BYTES_MAX && random.below(2) == 0;
        let mut sent = match is_uneven {
            true => uneven(random, request, &answer),
            false => datagrams(request, &answer),
        };
        let parts = sent.len() as u64;
        let shuffled = random.below(2) == 0;
        let lost = if random.below(4) == 0 { 1 + random.below(parts) } else { 0 };
        for _ in 0..lost {
            let straggler = sent.swap_remove(random.below(sent.len() as u64) as usize);
            stragglers.extend((random.below(2) == 0).then_some(straggler));
        }
        let here = sent.len() as u64;
        sent.sort_by_key(|datagram| Header::read(datagram).unwrap().0.sequence);
        for at in 0..here as usize {
            if random.below(10) == 0 {
                sent.push(sent[at].clone());
                expected.duplicate += 1;
            }
        }
        if shuffled {
            shuffle(random, &mut sent);
        }
        expected.disordered += disordered(&sent);
        expected.whole += u64::from(lost == 0);
        expected.missing += if lost == 0 || here == 0 { 0 } else { lost };
        let mut answered = false;
        for datagram in &sent {
            answered |= receive(&mut reassembler, datagram, (&answer, seed), &mut books);
        }
        if !answered {
            books.missing += u64::from(reassembler.give_up());
        }
        // Datagrams that arrive when no answer is awaited, for the last request or an earlier one.
        expected.late += stragglers.len() as u64;
        for datagram in stragglers.drain(..) {
            receive(&mut reassembler, &datagram, (&answer, seed), &mut books);
        }
    }
    assert_eq!(books, expected, "seed {seed}");
}

/// True if the datagram completed the answer, which must equal `answer`.
fn receive(
    reassembler: &mut Reassembler,
    datagram: &[u8],
    (answer, seed): (&[u8], u64),
    books: &mut Books,
) -> bool {
    match reassembler.take(datagram) {
        Taken::Message(message) => {
            assert!(message.pieces().flatten().eq(answer), "not what was sent, seed {seed}");
            books.whole += 1;
            reassembler.answered();
            return true;
        }
        Taken::Part { disordered } => books.disordered += u64::from(disordered),
        Taken::Duplicate => books.duplicate += 1,
        Taken::Late => books.late += 1,
        Taken::Empty | Taken::Foreign => panic!("there was nothing of the kind, seed {seed}"),
    }
    false
}

/// How many datagrams arrive before one that they should follow, counted naively.
fn disordered(sent: &[Datagram]) -> u64 {
    let numbers = sent.iter().map(|datagram| Header::read(datagram).unwrap().0.sequence);
    let mut seen: Vec<u16> = Vec::new();
    let mut count = 0;
    for number in numbers {
        if !seen.contains(&number) {
            count += u64::from((0..number).any(|before| !seen.contains(&before)));
            seen.push(number);
        }
    }
    count
}

fn shuffle(random: &mut Random, sent: &mut [Datagram]) {
    for at in (1..sent.len()).rev() {
        sent.swap(at, random.below(at as u64 + 1) as usize);
    }
}

#[test]
fn the_longest_answer_has_as_many_datagrams_as_can_be_numbered() {
    let longest = vec![0; 65_535 * BODY_BYTES_MAX];
    assert_eq!(udp::split(1, &longest).unwrap().count(), 65_535);
    let longer = vec![0; 65_535 * BODY_BYTES_MAX + 1];
    assert!(udp::split(1, &longer).is_err());
    assert_eq!(udp::split(1, &[]).unwrap().count(), 0);
}

#[test]
fn the_numbers_of_requests_go_round() {
    let mut reassembler = Reassembler::new(0);
    for number in 0..200_000u32 {
        assert_eq!(reassembler.begin(), number as u16);
        let old = Header { request: (number as u16).wrapping_sub(3), sequence: 0, total: 1 };
        let datagram = [&old.bytes()[..], b"END\r\n"].concat();
        let taken = reassembler.take(&datagram);
        match number {
            0..3 => assert!(matches!(taken, Taken::Foreign), "{number}: {taken:?}"),
            _ => assert!(matches!(taken, Taken::Duplicate), "{number}: {taken:?}"),
        }
        let answer = datagrams(number as u16, b"END\r\n").concat();
        assert!(matches!(reassembler.take(&answer), Taken::Message(_)));
        reassembler.answered();
    }
}
