//! Records side by side: `memtide.comparison/1`, what differs between runs and how their figures
//! compare with those of the first.
//!
//! Figures are the records' own; only ratios are computed. What decides whether a change is good or
//! bad are the user's rules.

mod differences;
mod figures;
mod rule;
#[cfg(test)]
mod tests;

pub use rule::Rule;

use crate::record::{Record, Verdict};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Records in one comparison at most: a table has no room for more columns.
pub const RECORDS_MAX: usize = 16;

/// The name of the shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum ComparisonName {
    /// The first shape.
    #[default]
    #[serde(rename = "memtide.comparison/1")]
    V1,
}

/// Two or more records beside each other. Lists of values have one for each record, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Comparison {
    /// The name and version of this shape.
    pub schema: ComparisonName,
    /// The records; the others are compared with the first.
    pub records: Vec<Compared>,
    /// Whether all runs made the same load on like machines with one version of memtide, and are
    /// believable. Else a ratio may come from what differs.
    pub alike: bool,
    /// What differs between the runs.
    pub differences: Vec<Difference>,
    /// A row for each figure.
    pub figures: Vec<FigureRow>,
    /// What became of each rule, for each record after the first.
    pub rules: Vec<RuleResult>,
}

/// A record of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Compared {
    /// The letter by which tables name it: A is the first.
    pub letter: char,
    /// The name of its file.
    pub name: String,
    /// When its run began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Whether its numbers can be believed.
    pub believable: Verdict,
}

/// Something that is not the same in all records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Difference {
    /// What it belongs to.
    pub part: Part,
    /// Its name: a field of the scenario, or a member of the record.
    pub name: String,
    /// What it is in each record; none where it is not known or not given.
    pub values: Vec<Option<String>>,
    /// Whether it makes the runs unlike, so that their figures are not of the same thing.
    pub unlike: bool,
}

/// What can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// How the runs ended, and whether they are believable.
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

/// A figure of every record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FigureRow {
    /// Its name; where a goal can name it, as in a goal.
    pub name: String,
    /// What its values are.
    pub unit: Unit,
    /// Its value in each record.
    pub values: Vec<Value>,
}

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Something per second.
    PerS,
    /// How many.
    Count,
    /// 0 to 1.
    Fraction,
    /// Seconds of CPU time per million operations.
    CpuSPerMops,
}

/// A figure of one record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Value {
    /// The figure; none if it is not known.
    pub value: Option<f64>,
    /// A lower bound, of a percentile that falls among operations without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Why the figure is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The figure divided by that of the first record; absent in the first, where one is not known,
    /// and where that of the first is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The bounds between which the figure lies with 95 % confidence; absent if the record has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// Whether these bounds and those of the first record have nothing in common, so that chance
    /// alone does not explain the difference; absent if one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<bool>,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RuleResult {
    /// The rule, as it was given.
    pub rule: String,
    /// The letter of the record that was compared with the first.
    pub record: char,
    /// Whether it holds.
    pub result: RuleOutcome,
    /// The change since the first record as a fraction of its figure; none if that is not known.
    pub change: Option<f64>,
    /// Why, as a clause for people.
    pub why: String,
}

/// Whether a rule of failure holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// It does not hold: all is well.
    Passed,
    /// It holds.
    Failed,
    /// A figure is missing, so it cannot be told. This counts as a failure.
    Undecided,
}

/// Compares records, each with its name, with the first of them.
///
/// # Panics
/// With fewer than two records, and with more than [`RECORDS_MAX`].
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
    let judged = |rule: &Rule| {
        let others = letters.clone().zip(&all).skip(1);
        let results = others.map(|(letter, other)| rule.judge(letter, all[0], other));
        results.collect::<Vec<_>>()
    };
    Comparison {
        schema: ComparisonName::V1,
        records: compared.collect(),
        alike: !differences.iter().any(|difference| difference.unlike),
        differences,
        figures: figures::figures(&all),
        rules: rules.iter().flat_map(judged).collect(),
    }
}

impl Comparison {
    /// True if no rule failed.
    pub fn has_passed(&self) -> bool {
        self.rules.iter().all(|rule| rule.result == RuleOutcome::Passed)
    }

    /// The comparison as JSON for files and pipes: indented, ending with a line break.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a comparison has only names as keys") + "\n"
    }
}
