//! The fields of clients that are counted, of the servers that each of them reaches, and of the
//! windows of objects that they work on.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{count, given, one, parsed};
use super::{Field, Section, Set, Show};
use memtide_base::units;

pub(super) const CLIENTS: Field = Field {
    name: "clients",
    short: None,
    value: Some("N"),
    default: "none; with a window one for each connection there would be",
    help: "Clients with one operation outstanding each, over all workers",
    long: "A count from 1 to 1M. Each client has connections of its own, `connections-per-client` \
           of them and all to one server, and makes one operation at a time: the next waits for \
           the answer to the last, even beyond its deadline, or for the loss of its connection. \
           Clients are dealt to workers and to servers in turn, so there must be at least one for \
           each. With a `rate` client c of N makes every N-th operation \
           of the shared schedule, or with `schedule connection` has one of its own. The number of \
           connections and the depth follow from this, so `connections` and `depth` are left out.",
    section: Section::Target,
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
    help: "Connections of each client, of which it uses one at a time",
    long: "A count of at least 1; over all clients there are at most 1M. Which one is used next \
           is said by `connection-turn`. With `writers` they are so many to each server; with \
           `transport split` there is one for UDP besides. Example: `clients 128` and \
           `connections-per-client 128` are 16384 connections with 128 operations under way.",
    section: Section::Target,
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
    long: "`round-robin`: the one that has waited longest. `random`: any that is open, drawn by \
           the seed.",
    section: Section::Target,
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
    help: "Have each client write to the first N servers, and read from the others",
    long: "A count from 1 to the number of servers, of which there must be two; needs `clients` or \
           a `window`. Each client then has `connections-per-client` connections to every server. \
           Where its writes and reads go is said by `replicate`. A server with no connection left \
           is passed over until it has one again, so reads go on at the rest; a write for which no \
           writer is left is lost. When all servers are gone for longer than `timeout` the run \
           ends. The report says when each server was away. Only over `transport tcp`.",
    section: Section::Target,
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
    help: "To how many of the writers each write goes: all or one",
    long: "`all`: each write goes to all of them at once, first to the one that is the key's own. \
           Reads go to another than this; of a get with several keys the first key decides. With \
           a single writer they go to the other servers, which are then taken to have what it \
           passes on. The client goes on when the last copy has ended. Each copy is an operation \
           in counts and times, while mix, rate and `ops-max` count the write once. `one`: each \
           write goes to one of the writers in turn and reads to any server, so a read finds what \
           it looks for only where servers replicate by themselves.",
    section: Section::Target,
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
    help: "Objects that each client sets and reads, instead of keys",
    long: "A count from 1 to 1G, such as `10k`: each client stores objects of its own until it has \
           so many, then each new one takes the place of its oldest, and it reads among those that \
           it has stored. Or `auto:CACHE,MISS`, such as `auto:4G,5%`: as many as make a server \
           with a cache of this size miss 0 or 5% of the reads, by the formulas of memaslap's \
           manual: CACHE / clients of a server / mean bytes of key and value × 0.5 for 0, × 0.7 \
           for 5%. The mix may name get and set. A new object has the sizes of the one whose place \
           it takes. A set that fails counts as an operation and changes no window. When nothing \
           is set, or with `load always`, all windows are filled before the run, by their own \
           clients and outside its counts; with `load never` they are taken as full in the first \
           case. Each object costs 4 bytes of memory, 8 more with `verify` and 16 more with \
           `verify-expiry`, however long the run. `keys` and `popularity` are not used.",
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
    help: "The fraction of a window's sets that overwrites an object",
    long: "A fraction from 0 to 1, such as `0.2` or `20%`: this part of the sets stores a new \
           version of an object that is in the window, the others store a new object.",
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
    name: "pick",
    short: None,
    value: Some("HOW"),
    default: "random",
    help: "Which object of a window is read or overwritten",
    long: "`random`: each is as likely as any other. `sequential`: one after the other, round and \
           round.",
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
    help: "In which order the kinds of the mix come",
    long: "`drawn`: the kind of each operation is drawn. `turn`: each client makes the kind that \
           is furthest behind its share, a store first where several are, so that get=9,set=1 is \
           a set, nine gets, a set and so on; this needs `clients` or a `window`. Of a window's \
           gets of many keys every key is a turn.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.mix_order = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.mix_order)),
};
