//! The fields of limits: when to stop, and when to give up.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{count, given, given_span, one, span};
use super::{Field, Section, Set, Show};
use crate::scenario::span_word;

pub(super) const DURATION: Field = Field {
    name: "duration",
    short: None,
    value: Some("TIME"),
    default: "10s; none with ops-max or connections-total",
    help: "How long to measure",
    long: "A time with its unit: `500ms`, `30s`, `2m`, `1h`; at most `366d`. memtide measures the \
           operations that are due in this window, which starts after the warm-up. Load continues \
           until each of them has ended. With `ops-max`, the first limit reached ends the run.",
    section: Section::Load,
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
    long: "A time with its unit, such as `5s`. The load is the same as in the measured window. The \
           result does not include it; the record counts it separately.",
    section: Section::Load,
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
    help: "End the run after this number of operations",
    long: "At least 1, such as `1M`. The run sends exactly this number, whatever the number of \
           workers. With `duration`, the first limit reached ends the run.",
    section: Section::Load,
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
    help: "Count an operation as timed out this long after it was due",
    long: "A time with its unit, above 0 and at most 1h. It applies whether or not the operation \
           was sent. Late replies are discarded and counted. Nothing is sent again. The run ends \
           when every server is gone for longer than this.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.timeout = span(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(span_word(scenario.timeout))),
};
