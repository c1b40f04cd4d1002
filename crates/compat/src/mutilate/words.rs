//! Remedies for failures, with the options of mutilate's family.

use memtide_base::{Remedy, Words};

/// Remedies with the options of mutilate's family.
#[derive(Clone, Copy, Debug)]
pub struct FamilyWords;

impl Words for FamilyWords {
    fn remedy(&self, remedy: Remedy) -> &'static str {
        match remedy {
            Remedy::OrFewerConnections => " or lower --connections (-c)",
            Remedy::FewerConnectionsOrTime => "; lower --connections (-c)",
            Remedy::MorePorts => {
                "; lower --connections (-c), or widen net.ipv4.ip_local_port_range"
            }
            Remedy::CheckCredentials => "; check --username (-U) and --password (-P)",
            Remedy::LeaveCredentials => {
                "; leave out --username (-U) and --password (-P), or let it ask for them \
                 (memcached: -S for --binary, -Y FILE without it)"
            }
            Remedy::GiveCredentials => "; give it --username (-U) and --password (-P)",
            Remedy::SpeakText => "; leave out --binary, or check the port",
            Remedy::SpeakBinary => "; use --binary, or check the port",
            Remedy::FewerThreads => "; lower --threads (-T)",
            Remedy::FewerKeys => ", or use fewer --records (-r)",
            // The family has no option for timeouts, reconnection or existing items.
            Remedy::SeeTimeout
            | Remedy::AllowTime
            | Remedy::LocalSource
            | Remedy::Reconnect
            | Remedy::SmallerWindows
            | Remedy::AcceptPartial
            | Remedy::ChooseLoad
            | Remedy::RefillOrAccept => "",
        }
    }

    fn field(&self, name: &str) -> String {
        name.to_owned()
    }
}
