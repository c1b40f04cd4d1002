//! The result of a search or a scan: `memtide.steps/1`, its steps with a whole record each, and the
//! rate that it found.
//!
//! Only the data format; the choice and the judgement of steps are elsewhere.

use crate::record::{CheckKind, Distribution, GoalResult, Percentile, Reason, Record};
use memtide_base::Rate;
use memtide_scenario::Kind;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON format of a search or scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum StepsName {
    /// The first version.
    #[default]
    #[serde(rename = "memtide.steps/1")]
    V1,
}

/// A whole search or scan. It is written while it runs, member by member in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Steps {
    /// Name and version of this format.
    pub schema: StepsName,
    /// Search or scan.
    pub course: CourseKind,
    /// The goals by which every step is judged, as the user wrote them.
    pub goals: Vec<String>,
    /// The completed steps, in order.
    pub steps: Vec<Step>,
    /// The end, and the result.
    pub conclusion: Conclusion,
}

/// Method by which the rates of the steps are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CourseKind {
    /// Each rate follows from the results of earlier steps.
    Search,
    /// The user lists the rates.
    #[default]
    Scan,
}

impl CourseKind {
    /// Its word in commands and titles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Scan => "scan",
        }
    }
}

/// One step: a whole run at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Step {
    /// Number of the step, from 1.
    pub number: u32,
    /// Purpose of the step.
    pub role: StepRole,
    /// Target rate, per second, in operations or what `rate-unit` says; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Achieved rate: what was sent per second, in the same unit.
    pub achieved_per_s: f64,
    /// True if the achieved rate is far below the target. The step then meets no goal.
    pub behind: bool,
    /// True if that was memtide's doing: the step then decides nothing. Absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoilt: bool,
    /// Result of all goals together; none without goals.
    pub goal: Option<GoalResult>,
    /// The figure by which a search for a single figure chooses rates, in ns; none if unknown.
    pub figure_ns: Option<f64>,
    /// Highest rate known to meet the goals when this step's rate was chosen; none if there was
    /// none.
    pub low_per_s: Option<f64>,
    /// Lowest rate assumed to miss the goals when this step's rate was chosen; none if there was
    /// none.
    pub high_per_s: Option<f64>,
    /// The record of the run.
    pub record: Record,
}

/// Purpose of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// A rate that the user listed.
    Scan,
    /// To find the highest rate that the servers achieve.
    Peak,
    /// To narrow the bracket around the rate that the search looks for.
    Narrow,
    /// To confirm the result of an earlier step.
    Confirm,
}

/// The end of a search or a scan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Conclusion {
    /// Its exit code, before `--strict` is considered.
    pub exit: u8,
    /// Event that ended it.
    pub ended_by: StepsEnd,
    /// Reason why it could not continue, as a sentence; none if it could.
    pub failure: Option<String>,
    /// The rate found; none if there was no goal to search for.
    pub answer: Option<Answer>,
    /// The agents that were lost and without which it went on, in the order of their loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostAgent>,
    /// The command that carries the same steps out again, with their scenario without its rate as
    /// the file `scenario.toml`; absent for the steps of another program's command line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
}

/// An agent that was lost during a search or scan, which went on without it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LostAgent {
    /// Number of the first step without its figures.
    pub step: u32,
    /// Its name and address.
    pub agent: String,
    /// Reason of its loss, as a sentence without its full stop.
    pub why: String,
    /// Number of agents left in that step.
    pub left: u32,
    /// Number of agents at the beginning.
    pub of: u32,
}

impl LostAgent {
    /// The event and its time, as a sentence without its full stop.
    pub fn sentence(&self) -> String {
        let Self { step, agent, why, left, of } = self;
        format!("agent {agent} was lost in step {step}: {why}; {left} of {of} agents went on")
    }
}

/// Event that ended a search or a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepsEnd {
    /// Everything was done.
    #[default]
    Done,
    /// The largest allowed number of steps was reached.
    StepsMax,
    /// The user interrupted it.
    Interrupted,
    /// A step failed.
    Failed,
    /// A condition of `abort-on` came true in a step.
    Aborted,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Answer {
    /// Highest target rate at which the goals were met, per second, in the unit of the steps;
    /// none if no tested rate met them. A peak counts by its achieved rate.
    pub rate_per_s: Option<f64>,
    /// Number of steps at this rate that met the goals.
    pub met: u32,
    /// Number of steps at this rate that missed the goals.
    pub missed: u32,
    /// Lowest rate above it that missed the goals; none if all met them.
    pub missed_per_s: Option<f64>,
    /// The rates between the two that no step could decide; absent if each was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
}

/// Rates at which a search could not decide whether the goals are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Undecided {
    /// The lowest of them, per second.
    pub from_per_s: f64,
    /// The highest of them, per second.
    pub to_per_s: f64,
    /// The lowest bound of a time that some step would have met for certain, in ns; none if the
    /// goals name no time, no step had an interval, or a lower rate met the goals.
    pub decidable_ns: Option<f64>,
    /// The longest delay of memtide's own in a step that it left undecided, in ns; none if it left
    /// none.
    pub pause_ns: Option<f64>,
}

/// A step as a point of a curve or a row of a table. Times are none if the record has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Target rate; none in a closed loop.
    pub target: Option<Rate>,
    /// Achieved rate: what was sent.
    pub achieved: Rate,
    /// Median response time of all operations, in ns.
    pub response_p50_ns: Option<u64>,
    /// 95th percentile of response time, in ns.
    pub response_p95_ns: Option<u64>,
    /// 99th percentile of response time, in ns.
    pub response_p99_ns: Option<u64>,
    /// The 95 % confidence interval of that, in ns.
    pub response_p99_range_ns: Option<[u64; 2]>,
    /// 99th percentile of service time, in ns.
    pub service_p99_ns: Option<u64>,
    /// 99th percentile of lag, in ns.
    pub lag_p99_ns: Option<u64>,
    /// Result of the goals.
    pub goal: Option<GoalResult>,
    /// True if the achieved rate is far below the target.
    pub behind: bool,
    /// True if the step's figures can be believed.
    pub believable: bool,
}

impl Step {
    /// Target rate; none in a closed loop.
    pub fn target(&self) -> Option<Rate> {
        self.rate_per_s.map(|per_s| Rate::new(per_s, self.record.plan.unit()))
    }

    /// Achieved rate: what was sent.
    pub fn achieved(&self) -> Rate {
        Rate::new(self.achieved_per_s, self.record.plan.unit())
    }

    /// The rate by which a result names the step: its target, or what a closed loop achieved.
    pub fn rate(&self) -> Rate {
        self.target().unwrap_or(self.achieved())
    }

    /// The step as a point of the curve.
    pub fn point(&self) -> Point {
        let Record { response, service, lag, .. } = self.record.judged();
        let [response, service, lag] = [response, service, lag].map(|of| of.get(&Kind::All));
        Point {
            target: self.target(),
            achieved: self.achieved(),
            response_p50_ns: at(response, Percentile::P50),
            response_p95_ns: at(response, Percentile::P95),
            response_p99_ns: at(response, Percentile::P99),
            response_p99_range_ns: response.and_then(|times| times.interval(Percentile::P99)),
            service_p99_ns: at(service, Percentile::P99),
            lag_p99_ns: at(lag, Percentile::P99),
            goal: self.goal,
            behind: self.behind,
            believable: self.record.believable.holds(),
        }
    }

    /// Reason why this step makes an answer based on it doubtful; none if it does not. What servers
    /// failed to do is no reason if the step missed its goals: its rate is beyond the answer, and
    /// errors, silence and a rate that they do not carry may be what it shows.
    pub fn doubt(&self) -> Option<&Reason> {
        self.record.believable.reasons.iter().find(|reason| !self.shows(reason))
    }

    /// True if such a reason is what a step beyond the answer shows.
    fn shows(&self, reason: &Reason) -> bool {
        let is_beyond = self.goal.is_some_and(|goal| goal != GoalResult::Met || self.behind);
        let is_missed = self.goal == Some(GoalResult::Missed);
        match reason.code {
            CheckKind::Errors => is_beyond,
            CheckKind::Rate => is_beyond && (is_missed || self.behind) && !self.spoilt,
            CheckKind::Answered | CheckKind::Silence => is_missed,
            _ => false,
        }
    }

    /// The step as one line of JSON, without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a step has only names as keys")
    }
}

fn at(times: Option<&Distribution>, percentile: Percentile) -> Option<u64> {
    times.and_then(|times| times.percentile(percentile))
}

impl Conclusion {
    /// The conclusion as one line of JSON, without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a conclusion has only names as keys")
    }
}

impl Steps {
    /// The JSON of a search or scan up to the place of its steps.
    pub fn json_head(course: CourseKind, goals: &[String]) -> String {
        let [schema, course, goals] = [
            serde_json::to_string(&StepsName::V1),
            serde_json::to_string(&course),
            serde_json::to_string(goals),
        ]
        .map(|json| json.expect("names and words are always written"));
        format!("{{\"schema\":{schema},\n\"course\":{course},\n\"goals\":{goals},\n\"steps\":[")
    }

    /// Reads a search or scan. The error is a sentence that names
    /// the place at which `text` is invalid.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let mut steps: Self = crate::record::read_json("a search or scan", text)?;
        steps.steps.iter_mut().for_each(|step| step.record.renew());
        Ok(steps)
    }
}

#[cfg(test)]
mod tests;
