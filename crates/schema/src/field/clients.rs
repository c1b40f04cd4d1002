//! The fields of counted clients, of the servers that each client reaches, and of the windows of
//! objects that clients work on.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{count, given, one, parsed};
use super::{Field, Section, Set, Show};
use memtide_base::units;

pub(super) const CLIENTS: Field = Field {
    name: "clients",
    short: None,
    value: Some("N"),
    default: "none; with window, one per connection",
    help: "Clients with one operation in flight each, over all workers",
    long: "From 1 to 1M. Each client has its own `connections-per-client` connections, all to one \
           server, and one operation in flight: it sends the next when the last is answered, even \
           after its deadline, or when its connection is lost. Clients are assigned to workers and \
           servers in turn, so there must be at least one for each. With a `rate`, client c of N \
           sends every N-th operation of the shared schedule; with `schedule connection` it has \
           its own schedule. Leave out `connections` and `depth`, which follow from this.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.client.clients = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.client.clients)),
};

pub(super) const CONNECTIONS_PER_CLIENT: Field = Field {
    name: "connections-per-client",
    short: None,
    value: Some("N"),
    default: "1",
    help: "Connections of each client, which uses one at a time",
    long: "At least 1; at most 1M over all clients. `connection-turn` decides which one is used \
           next. With `writers`, each client opens this number to every server; with `transport \
           split`, it opens one UDP socket in addition. Example: `clients 128` and \
           `connections-per-client 128` open 16384 connections with 128 operations in flight.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.client.connections_per_client = count(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.client.connections_per_client)),
};

pub(super) const CONNECTION_TURN: Field = Field {
    name: "connection-turn",
    short: None,
    value: Some("WHICH"),
    default: "round-robin",
    help: "Which of its connections a client uses next",
    long: "`round-robin`: the connection that was idle longest. `random`: any open connection, \
           drawn by the seed.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.client.connection_turn = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.client.connection_turn)),
};

pub(super) const WRITERS: Field = Field {
    name: "writers",
    short: None,
    value: Some("N"),
    default: "none; each client uses one server",
    help: "Write to the first N servers, and read from the others",
    long: "From 1 to the number of servers, which must be at least 2. Needs `clients` or a \
           `window`, and `transport tcp`. Each client opens `connections-per-client` connections \
           to every server; `replicate` decides which servers get a write. Clients skip a server \
           while no connection to it is open, so reads continue on the others. A write without an \
           available writer counts as lost. The run ends when all servers are gone for longer than \
           `timeout`. The report shows when each server was gone.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.replication.writers = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.replication.writers)),
};

pub(super) const REPLICATE: Field = Field {
    name: "replicate",
    short: None,
    value: Some("WHICH"),
    default: "all",
    help: "Send each write to all writers, or to one of them in turn",
    long: "`all`: send each write to every writer, first to the one that the key maps to. Reads go \
           to another server; for a get of several keys, the first key decides. With a single \
           writer, reads go to the other servers, which must replicate its writes. A client \
           continues when the last copy has ended. Counts and times include every copy; `mix`, \
           `rate` and `ops-max` count the write once. `one`: send each write to one writer, in \
           turn, and each read to any server. A read then hits only if the servers replicate by \
           themselves.",
    section: Section::Connections,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.replication.replicate = Some(parsed(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.replication.replicate)),
};

pub(super) const WINDOW: Field = Field {
    name: "window",
    short: None,
    value: Some("N"),
    default: "none",
    help: "Objects that each client sets and reads, in place of keys",
    long: "From 1 to 1G, such as `10k`: each client stores its own objects until it has this \
           number; then each new object replaces its oldest one. It reads from the objects that it \
           has stored. Or `auto:CACHE,MISS`, such as `auto:4G,5%`: the number with which a server \
           with a cache of this size misses 0 or 5% of the reads, by the formulas of memaslap's \
           manual: CACHE / clients of a server / mean bytes of key and value × 0.5 for 0, × 0.7 \
           for 5%. The mix may contain get and set. A new object has the sizes of the object that \
           it replaces. A failed set counts as an operation and does not change the window. When \
           the mix has no set, or with `load always`, the clients fill all windows before the run, \
           outside its counts; with `load never` and no set, the windows count as full. Each \
           object costs 4 bytes of memory, 8 more with `verify` and 16 more with `verify-expiry`, \
           however long the run. `keys` and `popularity` have no effect.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.client.window = Some(parsed(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.client.window)),
};

pub(super) const OVERWRITE: Field = Field {
    name: "overwrite",
    short: None,
    value: Some("FRACTION"),
    default: "0",
    help: "Fraction of a window's sets that overwrite an existing object",
    long: "From 0 to 1, such as `0.2` or `20%`. These sets store a new version of an object in the \
           window; the others store a new object.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.client.overwrite =
            units::parse_fraction(word.trim()).map_err(|e| e.to_string())?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.client.overwrite)),
};

pub(super) const PICK: Field = Field {
    name: "window-pick",
    short: None,
    value: Some("HOW"),
    default: "random",
    help: "Which object of a window to read or overwrite",
    long: "`random`: any object with equal probability. `sequential`: all objects in order, again \
           and again.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.client.pick = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.client.pick)),
};

pub(super) const MIX_ORDER: Field = Field {
    name: "mix-order",
    short: None,
    value: Some("ORDER"),
    default: "drawn",
    help: "Order of the operations of the mix: drawn or turn",
    long: "`drawn`: the kind of each operation is random. `turn`: each client sends the kind that \
           is furthest behind its share, a store first if several are, so get=9,set=1 is a set, \
           nine gets, a set and so on. `turn` needs `clients` or a `window`. In a window, every \
           key of a multiget is one turn.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.mix_order = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.mix_order)),
};
