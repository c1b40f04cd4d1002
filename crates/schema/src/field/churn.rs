//! The fields of connections that are the load: when they come, what each does, how it ends.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{count, given, given_span, one, parsed, span};
use super::{Field, Section, Set, Show};
use memtide_base::units;

pub(super) const CALLS: Field = Field {
    name: "calls",
    short: None,
    value: Some("N"),
    default: "1 with connection-rate, else connections stay",
    help: "Connections are the load: each makes so many calls and is closed",
    long: "A count of at least 1. With this field, or `connection-rate`, connections do not stay: \
           each is opened when its turn comes, makes so many calls and is closed. A connect has \
           an intended instant like an operation, so one that starts late, or finds all \
           `connections` places taken (see `on-full`), shows in its response time. Calls are \
           operations like all others. What a lost connection leaves unmade is not made up for, \
           and counted.",
    section: Section::Load,
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
    help: "Connections are the load: so many come per second, over all workers",
    long: "Connections per second, such as `1000` or `5k`, at most `1M`. With 0 the next one is \
           opened when one before it has ended, as many at a time as `connections` says. A `wave` \
           replaces it. Example: `--connection-rate 1000 --calls 10 --linger 0`.",
    section: Section::Load,
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
    help: "The law of the gaps between connections that are the load",
    long: "The words of `arrival`, which is the law of the gaps between the calls of a \
           connection.",
    section: Section::Load,
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
    help: "Calls per second on each connection that is the load",
    long: "The first call is due when the connection is open, the others at this rate with the \
           gaps of `arrival`, whatever the answers do. With 0 a call is due when an earlier one \
           has its answer (see `depth`). At most `1G`.",
    section: Section::Load,
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
    help: "How the gaps of connections that are the load are drawn",
    long: "`seed`: they are a function of the seed, and each connection has a stream of its own. \
           `rand48:LOW,MIDDLE,HIGH`: as a C program draws them with erand48, whose state begins \
           with these three words from 0 to 65535, whatever the seed. The first connection is then \
           due at once, and draw n is the gap behind connection n; behind call i of connection n, \
           both counted from 0, the gap is draw n · (`calls` − 1) + i of the same state.",
    section: Section::Load,
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
    default: "none: in good order",
    help: "How connections that are the load are closed; 0 resets them",
    long: "Whole seconds, such as `0` or `2s`, at most `1h`: the socket option SO_LINGER. `0` \
           resets the connection, which frees its local port at once. More lets the close take so \
           long for what is not acknowledged, and the worker waits meanwhile. Without it \
           connections are closed in good order, and each local port stays taken for a minute: \
           about 28000 connections to one server in that time, unless `bind` names several \
           addresses.",
    section: Section::Load,
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
    help: "How many connections to make where they are the load",
    long: "A count of at least 1, such as `100k`. The run ends when the last of them has ended. \
           With `duration` as well, whichever comes first ends the run.",
    section: Section::Limits,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.churn.connections_total = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.churn.connections_total)),
};
