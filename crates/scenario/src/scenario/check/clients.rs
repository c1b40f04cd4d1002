//! Checks counted clients, their windows, and writers (the first servers, which take the writes)
//! against all other fields.
//!
//! The size of a window and the number of clients may not be known yet here.

use super::{CONNECTIONS_MAX, Problems, Scenario, Transport};
use memtide_workload::{MixOrder, OpKind, Popularity};
use std::ops::RangeInclusive;

/// Expiry times in seconds that can be verified: long enough for the value to be certainly present
/// at some time, and a duration, not a date.
const EXPIRY_JUDGED_S: RangeInclusive<i64> = 5..=2_592_000;

impl Scenario {
    /// Checks clients against connections and servers.
    ///
    /// Clients determine connections and operations in flight, and another field contradicts
    /// that or needs them.
    pub(super) fn check_clients(&self, problems: &mut Problems) {
        problems.count("clients", self.client.clients, CONNECTIONS_MAX);
        let each = self.client.connections_per_client;
        problems.count("connections-per-client", Some(each), CONNECTIONS_MAX);
        if self.client.clients.is_none() && self.client.window.is_none() {
            if problems.is_set("connections-per-client", each != 1) {
                problems.say(format!(
                    "connections-per-client {each} needs clients: add clients, or remove it"
                ));
            }
            if self.mix_order == MixOrder::Turn {
                problems.say("mix-order turn needs clients: add clients, or remove mix-order");
            }
            return;
        }
        if let Some(connections) = self.connections {
            problems.say(format!(
                "connections {connections} contradicts clients, which determines the number of \
                     connections (see connections-per-client): remove it"
            ));
        }
        if let Some(depth) = self.depth.filter(|&depth| depth != 1) {
            problems.say(format!(
                "depth {depth} is not possible with clients, which have one operation in \
                     flight: remove it"
            ));
        }
        if let Some(clients) = self.client.clients {
            self.check_shares(clients, problems);
        }
    }

    /// Checks that each server and each worker has a client, and that there are not too many
    /// connections.
    ///
    /// There are too few clients for the servers or threads, or too many connections for the
    /// clients.
    fn check_shares(&self, clients: u32, problems: &mut Problems) {
        let each = self.connections_of_client(self.servers.len().max(1) as u32);
        let all = u64::from(clients) * each;
        if all > u64::from(CONNECTIONS_MAX) {
            problems.say(format!(
                "connections-per-client {} makes {all} connections for {clients} clients: use \
                     at most {CONNECTIONS_MAX} in total",
                self.client.connections_per_client
            ));
        }
        if (clients as usize) < self.servers.len() && self.replication.writers.is_none() {
            problems.say(format!(
                "clients {clients} is fewer than the {} servers, and each server needs a \
                     client: use at least as many",
                self.servers.len()
            ));
        }
        if let Some(threads) = self.threads.filter(|&threads| threads > clients) {
            problems.say(format!(
                "threads {threads} is more than the {clients} clients, and each worker needs \
                     one: use at most {clients} threads, or more clients"
            ));
        }
    }

    /// Checks expiry, and its verification, against what is needed to judge it.
    ///
    /// An expiry is missing, or cannot be verified.
    pub(super) fn check_expiry(&self, problems: &mut Problems) {
        if problems.is_set("expiry-share", self.expiry_share < 1.0) && self.expiry == 0 {
            problems.say(format!(
                "expiry-share {} needs an expiry: add one, or remove expiry-share",
                self.expiry_share
            ));
        }
        if !self.verify_expiry {
            return;
        }
        if self.client.window.is_none() {
            problems.say(
                "verify-expiry needs a window, which records when each object was stored: add one \
                 such as window 10k, or remove verify-expiry",
            );
        }
        if !EXPIRY_JUDGED_S.contains(&self.expiry) {
            problems.say(format!(
                "expiry {} cannot be verified: use a number of seconds from {} to {}, or \
                     remove verify-expiry",
                self.expiry,
                EXPIRY_JUDGED_S.start(),
                EXPIRY_JUDGED_S.end()
            ));
        }
    }

    /// Checks windows against the mix and the keys.
    ///
    /// A window determines which objects are set and read, and another field contradicts
    /// that or needs a window.
    pub(super) fn check_window(&self, problems: &mut Problems) {
        if self.client.window.is_none() {
            if problems.is_set("overwrite", self.client.overwrite > 0.0) {
                let given = self.client.overwrite;
                problems
                    .say(format!("overwrite {given} needs a window: add one such as window 10k"));
            }
            return;
        }
        let mut kinds = self.mix.kinds();
        if let Some(strange) = kinds.find(|kind| !matches!(kind, OpKind::Get | OpKind::Set)) {
            problems.say(format!(
                "mix {} has {}, and a window supports only get and set: remove other \
                     operations, or remove window",
                self.mix,
                strange.name()
            ));
        }
        if problems.is_set("popularity", self.popularity != Popularity::Uniform) {
            problems.say(format!(
                "popularity {} applies to keys, not to the objects of a window: use \
                     window-pick, or remove one of them",
                self.popularity
            ));
        }
        if problems.is_set("multiget-share", self.multiget_share < 1.0) {
            problems.say(format!(
                "multiget-share {} does not apply to a window, where all gets request the same \
                     number of keys: remove one of them",
                self.multiget_share
            ));
        }
        if self.noreply {
            problems.say(
                "noreply hides whether an object was stored, which a window must know: remove one \
                 of them",
            );
        }
    }

    /// Checks writers against servers, clients and the fields that exclude them.
    ///
    /// Writers need clients and several servers over TCP, and must know what each server
    /// holds.
    pub(super) fn check_replication(&self, problems: &mut Problems) {
        let Some(writers) = self.replication.writers else {
            if let Some(replicate) = self.replication.replicate {
                problems.say(format!(
                    "replicate {replicate} needs writers: add writers, or remove replicate"
                ));
            }
            return;
        };
        let servers = self.servers.len();
        if servers < 2 {
            problems.say(format!(
                "writers {writers} needs at least two servers, and {servers} are named: name \
                     more with server, or remove writers"
            ));
        } else if writers == 0 || writers as usize > servers {
            problems.say(format!(
                "writers {writers} is out of range for {servers} servers: use 1 to {servers}"
            ));
        }
        if self.client.clients.is_none() && self.client.window.is_none() {
            problems
                .say(format!("writers {writers} needs clients: add clients, or remove writers"));
        }
        if self.transport != Transport::Tcp {
            problems.say(format!(
                "transport {} does not support writers, because a lost server goes unnoticed \
                     over UDP: use tcp, or remove writers",
                self.transport
            ));
        }
        if self.noreply {
            problems
                .say("noreply hides whether all writers have a copy: remove noreply or writers");
        }
        if self.verify_expiry {
            problems.say(
                "verify-expiry cannot know what one of several writers held while it was gone: \
                 remove verify-expiry or writers",
            );
        }
    }
}
