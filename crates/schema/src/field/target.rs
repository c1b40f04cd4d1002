//! The fields of the target: which servers, and how they are reached.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

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
    help: "The servers to measure; without any, memtide starts one of its own",
    long: "A server is `host`, `host:port` (the port is 11211 unless said), `[v6-address]:port`, \
           `host:first-last` for a range of ports (at most 1024), or `unix:/path`. The field may \
           be repeated and takes comma lists. Every server holds all keys, and every address a \
           name resolves to is tried. Without a server the embedded one is started on a free \
           loopback port. Example: `10.0.0.1,10.0.0.2:11300,[::1]:11211`.",
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
    default: "64; with connection-rate 1024, with calls alone 1",
    help: "Connections to each server, over all workers",
    long: "How many connections are opened to each server; the workers share them as evenly as \
           they can, and each worker needs at least one. A count from 1 to 1M, such as `16` or \
           `2k`. Where connections come and go (see `calls`) this is how many live at once at \
           most.",
    section: Section::Target,
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
    help: "When a connection that has been full takes operations again",
    long: "`each`: as soon as one of its operations is answered, so that it is kept as full as the \
           load goes. `whole`: when all that it has outstanding are answered, so that its requests \
           leave in batches of `depth`, as those of programs do that send several commands and \
           wait for all answers; where the load does not fill it, from its first answer on. It \
           needs a depth above 1.",
    section: Section::Target,
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
    default: "1 in a closed loop, 64 with a rate, with call-rate up to 1024",
    help: "Operations outstanding on one connection at most",
    long: "A connection on which this many operations wait for their answers is full; what an \
           operation does that finds every connection full is said by `on-full`. A count from 1 \
           to 65536.",
    section: Section::Target,
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
    help: "The waits before a lost connection is opened again; never ends the run",
    long: "The first wait, doubling up to the longest, each with a seeded jitter. A single time \
           means that every wait is that long. The first wait is at least 1ms. What the lost \
           connection carried is never sent again. With `never` the first connection that is lost \
           ends the run at once: its record is partial, and the exit code 3. Example: `50ms..5s`.",
    section: Section::Target,
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
    help: "Source addresses of the connections, used in turn",
    long: "IPv4 or IPv6 addresses of this machine, without ports; may be repeated and takes comma \
           lists. Connections use them in turn, which lifts the limit of about 28000 \
           connections from one address to one server. Without any the system chooses. Example: \
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
    help: "Let TCP hold back small requests while others are unacknowledged",
    long: "Without it every request leaves at once (`TCP_NODELAY`). With it the kernel gathers \
           small requests of a connection that has something on its way: fewer packets, and times \
           that are longer by the wait. It matters only where requests overlap on a connection, \
           and not over unix sockets.",
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
    help: "What requests look like on the wire: text or binary",
    long: "`text` is memcached's classic protocol of lines, `binary` the one of frames, which \
           servers with SASL (`memcached -S`) want. Over `binary` several keys are asked for by \
           quiet gets and a noop, and what needs no answer is sent in quiet frames.",
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
    help: "How requests travel: tcp (also to unix sockets), udp or split",
    long: "`tcp` is a stream. Over `udp` a request is one datagram of at most 1400 bytes, longer \
           ones are not sent and count as failed; one operation at a time is under way on each \
           connection, which is a socket of its own. Replies are put together in whatever order \
           their datagrams come. Nothing is sent again: an operation whose reply is not complete \
           at `timeout` has timed out. Servers listen for UDP at the same port (`memcached -p PORT \
           -U PORT`); before and after the run they are asked, and filled, over TCP. With `split` \
           each of the `clients` has one socket for UDP beside its `connections-per-client` by \
           TCP: get and gets go over that, and all else over these.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.transport = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.transport)),
};

pub(super) const TRAILING_BLANK: Field = Field {
    name: "trailing-blank",
    short: None,
    value: None,
    default: "off",
    help: "End request lines with a blank, as some clients do",
    long: "A blank then stands before the end of each line that asks for an answer, as in \
           `get key `, so that requests are as long as those of clients that write them so. Only \
           over `protocol text`.",
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
    help: "The send buffer of each socket",
    long: "What SO_SNDBUF is set to: a size up to `1GiB`, such as `4KiB`. The kernel doubles it \
           and has bounds of its own.",
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
    help: "How long the kernel polls the network card for each receive",
    long: "What SO_BUSY_POLL is set to: whole microseconds up to `1s`, such as `50us`; 0 turns it \
           off. The kernel then looks at the network card by itself instead of waiting for its \
           interrupt, which costs CPU and saves some microseconds where the card's driver can do \
           it; on loopback it changes nothing. More than net.core.busy_read takes the capability \
           CAP_NET_ADMIN.",
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
    help: "The receive buffer of each socket",
    long: "What SO_RCVBUF is set to: a size up to `1GiB`, such as `16KiB`. The kernel doubles it \
           and has bounds of its own.",
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
    help: "The name to authenticate with; needs password",
    long: "Each connection says name and password first: over `protocol text` as memcached's `-Y` \
           wants it, over `protocol binary` by SASL PLAIN. Both go over the network as they are. \
           A name of at most 250 bytes without spaces and line ends. Example: `tim`.",
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
    help: "The password of user; better said in MEMTIDE_PASSWORD than here",
    long: "Everybody on this machine can read what stands on a command line, so the environment is \
           the better place: `MEMTIDE_PASSWORD`. No output shows the password; it stands as `***` \
           in plans and records, and a scenario made of one of these needs it anew. At most 250 \
           bytes without line ends, and over `protocol text` without spaces.",
    section: Section::Target,
    many: false,
    set: Set::Scenario(|scenario, word| {
        // An empty one is a password, too: some servers ask for a name alone.
        let allowed = word.len() <= 250 && !word.contains(['\r', '\n', '\0']);
        if !allowed {
            return Err("this is not a password of at most 250 bytes without line ends".to_owned());
        }
        scenario.password = Some(Secret::new(word));
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.password)),
};
