//! The fields of connection churn: when connections open, what each does, how it ends.
//!
//! Rows of the table only.

use super::parse::{count, parsed, rate, span};
use super::{AgentRule, Field, Section, member};

const CHURN: Field = Field::of(Section::Churn, AgentRule::Allowed);

/// The fields of the section.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "calls",
        value: Some("N"),
        default: "1 with connection-rate; else connections stay open",
        help: "Connection churn: operations per connection before it is closed",
        long: "At least 1. With this field or `connection-rate`, connections do not stay open: \
               each one is opened, makes this number of operations (calls) and is closed. A \
               connect has a due time like an operation, so one that starts late, or waits because \
               `connections` are open already (see `on-full`), shows in its response time. The \
               calls that a lost connection leaves undone are counted, not repeated.",
        member: member!(scenario.churn.calls, some count),
        ..CHURN
    },
    Field {
        name: "connection-rate",
        value: Some("RATE"),
        default: "0 with calls",
        help: "Connection churn: connections to open per second, over all workers",
        long: "Such as `1000` or `5k`, at most `1M`. With 0, a connection is opened when another \
               has closed, and `connections` are open at a time. A `wave` replaces it. Example: \
               `--connection-rate 1000 --calls 10 --linger 0`.",
        member: member!(scenario.churn.connection_rate, some rate),
        ..CHURN
    },
    Field {
        name: "connection-arrival",
        value: Some("LAW"),
        default: "fixed",
        help: "Connection churn: distribution of the gaps between connections",
        long: "The same choices as `arrival`, which applies to the calls of each connection.",
        member: member!(scenario.churn.connection_arrival, parsed),
        ..CHURN
    },
    Field {
        name: "call-rate",
        value: Some("RATE"),
        default: "0 with calls",
        help: "Connection churn: operations per second on each connection",
        long: "The first call is due when the connection is open, the next ones at this rate with \
               the gaps of `arrival`, whether or not replies arrive. With 0, a call is due when an \
               earlier one is answered (see `depth`). At most `1G`.",
        member: member!(scenario.churn.call_rate, some rate),
        ..CHURN
    },
    Field {
        name: "gap-draws",
        value: Some("DRAWS"),
        default: "seed",
        help: "Connection churn: random numbers for the gaps",
        long: "`seed`: derived from the seed, with one stream per connection. \
               `rand48:LOW,MIDDLE,HIGH`: from erand48 of the C library, with these three words (0 \
               to 65535) as its initial state, whatever the seed. Use it to repeat the gaps of a C \
               program. The first connection is then due at once. Draw n is the gap after \
               connection n; the gap after call i of connection n is draw n · (`calls` − 1) + i of \
               the same state. All numbers count from 0.",
        member: member!(scenario.churn.gap_draws, parsed),
        ..CHURN
    },
    Field {
        name: "linger",
        value: Some("TIME"),
        default: "none: close normally",
        help: "Connection churn: how to close connections (SO_LINGER); 0 resets",
        long: "Whole seconds, such as `0` or `2s`, at most `1h`. `0` resets the connection, which \
               frees its local port at once. A longer time lets close wait for unacknowledged \
               data, and the worker waits with it. Without this field, connections close normally \
               and each local port stays in TIME_WAIT for a minute, which limits a run to about \
               28000 connections per minute to one server unless `bind` names several addresses.",
        member: member!(scenario.churn.linger, some span),
        ..CHURN
    },
    Field {
        name: "connections-total",
        value: Some("N"),
        default: "none",
        help: "Connection churn: end the run after this number of connections",
        long: "At least 1, such as `100k`. The run ends when the last of them has closed. With \
               `duration`, the first limit reached ends the run.",
        member: member!(scenario.churn.connections_total, some count),
        ..CHURN
    },
];
