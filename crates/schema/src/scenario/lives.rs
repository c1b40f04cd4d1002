//! Connections as the load: whether a scenario asks for them, and what does not go with them.

use super::{Cooldown, OnFull, RateUnit, Scenario, Sharing, Transport, span_word};
use memtide_base::Span;
use memtide_workload::{Draws, Wave};

/// The highest rate of connections.
const CONNECTION_RATE_MAX: f64 = 1e6;
/// The highest rate of calls on one of them: one each nanosecond.
const CALL_RATE_MAX: f64 = 1e9;
/// Connections of a run, and calls of each, at most; their product numbers operations.
const COUNT_MAX: u64 = 1 << 31;
/// The longest linger.
const LINGER_MAX: Span = Span::from_s(3600);

impl Scenario {
    /// Whether connections come and go as the load, and do not stay for all of the run.
    pub fn is_of_lives(&self) -> bool {
        self.lives.calls.is_some() || self.lives.connection_rate.is_some()
    }

    /// Whether connections come at a rate, and not each when another has ended.
    pub fn has_births_paced(&self) -> bool {
        self.wave != Wave::Constant || self.lives.connection_rate.is_some_and(|rate| rate > 0.0)
    }

    /// Whether their calls come at a rate, and not each when another has ended.
    pub fn has_calls_paced(&self) -> bool {
        self.lives.call_rate.is_some_and(|rate| rate > 0.0)
    }

    /// What is wrong with the fields of connections that are the load.
    pub(super) fn check_lives(&self, mut add: impl FnMut(&'static str, String)) {
        let given = [
            ("call-rate", self.lives.call_rate.is_some()),
            ("connections-total", self.lives.connections_total.is_some()),
            ("linger", self.lives.linger.is_some()),
            ("gap-draws", self.lives.gap_draws != Draws::Seed),
        ];
        if !self.is_of_lives() {
            for (field, _) in given.into_iter().filter(|(_, given)| *given) {
                add(
                    field,
                    format!(
                        "{field} applies to connection churn only: add calls, or remove {field}"
                    ),
                );
            }
            return;
        }
        self.check_life_bounds(&mut add);
        if self.rate.is_some() {
            let what = "rate does not apply under connection churn (calls, connection-rate): use \
                        call-rate and connection-rate";
            add("rate", what.to_owned());
        }
        if self.ops_max.is_some() {
            let what = "ops-max does not apply under connection churn, where each connection makes all \
                        its calls: use connections-total";
            add("ops-max", what.to_owned());
        }
        self.check_life_alone(&mut add);
        if self.schedule == Sharing::Connection {
            let what = "schedule connection is always in effect under connection churn: remove it";
            add("schedule", what.to_owned());
        }
        let waves = self.wave != Wave::Constant;
        if waves && let Some(rate) = self.lives.connection_rate {
            add(
                "connection-rate",
                format!(
                    "connection-rate {rate} is a second rate beside wave {}: remove one of them, and \
                     use calls for connection churn",
                    self.wave
                ),
            );
        }
        self.check_life_gaps(&mut add);
        if self.cooldown == Cooldown::Stop {
            let what = "cooldown stop does not work under connection churn, where each connection \
                        makes all its calls: use drain or load";
            add("cooldown", what.to_owned());
        }
    }

    /// What has no meaning where nothing comes at a rate.
    fn check_life_gaps(&self, add: &mut impl FnMut(&'static str, String)) {
        if self.has_births_paced() || self.has_calls_paced() {
            return;
        }
        if self.lives.gap_draws != Draws::Seed {
            add(
                "gap-draws",
                format!(
                    "gap-draws {} needs a connection-rate or a call-rate: add one, or remove gap-draws",
                    self.lives.gap_draws
                ),
            );
        }
        if self.on_full != OnFull::Queue {
            add(
                "on-full",
                format!(
                    "on-full {} needs a connection-rate or a call-rate: add one, or remove on-full",
                    self.on_full
                ),
            );
        }
    }

    /// What connections that come and go cannot be besides.
    fn check_life_alone(&self, add: &mut impl FnMut(&'static str, String)) {
        let others = [
            ("clients", self.crowd.clients.is_some(), "keeps connections open"),
            ("window", self.crowd.window.is_some(), "keeps connections open"),
            ("transport", self.transport != Transport::Tcp, "opens no TCP connections"),
            ("rate-unit", self.rate_unit == RateUnit::Keys, "needs connections that stay open"),
        ];
        for (field, _, does) in others.into_iter().filter(|(_, given, _)| *given) {
            let what = format!(
                "{field} {does}, but calls and connection-rate are for connection churn: remove \
                 one of them"
            );
            add(field, what);
        }
    }

    /// Single fields against their limits.
    fn check_life_bounds(&self, add: &mut impl FnMut(&'static str, String)) {
        for (field, count) in
            [("calls", self.lives.calls), ("connections-total", self.lives.connections_total)]
        {
            if let Some(count) = count.filter(|count| *count == 0 || *count > COUNT_MAX) {
                add(field, format!("{field} {count} is out of range: use a count from 1 to 2^31"));
            }
        }
        let rates = [
            ("connection-rate", self.lives.connection_rate, CONNECTION_RATE_MAX, "1M"),
            ("call-rate", self.lives.call_rate, CALL_RATE_MAX, "1G"),
        ];
        for (field, rate, most, word) in rates {
            if let Some(rate) = rate.filter(|rate| *rate > most) {
                add(field, format!("{field} {rate} is too high: use at most {word}"));
            }
        }
        let second = 1_000_000_000;
        let bad = |linger: &Span| *linger > LINGER_MAX || !linger.ns().is_multiple_of(second);
        if let Some(linger) = self.lives.linger.filter(bad) {
            add(
                "linger",
                format!(
                    "linger {} is not allowed: use whole seconds from 0 to 1h",
                    span_word(linger)
                ),
            );
        }
    }
}
