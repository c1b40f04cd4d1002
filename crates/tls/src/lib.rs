//! TLS below memcached's protocols, by rustls: filters for the load's connections and for those of
//! the embedded server. It gets certificates and keys as PEM texts, and opens no file and no
//! socket. Randomness and the date come from the system through rustls, or from a seed and a
//! world's clock ([`simulated`]). The list below is the reading order.
#![forbid(unsafe_code)]

mod simulated;
mod client;
mod trust;
mod sessions;
mod server;
mod end;
mod fault;
mod material;
mod x509;
mod library;

pub use client::{ClientOptions, client};
pub use material::{Material, MaterialError, made};
pub use server::{ServerOptions, server};
pub use simulated::{SimulatedOptions, simulated};
