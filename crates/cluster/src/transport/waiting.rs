//! Peers that have not proved themselves, and the choice of the one that is closed when there are
//! too many.
//!
//! The newest is not refused: a real peer proves itself within milliseconds, and a flood would keep
//! it out for ever. From the address with the most waiting peers, the oldest is closed.

use super::UNPROVEN_MAX;
use std::collections::HashMap;
use std::net::IpAddr;

/// The waiting peers in the order of their arrival, each with a value that ends it.
pub(super) struct Waiting<T> {
    peers: Vec<(u64, IpAddr, T)>,
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Self {
        Self { peers: Vec::new() }
    }

    /// Adds a peer. Returns the peer that must be closed for it, if any.
    pub(super) fn add(&mut self, number: u64, address: IpAddr, end: T) -> Option<T> {
        self.peers.push((number, network(address), end));
        if self.peers.len() <= UNPROVEN_MAX {
            return None;
        }
        let mut counts = HashMap::new();
        for (_, network, _) in &self.peers {
            *counts.entry(*network).or_insert(0_usize) += 1;
        }
        assert_eq!(self.peers.len(), UNPROVEN_MAX + 1, "one goes for each that is too many");
        let most = counts.values().copied().max().unwrap_or(0);
        let first = self.peers.iter().position(|(_, network, _)| counts[network] == most)?;
        Some(self.peers.remove(first).2)
    }

    /// Removes a peer that has proved itself or is gone.
    pub(super) fn remove(&mut self, number: u64) {
        self.peers.retain(|(other, _, _)| *other != number);
    }
}

/// The network of one owner: an IPv4 address, or an IPv6 network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let mut bytes = address.octets();
            bytes[8..].fill(0);
            IpAddr::from(bytes)
        }
    }
}

#[cfg(test)]
mod tests;
