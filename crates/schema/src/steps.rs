//! What a search or a scan answers: `memtide.steps/1`, its steps with a whole record each, and the
//! rate that it found.
//!
//! Shapes only; which step comes next, and what a step says of the goals, is decided elsewhere.

use crate::record::{CheckKind, GoalResult, Percentile, Reason, Record, Verdict, version_one};
use crate::{Kind, record::Distribution};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum StepsName {
    /// The first shape.
    #[default]
    #[serde(rename = "memtide.steps/1")]
    V1,
}

/// A search or a scan, whole. It is written as it goes, member by member in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Steps {
    /// The name and version of this shape.
    pub schema: StepsName,
    /// Which of the two it is.
    pub course: CourseKind,
    /// The goals that every step is held against, as they were given.
    pub goals: Vec<String>,
    /// The steps that were carried out to their end, in their order.
    pub steps: Vec<Step>,
    /// How it ended, and what was found.
    pub conclusion: Conclusion,
}

/// How the rates of the steps are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CourseKind {
    /// By what the steps before have shown.
    Search,
    /// They are given.
    Scan,
}

/// One step: a whole run at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Step {
    /// Which step it is, from 1.
    pub number: u32,
    /// What it was for.
    pub role: StepRole,
    /// Operations per second that were asked for; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Operations per second that were sent.
    pub achieved_per_s: f64,
    /// Whether far less was sent than was asked for. Such a step does not meet any goal.
    pub behind: bool,
    /// What became of the goals taken together; none when there are none.
    pub goal: Option<GoalResult>,
    /// The figure that a search of a single figure goes by, in ns; none when there is none.
    pub figure_ns: Option<f64>,
    /// When the rate was chosen, the highest that was known to do; none when none was.
    pub low_per_s: Option<f64>,
    /// When the rate was chosen, the lowest that was held not to do; none when none was.
    pub high_per_s: Option<f64>,
    /// All that the run found out.
    pub record: Record,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// A rate that was asked for.
    Scan,
    /// To find the most that the servers can do.
    Peak,
    /// To narrow the bracket around the rate that is looked for.
    Narrow,
    /// To see whether an earlier step says the same again.
    Confirm,
}

/// How a search or a scan ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Conclusion {
    /// The exit code that it calls for, before `--strict` is considered.
    pub exit: u8,
    /// What ended it.
    pub ended_by: StepsEnd,
    /// Why it could not go on, as a sentence; none when it could.
    pub failure: Option<String>,
    /// What was found; none when there was no goal to look for.
    pub answer: Option<Answer>,
}

/// What ended a search or a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepsEnd {
    /// There was no more to do.
    #[default]
    Done,
    /// More steps would have been needed than were allowed.
    StepsMax,
    /// The user interrupted it.
    Interrupted,
    /// A step could not be carried out.
    Failed,
    /// A condition of `abort-on` came true in a step.
    Aborted,
}

/// The rate that was looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Answer {
    /// The highest rate at which the goals were met, in operations per second as asked for; none
    /// when they were met at no rate that was tried. A peak counts as it was achieved.
    pub rate_per_s: Option<f64>,
    /// Steps at this rate that met the goals.
    pub met: u32,
    /// Steps at this rate that did not.
    pub missed: u32,
    /// The lowest rate that did not do; none when all did.
    pub missed_per_s: Option<f64>,
}

/// A step as a point of a curve or a row of a table. Times are none where the record has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Operations per second that were asked for; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Operations per second that were sent.
    pub achieved_per_s: f64,
    /// The median response time of all operations, in ns.
    pub response_p50_ns: Option<u64>,
    /// Its 95th percentile.
    pub response_p95_ns: Option<u64>,
    /// Its 99th percentile.
    pub response_p99_ns: Option<u64>,
    /// The 99th percentile of the service time, in ns.
    pub service_p99_ns: Option<u64>,
    /// The 99th percentile of the lag, in ns.
    pub lag_p99_ns: Option<u64>,
    /// What became of the goals.
    pub goal: Option<GoalResult>,
    /// Whether far less was sent than was asked for.
    pub behind: bool,
    /// Whether the step's figures can be believed.
    pub believable: bool,
}

impl Step {
    /// The step's place on the curve.
    pub fn point(&self) -> Point {
        let Record { response, service, lag, .. } = self.record.judged();
        let at = |times: Option<&Distribution>, percentile| {
            times.and_then(|times| times.percentile(percentile))
        };
        let response = response.get(&Kind::All);
        Point {
            rate_per_s: self.rate_per_s,
            achieved_per_s: self.achieved_per_s,
            response_p50_ns: at(response, Percentile::P50),
            response_p95_ns: at(response, Percentile::P95),
            response_p99_ns: at(response, Percentile::P99),
            service_p99_ns: at(service.get(&Kind::All), Percentile::P99),
            lag_p99_ns: at(lag.get(&Kind::All), Percentile::P99),
            goal: self.goal,
            behind: self.behind,
            believable: self.record.believable.verdict != Verdict::No,
        }
    }

    /// Why this step makes an answer doubtful that rests on it; none when it does not. Errors are
    /// no reason where the step did not meet its goals: it is beyond the answer, and errors may be
    /// what it is there to show.
    pub fn doubt(&self) -> Option<&Reason> {
        let beyond = self.goal.is_some_and(|goal| goal != GoalResult::Met || self.behind);
        let reasons = &self.record.believable.reasons;
        reasons.iter().find(|reason| !(beyond && reason.code == CheckKind::Errors))
    }

    /// The step as one line of JSON, without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a step has only names as keys")
    }
}

impl Conclusion {
    /// The conclusion as one line of JSON, without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a conclusion has only names as keys")
    }
}

impl Steps {
    /// The beginning of the JSON of a search or a scan, up to where its steps go.
    pub fn json_head(course: CourseKind, goals: &[String]) -> String {
        let words = |value: Result<String, serde_json::Error>| {
            value.expect("names and words are always written")
        };
        format!(
            "{{\"schema\":{},\n\"course\":{},\n\"goals\":{},\n\"steps\":[",
            words(serde_json::to_string(&StepsName::V1)),
            words(serde_json::to_string(&course)),
            words(serde_json::to_string(goals))
        )
    }

    /// Reads it back, also with records of version 1. The error is a sentence that names the place
    /// where `text` is none.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let mut steps: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let each = steps.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten();
        each.filter_map(|step| step.get_mut("record")).for_each(version_one::upgrade);
        let mut steps: Self =
            serde_path_to_error::deserialize(steps).map_err(|error| error.to_string())?;
        steps.steps.iter_mut().for_each(|step| version_one::fields::rename(&mut step.record));
        Ok(steps)
    }
}

#[cfg(test)]
mod tests;
