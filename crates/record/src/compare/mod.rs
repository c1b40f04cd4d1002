//! Records side by side (`memtide.comparison/1`): differences between runs, and their figures
//! compared with the first run's.
//!
//! Figures are the records' own; only ratios are computed. The user's rules alone decide whether a
//! change is good or bad.

mod differences;
mod figures;
mod groups;
mod named;
mod repeats;
mod rule;
mod trial;
mod trial_figure;
#[cfg(test)]
mod tests;

pub use crate::run_figure::{FIGURES, RunFigure, Unit, Value};
pub use groups::{Groups, GroupsName, compare_groups};
pub use memtide_belief::paired::PAIRS_MIN;
pub use named::Named;
pub use repeats::{RepeatedFigure, RepeatedGoal, Repeats, RepeatsName};
pub use rule::Rule;
pub use trial::{Pair, Trial, TrialEnd, TrialName};
pub use trial_figure::{TrialFigure, TrialFinding};

use crate::record::{Record, Verdict};
use memtide_belief::paired;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of records in one comparison: a table has no room for more columns.
pub const RECORDS_MAX: usize = 16;

/// Deviation of what differs from run to run of one set-up: fresh connections, memory's layout.
const RUN_EFFECT: f64 = 0.01;

/// Name and version of the JSON format of comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum ComparisonName {
    /// The first version.
    #[default]
    #[serde(rename = "memtide.comparison/1")]
    V1,
}

/// Two or more records side by side. Each list of values has one entry per record, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Comparison {
    /// Name and version of this format.
    pub schema: ComparisonName,
    /// The records. Each is compared with the first.
    pub records: Vec<Compared>,
    /// True if all runs made the same load on like machines with one version of memtide, and all
    /// are believable. If false, a ratio may come from one of the `differences`.
    pub alike: bool,
    /// Differences between the runs.
    pub differences: Vec<Difference>,
    /// Figures, one row each.
    pub figures: Vec<FigureRow>,
    /// Results of the rules, for each record after the first.
    pub rules: Vec<RuleResult>,
}

/// One of the compared records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Compared {
    /// Letter that stands for the record in tables: A is the first.
    pub letter: char,
    /// Name of its file.
    pub name: String,
    /// Start of its run, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Verdict on its numbers.
    pub believable: Verdict,
}

/// A difference between the records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Difference {
    /// Part of the record that differs.
    pub part: RecordPart,
    /// Name: a field of the scenario, or a member of the record.
    pub name: String,
    /// Value in each record; none where it is unknown or was not given.
    pub values: Vec<Option<String>>,
    /// True if the difference makes the runs unlike: their figures then measure different things.
    pub unlike: bool,
}

/// Parts of a record that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecordPart {
    /// The end of the run, and its verdict.
    Result,
    /// The decided scenario.
    Scenario,
    /// The machine that made the load.
    Machine,
    /// The servers.
    Server,
    /// The version of memtide.
    Version,
}

/// A figure, with its value in every record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FigureRow {
    /// Name of the figure; as in a goal, if goals can name it.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Value in each record.
    pub values: Vec<Value>,
}

/// Result of one rule for one record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RuleResult {
    /// The rule, as the user wrote it.
    pub rule: String,
    /// Letter of the record that was compared with the first.
    pub record: char,
    /// Result.
    pub result: RuleOutcome,
    /// Change since the first record, as a fraction of the first record's figure; none if unknown.
    pub change: Option<f64>,
    /// Reason, as a clause for people.
    pub why: String,
}

/// Result of a rule that fails a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// The rule's condition is false: no failure.
    Passed,
    /// The rule's condition is true: the comparison fails.
    Failed,
    /// The condition holds at one end of what the runs allow, and does not at the other. Counts as
    /// a failure if the user says so.
    Undecided,
    /// A figure is missing, so the condition cannot be judged. Counts as a failure.
    Missing,
}

impl RuleResult {
    /// True if the rule does not fail the comparison; an undecided one does if `strict`.
    pub fn passes(&self, strict: bool) -> bool {
        match self.result {
            RuleOutcome::Passed => true,
            RuleOutcome::Undecided => !strict,
            RuleOutcome::Failed | RuleOutcome::Missing => false,
        }
    }
}

/// Compares each named record with the first.
///
/// # Panics
/// If there are fewer than two records or more than [`RECORDS_MAX`].
pub fn compare(records: &[(String, Record)], rules: &[Rule]) -> Comparison {
    assert!((2..=RECORDS_MAX).contains(&records.len()), "the caller bounds the records");
    let all: Vec<&Record> = records.iter().map(|(_, record)| record).collect();
    let letters = 'A'..='P';
    let compared = letters.clone().zip(records).map(|(letter, (name, record))| Compared {
        letter,
        name: name.clone(),
        started_unix_ms: record.started_unix_ms,
        believable: record.believable.verdict,
    });
    let differences = differences::differences(&all);
    let mut results = Vec::new();
    for rule in rules {
        let others = letters.clone().zip(&all).skip(1);
        results.extend(others.map(|(letter, other)| rule.judge(letter, all[0], other)));
    }
    Comparison {
        schema: ComparisonName::V1,
        records: compared.collect(),
        alike: !differences.iter().any(|difference| difference.unlike)
            && all.iter().all(|record| record.believable.holds()),
        differences,
        figures: figures::figures(&all),
        rules: results,
    }
}

impl Comparison {
    /// True if no rule failed; an undecided one fails if `strict`.
    pub fn has_passed(&self, strict: bool) -> bool {
        self.rules.iter().all(|rule| rule.passes(strict))
    }

    /// The figure whose difference is explained best by a run effect of 1 %, of those whose
    /// intervals are apart, and in how many of 100 cases two runs of equal set-ups differ as much;
    /// none if none are apart.
    pub fn by_run_effect(&self) -> Option<(&str, u32)> {
        let apart = self.figures.iter().flat_map(|row| {
            let first = row.values.first().and_then(|value| half_width(value.ci?));
            let others = row.values.iter().filter(|value| value.apart == Some(true));
            others.filter_map(move |other| {
                let halves = [first?, half_width(other.ci?)?];
                Some((&*row.name, paired::by_chance(other.ratio?.ln(), halves, RUN_EFFECT)))
            })
        });
        let best = apart.max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map(|(name, share)| (name, (share * 100.0).round() as u32))
    }

    /// The comparison as JSON for files and pipes: indented, ending with a line break.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a comparison has only names as keys") + "\n"
    }
}

/// Half of an interval's width on a logarithmic scale; `None` if the interval begins at 0.
fn half_width([low, high]: [f64; 2]) -> Option<f64> {
    (low > 0.0).then(|| (high / low).ln() / 2.0)
}
