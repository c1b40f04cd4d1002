//! The bytes of authentication, and the interpretation of the answers.

#[path = "../../tests/rig/plan.rs"]
mod closed_plan;

use super::*;
use memtide_base::Span;
use memtide_codec::binary::{self, Opcode, Status};
use memtide_codec::{ErrorKind, ErrorReply, Excerpt, Malformed};
use memtide_world::driver::Refusal;
use memtide_world::plan::{Credentials, RequestPlan};
use std::sync::Arc;

/// A plan with a protocol and credentials; its other fields do not matter.
pub(crate) fn plan(protocol: Protocol, credentials: Option<Credentials>) -> Plan {
    let requests = RequestPlan { protocol, ..RequestPlan::default() };
    let (timeout, credentials) = (Span::from_s(1), credentials.map(Arc::new));
    Plan { connections: 1, requests, timeout, credentials, ..closed_plan::closed_plan() }
}

fn greeting(protocol: Protocol) -> Vec<u8> {
    let credentials = Credentials { user: "tim".to_owned(), password: "tan staaf".to_owned() };
    let mut out = SendBuffer::with_capacity(0, 0);
    assert!(Dialect::new(&plan(protocol, Some(credentials))).authenticate(&mut out));
    std::mem::take(out.bytes_mut())
}

fn hear(protocol: Protocol, bytes: &[u8]) -> Option<Result<(), Rejection>> {
    let mut reader = Dialect::new(&plan(protocol, None)).reader();
    let (last, first) = bytes.split_last().unwrap();
    for byte in first {
        if let Some(heard) = reader.welcome(&[*byte]) {
            return Some(heard);
        }
    }
    reader.welcome(&[*last])
}

#[test]
fn lines_are_a_set_that_no_other_server_would_carry_out() {
    let bytes = greeting(Protocol::Text);
    assert_eq!(bytes, b"set auth t 0 13\r\ntim tan staaf\r\n");
    assert_eq!(hear(Protocol::Text, b"STORED\r\n"), Some(Ok(())));
    assert_eq!(hear(Protocol::Text, b"STORE"), None);
    let refused = |error| Some(Err(Rejection::Credentials(error)));
    let said = hear(Protocol::Text, b"CLIENT_ERROR authentication failure\r\n");
    let words = |kind, line| Refusal { kind, line: Excerpt::of(line) };
    let client = |line| words(ErrorKind::Client, line);
    let error = ConnectError::CredentialsRefused(client(b"authentication failure"));
    assert!(
        error.sentence().to_string().contains("'CLIENT_ERROR authentication failure'"),
        "{error:?}"
    );
    assert_eq!(said, refused(error));
    let said = hear(Protocol::Text, b"CLIENT_ERROR bad command line format\r\n");
    let error = ConnectError::CredentialsUnwanted(client(b"bad command line format"));
    assert!(
        error.sentence().to_string().contains("'CLIENT_ERROR bad command line format'"),
        "{error:?}"
    );
    assert_eq!(said, refused(error));
    let said = hear(Protocol::Text, b"SERVER_ERROR out of memory\r\n");
    let error = ConnectError::CredentialsUnwanted(words(ErrorKind::Server, b"out of memory"));
    assert_eq!(said, refused(error));
    let broken = |error| Some(Err(Rejection::Broken(Closed::Broken(error))));
    let said = hear(Protocol::Text, b"ERROR Too many open connections\r\n");
    assert_eq!(said, broken(PeerError::TooManyConnections));
    let said = hear(Protocol::Text, b"END\r\n");
    assert_eq!(said, broken(PeerError::Unfit { asked: "credentials", got: "END" }));
}

#[test]
fn frames_are_sasl_plain() {
    let bytes = greeting(Protocol::Binary);
    let (header, body) = bytes.split_at(24);
    assert_eq!(header[..12], [0x80, 0x21, 0, 5, 0, 0, 0, 0, 0, 0, 0, 19]);
    assert_eq!(body, b"PLAIN\0tim\0tan staaf");
    let say = |status, reply| {
        let mut out = Vec::new();
        let answer = binary::Answer { opcode: Opcode::SaslAuth, opaque: 0, status, reply };
        binary::encode::answer(&mut out, &answer);
        hear(Protocol::Binary, &out)
    };
    assert_eq!(say(Status::SUCCESS, Reply::Ok), Some(Ok(())));
    let said = |kind| Refusal { kind, line: Excerpt::of(b"words") };
    for (status, error) in [
        (Status::AUTHENTICATION_ERROR, ConnectError::CredentialsRefused(said(ErrorKind::Client))),
        (Status::AUTHENTICATION_CONTINUE, ConnectError::CredentialsUnfinished),
        (Status::UNKNOWN_COMMAND, ConnectError::CredentialsUnwanted(said(ErrorKind::Error))),
    ] {
        let words = ErrorReply { kind: ErrorKind::Client, message: b"words" };
        let heard = say(status, Reply::Error(words));
        assert_eq!(heard, Some(Err(Rejection::Credentials(error))));
    }
    let lines = Malformed::NoFrame { got: b'C' };
    let broken = Some(Err(Rejection::Broken(Closed::Broken(PeerError::Malformed(lines)))));
    assert_eq!(hear(Protocol::Binary, b"CLIENT_ERROR bad command line format\r\n"), broken);
}
