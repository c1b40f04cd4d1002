//! The sentence of every fault, and of every kind of fleet error.

use super::*;
use crate::prose::flaw;
use memtide_base::Words;
use memtide_codec::{Excerpt, Malformed};
use memtide_record::natively;
use memtide_workload::OpKind;
use memtide_world::driver::{Closed, ConnectError, DriverError, PeerError, TlsFault};

/// One fault of each variant. A new variant fails to compile in `place` until it has a number
/// there, and fails the test until it is listed here.
fn every_fault() -> Vec<Fault> {
    let server = || "10.0.0.1:11211".to_owned();
    let of_server = || format!("server {}", server());
    let what = || Closed::Reset.sentence();
    let timeout = Span::from_ms(300);
    let error = DriverError { action: "epoll_wait", code: 5 };
    vec![
        Fault::Interrupted,
        Fault::Fleet(FleetError::NoThread { worker: 1, why: "no memory is left".to_owned() }),
        Fault::Fleet(FleetError::Worker { worker: 1, error }),
        Fault::Unplannable { why: "pin: 8 workers, but 2 CPUs are allowed".to_owned() },
        Fault::Aborted {
            step: 2,
            aborted: Aborted {
                condition: "errors>50%".to_owned(),
                measured: Some(0.6),
                why: "it is 60 %".to_owned(),
                after_s: 3.0,
            },
        },
        Fault::Unasked { server: server(), error: AskError::Silent(timeout, Protocol::Text) },
        Fault::Opening {
            server: server(),
            what: TroubleKind::Closed(Closed::Reset),
            so_far: " (when 3 of 16 connections had been opened)".to_owned(),
        },
        Fault::OpeningSlowly { opened: 3, wanted: 16, timeout },
        Fault::ServersLost { timeout, server: of_server(), what: what() },
        Fault::Silence { who: of_server(), timeout },
        Fault::Unserved { server: of_server(), what: what() },
        Fault::ConnectionLost { server: of_server(), what: what() },
        Fault::NoneOpened { server: of_server(), what: what() },
        Fault::Fill(FillFault::Gone { who: of_server(), said: Sentence::default() }),
        Fault::Fleet(FleetError::NotAllowed { address: server() }),
        Fault::Lacks {
            server: server(),
            lacking: Lacking::Opaque,
            answer: "CLIENT_ERROR invalid flag".to_owned(),
        },
        Fault::WindowLate { late: timeout },
        Fault::ServerLost { server: server() },
    ]
}

fn place(fault: &Fault) -> usize {
    match fault {
        Fault::Interrupted => 0,
        Fault::Fleet(FleetError::NoThread { .. }) => 1,
        Fault::Fleet(FleetError::Worker { .. }) => 2,
        Fault::Unplannable { .. } => 3,
        Fault::Aborted { .. } => 4,
        Fault::Unasked { .. } => 5,
        Fault::Opening { .. } => 6,
        Fault::OpeningSlowly { .. } => 7,
        Fault::ServersLost { .. } => 8,
        Fault::Silence { .. } => 9,
        Fault::Unserved { .. } => 10,
        Fault::ConnectionLost { .. } => 11,
        Fault::NoneOpened { .. } => 12,
        Fault::Fill(_) => 13,
        Fault::Fleet(FleetError::NotAllowed { .. }) => 14,
        Fault::Lacks { .. } => 15,
        Fault::WindowLate { .. } => 16,
        Fault::ServerLost { .. } => 17,
    }
}

/// The faults of a fill, with and without their optional last clauses.
fn every_fault_of_a_fill(said: &str) -> Vec<FillFault> {
    let server = || "10.0.0.1:11211".to_owned();
    let who = || format!("server {}", server());
    let is_said = !said.is_empty();
    let said = || Sentence::new(said);
    let lengths = || Lengths { mean: 200.0, law: "fixed:2048".to_owned() };
    let room = NoRoom {
        server: server(),
        keys: 1000,
        sampled: 100,
        missing: 7,
        stopped_after: is_said.then_some(500),
        evicted: is_said.then_some(77),
        advice: "give it about -m 128".to_owned(),
    };
    vec![
        FillFault::WindowsUnfilled { stored: 3, total: 10, said: said() },
        FillFault::Unfilled { server: server(), stored: 3, total: 10, why: said() },
        FillFault::Breach { who: who(), what: PeerError::Unasked { got: "END" }.sentence() },
        FillFault::Unserved { who: who(), said: said() },
        FillFault::Silence {
            who: who(),
            awaited: "gets of a sample of keys".to_owned(),
            timeout: Span::from_ms(300),
            said: said(),
        },
        FillFault::Gone { who: who(), said: said() },
        FillFault::NoRoom(Box::new(room)),
        FillFault::Foreign { server: server(), items: 77, resized: is_said.then(lengths) },
        FillFault::Resized { server: server(), resized: 9, hits: 10, lengths: lengths() },
        FillFault::NoMemcached {
            server: server(),
            answered: 1,
            asked: 10,
            said: said(),
            protocol: Protocol::Text,
        },
        FillFault::TooLong(TooLong {
            server: server(),
            answer: "SERVER_ERROR object too large for cache".to_owned(),
            value_bytes: if is_said { 1 << 30 } else { 2_000_000 },
            beside_bytes: 89,
            item_bytes_max: is_said.then_some(1 << 20),
        }),
    ]
}

fn place_of_fill(fault: &FillFault) -> usize {
    match fault {
        FillFault::WindowsUnfilled { .. } => 0,
        FillFault::Unfilled { .. } => 1,
        FillFault::Breach { .. } => 2,
        FillFault::Unserved { .. } => 3,
        FillFault::Silence { .. } => 4,
        FillFault::Gone { .. } => 5,
        FillFault::NoRoom(_) => 6,
        FillFault::Foreign { .. } => 7,
        FillFault::Resized { .. } => 8,
        FillFault::NoMemcached { .. } => 9,
        FillFault::TooLong(_) => 10,
    }
}

#[test]
fn every_fault_reads_as_a_sentence_with_its_exit_code() {
    let faults = every_fault();
    assert_eq!(faults.iter().map(place).collect::<Vec<_>>(), (0..18).collect::<Vec<_>>());
    let mut all = faults;
    for said in ["", "; it answered 'SERVER_ERROR out of memory'"] {
        let of_fill = every_fault_of_a_fill(said);
        let places: Vec<usize> = of_fill.iter().map(place_of_fill).collect();
        assert_eq!(places, (0..11).collect::<Vec<_>>());
        all.extend(of_fill.into_iter().map(Fault::Fill));
    }
    for fault in all {
        let failure = Failure::from(fault.clone());
        let (exit, message) = (failure.exit, failure.message());
        assert_eq!(flaw(&message), None);
        assert!(message.len() > 20 && !message.ends_with('.'), "{message}");
        assert!([1, 2, 3, 130].contains(&exit), "{message}");
        let names = matches!(fault, Fault::Fill(FillFault::WindowsUnfilled { .. }))
            || !matches!(fault, Fault::Fill(_))
            || message.contains("10.0.0.1:11211");
        assert!(names, "the server is not named: {message}");
    }
}

/// What a server did, or the network on the way to it: of each variant whose sentence has no
/// figures of its own. An interruption, which the user asked for, is left out.
fn every_trouble() -> Vec<Sentence> {
    let line = Excerpt::of(b"?");
    let connects = [
        ConnectError::Refused,
        ConnectError::Unreachable,
        ConnectError::TimedOut,
        ConnectError::HandshakeTimedOut,
        ConnectError::Unanswered,
        ConnectError::Reset,
        ConnectError::FilesExhausted,
        ConnectError::FileTableFull,
        ConnectError::PortsExhausted,
        ConnectError::NoSuchPath,
        ConnectError::CredentialsUnfinished,
        ConnectError::CredentialsMissing,
        ConnectError::NotAllowed(None),
        ConnectError::Other(5),
    ];
    let malformed = [
        Malformed::LineTooLong { line, bytes_max: 2048 },
        Malformed::UnknownReply { line },
        Malformed::UnknownAnswer { line },
        Malformed::BadNumber { line, expected: "a length" },
        Malformed::ValueNotClosed { got: b'x' },
        Malformed::NoFrame { got: b'x' },
        Malformed::BadFrame { opcode: 0, expected: "a length" },
    ];
    let breaches = [
        PeerError::TooManyConnections,
        PeerError::Mismatch { kind: OpKind::Get, got: "STORED" },
        PeerError::Unfit { asked: "stats", got: "STORED" },
        PeerError::OutOfTurn { expected: 1, got: 2 },
        PeerError::Unmatched { got: "HD" },
        PeerError::Unasked { got: "END" },
        PeerError::Unreadable { why: "are no text" },
        PeerError::UnaskedError { line },
        PeerError::Tls(TlsFault::Alert("internal_error")),
        PeerError::Tls(TlsFault::Broken("a record is too long")),
    ];
    let breaches = malformed.map(PeerError::Malformed).into_iter().chain(breaches);
    let closed = [
        Closed::ByPeer,
        Closed::Truncated,
        Closed::Reset,
        Closed::Unanswered,
        Closed::Unheard,
        Closed::Other(5),
    ];
    let closed = closed.into_iter().chain(breaches.map(Closed::Broken));
    let error = DriverError { action: "epoll_wait", code: 5 };
    let asked = [
        AskError::CutShort(7),
        AskError::TooLong { bytes_max: 9 },
        AskError::NotAsked,
        AskError::Driver(error),
    ];
    let connects = connects.iter().map(ConnectError::sentence);
    let closed = closed.map(|closed| closed.sentence());
    connects.chain(closed).chain(asked.iter().map(AskError::sentence)).collect()
}

/// Errors said what had happened, and only a page of messages what to do about it.
#[test]
fn every_error_of_a_server_or_a_run_prints_what_to_do() {
    let faults = every_fault().into_iter().map(|fault| fault.sentence());
    let of_fill = every_fault_of_a_fill("; it answered 'ERROR'").into_iter();
    let of_fill = of_fill.map(|fault| fault.sentence());
    // This repeats the sentence of a plan, which has the remedy.
    let is_plain = |text: &str| text.contains("pin: 8");
    for sentence in every_trouble().into_iter().chain(faults).chain(of_fill) {
        let text = natively(&sentence);
        let advises = ["; ", "?", " (--", " (see --", ", or ", ": use "];
        let advises = advises.iter().any(|mark| text.contains(mark));
        assert!(advises || is_plain(&text), "no remedy in: {text}");
    }
}

/// Words of a front that has no flag for anything.
struct Silent;

impl Words for Silent {
    fn remedy(&self, _remedy: Remedy) -> &'static str {
        ""
    }

    fn field(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// Flags are in remedies alone, which each front words itself.
#[test]
fn no_fault_names_a_flag_of_memtide_to_the_user_of_another_program() {
    let of_fill = every_fault_of_a_fill("; it answered 'ERROR'").into_iter().map(Fault::Fill);
    for fault in every_fault().into_iter().chain(of_fill) {
        let said = fault.sentence().in_words(&Silent);
        assert!(!said.contains("--"), "{said}");
    }
}

#[test]
fn what_to_do_about_a_server_is_said_in_the_words_of_whoever_speaks() {
    let closed = |error| TroubleKind::Closed(Closed::Broken(error));
    for (what, natively, facts) in [
        (
            TroubleKind::Connect(ConnectError::TimedOut),
            "did not accept a connection in time (see --timeout)",
            "did not accept a connection in time",
        ),
        (
            TroubleKind::Connect(ConnectError::FileTableFull),
            "needs more open files than this system may have; raise fs.file-max or lower \
             --connections",
            "needs more open files than this system may have; raise fs.file-max",
        ),
        (
            TroubleKind::Connect(ConnectError::PortsExhausted),
            "needs more local ports than are free; lower --connections, give more source \
             addresses with --bind, or widen net.ipv4.ip_local_port_range",
            "needs more local ports than are free",
        ),
        (
            TroubleKind::Connect(ConnectError::SourceNotLocal),
            "cannot be reached from the --bind address, which this machine does not have",
            "cannot be reached",
        ),
        (
            TroubleKind::Connect(ConnectError::CredentialsMissing),
            "requires authentication; give it --user and --password",
            "requires authentication",
        ),
        (
            closed(PeerError::TooManyConnections),
            "answered 'ERROR Too many open connections'; raise its -c or lower --connections",
            "answered 'ERROR Too many open connections'; raise its -c",
        ),
    ] {
        let server = "10.0.0.1:11211".to_owned();
        let failure = Failure::from(Fault::Opening { server, what, so_far: "!".to_owned() });
        assert_eq!(failure.message(), format!("server 10.0.0.1:11211 {natively}!"));
        let silent = failure.sentence.in_words(&Silent);
        assert_eq!(silent, format!("server 10.0.0.1:11211 {facts}!"));
    }
}
