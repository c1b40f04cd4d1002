//! The fields of TLS: whether it is spoken, whom to trust, and what to show.
//!
//! Rows of the table only.

use super::parse::{parsed, path};
use super::{AgentRule, Field, Section, member};
use crate::scenario::parse_switch;

const TLS: Field = Field::of(Section::Target, AgentRule::Allowed);

/// The fields of TLS.
pub(super) const TLS_FIELDS: &[Field] = &[
    Field {
        name: "tls",
        default: "off",
        help: "Encrypt connections to the servers with TLS",
        long: "TLS 1.2 or 1.3 over TCP, with any `protocol`. The load, the fill and all other \
               requests use it. The embedded server then speaks TLS too. Encrypting and \
               decrypting are memtide's own delay, and never part of a service time. See \
               `docs/tls.md`.",
        member: member!(scenario.tls.on, parse_switch),
        ..TLS
    },
    Field {
        name: "tls-ca",
        value: Some("FILE"),
        default: "the system's CAs",
        help: "Certificates of the CAs to trust, as a PEM file",
        long: "A server's certificate must be signed by a CA among them, or be one of them itself. \
               The system's CAs are then not trusted. Needs `tls`. An agent has its own \
               (`MEMTIDE_TLS_CA`). Example: `ca.pem`.",
        member: member!(scenario.tls.ca, some path),
        agents: AgentRule::Credential,
        ..TLS
    },
    Field {
        name: "tls-server-name",
        value: Some("NAME"),
        default: "the host in server",
        help: "Name that the servers' certificates must have",
        long: "A host's name or an IP address, for all servers. Use it if `server` has another \
               name or address than the certificate. It is also sent to the server (SNI), unless \
               it is an IP address. Needs `tls`. Example: `cache.example.com`.",
        member: member!(scenario.tls.server_name, some path),
        ..TLS
    },
    Field {
        name: "tls-cert",
        value: Some("FILE"),
        help: "Client certificate with its chain, as a PEM file; needs tls-key",
        long: "For servers that ask for one (mutual TLS). The file begins with the client's own \
               certificate. An agent has its own (`MEMTIDE_TLS_CERT`).",
        member: member!(scenario.tls.cert, some path),
        agents: AgentRule::Credential,
        ..TLS
    },
    Field {
        name: "tls-key",
        value: Some("FILE"),
        help: "Private key of tls-cert, as a PEM file",
        long: "A key without a password. No output contains it. An agent has its own \
               (`MEMTIDE_TLS_KEY`).",
        member: member!(scenario.tls.key, some path),
        agents: AgentRule::Credential,
        ..TLS
    },
    Field {
        name: "tls-min",
        value: Some("VERSION"),
        default: "1.2",
        help: "Oldest version of TLS to speak: 1.2 or 1.3",
        long: "A server that speaks both uses 1.3. Needs `tls`.",
        member: member!(scenario.tls.min, parsed),
        ..TLS
    },
    Field {
        name: "tls-resume",
        value: Some("ON"),
        default: "on",
        help: "Resume TLS sessions on later connections: on or off",
        long: "`on`: a connection continues the session of an earlier one to the same server, if \
               the server allows it, which saves certificates and signatures. `off`: every \
               handshake is full. The report counts both kinds. Needs `tls`.",
        member: member!(scenario.tls.resume, parsed),
        ..TLS
    },
    Field {
        name: "tls-insecure",
        default: "off",
        help: "Take any certificate from the servers; a warning in every report",
        long: "No name, date, signature or key is checked. Anyone between memtide and the server \
               can then read and change everything. Use it for a test of your own only. Needs \
               `tls`.",
        member: member!(scenario.tls.insecure, parse_switch),
        ..TLS
    },
];
