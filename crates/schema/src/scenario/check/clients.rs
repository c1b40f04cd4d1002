//! Clients that are counted, and their windows, against all else.
//!
//! How large a window is and how many clients there are may not be known yet here.

use super::{CONNECTIONS_MAX, Problems, Scenario};
use memtide_workload::{MixOrder, OpKind, Popularity};
use std::ops::RangeInclusive;

/// Seconds after which a value may end for its end to be judged: long enough that there is a time
/// at which it is certainly there, and a length, not a date.
const EXPIRY_JUDGED_S: RangeInclusive<i64> = 5..=2_592_000;

impl Scenario {
    /// Clients against connections and servers.
    pub(super) fn check_clients(&self, problems: &mut Problems) {
        problems.count("clients", self.client.clients, CONNECTIONS_MAX);
        let each = self.client.connections_per_client;
        problems.count("connections-per-client", Some(each), CONNECTIONS_MAX);
        if self.client.clients.is_none() && self.client.window.is_none() {
            if each != 1 {
                problems.add(
                    "connections-per-client",
                    format!(
                        "connections-per-client {each} needs clients: say how many with clients, \
                         or leave it out"
                    ),
                );
            }
            if self.mix_order == MixOrder::Turn {
                problems.add(
                    "mix-order",
                    "mix-order turn needs somebody whose turn it is: say how many with clients, or \
                     leave it out",
                );
            }
            return;
        }
        if let Some(connections) = self.connections {
            problems.add(
                "connections",
                format!(
                    "connections {connections} follows from clients and connections-per-client: \
                     leave it out"
                ),
            );
        }
        if let Some(depth) = self.depth.filter(|&depth| depth != 1) {
            problems.add(
                "depth",
                format!(
                    "depth {depth} cannot be, a client has one operation at a time: leave it out"
                ),
            );
        }
        if let Some(clients) = self.client.clients {
            self.check_shares(clients, problems);
        }
    }

    /// Whether each server and each worker has a client, and connections are not too many.
    fn check_shares(&self, clients: u32, problems: &mut Problems) {
        let each = self.connections_of_client(self.servers.len().max(1) as u32);
        let all = u64::from(clients) * each;
        if all > u64::from(CONNECTIONS_MAX) {
            problems.add(
                "connections-per-client",
                format!(
                    "connections-per-client {} makes {all} connections of {clients} clients: \
                     give at most {CONNECTIONS_MAX} in all",
                    self.client.connections_per_client
                ),
            );
        }
        if (clients as usize) < self.servers.len() && self.replication.writers.is_none() {
            problems.add(
                "clients",
                format!(
                    "clients {clients} leaves servers without a client, there are {}: give at \
                     least as many",
                    self.servers.len()
                ),
            );
        }
        if let Some(threads) = self.threads.filter(|&threads| threads > clients) {
            problems.add(
                "threads",
                format!(
                    "threads {threads} leaves workers without a client, there are {clients}: use \
                     at most {clients} threads, or more clients"
                ),
            );
        }
    }

    /// Expiry, and its verification, against what is needed to judge it.
    pub(super) fn check_expiry(&self, problems: &mut Problems) {
        if self.expiry_share < 1.0 && self.expiry == 0 {
            problems.add(
                "expiry-share",
                format!(
                    "expiry-share {} of nothing: give an expiry, or leave it out",
                    self.expiry_share
                ),
            );
        }
        if !self.verify_expiry {
            return;
        }
        if self.client.window.is_none() {
            problems.add(
                "verify-expiry",
                "verify-expiry needs to know when each key was last stored, and by whom: give a \
                 window such as window 10k, or leave it out",
            );
        }
        if !EXPIRY_JUDGED_S.contains(&self.expiry) {
            problems.add(
                "expiry",
                format!(
                    "expiry {} cannot be verified: give a number of seconds from {} to {}, or \
                     leave verify-expiry out",
                    self.expiry,
                    EXPIRY_JUDGED_S.start(),
                    EXPIRY_JUDGED_S.end()
                ),
            );
        }
    }

    /// Windows against the mix and the keys.
    pub(super) fn check_window(&self, problems: &mut Problems) {
        if self.client.window.is_none() {
            if self.client.overwrite > 0.0 {
                let given = self.client.overwrite;
                problems.add(
                    "overwrite",
                    format!("overwrite {given} needs a window: give one such as window 10k"),
                );
            }
            return;
        }
        let known = |kind: &OpKind| matches!(kind, OpKind::Get | OpKind::Set);
        if let Some(strange) = self.mix.kinds().find(|kind| !known(kind)) {
            problems.add(
                "mix",
                format!(
                    "mix {} has {}, and a window is read with get and written with set alone: \
                     leave the others out, or the window",
                    self.mix,
                    strange.name()
                ),
            );
        }
        if self.popularity != Popularity::Uniform {
            problems.add(
                "popularity",
                format!(
                    "popularity {} is for keys, and a window picks its objects: use pick, or leave \
                     one of them out",
                    self.popularity
                ),
            );
        }
        if self.multiget_share < 1.0 {
            problems.add(
                "multiget-share",
                format!(
                    "multiget-share {} is for keys by popularity, of a window all gets ask for as \
                     many: leave one of them out",
                    self.multiget_share
                ),
            );
        }
        if self.noreply {
            problems.add(
                "noreply",
                "noreply tells nobody what was stored, which a window has to know: leave one of \
                 them out",
            );
        }
    }
}
