//! TLS of a simulated world, which protects nothing: all that is random follows from a seed, the
//! date is the world's, and the exchange of keys keeps no secret. Records, handshakes and sessions
//! are rustls', with the ciphers of the real world.

#![allow(clippy::disallowed_types, reason = "rustls takes its time as a Duration")]

use crate::client::{ClientOptions, client_of};
use crate::library::Library;
use crate::material::{Material, MaterialError};
use crate::server::{ServerOptions, server_of};
use memtide_base::Span;
use memtide_base::choice::TlsVersion;
use memtide_base::rng::{Stream, hash};
use memtide_world::FilterPlan;
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup, ring,
};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The name that all simulated servers have in their certificate.
const NAME: &str = "simulated";

/// TLS options of a simulated load.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedOptions {
    /// The seed of all that is random.
    pub seed: u64,
    /// The oldest version that is spoken.
    pub least: TlsVersion,
    /// True to resume the sessions of earlier connections.
    pub resumes: bool,
}

/// The filters of clients of these servers, and of the servers' ends, in a simulated world whose
/// time since 1970 is `since_unix`. No other program understands either.
pub fn simulated(
    options: &SimulatedOptions,
    since_unix: impl Fn() -> Span + Send + Sync + 'static,
    servers: &[String],
) -> Result<(FilterPlan, FilterPlan), MaterialError> {
    let &SimulatedOptions { seed, least, resumes } = options;
    let (library, own) = (library(seed, since_unix), certificate());
    let trusted = own.chain.clone();
    let clients = ClientOptions { trusted, own: None, least, resumes, unchecked: false };
    let named: Vec<_> = servers.iter().map(|server| (server.clone(), NAME.to_owned())).collect();
    let servers = ServerOptions { own, clients: None, least: TlsVersion::V1_2 };
    Ok((client_of(&library, &clients, &named)?, server_of(&library, &servers)?))
}

/// The certificate and key of all simulated servers. The key is no secret. Ed25519 signs without
/// randomness, so that a run can be replayed.
pub(crate) fn certificate() -> Material {
    let both = include_bytes!("simulated.pem").to_vec();
    Material { chain: both.clone(), key: both }
}

/// The library of a world. Its randomness stays in memory until the program ends, because rustls
/// takes the parts of a provider for ever.
pub(crate) fn library(seed: u64, since_unix: impl Fn() -> Span + Send + Sync + 'static) -> Library {
    let seeded: &'static Seeded = Box::leak(Box::new(Seeded { seed, drawn: 0.into() }));
    let group: &'static Group = Box::leak(Box::new(Group(seeded)));
    let provider = CryptoProvider {
        secure_random: seeded,
        kx_groups: vec![group],
        ..ring::default_provider()
    };
    Library { provider: Arc::new(provider), time: Arc::new(WorldTime(Box::new(since_unix))) }
}

/// Randomness that follows from a seed and the number of draws before.
#[derive(Debug)]
struct Seeded {
    seed: u64,
    drawn: AtomicU64,
}

impl SecureRandom for Seeded {
    fn fill(&self, room: &mut [u8]) -> Result<(), GetRandomFailed> {
        for part in room.chunks_mut(8) {
            let nth = self.drawn.fetch_add(1, Ordering::Relaxed);
            let drawn = hash(self.seed, Stream::TLS, nth).to_le_bytes();
            part.copy_from_slice(&drawn[..part.len()]);
        }
        Ok(())
    }
}

/// The length of a share, as in X25519, so that handshakes are as long as real ones.
const SHARE_BYTES: usize = 32;

/// The exchange of keys in a simulated world: each end says a random share, and the secret is the
/// sum of both, which anyone who listens can make. Its number is one of those for private use
/// (RFC 8446, 4.2.7), so that no real server accepts it.
#[derive(Debug)]
struct Group(&'static Seeded);

/// The group's number.
const GROUP: NamedGroup = NamedGroup::Unknown(0xfe00);

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut own = [0; SHARE_BYTES];
        self.0.fill(&mut own)?;
        Ok(Box::new(Exchange(own)))
    }

    fn name(&self) -> NamedGroup {
        GROUP
    }
}

/// One end of an exchange, with its share.
struct Exchange([u8; SHARE_BYTES]);

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, other: &[u8]) -> Result<SharedSecret, Error> {
        if other.len() != SHARE_BYTES {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        let sum = self.0.iter().zip(other).map(|(own, other)| own.wrapping_add(*other));
        Ok(sum.collect::<Vec<u8>>().into())
    }

    fn pub_key(&self) -> &[u8] {
        &self.0
    }

    fn group(&self) -> NamedGroup {
        GROUP
    }
}

/// The date of a simulated world.
struct WorldTime(Box<dyn Fn() -> Span + Send + Sync>);

impl fmt::Debug for WorldTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorldTime")
    }
}

impl TimeProvider for WorldTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_nanos((self.0)().ns())))
    }
}
