//! Two groups of records that are no pairs (`memtide.groups/1`): per figure whether B is better
//! than A, worse, equal or undecided, by how much runs of a group differ among themselves.

use super::differences::{LOOP, differences};
use super::rule::Sides;
use super::trial::{is_overloaded, spoilt, value};
use super::{Named, RecordPart, Rule, RuleResult, TrialFigure};
use crate::record::{PlanRecord, Record, WarningRecord};
use memtide_base::choice::RateUnit;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON format of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum GroupsName {
    /// The first version.
    #[default]
    #[serde(rename = "memtide.groups/1")]
    V1,
}

/// Two groups of records compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Groups {
    /// Name and version of this format.
    pub schema: GroupsName,
    /// The names of the records of A and of B.
    pub records: [Vec<String>; 2],
    /// When the first run of A, and of B, began, and when the last one ended, in milliseconds since
    /// 1970; 0 if unknown.
    #[serde(default)]
    pub measured_unix_ms: [[u64; 2]; 2],
    /// By which part of a figure the machine may have changed between the groups, for all that the
    /// rules say; 0 if the runs of the groups alternate.
    #[serde(default)]
    pub drift: f64,
    /// Groups that differ by less than this fraction are equal.
    pub difference: f64,
    /// The figures that are compared. All intervals together hold in 95 % of the comparisons.
    pub figures: Vec<TrialFigure>,
    /// Records that do not count, each with the reason. If it is that the servers did not carry the
    /// load, rate and errors count all the same.
    pub left_out: Vec<String>,
    /// What differs between the records and may explain a change: fields of the scenario, members
    /// of the machine, and the version of memtide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike: Vec<String>,
    /// True if a run did not check the servers' certificates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// Results of the rules.
    pub rules: Vec<RuleResult>,
}

/// Compares group B with group A by these figures, and those of the rules. `difference` is above 0;
/// rules allow for a change of the machine by the part `drift` of a figure, if the groups were
/// measured one after the other.
pub fn compare_groups(
    groups: &[Vec<(String, Record)>; 2],
    difference: f64,
    names: &[Named],
    rules: &[Rule],
    drift: f64,
) -> Groups {
    let measured_unix_ms = groups.each_ref().map(|group| stretch(group));
    let drift = if are_apart(measured_unix_ms) { drift } else { 0.0 };
    let all: Vec<&Record> = groups.iter().flatten().map(|(_, record)| record).collect();
    let unit = PlanRecord::common_unit(all.iter().map(|record| &record.plan));
    let overloaded = groups
        .each_ref()
        .map(|group| group.iter().filter(|(_, record)| is_overloaded(record)).count());
    let names = Rule::with_figures(rules, names);
    let both = Both { groups, unit, names, difference, drift, overloaded };
    let figures: Vec<TrialFigure> = both.names.iter().map(|named| both.figure(*named)).collect();
    let left_out = groups
        .iter()
        .flatten()
        .filter_map(|(name, record)| Some(format!("{name}: {}", spoilt(record)?)));
    let mut warnings = all.iter().flat_map(|record| &record.warnings);
    let unchecked = warnings.any(WarningRecord::is_about_trust);
    let unlike = differences(&all).into_iter();
    let unlike =
        unlike.filter(|it| it.unlike && (it.part != RecordPart::Result || it.name == LOOP));
    Groups {
        schema: GroupsName::V1,
        records: groups
            .each_ref()
            .map(|group| group.iter().map(|(name, _)| name.clone()).collect()),
        measured_unix_ms,
        drift,
        difference,
        left_out: left_out.collect(),
        unlike: unlike.map(|it| it.name).collect(),
        unchecked,
        rules: rules.iter().map(|rule| both.judge(rule, &figures)).collect(),
        figures,
    }
}

/// Both groups, and how they are compared.
struct Both<'a> {
    groups: &'a [Vec<(String, Record)>; 2],
    unit: RateUnit,
    /// The figures that are compared.
    names: Vec<Named>,
    difference: f64,
    drift: f64,
    /// Number of runs of A, and of B, whose servers did not carry the load.
    overloaded: [usize; 2],
}

impl Both<'_> {
    fn figure(&self, named: Named) -> TrialFigure {
        let [a, b] = self.counted(named);
        let mut figure = TrialFigure { unit: named.unit(self.unit), ..TrialFigure::new(&named) };
        figure.look_at_groups(&a, &b, self.names.len(), self.difference, named);
        figure.leave_picked(self.short(), named);
        figure
    }

    /// The result of a rule; `figures` are those of `names`.
    fn judge(&self, rule: &Rule, figures: &[TrialFigure]) -> RuleResult {
        let of_b = self.groups[1].iter().map(|(_, record)| record);
        let sides = Sides {
            counted: self.counted(rule.subject()),
            all_of_b: of_b.map(|record| value(rule.subject(), record, self.unit)).collect(),
            overloaded: self.overloaded[1],
            short: self.short(),
            figures: self.names.len(),
            are_pairs: false,
            drift: self.drift,
        };
        let at = self.names.iter().position(|named| *named == rule.subject());
        let unknown = TrialFigure::new(&rule.subject());
        rule.judge_groups(at.map_or(&unknown, |at| &figures[at]), &sides)
    }

    /// The values of the runs that count, of A and of B. Servers that did not carry the load had
    /// the rate and errors that they had.
    fn counted(&self, named: Named) -> [Vec<f64>; 2] {
        self.groups.each_ref().map(|group| {
            let records = group.iter().map(|(_, record)| record);
            let counted = records.filter(|record| {
                spoilt(record).is_none() || named.is_of_load() && is_overloaded(record)
            });
            counted.filter_map(|record| value(named, record, self.unit)).collect()
        })
    }

    /// The part of the runs of A, and of B, whose servers did not carry the load.
    fn short(&self) -> [f64; 2] {
        [0, 1].map(|at: usize| self.overloaded[at] as f64 / self.groups[at].len().max(1) as f64)
    }
}

/// When the first run of a group began, and when the last one ended, in milliseconds since 1970.
fn stretch(group: &[(String, Record)]) -> [u64; 2] {
    let began = group.iter().map(|(_, record)| record.started_unix_ms).min();
    let ended = group.iter().map(|(_, record)| record.ended_unix_ms).max();
    [began, ended].map(Option::unwrap_or_default)
}

/// True if one stretch was over when the other one began; false if a time is unknown.
fn are_apart([a, b]: [[u64; 2]; 2]) -> bool {
    let is_known = [a, b].iter().all(|[began, _]| *began > 0);
    is_known && (a[1] <= b[0] || b[1] <= a[0])
}

impl Groups {
    /// True if one group was measured as a whole before the other one: a change of the machine in
    /// between looks like one of the servers.
    pub fn are_apart(&self) -> bool {
        are_apart(self.measured_unix_ms)
    }

    /// True if no rule failed; an undecided one fails if `strict`.
    pub fn has_passed(&self, strict: bool) -> bool {
        self.rules.iter().all(|rule| rule.passes(strict))
    }

    /// The groups as JSON for files and pipes: indented, ending with a line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("groups have only names as keys") + "\n"
    }
}
