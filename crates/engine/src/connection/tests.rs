//! Replies match the requests that they answer. Each test is a conversation of operations sent,
//! bytes received and endings seen, repeated with the bytes cut at several widths.

mod binary;
mod meta;

use super::*;
use crate::dialect::tests::plan;
use memtide_base::{ClientId, ServerId};
use memtide_codec::binary::{Opcode, Status};
use memtide_workload::OpKind;
use memtide_workload::OpKind::*;
use memtide_world::plan::{Protocol, Transport};

/// The first connection of a run, in a stream.
fn place() -> Place {
    let (server, client) = (ServerId(0), ClientId(0));
    Place { number: 0, server, client, transport: Transport::Stream, is_aside: false }
}

/// Both sides of one connection, and a record of what happened.
struct Talk {
    connection: Connection,
    dialect: Dialect,
    follow_ups: Vec<FollowUp>,
    seen: Seen,
    now: Instant,
    issued: u64,
    /// The largest piece in which bytes are handed over.
    width: usize,
}

/// The calls that the connection made to its sink.
#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    sent: Vec<(u64, Span)>,
    outstanding: Vec<usize>,
    /// The instant at which each ended operation was sent.
    settled_sent: Vec<Instant>,
}

impl ConnectionEvents for Seen {
    fn sent(&mut self, entry: &mut InFlight, late: Span, outstanding: usize) {
        self.outstanding.push(outstanding);
        self.sent.push((entry.index, late));
    }

    fn refused(&mut self, refusal: Refusal) {
        self.lines.push(format!("refused: {refusal}"));
    }

    fn settle(&mut self, entry: &InFlight, ending: Ending) {
        self.settled_sent.push(entry.sent());
        let Ending { fate, outcome, reply, error, received, bytes } = ending;
        let what = match (reply, error) {
            (Some(reply), None) => format!("{reply:?}"),
            (None, Some(error)) => format!("{error:?}"),
            (None, None) => "no reply".to_owned(),
            (Some(_), Some(_)) => panic!("a reply is not an error as well"),
        };
        let known = received != Instant::NEVER;
        assert_eq!(known, matches!(fate, Fate::Answered | Fate::Failed), "received is known");
        let InFlight { index, kind, hits, .. } = *entry;
        self.lines.push(format!(
            "{index} {}: {fate:?} {outcome:?}, {what}, {hits} hits, {bytes} bytes",
            kind.name()
        ));
    }

    fn late(&mut self, entry: &InFlight, _bytes: u32) {
        self.lines.push(format!("{} {}: late", entry.index, entry.kind.name()));
    }

    fn half_way(&mut self, _entry: &InFlight, _bytes: u32) {}
}

impl Talk {
    fn new(width: usize) -> Self {
        Self::speaking(Protocol::Text, width)
    }

    fn speaking(protocol: Protocol, width: usize) -> Self {
        let plan = plan(protocol, None);
        let dialect = Dialect::new(&plan);
        let mut talk = Self {
            connection: Connection::new(&plan, &dialect, place()),
            dialect,
            follow_ups: Vec::new(),
            seen: Seen::default(),
            now: Instant::from_ns(1_000),
            issued: 0,
            width,
        };
        talk.connect();
        talk
    }

    fn connect(&mut self) {
        let mut out = Outgoing::with_capacity(0, 0, 0);
        self.connection.open(self.now);
        let is_open = self.connection.handle_connected(self.now, &self.dialect, &mut out);
        assert!(is_open && out.is_empty(), "nothing is said first");
        self.connection.opened(self.now);
    }

    fn send(&mut self, kind: OpKind) {
        self.send_keys(kind, 1);
    }

    fn send_keys(&mut self, kind: OpKind, keys: u16) {
        self.connection.carry(InFlight {
            intended: self.now,
            ready_or_sent: self.now,
            own_max: Span::ZERO,
            index: self.issued,
            key: 7,
            segment: 1,
            keys,
            hits: 0,
            kind,
            stage: InFlightStage::First,
        });
        self.issued += 1;
        self.connection.date_sent(self.now, &mut self.seen);
    }

    /// Sends the second request of every cas whose gets has been answered.
    fn follow_up(&mut self) -> Vec<u64> {
        let follow_ups: Vec<_> = self.follow_ups.drain(..).collect();
        for follow_up in &follow_ups {
            self.connection.carry(follow_up.entry);
        }
        self.connection.date_sent(self.now, &mut self.seen);
        follow_ups.iter().map(|follow_up| follow_up.unique).collect()
    }

    fn try_recv(&mut self, bytes: &[u8]) -> Result<(), PeerError> {
        for piece in bytes.chunks(self.width) {
            let Self { connection, follow_ups, seen, now, .. } = self;
            let heard = connection.handle_bytes(*now, piece, follow_ups, seen)?;
            assert_eq!(heard, Heard::Replies);
        }
        Ok(())
    }

    fn recv(&mut self, bytes: &[u8]) {
        self.try_recv(bytes).expect("the talk goes on");
    }

    /// Advances to this instant and times out operations older than 100 ns.
    fn pass_to(&mut self, ns: u64) -> Instant {
        self.now = Instant::from_ns(ns);
        self.connection.handle_timeout(self.now, Span::from_ns(100), &mut self.seen)
    }

    /// Returns the record since the last call, and clears it.
    #[track_caller]
    fn sees(&mut self, lines: &[&str]) {
        assert_eq!(self.seen.lines, lines, "bytes in pieces of {}", self.width);
        self.seen.lines.clear();
    }
}

/// Repeats a conversation with bytes cut at several widths.
fn talks(talk: impl Fn(&mut Talk)) {
    for width in [usize::MAX, 1, 2, 3, 5, 11] {
        talk(&mut Talk::new(width));
    }
}

const CLOSING: [(&[u8], &str); 10] = [
    (b"END\r\n", "END"),
    (b"STORED\r\n", "STORED"),
    (b"NOT_STORED\r\n", "NOT_STORED"),
    (b"EXISTS\r\n", "EXISTS"),
    (b"NOT_FOUND\r\n", "NOT_FOUND"),
    (b"DELETED\r\n", "DELETED"),
    (b"TOUCHED\r\n", "TOUCHED"),
    (b"OK\r\n", "OK"),
    (b"5\r\n", "a number"),
    (b"VERSION 1\r\n", "VERSION"),
];

/// The answers to each kind's first request that the protocol document allows.
fn allowed(kind: OpKind) -> &'static [&'static str] {
    match kind {
        Get | Gets | Gat | Gats | Cas => &["END"],
        Set | Add | Replace | Append | Prepend => &["STORED", "NOT_STORED"],
        Delete => &["DELETED", "NOT_FOUND"],
        Incr | Decr => &["a number", "NOT_FOUND"],
        Touch => &["TOUCHED", "NOT_FOUND"],
        Recache | Invalidate | Peek => unreachable!("they are sent over meta only"),
    }
}

#[test]
fn every_kind_takes_the_replies_that_the_protocol_has_for_it_and_no_other() {
    for kind in OpKind::ALL.into_iter().filter(|kind| !kind.is_meta_only()) {
        for (bytes, got) in CLOSING {
            talks(|talk| {
                talk.send(kind);
                let read = talk.try_recv(bytes);
                if allowed(kind).contains(&got) {
                    assert_eq!(read, Ok(()), "{kind:?} {got}");
                    assert_eq!(talk.seen.lines.len(), 1, "{kind:?} {got}");
                    assert!(talk.seen.lines[0].contains("Answered"), "{kind:?} {got}");
                } else {
                    assert_eq!(read, Err(PeerError::Mismatch { kind, got }));
                    talk.sees(&[]);
                }
            });
        }
    }
}

/// The conversations of `talks.txt`, each below its heading. A line is one of:
/// `send` kinds, several keys behind a star; `recv` bytes; `fails` with an error and the bytes that
/// are it; `sees` one call of the sink; `pass` to an instant, with the next deadline; `second`
/// requests of a cas, with their numbers; `lost`, and `connect`. All calls of the sink are listed.
#[test]
fn talks_go_as_they_are_written() {
    let mut talked = 0;
    for written in include_str!("tests/talks.txt").split("\n# ").skip(1) {
        talks(|talk| carry_out(talk, written));
        talked += 1;
    }
    assert_eq!(talked, 18);
}

fn carry_out(talk: &mut Talk, written: &str) {
    let mut seen: Vec<&str> = Vec::new();
    for line in written.lines().skip(1).filter(|line| !line.is_empty()) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        if verb == "sees" {
            seen.push(rest);
            continue;
        }
        talk.sees(&std::mem::take(&mut seen));
        let bytes = || rest.replace("\\r", "\r").replace("\\n", "\n").into_bytes();
        match verb {
            "send" => rest.split(' ').for_each(|word| {
                let (kind, keys) = word.split_once('*').unwrap_or((word, "1"));
                let kind = OpKind::ALL.into_iter().find(|it| it.name() == kind).expect(kind);
                talk.send_keys(kind, keys.parse().expect("a number of keys"));
            }),
            "recv" => talk.recv(&bytes()),
            "fails" => {
                let (error, bytes) = rest.split_once(" from ").expect("an error and bytes");
                let bytes = bytes.replace("\\r", "\r").replace("\\n", "\n");
                let read = talk.try_recv(bytes.as_bytes());
                assert_eq!(format!("{:?}", read.expect_err("it fails")), error, "{written}");
            }
            "pass" => {
                let (to, next) = rest.split_once(" next ").expect("two instants");
                let instant = |ns: &str| ns.parse().map_or(Instant::NEVER, Instant::from_ns);
                assert_eq!(talk.pass_to(instant(to).ns()), instant(next), "{written}");
            }
            "second" => assert_eq!(format!("{:?}", talk.follow_up()), rest, "{written}"),
            "lost" => {
                talk.connection.handle_closed(Fate::Lost, &mut talk.seen);
                assert_eq!(talk.connection.in_flight(), 0);
                assert_eq!(talk.connection.state(), State::Closed);
            }
            "connect" => talk.connect(),
            _ => panic!("{line}"),
        }
    }
    talk.sees(&seen);
}

#[test]
fn a_cas_goes_through_two_stages_and_ends_once() {
    talks(|talk| {
        for _ in 0..3 {
            talk.send(Cas);
        }
        talk.recv(b"VALUE k 0 1 11\r\nx\r\nEND\r\nEND\r\nVALUE k 0 1 33\r\nx\r\nEND\r\n");
        talk.sees(&["1 cas: Answered Miss, Values, 0 hits, 5 bytes"]);
        assert_eq!(talk.follow_up(), [11, 33]);
        talk.recv(b"STORED\r\nEXISTS\r\n");
        talk.sees(&[
            "0 cas: Answered Stored, Stored, 1 hits, 8 bytes",
            "2 cas: Answered Exists, Exists, 1 hits, 8 bytes",
        ]);
        let sent: Vec<u64> = talk.seen.sent.iter().map(|(index, _)| *index).collect();
        assert_eq!(sent, [0, 1, 2], "a cas is sent once, when its gets is");
        assert_eq!(talk.seen.outstanding, [1, 2, 3]);
    });
}

#[test]
fn the_second_stage_of_a_cas_takes_only_answers_to_a_store() {
    let replies: [(&[u8], bool); 4] = [
        (b"NOT_FOUND\r\n", true),
        (b"NOT_STORED\r\n", true),
        (b"END\r\n", false),
        (b"VALUE k 0 1\r\nx\r\nEND\r\n", false),
    ];
    for (bytes, lawful) in replies {
        talks(|talk| {
            talk.send(Cas);
            talk.recv(b"VALUE k 0 1 11\r\nx\r\nEND\r\n");
            talk.follow_up();
            assert_eq!(talk.try_recv(bytes).is_ok(), lawful);
        });
    }
}

#[test]
fn bytes_that_are_no_protocol_end_the_talk() {
    talks(|talk| {
        talk.send(Get);
        let read = talk.try_recv(b"HTTP/1.1 400 Bad Request\r\n");
        assert!(
            matches!(read, Err(PeerError::Malformed(_) | PeerError::Foreign { .. })),
            "{read:?}"
        );
    });
}

/// The room that a reply makes is reused at once. If the rest of the same bytes closes the
/// connection, the new request was never sent, and its sample must not contain a sent instant.
#[test]
fn a_reply_at_its_deadline_is_late_although_no_timer_fired() {
    talks(|talk| {
        talk.connection.timeout = Span::from_ns(100);
        talk.send(Set);
        talk.now = Instant::from_ns(1_099);
        talk.recv(b"STORED\r\n");
        talk.sees(&["0 set: Answered Stored, Stored, 0 hits, 8 bytes"]);
        talk.send(Set);
        talk.now = Instant::from_ns(1_199);
        talk.recv(b"STORED\r\n");
        talk.sees(&["1 set: TimedOut TimedOut, no reply, 0 hits, 0 bytes", "1 set: late"]);
    });
}

#[test]
fn what_was_made_and_never_left_was_not_sent() {
    let mut talk = Talk::new(usize::MAX);
    talk.send(Get);
    let entry = InFlight { index: 1, ..talk.connection.pipeline[0] };
    talk.connection.carry(entry);
    talk.connection.handle_closed(Fate::Lost, &mut talk.seen);
    assert_eq!(talk.seen.settled_sent, [talk.now, Instant::NEVER]);
}

#[test]
fn lateness_counts_from_when_an_operation_could_have_been_sent() {
    let mut talk = Talk::new(usize::MAX);
    talk.connection.carry(InFlight {
        intended: Instant::from_ns(10),
        ready_or_sent: Instant::from_ns(40),
        own_max: Span::from_ns(5),
        index: 0,
        key: 0,
        segment: 1,
        keys: 1,
        hits: 0,
        kind: Get,
        stage: InFlightStage::First,
    });
    talk.connection.date_sent(Instant::from_ns(60), &mut talk.seen);
    assert_eq!(talk.seen.sent, [(0, Span::from_ns(20))]);
    let entry = talk.connection.pipeline[0];
    assert_eq!((entry.intended, entry.sent()), (Instant::from_ns(10), Instant::from_ns(60)));
    assert_eq!(entry.own_max, Span::from_ns(25));
}
