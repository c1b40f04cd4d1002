//! Checks writers (the first servers, which take the writes) against all other fields.

use super::Problems;
use crate::scenario::{Scenario, Transport};

impl Scenario {
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
