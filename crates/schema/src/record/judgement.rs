//! What was concluded from a run: whether its numbers can be believed, what became of the goals,
//! and warnings.
//!
//! The conclusions are drawn elsewhere; here they only have their shape.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the numbers can be believed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Believable {
    /// The answer.
    pub verdict: Verdict,
    /// Why it is no; empty when it is not.
    pub reasons: Vec<Reason>,
    /// Everything that was looked at, passed, failed or skipped.
    pub checks: Vec<Check>,
}

impl Believable {
    /// The verdict that follows from `checks`: no when any of them failed.
    pub fn from_checks(checks: Vec<Check>) -> Self {
        let failed = checks.iter().filter(|check| check.result == CheckResult::Failed);
        let reasons: Vec<Reason> = failed
            .map(|check| Reason {
                code: check.code,
                message: check.message.clone(),
                measured: check.measured,
                allowed: check.allowed,
            })
            .collect();
        let verdict = if reasons.is_empty() { Verdict::Yes } else { Verdict::No };
        Self { verdict, reasons, checks }
    }
}

/// What the numbers are worth, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The numbers say what they seem to say.
    Yes,
    /// They do within the bounds that stand beside them, which are wider than a yes allows.
    Within,
    /// They do not, or nothing was concluded.
    #[default]
    No,
}

/// Why the numbers cannot be believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Reason {
    /// The check that failed.
    pub code: CheckKind,
    /// What it found, as a clause for people.
    pub message: String,
    /// The figure that was judged, when there is one.
    pub measured: Option<f64>,
    /// The figure it had to keep, when there is one.
    pub allowed: Option<f64>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Check {
    /// What was looked at.
    pub code: CheckKind,
    /// What came of it.
    pub result: CheckResult,
    /// What was found, or why nothing was looked at, as a clause for people.
    pub message: String,
    /// The figure that was judged, when there is one.
    pub measured: Option<f64>,
    /// The figure it had to keep, when there is one.
    pub allowed: Option<f64>,
}

/// What can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// Something was answered at all.
    Answered,
    /// Few operations were not answered well, and not all servers were lost.
    Errors,
    /// The achieved rate is the one that was asked for.
    Rate,
    /// The generator's share of the median response time is small.
    GeneratorP50,
    /// The generator's share of the 99th percentile of response is small.
    GeneratorP99,
    /// No worker was busy nearly all the time.
    WorkerBusy,
    /// The embedded server does not share its CPU with the workers.
    OwnCpus,
    /// The servers' counters equal ours.
    ServerCounters,
    /// All shares of the run are there.
    Shares,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// As it should be.
    Passed,
    /// Not as it should be.
    Failed,
    /// Not looked at; the message says why.
    Skipped,
}

/// A goal and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GoalRecord {
    /// The goal as it was given.
    pub goal: String,
    /// What became of it.
    pub result: GoalResult,
    /// The figure: nanoseconds, operations per second or a fraction, as the goal has it; none
    /// when there is none.
    pub measured: Option<f64>,
    /// How the result came about, as a clause for people.
    pub why: String,
}

/// What became of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GoalResult {
    /// It is true of the result.
    Met,
    /// It is false of the result.
    Missed,
    /// The result cannot tell.
    Undecided,
}

/// The condition by which a run was ended early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Aborted {
    /// The condition as it was given.
    pub condition: String,
    /// The figure of the last second: nanoseconds, operations per second or a fraction, as the
    /// condition has it; none when it lies among operations without an answer.
    pub measured: Option<f64>,
    /// The figure, as a clause for people.
    pub why: String,
    /// When it was seen, in seconds after the load began.
    pub after_s: f64,
}

/// Something that was not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WarningRecord {
    /// A stable word for programs.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}
