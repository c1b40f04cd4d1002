//! Checks for combinations of fields that no machine could run, or that contradict each other.
//!
//! Each problem is a sentence that names the field, what is allowed, and what to do. Checks that
//! need knowledge of the machine are made with the plan.

mod clients;
mod transport;

use super::{
    Cooldown, Given, Matching, NumericKeys, OnFull, Protocol, Refill, Scenario, Subject, Transport,
    VALUE_MAX_BYTES, ValueFill, Warmup, span_word,
};
use crate::kind::Kind;
use memtide_base::Span;
use memtide_metrics::series::ROWS_ASKED_MAX;
use memtide_workload::{KeySpace, OpKind, SizeLaw, Wave};
use std::fmt;

/// Largest number of workers.
const THREADS_MAX: u32 = 1024;
/// Largest number of connections to one server.
const CONNECTIONS_MAX: u32 = 1_000_000;
/// Largest pipeline depth.
pub const DEPTH_MAX: u32 = 65_536;
/// Largest number of servers.
const SERVERS_MAX: usize = 1024;
/// Longest time that histograms resolve, and so the longest useful timeout.
pub const TIMEOUT_MAX: Span = Span::from_s(3600);
/// Longest warm-up and longest window: a year.
const DURATION_MAX: Span = Span::from_s(366 * 86_400);
/// In runs that are shorter, a warm-up is not looked for unless it is asked for.
const BRIEF: Span = Span::from_s(5);
const BRIEF_BY_AGENTS: Span = Span::from_s(10);
/// Longest window of a run that ends when its figures are narrow, if nothing else is said.
const AT_MOST: Span = Span::from_s(300);
/// Highest rate: one operation per nanosecond.
const RATE_MAX: f64 = 1e9;
/// Shortest width of rows over time.
const INTERVAL_MIN: Span = Span::from_ms(10);
/// Largest number of rows over time that a worker keeps open, if the scenario sets their width.
const INTERVALS_OPEN_MAX: u64 = 1024;
/// Largest number of keys.
const KEYS_MAX: u64 = 1_000_000_000_000;
/// Largest number of keys whose versions are tracked.
const VERIFY_KEYS_MAX: u64 = 100_000_000;
/// Largest value that memcached can be configured to accept.
const VALUE_MAX: u64 = 1 << 30;

/// A combination that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the field to change.
    pub field: String,
    /// The fault, what is allowed, and what to do: a sentence that names the field.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Scenario {
    /// True if a connection has at most one operation outstanding.
    fn has_depth_one(&self) -> bool {
        let has_usually = self.is_closed_loop() || self.transport != Transport::Tcp;
        self.client.clients.is_some() || self.depth.map_or(has_usually, |depth| depth == 1)
    }

    /// All problems that make this scenario impossible on any machine; empty if there are none.
    pub fn check(&self) -> Vec<Problem> {
        self.problems(&Given::default()).found
    }

    /// The problems of this scenario, of which its user set the fields `given`.
    pub(super) fn problems(&self, given: &Given) -> Problems {
        let mut problems = Problems::new(given);
        self.check_bounds(&mut problems);
        self.check_warmup(&mut problems);
        self.check_precision(&mut problems);
        self.check_credentials(&mut problems);
        self.check_transport(&mut problems);
        self.check_tls(&mut problems);
        self.check_replication(&mut problems);
        self.check_load(&mut problems);
        self.check_clients(&mut problems);
        self.check_window(&mut problems);
        self.check_expiry(&mut problems);
        self.check_churn(&mut problems);
        self.check_data(&mut problems);
        self.check_wire(&mut problems);
        self.check_intervals(&mut problems);
        self.check_verification(&mut problems);
        self.check_conditions(&mut problems);
        self.check_goals(&mut problems);
        problems
    }

    /// Checks that a warm-up can be found, if it is to be.
    ///
    /// Only a load that is the same all the time, and that ends by time, has a transient
    /// that can be told from the rest.
    fn check_warmup(&self, problems: &mut Problems) {
        if let Some(with) = self.unsteady().filter(|_| self.warmup == Warmup::Auto) {
            problems.say(format!("warmup auto is not possible with {with}: use a time such as 2s"));
        }
    }

    /// What makes the load change all the time, or end by something else than time, if anything.
    fn unsteady(&self) -> Option<&'static str> {
        if self.is_churn() {
            Some("connection churn")
        } else if self.ops_max.is_some() {
            Some("ops-max")
        } else {
            (self.wave != Wave::Constant).then_some("a wave")
        }
    }

    /// True if the load is not the same all the time, or does not end by time.
    pub(super) fn is_unsteady(&self) -> bool {
        self.unsteady().is_some()
    }

    /// True if the run is asked to be so short that hardly a warm-up could be found in it. Agents
    /// learn of its end by a message.
    pub fn is_brief(&self, by_agents: bool) -> bool {
        let longest = if self.precision.is_empty() { self.duration } else { Some(self.at_most()) };
        longest.is_some_and(|duration| duration < if by_agents { BRIEF_BY_AGENTS } else { BRIEF })
    }

    /// The longest window that `precision` may take.
    pub fn at_most(&self) -> Span {
        self.at_most.unwrap_or(AT_MOST)
    }

    /// What makes it impossible to end the window when figures are known, if anything.
    fn never_known(&self) -> Option<&'static str> {
        self.unsteady().or_else(|| (self.cooldown != Cooldown::Load).then_some("this cooldown"))
    }

    /// True if the window could end when figures are known.
    pub(super) fn can_end_when_known(&self) -> bool {
        self.never_known().is_none()
    }

    /// Checks that figures can become as narrow as asked, and that nothing else ends the window.
    ///
    /// The window ends when the figures are known as narrowly as asked, and another field
    /// ends it too, or makes its parts differ.
    fn check_precision(&self, problems: &mut Problems) {
        if self.precision.is_empty() {
            if let Some(most) = self.at_most {
                problems.say(self.alone(&span_word(most)));
            }
            return;
        }
        let with = if let Some(with) = self.never_known() {
            with
        } else if self.duration.is_some_and(|duration| {
            // A decided scenario has both, and they are the same.
            problems.is_set("duration", duration != self.at_most())
        }) {
            "duration, because it decides how long to measure: use at-most for the longest time"
        } else {
            return;
        };
        problems.say(format!("precision is not possible with {with}"));
    }

    /// Reason why `at-most` cannot stand without a precision.
    fn alone(&self, most: &str) -> String {
        match self.never_known() {
            None => format!("at-most {most} needs precision: add one such as 'p99 5%'"),
            Some(with) => format!(
                "at-most {most} needs precision, which is not possible with {with}: use duration \
                 instead"
            ),
        }
    }

    /// Checks single fields against their limits.
    ///
    /// A number, time or size is outside the range that memtide accepts.
    fn check_bounds(&self, problems: &mut Problems) {
        problems.count("threads", self.threads, THREADS_MAX);
        problems.count("connections", self.connections, CONNECTIONS_MAX);
        problems.count("depth", self.depth, DEPTH_MAX);
        if self.servers.len() > SERVERS_MAX {
            let given = self.servers.len();
            problems.add("server", format!("{given} servers are too many: name at most 1024"));
        }
        if self.duration == Some(Span::ZERO) {
            problems.say("duration 0 measures nothing: use a time such as 10s");
        }
        if self.at_most == Some(Span::ZERO) {
            problems.say("at-most 0 measures nothing: use a time such as 5m");
        }
        let warmup = Some(self.warmup.longest(self.duration));
        let spans = [("duration", self.duration), ("at-most", self.at_most), ("warmup", warmup)];
        for (field, span) in spans {
            if let Some(span) = span.filter(|span| *span > DURATION_MAX) {
                let given = span_word(span);
                problems.say(format!("{field} {given} is too long: use at most 366d"));
            }
        }
        if let Some(rate) = self.rate.filter(|rate| *rate > RATE_MAX) {
            problems.say(format!("rate {rate} is too high: use at most 1G"));
        }
        if self.ops_max == Some(0) {
            problems.say("ops-max 0 measures nothing: use a count such as 1M");
        }
        if self.timeout.is_zero() || self.timeout > TIMEOUT_MAX {
            let given = span_word(self.timeout);
            problems
                .say(format!("timeout {given} is out of range: use a time above 0 and at most 1h"));
        }
        if self.pause_after_reply > TIMEOUT_MAX {
            let given = span_word(self.pause_after_reply);
            problems.say(format!("pause-after-reply {given} is too long: use at most 1h"));
        }
        if self.value_max == 0 || self.value_max > VALUE_MAX {
            let given = size_word(self.value_max);
            problems.say(format!("value-max {given} is out of range: use a size from 1 to 1GiB"));
        }
        if self.keys == 0 || self.keys > KEYS_MAX {
            let given = self.keys;
            problems.say(format!("keys {given} is out of range: use a count from 1 to 1000G"));
        }
    }

    /// Checks credentials against servers, protocol and server commands.
    ///
    /// Credentials are incomplete, or cannot be sent as the other fields ask.
    fn check_credentials(&self, problems: &mut Problems) {
        let alone = match (&self.user, &self.password) {
            (Some(_), None) => Some(("user", "password")),
            (None, Some(_)) => Some(("password", "user")),
            _ => None,
        };
        if let Some((given, missing)) = alone {
            problems.say(format!("{given} needs {missing}: give both"));
        }
        let has_space = self.password.as_ref().is_some_and(|word| word.reveal().contains(' '));
        if has_space && self.protocol != Protocol::Binary {
            problems.say(format!(
                "password contains a space, which protocol {} cannot send: use protocol binary \
                 or another password",
                self.protocol
            ));
        }
        let lines = [("before", &self.before), ("after", &self.after)];
        if let Some((field, _)) = lines.into_iter().find(|(_, line)| line.is_some())
            && self.user.is_some()
            && self.protocol == Protocol::Binary
        {
            problems.say(format!(
                "{field} is sent as text, which a server that requires user over protocol \
                     binary refuses: remove one of them"
            ));
        }
        if self.user.is_some() && self.servers.is_empty() {
            problems.say(
                "user has no effect on the embedded server, which needs no authentication: name a \
                 server, or remove user",
            );
        }
    }

    /// Checks rate, wave, stop rule and connections against each other.
    ///
    /// Rate, wave, duration and threads contradict each other, or one of them has no effect.
    fn check_load(&self, problems: &mut Problems) {
        let waves = self.wave != Wave::Constant;
        if waves && let Some(rate) = self.rate {
            let both = match rate {
                0.0 => format!("rate 0 is a closed loop, which cannot follow wave {}", self.wave),
                _ => format!("rate {rate} and wave {} both set the rate", self.wave),
            };
            problems.add("rate", format!("{both}: remove one of them"));
        }
        if matches!(self.wave, Wave::Ramp { .. })
            && self.duration.is_none()
            && (self.ops_max.is_some() || self.churn.connections_total.is_some())
        {
            problems.add("duration", format!("wave {} needs a duration: add one", self.wave));
        }
        let sets_full = problems.is_set("on-full", self.on_full != OnFull::Queue);
        if sets_full && self.is_closed_loop() && !self.is_churn() {
            problems.say(format!(
                "on-full {} has no effect in a closed loop: use a rate above 0, or remove \
                     on-full",
                self.on_full
            ));
        }
        if let (Some(threads), Some(connections)) = (self.threads, self.connections) {
            let all = u64::from(connections) * self.servers.len().max(1) as u64;
            if all > 0 && u64::from(threads) > all {
                problems.say(format!(
                    "threads {threads} is more than the {all} connections, and each worker \
                         needs one: use at most {all} threads, or more connections"
                ));
            }
        }
    }

    /// Checks keys, values and mix against each other.
    ///
    /// Keys, values and operations do not fit together.
    fn check_data(&self, problems: &mut Problems) {
        let (keys, size) = (self.keys.max(1), self.key_size.clone());
        if let Err(error) = KeySpace::in_shape(self.key_shape.clone(), keys, size, self.seed) {
            problems.say(format!("key-size {}: {error}", self.key_size));
        }
        let (low, high) = self.value_size.bounds();
        if high.unwrap_or(low) > self.value_max {
            problems.say(format!(
                "value-size {} is above value-max {}: use smaller values, or raise value-max \
                     (beyond {} also memcached's -I)",
                self.value_size,
                size_word(self.value_max),
                size_word(VALUE_MAX_BYTES)
            ));
        }
        if self.multiget == 0 {
            problems.say("multiget 0 requests no key: use a count of at least 1");
        } else if self.multiget > 1 && !self.mix.kinds().any(OpKind::allows_many_keys) {
            problems.say(format!(
                "multiget {} needs get or gets in the mix, which is {}: add one, or remove \
                     multiget",
                self.multiget, self.mix
            ));
        }
        if problems.is_set("multiget-share", self.multiget_share < 1.0) && self.multiget == 1 {
            problems.say(format!(
                "multiget-share {} needs a multiget above 1: add one, or remove multiget-share",
                self.multiget_share
            ));
        }
        let has_quiet = self.mix.kinds().any(|kind| {
            let alone = kind == OpKind::Cas && self.wire.cas_unique.is_some();
            (kind.allows_noreply() || alone)
                && (self.protocol == Protocol::Text || kind != OpKind::Touch)
        });
        if self.noreply && !has_quiet {
            problems.say(format!(
                "noreply needs an operation that supports it, and mix {} has none: add one \
                     such as set, or remove noreply",
                self.mix
            ));
        }
    }

    /// Checks the fields that only the meta protocol has, and those that it excludes.
    ///
    /// The meta protocol cannot carry these requests in this way.
    fn check_meta(&self, problems: &mut Problems) {
        let alone: Vec<&str> =
            self.mix.kinds().filter(|kind| kind.is_meta_only()).map(OpKind::name).collect();
        if self.protocol != Protocol::Meta {
            if !alone.is_empty() {
                problems.say(format!(
                    "mix {} needs protocol meta for {}: use protocol meta, or remove them from mix",
                    self.mix,
                    alone.join(", ")
                ));
            }
            if !self.wire.item_flags.is_empty() {
                problems.say(format!(
                    "meta-flags {} needs protocol meta: use it, or remove meta-flags",
                    self.wire.item_flags
                ));
            }
            if self.wire.matching == Matching::Opaque {
                problems.say(format!(
                    "match opaque needs protocol meta, since protocol {} has no opaques to choose: \
                     use protocol meta, or remove match",
                    self.protocol
                ));
            }
            return;
        }
        if self.transport != Transport::Tcp && alone.contains(&"recache") {
            problems.say(format!(
                "recache in mix cannot be sent over transport {}: remove it, or use transport tcp",
                self.transport
            ));
        }
        if self.replication.writers.is_some() && !alone.is_empty() {
            problems.say(format!(
                "{} in mix cannot go to several writers: remove them, or remove writers",
                alone.join(", ")
            ));
        }
        const STALE_S_MAX: u32 = 2_592_000;
        if self.wire.stale_s > STALE_S_MAX {
            problems.say(format!(
                "stale-time {} is above {STALE_S_MAX} seconds, which memcached takes for a time of \
                 day: use less",
                self.wire.stale_s
            ));
        }
        if self.wire.matching == Matching::Opaque && self.multiget > 1 {
            problems.say(format!(
                "match opaque needs single keys, because the reply that ends a multiget has no \
                 opaque: remove multiget {}, or use match order",
                self.multiget
            ));
        }
        if self.transport != Transport::Tcp && self.multiget > 1 {
            problems.say(format!(
                "multiget {} cannot be sent with protocol meta over transport {}, where each \
                 command is a request of its own: remove multiget, or use protocol text",
                self.multiget, self.transport
            ));
        }
        if self.transport == Transport::Udp && self.noreply {
            problems.say(
                "noreply cannot be sent with protocol meta over transport udp, where a quiet \
                 command may still be answered: remove noreply, or use transport tcp",
            );
        }
    }

    /// Checks the fields of requests and sockets against mix, protocol and servers.
    ///
    /// A field about requests or sockets is out of range, or has no effect with this mix or
    /// protocol.
    fn check_wire(&self, problems: &mut Problems) {
        if self.wire.refill == Refill::Whole && self.has_depth_one() {
            problems.say(
                "refill whole has no effect with one operation in flight per connection: use a \
                 depth above 1, or remove refill",
            );
        }
        if self.key_shape.first > KEYS_MAX {
            let given = self.key_shape.first;
            problems.say(format!("key-first {given} is too high: use at most 1000G"));
        }
        let buffers = [
            ("send-buffer", self.sockets.send_buffer_bytes),
            ("receive-buffer", self.sockets.receive_buffer_bytes),
        ];
        for (field, given) in buffers {
            if let Some(given) = given.filter(|&given| given > VALUE_MAX) {
                let given = size_word(given);
                problems.say(format!("{field} {given} is too large: use at most 1GiB"));
            }
        }
        if self.wire.trailing_blank && self.protocol != Protocol::Text {
            problems.say(match self.protocol {
                Protocol::Binary => {
                    "trailing-space applies to lines, and protocol binary has none: remove one of \
                     them"
                }
                _ => "trailing-space needs protocol text: remove one of them",
            });
        }
        self.check_meta(problems);
        let numbers = self.mix.uses_numeric();
        let names_cas = self.mix.kinds().any(|kind| kind == OpKind::Cas);
        let one = SizeLaw::fixed(1);
        let needs = [
            ("delta", self.delta != one, numbers, "incr or decr"),
            ("numeric-keys", self.numeric_keys != NumericKeys::Own, numbers, "incr or decr"),
            ("cas-unique", self.wire.cas_unique.is_some(), names_cas, "cas"),
        ];
        for (field, differs, has_it, what) in needs {
            if problems.is_set(field, differs) && !has_it {
                let mix = &self.mix;
                problems.say(format!(
                    "{field} applies to {what}, and mix {mix} has none: add one, or remove \
                         {field}"
                ));
            }
        }
        let hides = [
            ("value-fill", self.value_fill != ValueFill::Drawn),
            ("cas-unique", self.wire.cas_unique.is_some()),
        ];
        for (field, is_given) in hides {
            if is_given && self.verify > 0.0 {
                problems.say(format!(
                    "{field} makes values that verify cannot tell apart: remove one of them"
                ));
            }
        }
    }

    /// Checks the width of rows over time against the window that they divide.
    ///
    /// Rows over time would be too long, too short or too many, or would hold nothing.
    fn check_intervals(&self, problems: &mut Problems) {
        if self.interval_times && !self.mix.kinds().any(|kind| kind == OpKind::Get) {
            problems.say(format!(
                "interval-times applies to get, and mix {} has none: add get, or remove \
                     interval-times",
                self.mix
            ));
        }
        let Some(interval) = self.interval else { return };
        let given = span_word(interval);
        if interval < INTERVAL_MIN || interval > DURATION_MAX {
            problems.say(format!("interval {given} is out of range: use a time from 10ms to 366d"));
            return;
        }
        let limits = [
            ("duration", self.duration.unwrap_or(Span::ZERO), ROWS_ASKED_MAX as u64),
            ("timeout", self.timeout, INTERVALS_OPEN_MAX),
        ];
        for (what, whole, most) in limits {
            let least = Span::from_ns(whole.ns().div_ceil(most));
            if interval < least {
                problems.say(format!(
                    "interval {given} is too short for {what} {}, which may have at most \
                         {most} intervals: use at least {}",
                    span_word(whole),
                    span_word(least)
                ));
            }
        }
    }

    /// Checks verification against the mix.
    ///
    /// Values cannot be checked with this mix, or too many keys would be tracked.
    fn check_verification(&self, problems: &mut Problems) {
        if self.verify_keys == 0 || self.verify_keys > VERIFY_KEYS_MAX {
            let given = self.verify_keys;
            problems
                .say(format!("verify-keys {given} is out of range: use a count from 1 to 100M"));
        }
        if self.verify == 0.0 {
            return;
        }
        if self.mix.kinds().any(OpKind::lengthens_value) {
            problems.say(format!(
                "verify cannot check values that append and prepend have changed, and mix {} \
                     has one of them: remove it from the mix, or remove verify",
                self.mix
            ));
        }
        if self.numeric_keys == NumericKeys::Shared && self.mix.uses_numeric() {
            problems.say(format!(
                "verify cannot check values that incr and decr have changed, and mix {} has one \
                     of them: use numeric-keys own, or remove verify",
                self.mix
            ));
        }
        if !self.mix.reads() {
            problems.say(format!(
                "verify needs an operation that reads, and mix {} has none: add one such as \
                     get, or remove verify",
                self.mix
            ));
        }
    }

    /// Checks that conditions can hold while the load runs.
    ///
    /// Errors count as answers, so a condition about errors would never hold; or the figure
    /// is known only at the end of the run.
    fn check_conditions(&self, problems: &mut Problems) {
        if let Some(condition) =
            self.trust.abort_on.iter().find(|condition| !condition.subject.is_of_second())
        {
            problems.say(format!(
                "abort-on {condition} needs a figure that is known while the load runs: use times, \
                 rate, errors or answered, or goal for the end of the run"
            ));
        }
        let mut conditions = self.trust.abort_on.iter();
        if self.count_refused
            && let Some(condition) = conditions.find(|it| matches!(it.subject, Subject::Errors))
        {
            problems.say(format!(
                "abort-on {condition} counts errors second by second, where count-refused makes \
                 them answers: remove one of them"
            ));
        }
    }

    /// Checks goals against the mix.
    ///
    /// No operation of this run has the times that a goal or condition is about.
    fn check_goals(&self, problems: &mut Problems) {
        let goals = self.goals.iter().map(|goal| (format!("goal {goal}"), goal.subject));
        let conditions = self.trust.abort_on.iter();
        let conditions = conditions.map(|goal| (format!("abort-on {goal}"), goal.subject));
        let precision = self.precision.iter().map(|of| (format!("precision {of}"), of.subject));
        for (named, subject) in goals.chain(conditions).chain(precision) {
            let Subject::Response { kind, .. } = subject else { continue };
            let Some(op) = kind.op() else { continue };
            if !self.mix.kinds().any(|kind| kind == op) {
                problems.say(format!(
                    "{named} needs {kind}, and mix {} has none: use all or one of {}",
                    self.mix,
                    self.mix.kinds().map(OpKind::name).collect::<Vec<_>>().join(", ")
                ));
            } else if self.noreply && op.allows_noreply() && kind != Kind::All {
                problems.say(format!(
                    "{named} needs replies, and noreply suppresses them: remove one of \
                         them"
                ));
            }
        }
    }
}

/// The problems found so far, and what rules about fields that are set need to know.
pub(super) struct Problems {
    pub(super) found: Vec<Problem>,
    /// The fields that the user set.
    given: Given,
}

impl Problems {
    /// None yet; the user set the fields `given`.
    pub(super) fn new(given: &Given) -> Self {
        Self { found: Vec::new(), given: given.clone() }
    }

    /// True if `field` is set, for a rule that refuses a field because it has no effect: by a flag
    /// or a variable, whatever the value, or if the value `differs` from the default.
    pub(super) fn is_set(&self, field: &str, differs: bool) -> bool {
        differs || self.given.is_asked(field)
    }

    /// Adds a sentence that begins with the name of the field to change.
    pub(super) fn say(&mut self, message: impl Into<String>) {
        let message = message.into();
        let field = message.split([' ', ':']).next().unwrap_or_default().to_owned();
        self.found.push(Problem { field, message });
    }

    /// Adds a sentence that does not begin with the name of the field to change.
    pub(super) fn add(&mut self, field: &str, message: impl Into<String>) {
        self.found.push(Problem { field: field.to_owned(), message: message.into() });
    }

    /// Checks that a count is from 1 to `max`.
    ///
    /// A count is 0 or above its limit.
    fn count(&mut self, field: &'static str, given: Option<u32>, max: u32) {
        if let Some(count) = given.filter(|count| *count == 0 || *count > max) {
            self.add(
                field,
                format!("{field} {count} is out of range: use a count from 1 to {max}"),
            );
        }
    }
}

/// Formats a size in the largest binary unit that divides it.
fn size_word(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{}GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}
