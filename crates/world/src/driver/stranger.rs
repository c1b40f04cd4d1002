//! Servers of another kind that answer at a wrong port, recognised by their first bytes. It names
//! them and decodes none of their protocols.

use memtide_base::{Remedy, Sentence};

/// A protocol that is not the one that was spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// The port belongs to a web server or an HTTP proxy.
    Http,
    /// The port expects encrypted connections.
    Tls,
    /// The port belongs to Redis or a server that speaks its protocol.
    Redis,
    /// The port belongs to an SSH server.
    Ssh,
    /// The memcached speaks the text protocol, and `binary` was chosen.
    MemcachedText,
    /// The memcached speaks the binary protocol, and `text` was chosen.
    MemcachedBinary,
}

impl Stranger {
    /// The protocol that these bytes begin; `None` if it is not a known one.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'H', b'T', b'T', b'P', b'/', ..] | [b'<', b'h' | b'H' | b'!', ..] => Some(Self::Http),
            // An alert, a handshake or data, of any version.
            [0x15..=0x17, 0x03, ..] => Some(Self::Tls),
            [b'-', b'A'..=b'Z', ..] | [b'+', b'O' | b'P', ..] => Some(Self::Redis),
            [b'S', b'S', b'H', b'-', ..] => Some(Self::Ssh),
            [b'E', b'R', b'R', b'O', b'R', ..] => Some(Self::MemcachedText),
            [0x81, ..] => Some(Self::MemcachedBinary),
            _ => None,
        }
    }

    /// The sentence that names the protocol, with the remedy.
    pub(crate) fn sentence(self) -> Sentence {
        match self {
            Self::Http => Sentence::new(
                "HTTP, so it is a web server or proxy and no memcached; check the port",
            ),
            Self::Tls => Sentence::new("TLS").remedy(Remedy::SpeakTls),
            Self::Redis => {
                Sentence::new("the Redis protocol, so it is no memcached; check the port")
            }
            Self::Ssh => Sentence::new("SSH, so it is no memcached; check the port"),
            Self::MemcachedText => {
                Sentence::new("memcached's text protocol").remedy(Remedy::SpeakText)
            }
            Self::MemcachedBinary => {
                Sentence::new("memcached's binary protocol").remedy(Remedy::SpeakBinary)
            }
        }
    }
}
