//! The fields of replication: which servers are written, and which are read.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{count, given, parsed};
use super::{Field, Section};

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
    set: |scenario, word| {
        scenario.replication.writers = Some(count(word)?);
        Ok(())
    },
    show: |scenario| given(&scenario.replication.writers),
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
    set: |scenario, word| {
        scenario.replication.replicate = Some(parsed(word)?);
        Ok(())
    },
    show: |scenario| given(&scenario.replication.replicate),
};
