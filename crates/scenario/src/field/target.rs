//! The fields of the target: which servers, and how they and their connections are reached.
//!
//! Rows of the table only.

use super::parse::{
    addresses, busy_poll, command_line, count, parsed, password, shown_flags, size, user,
};
use super::{AgentRule, Field, Section, member};
use crate::scenario::{Target, parse_switch};

const TARGET: Field = Field::of(Section::Target, AgentRule::Allowed);

/// The fields of the section Target.
pub(super) const TARGET_FIELDS: &[Field] = &[
    Field {
        name: "server",
        short: Some('s'),
        value: Some("HOST[:PORT]"),
        default: "embedded",
        help: "Servers to measure; without it, memtide starts one",
        long: "`host`, `host:port` (default port 11211), `[v6-address]:port`, `host:first-last` (a \
               range of at most 1024 ports) or `unix:/path`. Repeat the flag or give a comma list. \
               Every server holds all keys. memtide tries every address that a name resolves to. \
               Without this field, memtide starts an embedded server on a free loopback port. \
               Example: `10.0.0.1,10.0.0.2:11300,[::1]:11211`.",
        many: true,
        member: member!(scenario.servers, each Target::parse_list),
        ..TARGET
    },
    Field {
        name: "protocol",
        value: Some("PROTOCOL"),
        default: "text",
        help: "Wire protocol: text, binary or meta",
        long: "`text`: memcached's classic line protocol. `binary`: the binary protocol, which \
               servers with SASL (`memcached -S`) require. `meta`: the commands mg, ms, md and ma \
               of memcached 1.6 and its proxy. Over `binary` and `meta`, a get of several keys is \
               sent as quiet gets and a noop, and `noreply` operations as quiet commands. Before \
               the load, memtide checks that the servers know the meta commands and flags that it \
               needs.",
        member: member!(scenario.protocol, parsed),
        ..TARGET
    },
    Field {
        name: "match",
        value: Some("HOW"),
        default: "order",
        help: "How meta replies find their requests: order or opaque",
        long: "`order`: servers answer in the order of requests. `opaque`: each request carries an \
               opaque (flag O), which its reply repeats, so that replies are matched in any order, \
               as some proxies send them. A reply that matches no request in flight, or a second \
               time, is an error (`unmatched`) and closes the connection. Error lines repeat no \
               opaque; they end the oldest operation. Only with `protocol meta` and single keys.",
        member: member!(scenario.wire.matching, parsed),
        ..TARGET
    },
    Field {
        name: "meta-flags",
        value: Some("LETTERS"),
        help: "What meta reads ask beside values: letters of t, h, l, s, f, c",
        long: "`t` seconds until expiry, `h` whether the item was read before, `l` seconds since \
               the last access, `s` size, `f` flags, `c` cas number. Their bytes count as those of \
               replies; the figures of t, h and l become distributions of the record (`items`) and \
               a line of the report. Only with `protocol meta`. Example: `thl`.",
        member: member!(scenario.wire.item_flags, parsed, shown_flags),
        ..TARGET
    },
    Field {
        name: "transport",
        value: Some("TRANSPORT"),
        default: "tcp",
        help: "How requests travel: tcp (also for unix sockets), udp or split",
        long: "`tcp`: a byte stream. `udp`: each request is one datagram of at most 1400 bytes; a \
               longer request is not sent and counts as failed. Each UDP connection is a socket of \
               its own with one operation in flight. Replies are reassembled whatever the order of \
               their datagrams. Nothing is retransmitted: an operation whose reply is incomplete \
               at `timeout` has timed out. The server must listen for UDP on the same port \
               (`memcached -p PORT -U PORT`); memtide fills it and reads its statistics over TCP. \
               `split`: each of the `clients` sends get and gets over one UDP socket and \
               everything else over its `connections-per-client` TCP connections.",
        member: member!(scenario.transport, parsed),
        ..TARGET
    },
    Field {
        name: "bind",
        value: Some("ADDRESS"),
        help: "Source addresses for connections, used in turn",
        long: "IPv4 or IPv6 addresses of this machine, without ports. Repeat the flag or give a \
               comma list. Use it to open more than about 28000 connections to one server, which \
               is the limit per source address. Without it, the system chooses the address. \
               Example: `10.0.0.7,10.0.0.8`.",
        many: true,
        member: member!(scenario.bind, each addresses),
        ..TARGET
    },
    Field {
        name: "user",
        value: Some("NAME"),
        help: "User name for authentication; needs password",
        long: "Each connection authenticates before it sends anything else: over `protocol text` \
               and `meta` with memcached's ASCII authentication (`memcached -Y`), over `protocol \
               binary` with SASL PLAIN. Name and password are sent unencrypted. At most 250 \
               bytes, without spaces and line ends. Example: `tim`.",
        member: member!(scenario.user, some user),
        agents: AgentRule::Credential,
        ..TARGET
    },
    Field {
        name: "password",
        value: Some("WORD"),
        help: "Password for user; set MEMTIDE_PASSWORD instead of this flag",
        long: "Every user of this machine can read a command line, so set the environment variable \
               `MEMTIDE_PASSWORD` instead. No output shows the password: plans and records show \
               `***`, and a scenario made from a record needs the password again. At most 250 \
               bytes without line ends; over `protocol text` and `meta` also without spaces.",
        member: member!(scenario.password, some password),
        agents: AgentRule::Credential,
        ..TARGET
    },
    Field {
        name: "before",
        value: Some("LINE"),
        help: "Send this command to every server before the load starts",
        long: "One line of memcached's text protocol. memtide sends it once to each server, on a \
               connection of its own, after the fill and before the warm-up, and waits for the \
               first line of the reply. An error reply is a warning. Use it to switch something on \
               in the server. The server's counters include the command. `memtide load` does not \
               send it. Example: `verbosity 1`.",
        member: member!(scenario.before, some command_line),
        ..TARGET
    },
    Field {
        name: "after",
        value: Some("LINE"),
        help: "Send this command to every server after the load ends",
        long: "As `before`, but sent after the last measured operation has ended, in every run \
               that was started, and before memtide reads the servers' counters. If a server no \
               longer answers, the report has a warning, and the result is valid. Example: \
               `verbosity 0`.",
        member: member!(scenario.after, some command_line),
        ..TARGET
    },
    Field {
        name: "nagle",
        default: "off",
        help: "Let TCP delay small requests (Nagle's algorithm)",
        long: "Off: memtide sets `TCP_NODELAY`, and every request leaves at once. On: the kernel \
               holds back small requests while earlier data of the connection is unacknowledged, \
               which saves packets and lengthens response times. It matters only for connections \
               with several operations in flight, and not for unix sockets.",
        member: member!(scenario.sockets.nagle, parse_switch),
        ..TARGET
    },
    Field {
        name: "send-buffer",
        value: Some("SIZE"),
        default: "the system's",
        help: "Send buffer of each socket (SO_SNDBUF)",
        long: "A size up to `1GiB`, such as `4KiB`. The kernel doubles it and applies its own \
               limits.",
        member: member!(scenario.sockets.send_buffer_bytes, some size),
        ..TARGET
    },
    Field {
        name: "receive-buffer",
        value: Some("SIZE"),
        default: "the system's",
        help: "Receive buffer of each socket (SO_RCVBUF)",
        long: "A size up to `1GiB`, such as `16KiB`. The kernel doubles it and applies its own \
               limits.",
        member: member!(scenario.sockets.receive_buffer_bytes, some size),
        ..TARGET
    },
    Field {
        name: "busy-poll",
        value: Some("TIME"),
        default: "the system's",
        help: "How long the kernel polls the network card on receive (SO_BUSY_POLL)",
        long: "Whole microseconds up to `1s`, such as `50us`; 0 turns polling off. The kernel then \
               polls the network card instead of waiting for its interrupt, which costs CPU and \
               saves a few microseconds if the card's driver supports it. It has no effect on \
               loopback. A value above net.core.busy_read needs the capability CAP_NET_ADMIN.",
        member: member!(scenario.sockets.busy_poll, some busy_poll),
        ..TARGET
    },
    Field {
        name: "trailing-space",
        default: "off",
        help: "End request lines with a space, as some clients do",
        long: "Puts a space before the line end of each request that expects a reply, as in `get \
               key `. Use it to send requests of the same length as such a client. Only with \
               `protocol text`.",
        member: member!(scenario.wire.trailing_blank, parse_switch),
        ..TARGET
    },
];

const CONNECTIONS: Field = Field::of(Section::Connections, AgentRule::Allowed);

/// The fields of the section Connections.
pub(super) const CONNECTIONS_FIELDS: &[Field] = &[
    Field {
        name: "connections",
        value: Some("N"),
        default: "64; 1024 with connection-rate, 1 with calls alone",
        help: "Connections to each server, over all workers",
        long: "From 1 to 1M, such as `16` or `2k`. Workers share the connections evenly, and each \
               worker needs at least one. Under connection churn this is the most that are open at \
               once.",
        member: member!(scenario.connections, some count),
        ..CONNECTIONS
    },
    Field {
        name: "depth",
        value: Some("N"),
        default: "1 in a closed loop, 64 with a rate, up to 1024 with call-rate",
        help: "Operations in flight on each connection at most (pipeline depth)",
        long: "A connection with this many unanswered operations is full. `on-full` decides what \
               happens to an operation that is due while every connection is full. From 1 to \
               65536.",
        member: member!(scenario.depth, some count),
        ..CONNECTIONS
    },
    Field {
        name: "refill",
        value: Some("WHEN"),
        default: "each",
        help: "When to send again on a full pipelined connection: each or whole",
        long: "`each`: after every reply (sliding window). `whole`: only after all replies \
               (batches of `depth`), like clients that send several commands and wait for all \
               answers. With `whole`, a connection that has received one of several replies also \
               waits for the rest. Needs a depth above 1.",
        member: member!(scenario.wire.refill, parsed),
        ..CONNECTIONS
    },
    Field {
        name: "clients",
        value: Some("N"),
        default: "none; with window, one per connection",
        help: "Clients with one operation in flight each, over all workers",
        long: "From 1 to 1M. Each client has its own `connections-per-client` connections, all to \
               one server, and one operation in flight: it sends the next when the last is \
               answered, even after its deadline, or when its connection is lost. Clients are \
               assigned to workers and servers in turn, so there must be at least one for each. \
               With a `rate`, client c of N sends every N-th operation of the shared schedule; \
               with `schedule connection` it has its own schedule. Leave out `connections` and \
               `depth`, which follow from this.",
        member: member!(scenario.client.clients, some count),
        ..CONNECTIONS
    },
    Field {
        name: "connections-per-client",
        value: Some("N"),
        default: "1",
        help: "Connections of each client, which uses one at a time",
        long: "At least 1; at most 1M over all clients. `connection-turn` decides which one is \
               used next. With `writers`, each client opens this number to every server; with \
               `transport split`, it opens one UDP socket in addition. Example: `clients 128` and \
               `connections-per-client 128` open 16384 connections with 128 operations in flight.",
        member: member!(scenario.client.connections_per_client, count),
        ..CONNECTIONS
    },
    Field {
        name: "connection-turn",
        value: Some("WHICH"),
        default: "round-robin",
        help: "Which of its connections a client uses next",
        long: "`round-robin`: the connection that was idle longest. `random`: any open connection, \
               drawn by the seed.",
        member: member!(scenario.client.connection_turn, parsed),
        ..CONNECTIONS
    },
    Field {
        name: "reconnect",
        value: Some("FIRST..LONGEST"),
        default: "10ms..1s",
        help: "Wait before reconnecting; never ends the run instead",
        long: "Exponential back-off with jitter from FIRST to LONGEST, or one fixed time. FIRST is \
               at least 1ms. Operations in flight on a lost connection are not sent again. `never` \
               ends the run at the first lost connection, with a partial record and exit code 3. \
               Example: `50ms..5s`.",
        member: member!(scenario.reconnect, parsed),
        ..CONNECTIONS
    },
    Field {
        name: "writers",
        value: Some("N"),
        default: "none; each client uses one server",
        help: "Write to the first N servers, and read from the others",
        long: "From 1 to the number of servers, which must be at least 2. Needs `clients` or a \
               `window`, and `transport tcp`. Each client opens `connections-per-client` \
               connections to every server; `replicate` decides which servers get a write. Clients \
               skip a server while no connection to it is open, so reads continue on the others. A \
               write without an available writer counts as lost. The run ends when all servers are \
               gone for longer than `timeout`. The report shows when each server was gone.",
        member: member!(scenario.replication.writers, some count),
        ..CONNECTIONS
    },
    Field {
        name: "replicate",
        value: Some("WHICH"),
        default: "all",
        help: "Send each write to all writers, or to one of them in turn",
        long: "`all`: send each write to every writer, first to the one that the key maps to. \
               Reads go to another server; for a get of several keys, the first key decides. With \
               a single writer, reads go to the other servers, which must replicate its writes. A \
               client continues when the last copy has ended. Counts and times include every copy; \
               `mix`, `rate` and `ops-max` count the write once. `one`: send each write to one \
               writer, in turn, and each read to any server. A read then hits only if the servers \
               replicate by themselves.",
        member: member!(scenario.replication.replicate, some parsed),
        ..CONNECTIONS
    },
];
