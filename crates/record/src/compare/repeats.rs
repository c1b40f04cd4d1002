//! Several runs of one scenario (`memtide.repeats/1`): their records, and for each figure the
//! median with its interval, and the spread between runs beside the error that each run knows.

use super::trial::{is_overloaded, spoilt, value};
use super::{Named, Unit};
use crate::judge::judge;
use crate::record::{GoalResult, PlanRecord, Record};
use memtide_base::choice::RateUnit;
use memtide_belief::{Repeated, repeats::RUNS_MIN};
use memtide_metrics::summary::rank;
use memtide_scenario::{Goal, Measure, Subject};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::slice;

/// The quantile of a normal distribution up to which half of a 95 % interval reaches.
const NORMAL_975: f64 = 1.959_964;

/// Name and version of the JSON format of repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum RepeatsName {
    /// The first version.
    #[default]
    #[serde(rename = "memtide.repeats/1")]
    V1,
}

/// Runs of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Repeats {
    /// Name and version of this format.
    pub schema: RepeatsName,
    /// Number of runs that were asked for.
    pub asked: u32,
    /// The figures.
    pub figures: Vec<RepeatedFigure>,
    /// Runs that do not count, each with the reason.
    pub left_out: Vec<String>,
    /// The goals, judged by the median of the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<RepeatedGoal>,
    /// The records of all runs, in order.
    pub runs: Vec<Record>,
}

/// A figure of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RepeatedFigure {
    /// Name of the figure, as in rules.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Number of runs that have it and count.
    pub runs: u64,
    /// The median of the runs; none with fewer than two.
    pub median: Option<f64>,
    /// The interval of the median.
    pub range: Option<[f64; 2]>,
    /// In which part of the cases the interval holds; few runs reach less than 95 %.
    pub confidence: Option<f64>,
    /// Spread between runs: the standard deviation of the logarithms.
    pub between: Option<f64>,
    /// The error that a run knows of itself, in the same measure; none if no run has an interval.
    pub within: Option<f64>,
    /// True if the runs differ by more than that.
    pub unsteady: bool,
}

/// A goal of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RepeatedGoal {
    /// The goal as the user wrote it.
    pub goal: String,
    /// Met or missed if every run says so, or all of the median's interval of 95 %; else undecided.
    pub result: GoalResult,
    /// Number of runs that it was judged by.
    #[serde(default)]
    pub runs: u64,
    /// Number of runs that would probably decide it; none if it is decided, or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
}

impl Repeats {
    /// No run yet, of this many.
    pub fn new(asked: u32) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Adds a run, and looks at the figures `names` and at `goals` anew.
    pub fn add(&mut self, record: Record, names: &[Named], goals: &[Goal]) {
        if let Some(why) = spoilt(&record) {
            self.left_out.push(format!("run {}: {why}", self.runs.len() + 1));
        }
        self.runs.push(record);
        let unit = PlanRecord::common_unit(self.runs.iter().map(|record| &record.plan));
        self.figures = names.iter().map(|named| self.figure(*named, unit)).collect();
        self.goals = goals.iter().map(|goal| self.goal(goal, unit)).collect();
    }

    /// True if all goals are met, or there are none.
    pub fn meets(&self) -> bool {
        self.goals.iter().all(|goal| goal.result == GoalResult::Met)
    }

    /// The runs that count.
    fn counted(&self) -> impl Iterator<Item = &Record> {
        self.runs.iter().filter(|record| spoilt(record).is_none())
    }

    fn values(&self, named: Named, unit: RateUnit) -> Vec<f64> {
        self.counted().filter_map(|it| value(named, it, unit)).collect()
    }

    /// The goal: decided if every run by itself decides it in the same way, or the interval of the
    /// median does. A run whose servers did not carry the load is why a goal is missed, so it
    /// counts here; errors are often why a run does not count, so all runs are judged by theirs.
    fn goal(&self, goal: &Goal, unit: RateUnit) -> RepeatedGoal {
        let runs = self.runs.iter().filter(|record| {
            goal.subject == Subject::Errors || spoilt(record).is_none() || is_overloaded(record)
        });
        let runs: Vec<&Record> = runs.collect();
        let alone = runs.iter().map(|record| judge(slice::from_ref(goal), record).remove(0).result);
        let alone: Vec<GoalResult> = alone.collect();
        let ends = runs.iter().filter_map(|record| ends(goal.subject, record, unit));
        let [lows, highs]: [Vec<f64>; 2] = ends.fold(Default::default(), |mut all, ends| {
            all.iter_mut().zip(ends).for_each(|(all, end)| all.push(end));
            all
        });
        let known = lows.len() as u64;
        let [low, high] = [lows, highs].map(|values| Repeated::of(&values));
        let (range, needed) = match low.zip(high) {
            Some((low, high)) => (
                Some([low.range[0], high.range[1]]).filter(|_| low.is_sure()),
                low.runs_needed(goal.bound),
            ),
            None => (None, Some(RUNS_MIN)),
        };
        let result = match range.map(|ends| ends.map(|end| goal.relation.holds(end, goal.bound))) {
            _ if agree(&alone, GoalResult::Met) => GoalResult::Met,
            _ if agree(&alone, GoalResult::Missed) => GoalResult::Missed,
            Some([true, true]) => GoalResult::Met,
            Some([false, false]) => GoalResult::Missed,
            _ => GoalResult::Undecided,
        };
        let is_open = result == GoalResult::Undecided && known > 0;
        let runs_needed = needed.filter(|_| is_open).map(|needed| needed as u64);
        RepeatedGoal { goal: goal.to_string(), result, runs: known, runs_needed }
    }

    fn figure(&self, named: Named, unit: RateUnit) -> RepeatedFigure {
        let values = self.values(named, unit);
        let errors: Vec<f64> = self
            .counted()
            .filter_map(|record| named.interval(record, unit))
            .filter(|[low, _]| *low > 0.0)
            .map(|[low, high]| (high / low).ln() / 2.0 / NORMAL_975)
            .collect();
        let repeated = Repeated::of(&values);
        let mean = errors.iter().map(|error| error.powi(2)).sum::<f64>() / errors.len() as f64;
        RepeatedFigure {
            name: named.to_string(),
            unit: named.unit(unit),
            runs: values.len() as u64,
            median: repeated.map(|it| it.median),
            range: repeated.map(|it| it.range),
            confidence: repeated.map(|it| it.confidence),
            between: repeated.map(|it| it.between),
            within: Some(mean.sqrt()).filter(|error| error.is_finite()),
            unsteady: repeated.is_some_and(|it| it.is_unsteady(&errors)),
        }
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// If the text is not JSON of this format; the clause names the place.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let mut repeats: Self = crate::record::read_json("the runs of one scenario", text)?;
        repeats.runs.iter_mut().for_each(Record::renew);
        Ok(repeats)
    }

    /// The runs as JSON for files and pipes: indented, ending with a line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("repeats have only names as keys") + "\n"
    }
}

/// The figure of a run, as far as its bucket tells: a percentile lies between the edges of its
/// bucket. None if it is unknown.
fn ends(subject: Subject, record: &Record, unit: RateUnit) -> Option<[f64; 2]> {
    let value = value(Named::from(subject), record, unit)?;
    let Subject::Response { kind, measure: Measure::Percentile(percent) } = subject else {
        return Some([value; 2]);
    };
    let times = record.response.get(&kind)?;
    let edges = times.times()?.edges_at_rank(rank(percent / 100.0, times.count));
    Some(edges.map_or([value; 2], |(low, high)| [low as f64, high as f64]))
}

/// True if there are results, and all are this one.
fn agree(results: &[GoalResult], of: GoalResult) -> bool {
    !results.is_empty() && results.iter().all(|result| *result == of)
}
