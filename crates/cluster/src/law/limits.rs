//! Numeric limits of a share: compares the share's amounts with those that the operator allows.
//!
//! A rate counts with the highest value that the scenario's schedule reaches.

use super::Asked;
use memtide_base::Span;
use memtide_base::units::{format_count, format_span};
use memtide_scenario::Scenario;
use memtide_scenario::{Load, Replicate};

/// The tolerance for a share of a rate, which is rarely exact as a float.
const ROUNDING: f64 = 1e-9;

/// The numeric limit that a message names.
pub(super) struct Limit {
    /// The name of the flag and of the key.
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// The remedy, as the end of a sentence.
    pub(super) remedy: &'static str,
}

impl Limit {
    /// Compares the requested amount with the limit; `word` formats both.
    pub(super) fn check<T: PartialOrd>(
        &self,
        asked: T,
        most: Option<T>,
        word: impl Fn(&T) -> String,
    ) -> Result<(), String> {
        let Self { name, unit, remedy } = self;
        match most {
            Some(most) if asked > most => Err(format!(
                "the share asks for {} {unit} on this agent, which allows {} ({name}); {remedy}",
                word(&asked),
                word(&most)
            )),
            _ => Ok(()),
        }
    }
}

/// Checks that the load has a rate, and that this agent's part of it is at most `most`.
pub(super) fn check_rate(most: f64, asked: &Asked<'_>) -> Result<(), String> {
    let scenario = &asked.settings.scenario;
    let allowed = format!("this agent allows {} operations/s (rate-max)", format_count(most));
    if asked.load_only || scenario.load != Load::Never {
        return Err(format!(
            "a fill is as fast as the servers answer, and {allowed}; fill the servers from \
             another machine and add load never, or start the agent without --rate-max"
        ));
    }
    let peak = peak(scenario).map_err(|how| {
        format!("{how}, and {allowed}; add a rate, or start the agent without --rate-max")
    })?;
    let own = peak * asked.own_part;
    if own <= most * (1.0 + ROUNDING) {
        return Ok(());
    }
    let (word, same) = (format_count(own), format_count(own) == format_count(most));
    let word = if same { own.to_string() } else { word };
    Err(format!(
        "the share asks for up to {word} operations/s on this agent, and {allowed}; lower the \
         rate, use more agents, or start the agent with a higher --rate-max"
    ))
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
pub(super) fn check_duration(most: Span, asked: &Asked<'_>) -> Result<(), String> {
    if asked.load_only {
        return Ok(());
    }
    let scenario = &asked.settings.scenario;
    let allowed = format!("this agent allows {} (duration-max)", format_span(most));
    let Some(duration) = scenario.duration else {
        return Err(format!(
            "the scenario has no duration, so its load has no end, and {allowed}; add a duration"
        ));
    };
    let length = duration + scenario.warmup;
    if length <= most {
        return Ok(());
    }
    Err(format!(
        "the load with its warm-up takes {}, and {allowed}; use a shorter duration, or start the \
         agent with a higher --duration-max",
        format_span(length)
    ))
}
