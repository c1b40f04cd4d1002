//! memaslap's messages on stderr: lost and restored servers and, if requested, each failed
//! verification. Reads no clock.

use super::report::Formatter;
use crate::server::Server;
use memtide_record::WrongValue;

impl Formatter<'_> {
    /// The line about a server whose connection is lost and will be opened again.
    pub fn lost(&self, server: &Server) -> String {
        format!("Server {}:{} disconnect\n", server.host, server.port)
    }

    /// The line about a server that is connected again after `away_s` seconds.
    pub fn back(&self, server: &Server, away_s: u64) -> String {
        format!("Server {}:{} reconnect after {away_s}s\n", server.host, server.port)
    }
}

/// The lines of `--verbose` about a failed verification: memaslap's first three, then the known
/// facts about the value in place of its bytes.
pub fn failure(wrong: &WrongValue) -> String {
    let WrongValue { op, server, key, class, version_min, version, offset } = wrong;
    let (what, more) = match *class {
        "expired_get" => {
            ("expire time verification failed, object expired but get it now", String::new())
        }
        "unexpired_unget" => (
            "expire time verification failed, object doesn't expire but can't get it now",
            String::new(),
        ),
        "stale" => {
            let version = version.map_or_else(|| "–".to_owned(), |version| version.to_string());
            let more = format!(", version {version} and not at least {version_min}");
            ("data verification failed", more)
        }
        _ => ("data verification failed", format!(" at byte {offset}")),
    };
    format!(
        "\n<{op} {what}\n\tkey len: {}\n\tkey: {key}\n\tserver: {server}\n\tfound: {class}{more}\n",
        key.chars().count()
    )
}
