//! Remedies for failures, with memaslap's options.

use memtide_base::{Remedy, Words};

/// Remedies with memaslap's options.
#[derive(Clone, Copy, Debug)]
pub struct SlapWords;

impl Words for SlapWords {
    fn remedy(&self, remedy: Remedy) -> &'static str {
        match remedy {
            Remedy::OrFewerConnections => " or lower --concurrency (-c)",
            Remedy::FewerConnectionsOrTime => "; lower --concurrency (-c)",
            Remedy::MorePorts => {
                "; lower --concurrency (-c), or widen net.ipv4.ip_local_port_range"
            }
            Remedy::SpeakText => "; leave out --binary (-B), or check the port",
            Remedy::SpeakBinary => "; use --binary (-B), or check the port",
            Remedy::FewerThreads => "; lower --threads (-T)",
            Remedy::SmallerWindows => {
                "; use a smaller --win_size (-w) or a lower --concurrency (-c)"
            }
            // memaslap has no option for credentials or for a timeout.
            Remedy::SeeTimeout
            | Remedy::AllowTime
            | Remedy::LocalSource
            | Remedy::CheckCredentials
            | Remedy::LeaveCredentials
            | Remedy::GiveCredentials
            | Remedy::Reconnect
            | Remedy::AcceptPartial
            | Remedy::ChooseLoad
            | Remedy::RefillOrAccept
            | Remedy::FewerKeys => "",
        }
    }

    fn field(&self, name: &str) -> String {
        name.to_owned()
    }
}
