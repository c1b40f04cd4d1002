//! The fields of the target: which servers, and how they are reached.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{count, given, given_span, one, parsed, span};
use super::{Field, Section, Set, Show};
use crate::scenario::{Secret, Target, parse_switch};
use memtide_base::{Span, units};
use std::net::IpAddr;

pub(super) const SERVER: Field = Field {
    name: "server",
    short: Some('s'),
    value: Some("HOST[:PORT]"),
    default: "embedded",
    help: "Servers to measure; without it, memtide starts one",
    long: "`host`, `host:port` (default port 11211), `[v6-address]:port`, `host:first-last` (a \
           range of at most 1024 ports) or `unix:/path`. Repeat the flag or give a comma list. \
           Every server holds all keys. memtide tries every address that a name resolves to. \
           Without this field, memtide starts an embedded server on a free loopback port. Example: \
           `10.0.0.1,10.0.0.2:11300,[::1]:11211`.",
    section: Section::Target,
    many: true,
    set: Set::Scenario(|scenario, word| {
        scenario.servers = Target::parse_list(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| scenario.servers.iter().map(Target::to_string).collect()),
};

pub(super) const CONNECTIONS: Field = Field {
    name: "connections",
    short: None,
    value: Some("N"),
    default: "64; 1024 with connection-rate, 1 with calls alone",
    help: "Connections to each server, over all workers",
    long: "From 1 to 1M, such as `16` or `2k`. Workers share the connections evenly, and each \
           worker needs at least one. Under connection churn (`calls`, `connection-rate`) this is \
           the most connections that are open at once.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.connections = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.connections)),
};

pub(super) const REFILL: Field = Field {
    name: "refill",
    short: None,
    value: Some("WHEN"),
    default: "each",
    help: "When to send again on a full pipelined connection: each or whole",
    long: "`each`: after every reply (sliding window). `whole`: only after all replies (batches of \
           `depth`), like clients that send several commands and wait for all answers. With \
           `whole`, a connection that has received one of several replies also waits for the rest. \
           Needs a depth above 1.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.wire.refill = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.wire.refill)),
};

pub(super) const DEPTH: Field = Field {
    name: "depth",
    short: None,
    value: Some("N"),
    default: "1 in a closed loop, 64 with a rate, up to 1024 with call-rate",
    help: "Operations in flight on each connection at most (pipeline depth)",
    long: "A connection with this many unanswered operations is full. `on-full` decides what \
           happens to an operation that is due while every connection is full. From 1 to 65536.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.depth = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.depth)),
};

pub(super) const RECONNECT: Field = Field {
    name: "reconnect",
    short: None,
    value: Some("FIRST..LONGEST"),
    default: "10ms..1s",
    help: "Wait before reconnecting; never ends the run instead",
    long: "Exponential back-off with jitter from FIRST to LONGEST, or one fixed time. FIRST is at \
           least 1ms. Operations in flight on a lost connection are not sent again. `never` ends \
           the run at the first lost connection, with a partial record and exit code 3. Example: \
           `50ms..5s`.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.reconnect = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.reconnect)),
};

pub(super) const BIND: Field = Field {
    name: "bind",
    short: None,
    value: Some("ADDRESS"),
    default: "",
    help: "Source addresses for connections, used in turn",
    long: "IPv4 or IPv6 addresses of this machine, without ports. Repeat the flag or give a comma \
           list. Use it to open more than about 28000 connections to one server, which is the \
           limit per source address. Without it, the system chooses the address. Example: \
           `10.0.0.7,10.0.0.8`.",
    section: Section::Target,
    many: true,
    set: Set::Scenario(|scenario, word| {
        let address = |item: &str| {
            item.trim().parse::<IpAddr>().map_err(|_| {
                format!("'{item}' is not an address such as 10.0.0.7 or fd00::7, without a port")
            })
        };
        let items = word.split(',').filter(|_| !word.trim().is_empty());
        scenario.bind = items.map(address).collect::<Result<_, _>>()?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| scenario.bind.iter().map(IpAddr::to_string).collect()),
};

pub(super) const NAGLE: Field = Field {
    name: "nagle",
    short: None,
    value: None,
    default: "off",
    help: "Let TCP delay small requests (Nagle's algorithm)",
    long: "Off: memtide sets `TCP_NODELAY`, and every request leaves at once. On: the kernel holds \
           back small requests while earlier data of the connection is unacknowledged, which saves \
           packets and lengthens response times. It matters only for connections with several \
           operations in flight, and not for unix sockets.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.sockets.nagle = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.sockets.nagle)),
};

pub(super) const PROTOCOL: Field = Field {
    name: "protocol",
    short: None,
    value: Some("PROTOCOL"),
    default: "text",
    help: "Wire protocol: text or binary",
    long: "`text`: memcached's classic line protocol. `binary`: the binary protocol, which servers \
           with SASL (`memcached -S`) require. Over `binary`, a get of several keys is sent as \
           quiet gets and a noop, and `noreply` operations as quiet commands.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.protocol = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.protocol)),
};

pub(super) const TRANSPORT: Field = Field {
    name: "transport",
    short: None,
    value: Some("TRANSPORT"),
    default: "tcp",
    help: "How requests travel: tcp (also for unix sockets), udp or split",
    long: "`tcp`: a byte stream. `udp`: each request is one datagram of at most 1400 bytes; a \
           longer request is not sent and counts as failed. Each UDP connection is a socket of its \
           own with one operation in flight. Replies are reassembled whatever the order of their \
           datagrams. Nothing is retransmitted: an operation whose reply is incomplete at \
           `timeout` has timed out. The server must listen for UDP on the same port (`memcached -p \
           PORT -U PORT`); memtide fills it and reads its statistics over TCP. `split`: each of \
           the `clients` sends get and gets over one UDP socket and everything else over its \
           `connections-per-client` TCP connections.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.transport = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.transport)),
};

pub(super) const TRAILING_BLANK: Field = Field {
    name: "trailing-space",
    short: None,
    value: None,
    default: "off",
    help: "End request lines with a space, as some clients do",
    long: "Puts a space before the line end of each request that expects a reply, as in `get key \
           `. Use it to send requests of the same length as such a client. Only with `protocol \
           text`.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.wire.trailing_blank = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.wire.trailing_blank)),
};

pub(super) const SEND_BUFFER: Field = Field {
    name: "send-buffer",
    short: None,
    value: Some("SIZE"),
    default: "the system's",
    help: "Send buffer of each socket (SO_SNDBUF)",
    long: "A size up to `1GiB`, such as `4KiB`. The kernel doubles it and applies its own limits.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.sockets.send_buffer_bytes =
            Some(units::parse_size(word).map_err(|e| e.to_string())?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.sockets.send_buffer_bytes)),
};

pub(super) const BUSY_POLL: Field = Field {
    name: "busy-poll",
    short: None,
    value: Some("TIME"),
    default: "the system's",
    help: "How long the kernel polls the network card on receive (SO_BUSY_POLL)",
    long: "Whole microseconds up to `1s`, such as `50us`; 0 turns polling off. The kernel then \
           polls the network card instead of waiting for its interrupt, which costs CPU and saves \
           a few microseconds if the card's driver supports it. It has no effect on loopback. A \
           value above net.core.busy_read needs the capability CAP_NET_ADMIN.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        let time = span(word)?;
        if time > Span::from_s(1) || !time.ns().is_multiple_of(1_000) {
            return Err(format!("'{word}' is not whole microseconds up to 1s, such as 50us"));
        }
        scenario.sockets.busy_poll = Some(time);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given_span(scenario.sockets.busy_poll)),
};

pub(super) const RECEIVE_BUFFER: Field = Field {
    name: "receive-buffer",
    short: None,
    value: Some("SIZE"),
    default: "the system's",
    help: "Receive buffer of each socket (SO_RCVBUF)",
    long: "A size up to `1GiB`, such as `16KiB`. The kernel doubles it and applies its own limits.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.sockets.receive_buffer_bytes =
            Some(units::parse_size(word).map_err(|e| e.to_string())?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.sockets.receive_buffer_bytes)),
};

pub(super) const USER: Field = Field {
    name: "user",
    short: None,
    value: Some("NAME"),
    default: "",
    help: "User name for authentication; needs password",
    long: "Each connection authenticates before it sends anything else: over `protocol text` with \
           memcached's ASCII authentication (`memcached -Y`), over `protocol binary` with SASL \
           PLAIN. Name and password are sent unencrypted. At most 250 bytes, without spaces and \
           line ends. Example: `tim`.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        let allowed = (1..=250).contains(&word.len()) && !word.contains([' ', '\r', '\n', '\0']);
        if !allowed {
            return Err(format!(
                "{word:?} is not a name of 1 to 250 bytes without spaces and line ends"
            ));
        }
        scenario.user = Some(word.to_owned());
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.user)),
};

pub(super) const PASSWORD: Field = Field {
    name: "password",
    short: None,
    value: Some("WORD"),
    default: "",
    help: "Password for user; set MEMTIDE_PASSWORD instead of this flag",
    long: "Every user of this machine can read a command line, so set the environment variable \
           `MEMTIDE_PASSWORD` instead. No output shows the password: plans and records show `***`, \
           and a scenario made from a record needs the password again. At most 250 bytes without \
           line ends; over `protocol text` also without spaces.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        // An empty password is allowed: some servers require only a user name.
        let allowed = word.len() <= 250 && !word.contains(['\r', '\n', '\0']);
        if !allowed {
            return Err("a password has at most 250 bytes and no line ends".to_owned());
        }
        scenario.password = Some(Secret::new(word));
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.password)),
};
