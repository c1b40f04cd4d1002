//! The fields of limits: when to stop, and when to give up.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{count, given, given_span, one, span};
use super::{Field, Section, Set, Show};
use crate::scenario::span_word;

pub(super) const DURATION: Field = Field {
    name: "duration",
    short: None,
    value: Some("TIME"),
    default: "10s; none with ops-max or connections-total",
    help: "How long to measure",
    long: "A time with its unit: `500ms`, `30s`, `2m`, `1h`; at most `366d`. Measured are the \
           operations that the \
           schedule wants in this window, which begins after the warm-up; load goes on until \
           each of them has its outcome. With `ops-max` as well, whichever comes first ends the \
           run.",
    section: Section::Limits,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.duration = Some(span(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given_span(scenario.duration)),
};

pub(super) const WARMUP: Field = Field {
    name: "warmup",
    short: None,
    value: Some("TIME"),
    default: "0s",
    help: "How long to load before measuring",
    long: "A time with its unit, such as `5s`. The load is the same as later, and nothing of it is \
           in the result; its counts are kept apart.",
    section: Section::Limits,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.warmup = span(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(span_word(scenario.warmup))),
};

pub(super) const OPS_MAX: Field = Field {
    name: "ops-max",
    short: None,
    value: Some("N"),
    default: "none",
    help: "How many operations to issue",
    long: "A count of at least 1, such as `1M`. Exactly the operations 0 to N−1 of the run's one \
           sequence are issued, whatever the number of workers.",
    section: Section::Limits,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.ops_max = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.ops_max)),
};

pub(super) const TIMEOUT: Field = Field {
    name: "timeout",
    short: None,
    value: Some("TIME"),
    default: "5s",
    help: "How long after its intended instant an operation has its deadline",
    long: "A time with its unit, above 0 and at most 1h. An operation without a complete answer by \
           then has timed out, sent or not; a late answer is discarded and counted. Nothing is \
           ever sent again. When every server is gone for longer than this, the run ends.",
    section: Section::Limits,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.timeout = span(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(span_word(scenario.timeout))),
};
