//! Checks connection churn: whether a scenario uses it, and the fields that exclude it.

use super::check::Problems;
use super::{Cooldown, OnFull, RateUnit, Scenario, Sharing, Transport, span_word};
use memtide_base::Span;
use memtide_workload::{Draws, Wave};

/// Highest rate of connections, per second.
const CONNECTION_RATE_MAX: f64 = 1e6;
/// Highest rate of calls on a connection: one per nanosecond.
const CALL_RATE_MAX: f64 = 1e9;
/// Largest number of connections of a run, and of calls of each; their product numbers operations.
const COUNT_MAX: u64 = 1 << 31;
/// Longest linger.
const LINGER_MAX: Span = Span::from_s(3600);

impl Scenario {
    /// True if the scenario has connection churn: connections are opened and closed as the load.
    pub fn is_churn(&self) -> bool {
        self.churn.calls.is_some() || self.churn.connection_rate.is_some()
    }

    /// True if connections open at a rate; false if each opens when another has ended.
    pub fn has_connection_rate(&self) -> bool {
        self.wave != Wave::Constant || self.churn.connection_rate.is_some_and(|rate| rate > 0.0)
    }

    /// True if calls come at a rate; false if each follows the end of the one before.
    pub fn has_call_rate(&self) -> bool {
        self.churn.call_rate.is_some_and(|rate| rate > 0.0)
    }

    /// Reports contradictions among the fields of connection churn.
    ///
    /// A field contradicts connection churn, where connections are opened, used for some
    /// calls and closed; or it needs it.
    pub(super) fn check_churn(&self, problems: &mut Problems) {
        let fields = [
            ("call-rate", self.churn.call_rate.is_some()),
            ("connections-total", self.churn.connections_total.is_some()),
            ("linger", self.churn.linger.is_some()),
            ("gap-draws", self.churn.gap_draws != Draws::Seed),
        ];
        if !self.is_churn() {
            for (field, differs) in fields {
                if problems.is_set(field, differs) {
                    problems.say(format!(
                        "{field} applies to connection churn only: add calls, or remove {field}"
                    ));
                }
            }
            return;
        }
        self.check_churn_bounds(problems);
        if self.rate.is_some() {
            problems.say(
                "rate does not apply under connection churn (calls, connection-rate): use \
                        call-rate and connection-rate",
            );
        }
        if self.ops_max.is_some() {
            problems.say(
                "ops-max does not apply under connection churn, where each connection makes \
                        all its calls: use connections-total",
            );
        }
        self.check_churn_alone(problems);
        if problems.is_set("schedule", self.schedule == Sharing::Connection) {
            problems.say(format!(
                "schedule {} has no effect under connection churn, where each connection has a \
                     schedule of its own: remove it",
                self.schedule
            ));
        }
        let waves = self.wave != Wave::Constant;
        if waves && let Some(rate) = self.churn.connection_rate {
            problems.say(format!(
                "connection-rate {rate} and wave {} both set the rate: remove one of them, and \
                     use calls for connection churn",
                self.wave
            ));
        }
        self.check_churn_gaps(problems);
        if self.cooldown == Cooldown::Stop {
            problems.say(
                "cooldown stop does not work under connection churn, where each connection \
                        makes all its calls: use drain or load",
            );
        }
    }

    /// Reports fields that have no effect without a rate of connections or calls.
    ///
    /// The field is about gaps, and neither connections nor calls come at a rate.
    fn check_churn_gaps(&self, problems: &mut Problems) {
        if self.has_connection_rate() || self.has_call_rate() {
            return;
        }
        if problems.is_set("gap-draws", self.churn.gap_draws != Draws::Seed) {
            problems.say(format!(
                "gap-draws {} needs a connection-rate or a call-rate: add one, or remove \
                     gap-draws",
                self.churn.gap_draws
            ));
        }
        if problems.is_set("on-full", self.on_full != OnFull::Queue) {
            problems.say(format!(
                "on-full {} needs a connection-rate or a call-rate: add one, or remove on-full",
                self.on_full
            ));
        }
    }

    /// Reports fields that exclude connection churn.
    ///
    /// Under connection churn connections are opened and closed, and the field excludes
    /// that.
    fn check_churn_alone(&self, problems: &mut Problems) {
        let others = [
            ("clients", self.client.clients.is_some(), "keeps connections open"),
            ("window", self.client.window.is_some(), "keeps connections open"),
            ("transport", self.transport != Transport::Tcp, "opens no TCP connections"),
            ("rate-unit", self.rate_unit == RateUnit::Keys, "needs connections that stay open"),
        ];
        for (field, _, does) in others.into_iter().filter(|(_, given, _)| *given) {
            problems.say(format!(
                "{field} {does}, but calls and connection-rate are for connection churn: remove \
                 one of them"
            ));
        }
    }

    /// Checks single fields against their limits.
    ///
    /// A number or time of connection churn is outside the range that memtide accepts.
    fn check_churn_bounds(&self, problems: &mut Problems) {
        for (field, count) in
            [("calls", self.churn.calls), ("connections-total", self.churn.connections_total)]
        {
            if let Some(count) = count.filter(|count| *count == 0 || *count > COUNT_MAX) {
                problems
                    .say(format!("{field} {count} is out of range: use a count from 1 to 2^31"));
            }
        }
        let rates = [
            ("connection-rate", self.churn.connection_rate, CONNECTION_RATE_MAX, "1M"),
            ("call-rate", self.churn.call_rate, CALL_RATE_MAX, "1G"),
        ];
        for (field, rate, most, word) in rates {
            if let Some(rate) = rate.filter(|rate| *rate > most) {
                problems.say(format!("{field} {rate} is too high: use at most {word}"));
            }
        }
        let second = 1_000_000_000;
        if let Some(linger) = self.churn.linger
            && (linger > LINGER_MAX || !linger.ns().is_multiple_of(second))
        {
            problems.say(format!(
                "linger {} is not allowed: use whole seconds from 0 to 1h",
                span_word(linger)
            ));
        }
    }
}
