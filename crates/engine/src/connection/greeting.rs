//! Who we are: what a new connection says first when the plan has credentials, and what a server
//! makes of it. Credentials go as they are, in one message; nothing is hidden by it.

use super::wire::{Mark, Wire};
use super::{name, refusal};
use crate::driver::{Closed, ConnectError, PeerError};
use crate::plan::{Credentials, Protocol};
use memtide_codec::binary::{self, Extras, Opcode, Request, Status};
use memtide_codec::text::encode;
use memtide_codec::{Reply, Verb, sasl};

/// Why a connection is not open although it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The credentials were not taken.
    Credentials(ConnectError),
    /// The answer was none.
    Broken(Closed),
}

/// What is sent first: SASL PLAIN in frames, or in text the `set` that memcached's `-Y` waits for.
pub(crate) fn greeting(protocol: Protocol, credentials: &Credentials) -> Vec<u8> {
    let (user, password) = (credentials.user.as_bytes(), credentials.password.as_bytes());
    let mut out = Vec::new();
    match protocol {
        Protocol::Binary => {
            let mut value = Vec::new();
            sasl::plain(&mut value, user, password);
            let request = Request {
                opcode: Opcode::SaslAuth,
                opaque: 0,
                cas: 0,
                extras: Extras::None,
                key: sasl::PLAIN,
                value: &value,
            };
            binary::encode::request(&mut out, &request);
        }
        Protocol::Text => {
            encode::command(&mut out, Verb::Set);
            // A server that asks for no credentials would store them under any lawful name; it
            // refuses this one, whose flags are no number.
            encode::key_with(&mut out, |out| out.extend_from_slice(b"auth t"));
            encode::number(&mut out, 0);
            encode::number(&mut out, (user.len() + 1 + password.len()) as u64);
            encode::line_end(&mut out, false);
            out.extend_from_slice(user);
            out.push(b' ');
            out.extend_from_slice(password);
            out.extend_from_slice(b"\r\n");
        }
    }
    out
}

/// Reads the answer to a greeting. `None` while it has not come whole.
pub(crate) fn heard(wire: &mut Wire, bytes: &[u8]) -> Option<Result<(), Rejection>> {
    let mut input = bytes;
    let broken = |error| Some(Err(Rejection::Broken(Closed::Broken(error))));
    let credentials = |error| Some(Err(Rejection::Credentials(error)));
    match wire.next(&mut input) {
        Ok(None) => wire.check_partial().err().and_then(broken),
        Ok(Some((Reply::Stored, None) | (Reply::Ok, Some(_)))) => match input {
            [] => Some(Ok(())),
            _ => broken(PeerError::Unasked { got: "more" }),
        },
        Ok(Some((Reply::Error(error), _))) if error.is_too_many_connections() => {
            broken(PeerError::TooManyConnections)
        }
        Ok(Some((Reply::Error(error), None))) if error.is_authentication_failure() => {
            credentials(ConnectError::CredentialsRefused(refusal(&error)))
        }
        Ok(Some((Reply::Error(error), None))) => {
            credentials(ConnectError::CredentialsUnwanted(refusal(&error)))
        }
        Ok(Some((Reply::Error(error), Some(Mark { status, .. })))) => credentials(match status {
            Status::AUTHENTICATION_CONTINUE => ConnectError::CredentialsUnfinished,
            Status::UNKNOWN_COMMAND | Status::NOT_SUPPORTED => {
                ConnectError::CredentialsUnwanted(refusal(&error))
            }
            _ => ConnectError::CredentialsRefused(refusal(&error)),
        }),
        Ok(Some((reply, _))) => {
            broken(PeerError::Unfit { asked: "credentials", got: name(&reply) })
        }
        Err(error) => broken(PeerError::of(error, bytes)),
    }
}

#[cfg(test)]
mod tests;
