//! The fields of connection churn: when connections open, what each does, how it ends.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{count, given, given_span, one, parsed, span};
use super::{Field, Section, Set, Show};
use memtide_base::units;

pub(super) const CALLS: Field = Field {
    name: "calls",
    short: None,
    value: Some("N"),
    default: "1 with connection-rate; else connections stay open",
    help: "Connection churn: operations per connection before it is closed",
    long: "At least 1. With this field or `connection-rate`, connections do not stay open: each \
           one is opened, makes this number of operations (calls) and is closed. A connect has a \
           due time like an operation, so one that starts late, or waits because `connections` are \
           open already (see `on-full`), shows in its response time. The calls that a lost \
           connection leaves undone are counted, not repeated.",
    section: Section::Churn,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.calls = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.churn.calls)),
};

pub(super) const CONNECTION_RATE: Field = Field {
    name: "connection-rate",
    short: None,
    value: Some("RATE"),
    default: "0 with calls",
    help: "Connection churn: connections to open per second, over all workers",
    long: "Such as `1000` or `5k`, at most `1M`. With 0, a connection is opened when another has \
           closed, and `connections` are open at a time. A `wave` replaces it. Example: \
           `--connection-rate 1000 --calls 10 --linger 0`.",
    section: Section::Churn,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.connection_rate = Some(units::parse_rate(word).map_err(|e| e.to_string())?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.churn.connection_rate)),
};

pub(super) const CONNECTION_ARRIVAL: Field = Field {
    name: "connection-arrival",
    short: None,
    value: Some("LAW"),
    default: "fixed",
    help: "Connection churn: distribution of the gaps between connections",
    long: "The same choices as `arrival`, which applies to the calls of each connection.",
    section: Section::Churn,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.connection_arrival = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.churn.connection_arrival)),
};

pub(super) const CALL_RATE: Field = Field {
    name: "call-rate",
    short: None,
    value: Some("RATE"),
    default: "0 with calls",
    help: "Connection churn: operations per second on each connection",
    long: "The first call is due when the connection is open, the next ones at this rate with the \
           gaps of `arrival`, whether or not replies arrive. With 0, a call is due when an earlier \
           one is answered (see `depth`). At most `1G`.",
    section: Section::Churn,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.call_rate = Some(units::parse_rate(word).map_err(|e| e.to_string())?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.churn.call_rate)),
};

pub(super) const GAP_DRAWS: Field = Field {
    name: "gap-draws",
    short: None,
    value: Some("DRAWS"),
    default: "seed",
    help: "Connection churn: random numbers for the gaps",
    long: "`seed`: derived from the seed, with one stream per connection. \
           `rand48:LOW,MIDDLE,HIGH`: from erand48 of the C library, with these three words (0 to \
           65535) as its initial state, whatever the seed. Use it to repeat the gaps of a C \
           program. The first connection is then due at once. Draw n is the gap after connection \
           n; the gap after call i of connection n is draw n · (`calls` − 1) + i of the same \
           state. All numbers count from 0.",
    section: Section::Churn,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.gap_draws = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.churn.gap_draws)),
};

pub(super) const LINGER: Field = Field {
    name: "linger",
    short: None,
    value: Some("TIME"),
    default: "none: close normally",
    help: "Connection churn: how to close connections (SO_LINGER); 0 resets",
    long: "Whole seconds, such as `0` or `2s`, at most `1h`. `0` resets the connection, which \
           frees its local port at once. A longer time lets close wait for unacknowledged data, \
           and the worker waits with it. Without this field, connections close normally and each \
           local port stays in TIME_WAIT for a minute, which limits a run to about 28000 \
           connections per minute to one server unless `bind` names several addresses.",
    section: Section::Churn,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.linger = Some(span(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given_span(scenario.churn.linger)),
};

pub(super) const CONNECTIONS_TOTAL: Field = Field {
    name: "connections-total",
    short: None,
    value: Some("N"),
    default: "none",
    help: "Connection churn: end the run after this number of connections",
    long: "At least 1, such as `100k`. The run ends when the last of them has closed. With \
           `duration`, the first limit reached ends the run.",
    section: Section::Churn,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.connections_total = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.churn.connections_total)),
};
