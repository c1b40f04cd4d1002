//! Numeric limits of an agent: a row for each says its flag, its key, and how a share is compared
//! with it.
//!
//! A rate counts with the highest value that the scenario's schedule reaches.

use super::Asked;
use memtide_base::Span;
use memtide_base::units::{
    UnitError, format_bytes, format_count, format_span, parse_count, parse_rate, parse_size,
    parse_span,
};
use memtide_scenario::{Load, RateUnit, Replicate, Scenario};

/// The tolerance for a share of a rate, which is rarely exact as a float.
const ROUNDING: f64 = 1e-9;
/// The name of the limit of connections.
pub(super) const CONNECTIONS: &str = "connections-max";

/// A numeric limit of an agent. Every amount is a number above 0; a time counts in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The name of the flag, and of the key in a join file.
    pub name: &'static str,
    /// The form of its word in help.
    pub value: &'static str,
    /// Subject of the limit, for help.
    pub help: &'static str,
    parse: fn(&str) -> Result<f64, UnitError>,
    check: fn(f64, &Asked<'_>) -> Result<(), String>,
}

/// The numeric limits of an agent.
pub const LIMITS: [Limit; 6] = [
    Limit {
        name: "rate-max",
        value: "N",
        help: "Most operations, and most keys, per second of this agent; excludes closed loops",
        parse: parse_rate,
        check: check_rate,
    },
    Limit {
        name: "duration-max",
        value: "TIME",
        help: "Longest run, warm-up included",
        parse: |word| Ok(parse_span(word)?.ns() as f64),
        check: check_duration,
    },
    Limit {
        name: CONNECTIONS,
        value: "N",
        help: "Most connections of this agent",
        parse: |word| Ok(parse_count(word)? as f64),
        check: |most, asked| {
            check_amount(CONNECTIONS, asked.connections as f64, most, |count| {
                format!("{count} connections")
            })
        },
    },
    Limit {
        name: "threads-max",
        value: "N",
        help: "Most threads",
        parse: |word| Ok(parse_count(word)? as f64),
        check: |most, asked| {
            check_amount("threads-max", asked.threads as f64, most, |count| {
                format!("{count} threads")
            })
        },
    },
    Limit {
        name: "memory-max",
        value: "BYTES",
        help: "Most memory that a run may need, as estimated before it starts",
        parse: |word| Ok(parse_size(word)? as f64),
        check: |most, asked| {
            check_amount("memory-max", asked.memory_bytes as f64, most, |bytes| {
                format!("{} of memory", format_bytes(bytes as u64))
            })
        },
    },
    Limit {
        name: "value-size-max",
        value: "BYTES",
        help: "Largest value that the scenario may send or store",
        parse: |word| Ok(parse_size(word)? as f64),
        check: |most, asked| {
            let scenario = &asked.settings.scenario;
            let largest = scenario.value_size.largest(scenario.value_max);
            check_amount("value-size-max", largest as f64, most, |bytes| {
                format!("values of up to {}", format_bytes(bytes as u64))
            })
        },
    },
];

impl Limit {
    /// The amount that an operator's word allows.
    pub(super) fn parsed(&self, word: &str) -> Result<f64, String> {
        let Self { name, parse, .. } = self;
        match parse(word) {
            Ok(most) if most > 0.0 && most.is_finite() => Ok(most),
            Ok(_) => Err(format!("{name}: '{word}' would allow no run; give more than 0")),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }

    /// Checks that a share asks for at most this.
    pub(super) fn check(&self, most: f64, asked: &Asked<'_>) -> Result<(), String> {
        (self.check)(most, asked)
    }
}

/// Compares a planned amount with the limit called `name`; `word` formats both.
fn check_amount(
    name: &str,
    asked: f64,
    most: f64,
    word: impl Fn(f64) -> String,
) -> Result<(), String> {
    if asked <= most {
        return Ok(());
    }
    Err(format!(
        "the share asks for {} on this agent, which allows {} ({name}); ask for less, use more \
         agents, or start the agent with a higher limit",
        word(asked),
        word(most)
    ))
}

/// Checks that the load has a rate, and that this agent's part of it is at most `most`, in
/// operations and in keys.
fn check_rate(most: f64, asked: &Asked<'_>) -> Result<(), String> {
    let scenario = &asked.settings.scenario;
    let keys = keys_per_operation(scenario);
    let unit = if keys > 1.0 { "keys" } else { "operations" };
    let allowed = format!("this agent allows {} {unit}/s (rate-max)", format_count(most));
    if asked.load_only || scenario.load != Load::Never {
        return Err(format!(
            "a fill is as fast as the servers answer, and {allowed}; fill the servers from \
             another machine before, or start the agent without this limit"
        ));
    }
    let peak = peak(scenario).map_err(|how| {
        format!("{how}, and {allowed}; add a rate, or start the agent without this limit")
    })?;
    let own = peak * keys * asked.own_part;
    if own <= most * (1.0 + ROUNDING) {
        return Ok(());
    }
    let (word, same) = (format_count(own), format_count(own) == format_count(most));
    let word = if same { own.to_string() } else { word };
    Err(format!(
        "the share asks for up to {word} {unit}/s on this agent, and {allowed}; lower the rate, \
         use more agents, or start the agent with a higher limit"
    ))
}

/// The mean number of keys of what the scenario's rate counts: operations, or keys.
fn keys_per_operation(scenario: &Scenario) -> f64 {
    if scenario.rate_unit == RateUnit::Keys {
        return 1.0;
    }
    let kinds = scenario.mix.kinds().filter(|kind| kind.allows_many_keys());
    let many: f64 = kinds.map(|kind| scenario.mix.share(kind)).sum();
    1.0 + many * scenario.multiget_share * f64::from(scenario.multiget.saturating_sub(1))
}

/// The highest rate of the whole run, in operations per second, with copies of writes. The error
/// says why there is none.
fn peak(scenario: &Scenario) -> Result<f64, &'static str> {
    let of_wave = scenario.wave.peak();
    if scenario.is_churn() {
        if !scenario.has_connection_rate() {
            return Err("the scenario has calls without a connection-rate, so its rate has no \
                        limit");
        }
        let connections = of_wave.or(scenario.churn.connection_rate).unwrap_or_default();
        return Ok(connections * scenario.churn.calls.unwrap_or(1) as f64);
    }
    let rate = of_wave.or(scenario.rate).unwrap_or_default();
    // A step's rate is a number, not a parsed word, so it may have any value.
    if rate.is_nan() || rate <= 0.0 {
        return Err("the scenario has no rate, so its load is as fast as the servers answer");
    }
    // With a rate of keys, each operation is at least one key.
    Ok(rate * copies(scenario))
}

/// The most times that an operation is sent: a write may go to every writer.
fn copies(scenario: &Scenario) -> f64 {
    let replication = scenario.replication;
    match (replication.writers, replication.replicate) {
        (Some(writers), None | Some(Replicate::All)) => f64::from(writers.max(1)),
        _ => 1.0,
    }
}

/// Checks that the load ends within `most`. A fill is not part of the load.
fn check_duration(most_ns: f64, asked: &Asked<'_>) -> Result<(), String> {
    if asked.load_only {
        return Ok(());
    }
    let scenario = &asked.settings.scenario;
    let most = Span::from_ns(most_ns as u64);
    let allowed = format!("this agent allows {} (duration-max)", format_span(most));
    let longest = (!scenario.precision.is_empty()).then(|| scenario.at_most());
    let Some(duration) = longest.or(scenario.duration) else {
        return Err(format!(
            "the scenario has no duration, so its load has no end, and {allowed}; add a duration"
        ));
    };
    let length = duration + scenario.warmup.longest(Some(duration));
    if length <= most {
        return Ok(());
    }
    Err(format!(
        "the load with its warm-up takes {}, and {allowed}; use a shorter duration, or start the \
         agent with a higher limit",
        format_span(length)
    ))
}
