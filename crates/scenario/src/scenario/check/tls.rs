//! Checks the fields of TLS against each other and against the transport.

use super::Problems;
use crate::scenario::{Resume, Scenario, Target, Tls, TlsVersion, Transport};

impl Scenario {
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
        let unix = |target: &&Target| matches!(target, Target::Unix { .. });
        if let Some(target) = self.servers.iter().find(unix) {
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
