//! What memaslap tells on stderr while it runs: servers that go and come, and, when asked to, each
//! verification that failed. Reads no clock: instants come as words.

use super::report::Voice;
use crate::memaslap::servers::Server;

impl Voice<'_> {
    /// The line about a server whose connection is lost and will be opened again.
    pub fn lost(&self, server: &Server) -> String {
        format!("Server {}:{} disconnect\n", server.host, server.port)
    }

    /// The line about a server that is connected again after `away_s` seconds.
    pub fn back(&self, server: &Server, away_s: u64) -> String {
        format!("Server {}:{} reconnect after {away_s}s\n", server.host, server.port)
    }
}

/// A verification that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<'a> {
    /// The connection, by its number.
    pub connection: u32,
    /// The key that was asked for; memaslap's have eight bytes and a readable rest.
    pub key: &'a [u8],
    /// What was set.
    pub expected: &'a [u8],
    /// What was received; `None` when the object was not found.
    pub received: Option<&'a [u8]>,
    /// For an object that was set to expire, its times.
    pub expiry: Option<Expiry<'a>>,
}

/// The times of an object that was set to expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry<'a> {
    /// When it was set, as `2026-01-31 23:59:59`.
    pub set_at: &'a str,
    /// When it was asked for, likewise.
    pub asked_at: &'a str,
    /// Seconds from the one to the other.
    pub age_s: u64,
    /// Seconds that it was to live.
    pub life_s: u64,
}

impl Failure<'_> {
    /// The lines of `--verbose`.
    pub fn text(&self) -> String {
        let readable = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let what = match (self.expiry, self.received) {
            (None, _) => "data verification failed",
            (Some(_), Some(_)) => "expire time verification failed, object expired but get it now",
            (Some(_), None) => {
                "expire time verification failed, object doesn't expire but can't get it now"
            }
        };
        // Of an object that is not there in time memaslap sets its line in.
        let indent = if self.expiry.is_some() && self.received.is_none() { "\t" } else { "" };
        let (prefix, rest) = self.key.split_at(self.key.len().min(8));
        let prefix = prefix.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let mut text = format!("\n{indent}<{} {what}\n", self.connection);
        text += &format!("\tkey len: {}\n", self.key.len());
        text += &format!("\tkey: {prefix:x} {}\n", readable(rest));
        if let Some(Expiry { set_at, asked_at, age_s, life_s }) = self.expiry {
            text += &format!(
                "\tset time: {set_at} current time: {asked_at} diff time: {age_s} \
                 expire time: {life_s}\n"
            );
        }
        if self.expiry.is_some() && self.received.is_some() {
            text += "\texpected data: \n";
        } else {
            text += &format!("\texpected data len: {}\n", self.expected.len());
            text += &format!("\texpected data: {}\n", readable(self.expected));
        }
        if let Some(received) = self.received {
            text += &format!("\treceived data len: {}\n", received.len());
        }
        text + &format!("\treceived data: {}\n", readable(self.received.unwrap_or(b"")))
    }
}
