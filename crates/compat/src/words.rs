//! The remedies for failures, with the options of each face. A face prints nothing for a remedy
//! that none of its options is.

use memtide_base::{Remedy, Words};

/// The words of a face: its remedies, each with the punctuation in front of it.
#[derive(Clone, Copy, Debug)]
pub struct FaceWords(&'static [(Remedy, &'static str)]);

impl Words for FaceWords {
    fn remedy(&self, remedy: Remedy) -> &'static str {
        self.0.iter().find(|(of, _)| *of == remedy).map_or("", |(_, words)| words)
    }

    fn field(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// The words of mutilate's family, which has no option for timeouts, reconnection or existing items.
pub const FAMILY_WORDS: FaceWords = FaceWords(&[
    (Remedy::OrFewerConnections, " or lower --connections (-c)"),
    (Remedy::FewerConnectionsOrTime, "; lower --connections (-c)"),
    (Remedy::MorePorts, "; lower --connections (-c), or widen net.ipv4.ip_local_port_range"),
    (Remedy::CheckCredentials, "; check --username (-U) and --password (-P)"),
    (
        Remedy::LeaveCredentials,
        "; leave out --username (-U) and --password (-P), or let it ask for them (memcached: -S \
         for --binary, -Y FILE without it)",
    ),
    (Remedy::GiveCredentials, "; give it --username (-U) and --password (-P)"),
    (Remedy::SpeakText, "; leave out --binary, or check the port"),
    (Remedy::SpeakBinary, "; use --binary, or check the port"),
    (Remedy::FewerThreads, "; lower --threads (-T)"),
    (Remedy::FewerKeys, ", or use fewer --records (-r)"),
]);

/// The words of memaslap, which has no option for credentials or for a timeout.
pub const SLAP_WORDS: FaceWords = FaceWords(&[
    (Remedy::OrFewerConnections, " or lower --concurrency (-c)"),
    (Remedy::FewerConnectionsOrTime, "; lower --concurrency (-c)"),
    (Remedy::MorePorts, "; lower --concurrency (-c), or widen net.ipv4.ip_local_port_range"),
    (Remedy::SpeakText, "; leave out --binary (-B), or check the port"),
    (Remedy::SpeakBinary, "; use --binary (-B), or check the port"),
    (Remedy::FewerThreads, "; lower --threads (-T)"),
    (Remedy::SmallerWindows, "; use a smaller --win_size (-w) or a lower --concurrency (-c)"),
]);

/// The words of twemperf, which speaks only the text protocol, and fills nothing.
pub const TWEMPERF_WORDS: FaceWords = FaceWords(&[
    (Remedy::SeeTimeout, " (see --timeout)"),
    (Remedy::AllowTime, " (--timeout allows it more time)"),
    (Remedy::OrFewerConnections, " or lower --conn-rate"),
    (Remedy::FewerConnectionsOrTime, "; lower --conn-rate or allow more time with --timeout"),
    (Remedy::FewerThreads, "; lower --threads"),
    (Remedy::MorePorts, "; lower --conn-rate, or widen net.ipv4.ip_local_port_range"),
]);
