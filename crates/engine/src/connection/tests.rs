//! Replies match the requests that they answer. Each test is a conversation of operations sent,
//! bytes received and endings seen, repeated with the bytes cut at several widths.

mod binary;

use super::*;
use crate::dialect::tests::plan;
use crate::plan::{Protocol, Transport};
use memtide_base::{ClientId, ServerId};
use memtide_codec::binary::{Opcode, Status};
use memtide_workload::OpKind::*;

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
    fn sent(&mut self, entry: &InFlight, late: Span, outstanding: usize) {
        self.outstanding.push(outstanding);
        self.sent.push((entry.index, late));
    }

    fn refused(&mut self, refusal: Refusal) {
        self.lines.push(format!("refused: {refusal}"));
    }

    fn settle(&mut self, entry: &InFlight, ending: Ending) {
        self.settled_sent.push(entry.sent);
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
    }

    fn send(&mut self, kind: OpKind) {
        self.send_keys(kind, 1);
    }

    fn send_keys(&mut self, kind: OpKind, keys: u16) {
        self.connection.carry(InFlight {
            intended: self.now,
            sent: self.now,
            generator: Span::ZERO,
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
    }
}

#[test]
fn every_kind_takes_the_replies_that_the_protocol_has_for_it_and_no_other() {
    for kind in OpKind::ALL {
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

#[test]
fn answers_say_what_they_mean() {
    talks(|talk| {
        for kind in [Get, Set, Add, Replace, Delete, Delete, Incr, Decr, Touch, Touch, Gat] {
            talk.send(kind);
        }
        talk.recv(
            b"END\r\nSTORED\r\nNOT_STORED\r\nNOT_STORED\r\nDELETED\r\nNOT_FOUND\r\n12\r\n\
              NOT_FOUND\r\nTOUCHED\r\nNOT_FOUND\r\nVALUE k 0 1\r\nx\r\nEND\r\n",
        );
        talk.sees(&[
            "0 get: Answered Miss, Values, 0 hits, 5 bytes",
            "1 set: Answered Stored, Stored, 0 hits, 8 bytes",
            "2 add: Answered NotStored, NotStored, 0 hits, 12 bytes",
            "3 replace: Answered NotStored, NotStored, 0 hits, 12 bytes",
            "4 delete: Answered Deleted, Deleted, 0 hits, 9 bytes",
            "5 delete: Answered NotFound, NotFound, 0 hits, 11 bytes",
            "6 incr: Answered Number, Number, 0 hits, 4 bytes",
            "7 decr: Answered NotFound, NotFound, 0 hits, 11 bytes",
            "8 touch: Answered Touched, Touched, 0 hits, 9 bytes",
            "9 touch: Answered NotFound, NotFound, 0 hits, 11 bytes",
            "10 gat: Answered Hit, Values, 1 hits, 21 bytes",
        ]);
        assert_eq!(talk.connection.in_flight(), 0);
    });
}

#[test]
fn a_value_may_look_like_the_end_of_its_reply() {
    talks(|talk| {
        talk.send(Get);
        talk.send(Set);
        talk.recv(b"VALUE k 0 15\r\n\r\nEND\r\nSTORED\r\n\r\nEND\r\nSTORED\r\n");
        talk.sees(&[
            "0 get: Answered Hit, Values, 1 hits, 36 bytes",
            "1 set: Answered Stored, Stored, 0 hits, 8 bytes",
        ]);
    });
}

#[test]
fn a_multiget_is_one_operation_that_counts_keys() {
    talks(|talk| {
        for keys in [3, 3, 2] {
            talk.send_keys(Get, keys);
        }
        talk.recv(b"VALUE a 0 1\r\na\r\nVALUE b 0 1\r\nb\r\nVALUE c 0 1\r\nc\r\nEND\r\n");
        talk.recv(b"VALUE b 0 1\r\nb\r\nEND\r\nEND\r\n");
        talk.sees(&[
            "0 get: Answered Hit, Values, 3 hits, 53 bytes",
            "1 get: Answered Miss, Values, 1 hits, 21 bytes",
            "2 get: Answered Miss, Values, 0 hits, 5 bytes",
        ]);
    });
}

#[test]
fn more_values_than_keys_break_the_protocol() {
    talks(|talk| {
        talk.send_keys(Get, 1);
        let read = talk.try_recv(b"VALUE a 0 1\r\na\r\nVALUE b 0 1\r\nb\r\nEND\r\n");
        assert_eq!(read, Err(PeerError::Mismatch { kind: Get, got: "VALUE" }));
        talk.sees(&[]);
    });
}

#[test]
fn error_lines_fail_what_they_answer_and_nothing_else() {
    talks(|talk| {
        for kind in [Get, Set, Set, Get] {
            talk.send(kind);
        }
        talk.recv(b"ERROR\r\nCLIENT_ERROR too large\r\nSERVER_ERROR out of memory\r\nEND\r\n");
        talk.sees(&[
            "refused: ERROR",
            "0 get: Failed Failed, Error, 0 hits, 7 bytes",
            "refused: CLIENT_ERROR too large",
            "1 set: Failed Failed, ClientError, 0 hits, 24 bytes",
            "refused: SERVER_ERROR out of memory",
            "2 set: Failed Failed, ServerError, 0 hits, 28 bytes",
            "3 get: Answered Miss, Values, 0 hits, 5 bytes",
        ]);
    });
}

#[test]
fn an_error_in_the_middle_of_values_fails_the_whole_retrieval() {
    talks(|talk| {
        talk.send_keys(Get, 2);
        talk.send(Get);
        talk.recv(b"VALUE a 0 1\r\na\r\nSERVER_ERROR out of memory\r\nEND\r\n");
        talk.sees(&[
            "refused: SERVER_ERROR out of memory",
            "0 get: Failed Failed, ServerError, 1 hits, 44 bytes",
            "1 get: Answered Miss, Values, 0 hits, 5 bytes",
        ]);
    });
}

#[test]
fn the_second_line_of_a_bad_data_chunk_answers_nothing() {
    talks(|talk| {
        for kind in [Set, Get, Get] {
            talk.send(kind);
        }
        talk.recv(b"CLIENT_ERROR bad data chunk\r\nERROR\r\nEND\r\nERROR\r\n");
        talk.sees(&[
            "refused: CLIENT_ERROR bad data chunk",
            "0 set: Failed Failed, ClientError, 0 hits, 29 bytes",
            "1 get: Answered Miss, Values, 0 hits, 5 bytes",
            "refused: ERROR",
            "2 get: Failed Failed, Error, 0 hits, 7 bytes",
        ]);
    });
}

#[test]
fn the_second_line_of_a_bad_data_chunk_may_come_when_nothing_is_asked() {
    talks(|talk| {
        talk.send(Set);
        talk.recv(b"CLIENT_ERROR bad data chunk\r\n");
        talk.recv(b"ERROR\r\n");
        talk.send(Get);
        talk.recv(b"END\r\n");
        talk.sees(&[
            "refused: CLIENT_ERROR bad data chunk",
            "0 set: Failed Failed, ClientError, 0 hits, 29 bytes",
            "1 get: Answered Miss, Values, 0 hits, 5 bytes",
        ]);
    });
}

#[test]
fn an_error_that_does_not_follow_a_bad_data_chunk_at_once_is_an_answer() {
    talks(|talk| {
        for kind in [Set, Set, Get] {
            talk.send(kind);
        }
        talk.recv(b"CLIENT_ERROR bad data chunk\r\nSTORED\r\nERROR\r\n");
        talk.sees(&[
            "refused: CLIENT_ERROR bad data chunk",
            "0 set: Failed Failed, ClientError, 0 hits, 29 bytes",
            "1 set: Answered Stored, Stored, 0 hits, 8 bytes",
            "refused: ERROR",
            "2 get: Failed Failed, Error, 0 hits, 7 bytes",
        ]);
    });
}

#[test]
fn what_timed_out_keeps_its_place_and_its_late_reply_is_thrown_away() {
    talks(|talk| {
        talk.send(Get);
        assert_eq!(talk.pass_to(1_050), Instant::from_ns(1_100));
        talk.send(Set);
        talk.sees(&[]);
        assert_eq!(talk.pass_to(1_100), Instant::from_ns(1_150), "the set's deadline is next");
        talk.sees(&["0 get: TimedOut TimedOut, no reply, 0 hits, 0 bytes"]);
        assert_eq!(talk.connection.in_flight(), 2);
        talk.recv(b"VALUE k 0 1\r\nx\r\nEND\r\nSTORED\r\n");
        talk.sees(&["0 get: late", "1 set: Answered Stored, Stored, 0 hits, 8 bytes"]);
        assert_eq!(talk.pass_to(9_000), Instant::NEVER);
        talk.sees(&[]);
    });
}

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
fn a_late_error_is_late_and_counts_as_no_second_ending() {
    talks(|talk| {
        talk.send(Set);
        talk.pass_to(2_000);
        talk.recv(b"SERVER_ERROR busy\r\n");
        talk.sees(&[
            "0 set: TimedOut TimedOut, no reply, 0 hits, 0 bytes",
            "refused: SERVER_ERROR busy",
            "0 set: late",
        ]);
    });
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
fn a_cas_that_timed_out_between_its_stages_is_late_once() {
    talks(|talk| {
        talk.send(Cas);
        talk.recv(b"VALUE k 0 1 11\r\nx\r\nEND\r\n");
        talk.follow_up();
        talk.pass_to(2_000);
        talk.recv(b"STORED\r\n");
        talk.sees(&["0 cas: TimedOut TimedOut, no reply, 1 hits, 0 bytes", "0 cas: late"]);
    });
}

#[test]
fn a_cas_whose_gets_timed_out_is_not_followed_up() {
    talks(|talk| {
        talk.send(Cas);
        talk.pass_to(2_000);
        talk.recv(b"VALUE k 0 1 11\r\nx\r\nEND\r\n");
        assert_eq!(talk.follow_up(), [0u64; 0]);
        talk.sees(&["0 cas: TimedOut TimedOut, no reply, 0 hits, 0 bytes", "0 cas: late"]);
    });
}

#[test]
fn what_nobody_asked_for_ends_the_talk() {
    talks(|talk| {
        assert_eq!(talk.try_recv(b"STORED\r\n"), Err(PeerError::Unasked { got: "STORED" }));
    });
    talks(|talk| {
        let read = talk.try_recv(b"SERVER_ERROR go away\r\n");
        let line = Excerpt::of(b"go away");
        assert_eq!(read, Err(PeerError::UnaskedError { line }));
    });
}

#[test]
fn being_turned_away_is_known_with_and_without_a_question() {
    let line = b"ERROR Too many open connections\r\n";
    talks(|talk| assert_eq!(talk.try_recv(line), Err(PeerError::TooManyConnections)));
    talks(|talk| {
        talk.send(Get);
        assert_eq!(talk.try_recv(line), Err(PeerError::TooManyConnections));
        talk.sees(&[]);
    });
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

#[test]
fn a_lost_connection_fails_what_it_carried_and_starts_anew() {
    talks(|talk| {
        talk.send(Get);
        talk.pass_to(2_000);
        talk.send(Set);
        talk.recv(b"VALUE k 0 10\r\nhalf");
        talk.connection.handle_closed(Fate::Lost, &mut talk.seen);
        talk.sees(&[
            "0 get: TimedOut TimedOut, no reply, 0 hits, 0 bytes",
            "1 set: Lost Lost, no reply, 0 hits, 0 bytes",
        ]);
        assert_eq!(talk.connection.in_flight(), 0);
        assert_eq!(talk.connection.state(), State::Closed);
        talk.connect();
        talk.send(Set);
        talk.recv(b"STORED\r\n");
        talk.sees(&["2 set: Answered Stored, Stored, 0 hits, 8 bytes"]);
    });
}

/// The room that a reply makes is reused at once. If the rest of the same bytes closes the
/// connection, the new request was never sent, and its sample must not contain a sent instant.
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
        sent: Instant::from_ns(40),
        generator: Span::from_ns(5),
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
    assert_eq!((entry.intended, entry.sent), (Instant::from_ns(10), Instant::from_ns(60)));
    assert_eq!(entry.generator, Span::from_ns(25));
}
