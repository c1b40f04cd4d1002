//! Conclusions from a run: the verdict on its numbers, the results of its goals, and warnings.
//!
//! Only the data format; conclusions are drawn elsewhere.

use super::{Distribution, Percentile};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Verdict on the numbers of a run, with its checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Believable {
    /// The verdict.
    pub verdict: Verdict,
    /// The failed checks; empty if the verdict is yes.
    pub reasons: Vec<Reason>,
    /// All checks: passed, failed or skipped.
    pub checks: Vec<Check>,
}

impl Believable {
    /// Derives the verdict from `checks`, of which each that failed leaves no or within at best.
    pub fn from_checks(checks: Vec<Check>) -> Self {
        let failed = checks.iter().filter(|check| check.result == CheckResult::Failed);
        let reasons = failed.map(|check| Reason {
            code: check.code,
            message: check.message.clone(),
            measured: check.measured,
            allowed: check.allowed,
        });
        let verdict = checks.iter().map(Check::verdict).max().unwrap_or(Verdict::Yes);
        Self { verdict, reasons: reasons.collect(), checks }
    }

    /// True if a check failed that spoils every figure: not memtide's own delay, which their ranges
    /// hold, and not shares that are missing, because the figures are those of the others.
    pub fn spoils_all(&self) -> bool {
        let mut codes = self.reasons.iter().map(|reason| reason.code);
        codes.any(|code| !code.is_of_figures() && code != CheckKind::Shares)
    }

    /// True if the run as a whole can be believed, where its figures are not graded one by one:
    /// also memtide's own delay is small.
    pub fn holds(&self) -> bool {
        self.verdict != Verdict::No
            && !self.reasons.iter().any(|reason| reason.code.is_of_figures())
    }
}

impl CheckKind {
    /// True if the ranges of figures say how far what this check found reaches.
    pub const fn is_of_figures(self) -> bool {
        matches!(self, Self::GeneratorP50 | Self::GeneratorP99)
    }
}

/// Verdict on the numbers, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The numbers can be believed.
    Yes,
    /// The numbers can be believed within the bounds printed beside them, which are wider than a
    /// yes allows.
    Within,
    /// The numbers cannot be believed, or no verdict was reached.
    #[default]
    No,
}

/// A reason why the numbers cannot be believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Reason {
    /// The check that failed.
    pub code: CheckKind,
    /// The finding, as a clause for people.
    pub message: String,
    /// The judged figure, if there is one.
    pub measured: Option<f64>,
    /// Limit of the judged figure, if there is one.
    pub allowed: Option<f64>,
}

/// One check of the numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Check {
    /// Kind of check.
    pub code: CheckKind,
    /// Result.
    pub result: CheckResult,
    /// The finding, or why the check was skipped, as a clause for people.
    pub message: String,
    /// The judged figure, if there is one.
    pub measured: Option<f64>,
    /// Limit of the judged figure, if there is one.
    pub allowed: Option<f64>,
}

/// Declares the checks of the verdict: variant, code, meaning.
macro_rules! checks {
    ($($kind:ident = $code:literal, $meaning:literal;)*) => {
        /// Kinds of checks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub enum CheckKind {
            $(#[doc = $meaning] #[serde(rename = $code)] $kind,)*
        }

        impl CheckKind {
            /// Every check.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Stable name of the check, for programs.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$kind => $code,)* }
            }

            /// Meaning: the condition that it checks.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning,)* }
            }
        }
    };
}

checks! {
    Answered = "answered", "At least one operation was answered.";
    Errors = "errors", "Few operations went without a good answer, and not all servers were lost.";
    Rate = "rate", "The achieved rate equals the target rate.";
    GeneratorP50 = "generator_p50",
        "In older records: memtide's own delay is a small part of the median response time.";
    GeneratorP99 = "generator_p99",
        "In older records: memtide's own delay is a small part of the 99th percentile of response \
         time.";
    WorkerBusy = "worker_busy", "No worker was busy almost all of the time.";
    OwnCpus = "own_cpus", "The embedded server does not share its CPU with the workers.";
    ServerCounters = "server_counters", "The servers' counters equal memtide's.";
    Shares = "shares", "All shares of the run are present.";
    Silence = "silence",
        "In a closed loop, which does not send meanwhile: no server was silent. Absent if none \
         was.";
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// The condition holds.
    Passed,
    /// The condition does not hold.
    Failed,
    /// Not checked; the message says why.
    Skipped,
}

/// A goal and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GoalRecord {
    /// The goal as the user wrote it.
    pub goal: String,
    /// Result.
    pub result: GoalResult,
    /// The figure in the goal's unit: nanoseconds, operations per second or a fraction; none if
    /// unknown.
    pub measured: Option<f64>,
    /// Explanation of the result, as a clause for people.
    pub why: String,
}

/// Result of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GoalResult {
    /// The figures satisfy the goal.
    Met,
    /// The figures do not satisfy the goal.
    Missed,
    /// The figures cannot decide it.
    Undecided,
}

/// The condition that ended a run early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Aborted {
    /// The condition as the user wrote it.
    pub condition: String,
    /// The figure of the last second, in the condition's unit: nanoseconds, operations per second
    /// or a fraction; none if it falls among unanswered operations.
    pub measured: Option<f64>,
    /// The figure, as a clause for people.
    pub why: String,
    /// Time at which the condition became true, in seconds after the load began.
    pub after_s: f64,
}

/// A warning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WarningRecord {
    /// Stable name of the warning, for programs.
    pub code: String,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

/// Part of response times that memtide, the kernel and the way to the server contribute: the
/// response times of a load whose answers cost next to nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FloorRecord {
    /// Responder of the load.
    pub responder: Responder,
    /// Rate at which it was measured, per second.
    pub rate_per_s: f64,
    /// Its median; like every percentile, none if there were too few operations.
    pub p50_ns: Option<u64>,
    /// The 90th percentile.
    pub p90_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Time since it was measured, in seconds, when the run began.
    pub age_s: u64,
    /// Percentiles of all operations of the run that are below three times their floor.
    pub below: Vec<Percentile>,
}

/// Responder while a floor is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Responder {
    /// The embedded server, on this machine: it answers from memory.
    #[default]
    Embedded,
    /// The server of the run, asked for keys that it does not have.
    Server,
}

impl FloorRecord {
    /// A figure below this multiple of its floor says little of the server.
    pub const CLEAR: u64 = 3;

    /// The percentiles that a floor has.
    pub const PERCENTILES: [Percentile; 4] =
        [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999];

    /// The floor that response times like these are.
    pub fn of(responder: Responder, rate_per_s: f64, times: &Distribution) -> Self {
        let [p50_ns, p90_ns, p99_ns, p999_ns] =
            Self::PERCENTILES.map(|percentile| times.percentile(percentile));
        let (age_s, below) = (0, Vec::new());
        Self { responder, rate_per_s, p50_ns, p90_ns, p99_ns, p999_ns, age_s, below }
    }

    /// The floor of a percentile, in ns; none if it has none.
    pub fn percentile(&self, percentile: Percentile) -> Option<u64> {
        let all = [self.p50_ns, self.p90_ns, self.p99_ns, self.p999_ns];
        let at = Self::PERCENTILES.iter().position(|known| *known == percentile)?;
        all[at]
    }

    /// The floor beside the response times of a run: says which of them are near it.
    #[must_use]
    pub fn beside(self, times: &Distribution) -> Self {
        let near = Self::PERCENTILES.into_iter().filter(|percentile| {
            let both = times.percentile(*percentile).zip(self.percentile(*percentile));
            both.is_some_and(|(ns, floor)| ns < floor.saturating_mul(Self::CLEAR))
        });
        Self { below: near.collect(), ..self }
    }
}
