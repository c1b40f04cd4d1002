//! Remedies for failures, with twemperf's options.

use memtide_base::{Remedy, Words};

/// Remedies with twemperf's options.
#[derive(Clone, Copy, Debug)]
pub struct TwemperfWords;

impl Words for TwemperfWords {
    fn remedy(&self, remedy: Remedy) -> &'static str {
        match remedy {
            Remedy::SeeTimeout => " (see --timeout)",
            Remedy::AllowTime => " (--timeout allows it more time)",
            Remedy::OrFewerConnections => " or lower --conn-rate",
            Remedy::FewerConnectionsOrTime => {
                "; lower --conn-rate or allow more time with --timeout"
            }
            Remedy::FewerThreads => "; lower --threads",
            Remedy::MorePorts => "; lower --conn-rate, or widen net.ipv4.ip_local_port_range",
            // twemperf speaks only the text protocol, and fills nothing.
            Remedy::LocalSource
            | Remedy::CheckCredentials
            | Remedy::LeaveCredentials
            | Remedy::GiveCredentials
            | Remedy::SpeakText
            | Remedy::SpeakBinary
            | Remedy::Reconnect
            | Remedy::SmallerWindows
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
