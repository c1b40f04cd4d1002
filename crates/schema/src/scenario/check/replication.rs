//! Servers of which the first are written, against all else.

use super::Problems;
use crate::scenario::{Scenario, Transport};

impl Scenario {
    /// Writers against servers, clients and whatever they do not go together with.
    pub(super) fn check_replication(&self, problems: &mut Problems) {
        let Some(writers) = self.replication.writers else {
            if let Some(replicate) = self.replication.replicate {
                problems.add(
                    "replicate",
                    format!(
                        "replicate {replicate} needs writers: say how many servers are written, \
                         or leave it out"
                    ),
                );
            }
            return;
        };
        let servers = self.servers.len();
        if servers < 2 {
            problems.add(
                "writers",
                format!(
                    "writers {writers} needs two servers at least, and {servers} are named: name \
                     more with server, or leave it out"
                ),
            );
        } else if writers == 0 || writers as usize > servers {
            problems.add(
                "writers",
                format!("writers {writers} of {servers} servers cannot be: give 1 to {servers}"),
            );
        }
        if self.client.clients.is_none() && self.client.window.is_none() {
            problems.add(
                "writers",
                format!(
                    "writers {writers} needs clients that reach all servers: say how many with \
                     clients, or leave it out"
                ),
            );
        }
        if self.transport != Transport::Tcp {
            problems.add(
                "transport",
                format!(
                    "transport {} does not go with writers, over UDP nobody can tell that a server \
                     is gone: use tcp, or leave writers out",
                    self.transport
                ),
            );
        }
        if self.noreply {
            problems.add(
                "noreply",
                "noreply leaves no answers by which to know when all writers have a copy: leave \
                 it out, or writers",
            );
        }
        if self.verify_expiry {
            problems.add(
                "verify-expiry",
                "verify-expiry cannot tell what a server of several writers held while it was \
                 away: leave it out, or writers",
            );
        }
    }
}
