//! Checks the fields that UDP excludes, and those of TLS. A request that is only sometimes too long
//! for a datagram is no problem here: it is refused, and counted, during the run.

use super::Problems;
use crate::scenario::{Resume, Scenario, Target, Tls, TlsVersion, Transport};
use memtide_workload::OpKind;

/// Largest size of a request and its header in one datagram, in bytes.
const DATAGRAM_BYTES_MAX: u64 = 1400;
/// Size of the header, in bytes.
const HEADER_BYTES: u64 = 8;
/// Longest reply that is reassembled, in bytes.
const REPLY_BYTES_MAX: u64 = 64 << 20;

impl Scenario {
    /// Checks the transport against servers, depth and sizes.
    ///
    /// UDP has neither unix sockets, authentication nor several operations in flight per
    /// connection.
    pub(super) fn check_transport(&self, problems: &mut Problems) {
        if self.transport == Transport::Tcp {
            return;
        }
        let way = self.transport;
        if way == Transport::Split && self.client.clients.is_none() && self.client.window.is_none()
        {
            problems.say("transport split needs clients: add clients, or use tcp or udp");
        }
        if let Some(target) = self.unix_server() {
            problems.say(format!("transport {way} cannot reach {target}: name a host, or use tcp"));
        }
        if self.depth.is_some_and(|depth| depth > 1) {
            problems.say(format!(
                "depth must be 1 with transport {way}, which has one operation in flight per \
                     connection: remove depth, and use more connections"
            ));
        }
        if self.user.is_some() {
            problems.say(format!(
                "user does not work with transport {way}, because servers accept no \
                     credentials over UDP: remove user, or use tcp"
            ));
        }
        self.check_datagrams(problems);
    }

    /// Checks that requests can fit into datagrams, and replies into memory.
    ///
    /// A request does not fit into one datagram, or a reply into the memory for reassembly.
    fn check_datagrams(&self, problems: &mut Problems) {
        let (key_least, _) = self.key_size.bounds();
        let (value_least, value_most) = self.value_size.bounds();
        let stores = self.transport == Transport::Udp && self.mix.kinds().any(OpKind::stores_value);
        if stores && HEADER_BYTES + key_least + value_least > DATAGRAM_BYTES_MAX {
            problems.say(format!(
                "value-size {} is too large for a datagram of {DATAGRAM_BYTES_MAX} bytes: use \
                     smaller values, remove stores from the mix, or use transport tcp",
                self.value_size
            ));
        }
        let keys = u64::from(self.multiget);
        let asks = self.mix.kinds().any(OpKind::allows_many_keys);
        if asks && keys > 1 && HEADER_BYTES + keys * (key_least + 1) > DATAGRAM_BYTES_MAX {
            let most = (DATAGRAM_BYTES_MAX - HEADER_BYTES) / (key_least + 1);
            problems.say(format!(
                "multiget {keys} with keys of {key_least} bytes does not fit into a datagram \
                     of {DATAGRAM_BYTES_MAX} bytes: request at most {most}, or use transport tcp"
            ));
        }
        if self.reply_bytes_max() > REPLY_BYTES_MAX {
            let value = value_most.unwrap_or(self.value_max).min(self.value_max);
            problems.add(
                "value-size",
                format!(
                    "{keys} values of up to {value} bytes make replies that are too long to \
                     reassemble from datagrams: reduce value-size, value-max or multiget, or use \
                     transport tcp"
                ),
            );
        }
    }

    /// Upper bound of a reply's size, in bytes, over all operations of this scenario.
    pub fn reply_bytes_max(&self) -> u64 {
        // Bound for the key, and for the words and numbers around it and the value, in lines or
        // frames.
        const AROUND_BYTES: u64 = 250 + 64;
        let (_, most) = self.value_size.bounds();
        let value = most.unwrap_or(self.value_max).min(self.value_max);
        u64::from(self.multiget) * (value + AROUND_BYTES) + AROUND_BYTES
    }

    /// Checks TLS.
    ///
    /// memcached speaks TLS over TCP only; and fields of TLS have no meaning without it, or
    /// without each other.
    pub(super) fn check_tls(&self, problems: &mut Problems) {
        let tls = &self.tls;
        if !tls.on {
            if let Some(field) = tls.given(problems) {
                problems.say(format!("{field} needs tls: add tls, or remove {field}"));
            }
            return;
        }
        if self.transport != Transport::Tcp {
            problems.say(format!(
                "tls does not work with transport {}, because memcached has no TLS over UDP: use \
                 transport tcp",
                self.transport
            ));
        }
        if let Some(target) = self.unix_server() {
            problems.say(format!(
                "tls does not work with {target}, because memcached speaks TLS over TCP only: name \
                 a host, or remove tls"
            ));
        }
        match (&tls.cert, &tls.key) {
            (Some(_), None) => problems.say("tls-cert needs tls-key: give both"),
            (None, Some(_)) => problems.say("tls-key needs tls-cert: give both"),
            _ => {}
        }
        if tls.insecure && tls.ca.is_some() {
            problems.say("tls-insecure ignores tls-ca: remove one of them");
        }
    }

    fn unix_server(&self) -> Option<&Target> {
        self.servers.iter().find(|target| matches!(target, Target::Unix { .. }))
    }
}

impl Tls {
    /// A field besides `tls` that is set.
    fn given(&self, problems: &Problems) -> Option<&'static str> {
        let fields = [
            ("tls-ca", self.ca.is_some()),
            ("tls-server-name", self.server_name.is_some()),
            ("tls-cert", self.cert.is_some()),
            ("tls-key", self.key.is_some()),
            ("tls-min", self.min != TlsVersion::default()),
            ("tls-resume", self.resume != Resume::default()),
            ("tls-insecure", self.insecure),
        ];
        let mut fields = fields.into_iter();
        fields.find(|(field, differs)| problems.is_set(field, *differs)).map(|(field, _)| field)
    }
}
