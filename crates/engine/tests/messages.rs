//! Every sentence about a server, in each variant. The sentences lack their subject, which the
//! front puts in front.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../base/tests/prose/mod.rs"]
mod prose;

use memtide_base::Span;
use memtide_codec::{ErrorKind, Excerpt, Malformed};
use memtide_workload::OpKind;
use memtide_world::Protocol;
use memtide_world::driver::{Closed, ConnectError, DriverError, PeerError, Refusal};
use memtide_world::fleet::TroubleKind;
use memtide_world::question::AskError;
use prose::{flaw, flaw_of_predicate};

/// Declares one value of each variant; a new variant must be added to its list.
macro_rules! every {
    ($of:ident: $($unit:ident),*; $($value:expr),* $(,)?) => {
        vec![$($of::$unit,)* $($value,)*]
    };
}

fn refusal() -> Refusal {
    Refusal { kind: ErrorKind::Server, line: Excerpt::of(b"out of memory") }
}

fn connect_errors() -> Vec<ConnectError> {
    every!(ConnectError: Refused, Unreachable, TimedOut, Unanswered, Reset, FilesExhausted,
        FileTableFull, PortsExhausted, NoSuchPath, SourceNotLocal, CredentialsUnfinished,
        CredentialsMissing;
        ConnectError::CredentialsRefused(refusal()),
        ConnectError::CredentialsUnwanted(refusal()),
        ConnectError::OptionRefused { option: "SO_SNDBUF", remedy: "ask for less", code: 1 },
        ConnectError::NotAllowed(None),
        ConnectError::NotAllowed(Some("10.0.0.9:11211".parse().unwrap())),
        ConnectError::Other(5))
}

fn malformed() -> Vec<Malformed> {
    let line = Excerpt::of(b"HTTP/1.1 400 Bad Request");
    every!(Malformed: ;
        Malformed::LineTooLong { line, bytes_max: 2048 },
        Malformed::UnknownReply { line },
        Malformed::BadNumber { line, expected: "a number" },
        Malformed::ValueNotClosed { got: 7 },
        Malformed::NoFrame { got: b'H' },
        Malformed::BadFrame { opcode: 4, expected: "a key" })
}

fn peer_errors() -> Vec<PeerError> {
    let some = every!(PeerError: TooManyConnections;
        PeerError::Malformed(malformed()[0]),
        PeerError::Mismatch { kind: OpKind::Get, got: "STORED" },
        PeerError::Unfit { asked: "stats", got: "VALUE" },
        PeerError::OutOfTurn { expected: 3, got: 2 },
        PeerError::Unasked { got: "STORED" },
        PeerError::UnaskedError { line: Excerpt::of(b"SERVER_ERROR out") });
    some.into_iter().chain(malformed().into_iter().map(PeerError::Malformed)).collect()
}

fn closed() -> Vec<Closed> {
    let some = every!(Closed: ByPeer, Reset, Unanswered, Unheard;
        Closed::Broken(PeerError::TooManyConnections), Closed::Other(5));
    some.into_iter().chain(peer_errors().into_iter().map(Closed::Broken)).collect()
}

/// One value of each variant of [`AskError`].
fn ask_errors(driver: DriverError) -> Vec<AskError> {
    let timeout = Span::from_s(5);
    let errors = every!(AskError: Interrupted, NotAsked;
        AskError::Connect(ConnectError::Refused),
        AskError::Closed(Closed::ByPeer),
        AskError::Silent(timeout, Protocol::Text),
        AskError::Unfinished { timeout, bytes: 29 },
        AskError::CutShort(29),
        AskError::TooLong { bytes_max: 1 << 20 },
        AskError::Refused("ERROR".to_owned()),
        AskError::Driver(driver));
    // A new variant fails to compile here until it has a place, and therefore a value above.
    let place = |error: &AskError| match error {
        AskError::Interrupted => 0,
        AskError::NotAsked => 1,
        AskError::Connect(_) => 2,
        AskError::Closed(_) => 3,
        AskError::Silent(..) => 4,
        AskError::Unfinished { .. } => 5,
        AskError::CutShort(_) => 6,
        AskError::TooLong { .. } => 7,
        AskError::Refused(_) => 8,
        AskError::Driver(_) => 9,
    };
    let places: Vec<usize> = errors.iter().map(place).collect();
    assert_eq!(places, (0..10).collect::<Vec<_>>());
    errors
}

#[test]
fn what_a_server_did_reads_as_a_sentence_behind_its_name() {
    let driver = DriverError { action: "epoll_wait", code: 5 };
    let trouble = every!(TroubleKind: ;
        TroubleKind::Connect(ConnectError::Refused),
        TroubleKind::Closed(Closed::ByPeer));
    let texts = connect_errors()
        .into_iter()
        .map(AskError::Connect)
        .chain(closed().into_iter().map(AskError::Closed))
        .chain(ask_errors(driver))
        .map(|error| error.to_string())
        .chain(
            closed().into_iter().map(|closed| TroubleKind::Closed(closed).sentence().to_string()),
        )
        .chain(trouble.into_iter().map(|trouble| trouble.sentence().to_string()))
        .chain(malformed().into_iter().map(|error| error.to_string()));
    let flaws: Vec<String> = texts.filter_map(|text| flaw_of_predicate(&text)).collect();
    assert!(flaws.is_empty(), "{flaws:#?}");
    assert_eq!(flaw(&refusal().to_string()), None);
    assert_eq!(flaw(&driver.to_string()), None);
    assert!(flaw_of_predicate("the server sent it").is_some());
    assert!(flaw("it the server sent").is_some() && flaw("is the the same").is_some());
}
