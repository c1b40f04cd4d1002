//! Two arms compared by pairs of runs (`memtide.ab/1`): what each pair measured, and per figure
//! whether B is better than A, worse, equal, or undecided.

use super::rule::Sides;
use super::trial_figure::{TrialFigure, median};
use super::{Named, Rule, RuleResult};
use crate::belief::SOME_UNANSWERED;
use crate::judge::Measured;
use crate::record::{
    Check, CheckKind, CheckResult, FloorRecord, PlanRecord, Record, Verdict, WarningRecord,
};
use memtide_base::choice::RateUnit;

use memtide_belief::machine::Spoiler;
use memtide_belief::paired::PAIRS_MIN;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pairs in a row that are lost to one cause and end a trial: it does not go away by itself.
const LOST_MAX: usize = 5;

/// Name and version of the JSON format of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum TrialName {
    /// The first version.
    #[default]
    #[serde(rename = "memtide.ab/1")]
    V1,
}

/// A trial of two arms by pairs of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Trial {
    /// Name and version of this format.
    pub schema: TrialName,
    /// Difference between the arms A and B, in the user's words.
    pub arms: [String; 2],
    /// The smallest change that the trial is to find, as a fraction. Arms that differ by less are
    /// equal.
    pub difference: f64,
    /// The pairs, in the order in which they ran.
    pub pairs: Vec<Pair>,
    /// The figures that are compared. All intervals together hold in 95 % of the trials.
    pub figures: Vec<TrialFigure>,
    /// Part of response times that memtide, the kernel and the way to the server contribute in each
    /// arm; absent unless it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floors: Option<[FloorRecord; 2]>,
    /// What memtide decided differently for the two arms of a pair, which their times may tell;
    /// none if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlike: Option<String>,
    /// True if a run did not check the servers' certificates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// Why there are no more pairs; none while the trial runs.
    pub ended_by: Option<TrialEnd>,
    /// Which run failed, and in which pair; none unless one ended the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Results of the rules; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleResult>,
    /// The figures by their names.
    #[serde(skip)]
    names: Vec<Named>,
    /// The part of each figure that may be memtide's own delay, in both arms of the pairs that
    /// count.
    #[serde(skip)]
    owns: Vec<[Vec<f64>; 2]>,
    /// The figures on which rules have a bound, in all runs of B.
    #[serde(skip)]
    bounded: Vec<Bounded>,
}

/// A figure on which a rule has a bound.
#[derive(Clone, Debug, PartialEq)]
struct Bounded {
    named: Named,
    /// Its value in each run of B; none if unknown.
    of_b: Vec<Option<f64>>,
}

/// A run of each arm, one after the other, with the same arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Pair {
    /// The arm that ran first: `A` or `B`.
    pub first: char,
    /// The seed of the gaps between operations in both runs.
    pub seed: u64,
    /// The figures of arm A and of arm B, in the order of the trial's figures; none if unknown.
    pub values: [Vec<Option<f64>>; 2],
    /// Why the pair does not count: one of its runs was not the load that was asked for.
    pub left_out: Option<String>,
    /// The check that says so; none if the pair counts, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CheckKind>,
    /// The arms whose servers did not carry the load, if that is the only reason: A, B. The rate of
    /// such a pair counts.
    #[serde(default)]
    pub short: [bool; 2],
    /// What to do about it; none if that is unknown, or the pair counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Why a trial has no more pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialEnd {
    /// Each figure is exact enough.
    Exact,
    /// In none of the first pairs did both arms carry the load.
    NotCarried,
    /// Several pairs in a row did not count, for one cause.
    Lost,
    /// The time is over.
    Time,
    /// The user interrupted it.
    Interrupted,
    /// A run failed.
    Failed,
}

impl Trial {
    /// A trial without pairs of the figures `names`, and of those whose change `rules` are about.
    /// `difference` is above 0.
    pub fn new(arms: [String; 2], difference: f64, names: &[Named], rules: &[Rule]) -> Self {
        let names = Rule::with_figures(rules, names);
        let bounds = rules.iter().filter(|rule| !rule.is_of_change());
        let bounded = bounds.map(|rule| Bounded { named: rule.subject(), of_b: Vec::new() });
        Self {
            arms,
            difference,
            figures: names.iter().map(TrialFigure::new).collect(),
            owns: vec![[Vec::new(), Vec::new()]; names.len()],
            names,
            bounded: bounded.collect(),
            ..Self::default()
        }
    }

    /// Adds the runs of arm A and arm B, of which `first` ran first, and looks at all figures anew.
    pub fn add(&mut self, first: char, seed: u64, records: &[Record; 2]) {
        let unit = PlanRecord::common_unit(records.iter().map(|record| &record.plan));
        let values = records.each_ref().map(|record| {
            self.names.iter().map(|named| value(*named, record, unit)).collect::<Vec<_>>()
        });
        for Bounded { named, of_b } in &mut self.bounded {
            of_b.push(value(*named, &records[1], unit));
        }
        let spoilt = ['A', 'B']
            .into_iter()
            .zip(records)
            .find_map(|(arm, record)| Some((format!("{arm}: {}", spoilt(record)?), record)));
        let remedy = spoilt.as_ref().and_then(|(_, record)| remedy(record));
        let cause = spoilt.as_ref().and_then(|(_, record)| Some(spoiling(record)?.code));
        let left_out = spoilt.map(|(why, _)| why);
        let overloaded = records.each_ref().map(is_overloaded);
        let is_told = records.iter().all(|record| spoiling(record).is_none_or(is_of_servers));
        let short = overloaded.map(|is_short| is_short && is_told);
        if let [Some(a), Some(b)] = records.each_ref().map(|record| record.floor.clone()) {
            self.floors = Some([a, b]);
        }
        self.unlike = unlike(&records[0].plan, &records[1].plan).or(self.unlike.take());
        let mut warnings = records.iter().flat_map(|record| &record.warnings);
        self.unchecked |= warnings.any(WarningRecord::is_about_trust);
        for (named, owns) in self.names.iter().zip(&mut self.owns) {
            let own = records.each_ref().map(|record| named.own(record));
            for (owns, own) in owns.iter_mut().zip(own).filter(|_| left_out.is_none()) {
                owns.extend(own);
            }
        }
        self.pairs.push(Pair { first, seed, values, left_out, cause, short, remedy });
        for at in 0..self.names.len() {
            self.look(at, records, unit);
        }
    }

    /// Looks at the figure at this position anew, after a pair of these records.
    fn look(&mut self, at: usize, records: &[Record; 2], unit: RateUnit) {
        let named = self.names[at];
        let [a, b] = self.counted(at);
        let figure = &mut self.figures[at];
        figure.unit = named.unit(unit);
        figure.look(&a, &b, self.names.len(), self.difference, named);
        figure.own = self.owns[at].each_ref().map(|owns| median(owns));
        let missing = records.iter().find_map(|record| match named.of(record, unit) {
            Measured::Missing(why) => Some(why),
            _ => None,
        });
        figure.missing = missing.filter(|_| figure.pairs == 0);
        let short = self.short().map(|pairs| pairs as f64 / self.pairs.len() as f64);
        self.figures[at].leave_picked(short, named);
    }

    /// The figure at this position in A and in B, in the pairs that count for it.
    fn counted(&self, at: usize) -> [Vec<f64>; 2] {
        let named = self.names[at];
        let counted = self.pairs.iter().filter(|pair| pair.counts(named));
        let both = counted.filter_map(|Pair { values: [a, b], .. }| Some((a[at]?, b[at]?)));
        both.unzip::<f64, f64, Vec<_>, Vec<_>>().into()
    }

    /// Judges `rules`, those that the trial was made with, by the pairs.
    pub fn judge(&mut self, rules: &[Rule]) {
        self.rules = rules.iter().map(|rule| self.judged(rule)).collect();
    }

    fn judged(&self, rule: &Rule) -> RuleResult {
        let named = rule.subject();
        let at = self.names.iter().position(|it| *it == named).filter(|_| rule.is_of_change());
        let bounded = self.bounded.iter().find(|it| it.named == named);
        let overloaded = self.short();
        let sides = Sides {
            counted: at.map_or_else(Default::default, |at| self.counted(at)),
            all_of_b: match at {
                Some(at) => self.pairs.iter().map(|pair| pair.values[1][at]).collect(),
                None => bounded.map_or_else(Vec::new, |it| it.of_b.clone()),
            },
            overloaded: overloaded[1],
            short: overloaded.map(|pairs| pairs as f64 / self.pairs.len().max(1) as f64),
            figures: self.names.len(),
            are_pairs: true,
            drift: 0.0,
        };
        let unknown = TrialFigure::new(&named);
        rule.judge_groups(at.map_or(&unknown, |at| &self.figures[at]), &sides)
    }

    /// True if no rule failed; an undecided one fails if `strict`.
    pub fn has_passed(&self, strict: bool) -> bool {
        self.rules.iter().all(|rule| rule.passes(strict))
    }

    /// The last pair, if it and those before it were lost to one cause, so often that more would
    /// be lost, too.
    pub fn lost(&self) -> Option<&Pair> {
        let last = self.pairs.last()?;
        let mut latest = self.pairs.iter().rev().take(LOST_MAX);
        let are_lost = latest.all(|pair| self.is_lost(pair) && pair.cause == last.cause);
        (self.pairs.len() >= LOST_MAX && are_lost).then_some(last)
    }

    /// True if there are pairs, and none of them counts for any figure.
    pub fn has_lost_all(&self) -> bool {
        !self.pairs.is_empty() && self.pairs.iter().all(|pair| self.is_lost(pair))
    }

    fn is_lost(&self, pair: &Pair) -> bool {
        let mut names = self.figures.iter().map(|figure| Named::parse(&figure.name));
        pair.left_out.is_some() && !names.any(|named| named.is_ok_and(|it| pair.counts(it)))
    }

    /// Pairs in which the servers of A and of B did not carry the load.
    pub fn short(&self) -> [usize; 2] {
        [0, 1].map(|arm: usize| self.pairs.iter().filter(|pair| pair.short[arm]).count())
    }

    /// True once the fewest pairs that end a trial ran, in none of them did both arms carry the
    /// load, and their rates are known: more would not tell.
    pub fn is_not_carried(&self) -> bool {
        let looks = self.names.iter().zip(&self.figures);
        let mut of_load = looks.filter(|(named, _)| named.is_of_load());
        let is_told = of_load.all(|(_, it)| it.visible.is_none() || it.sees(self.difference));
        is_told && self.pairs.len() >= PAIRS_MIN && self.pairs.iter().all(Pair::is_short)
    }

    /// True once more pairs are not needed to find the asked difference in any figure.
    pub fn is_exact(&self) -> bool {
        self.figures.iter().all(|figure| {
            let is_known = figure.sees(self.difference) || figure.is_finest();
            // What no pair has, no further one will have.
            let is_hopeless = figure.missing.is_some() && self.pairs.len() >= PAIRS_MIN;
            is_known && figure.pairs as usize >= PAIRS_MIN || is_hopeless
        })
    }

    /// Pairs that do not count.
    pub fn left_out(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.left_out.is_some()).count()
    }

    /// The figures that are near their floor in one of the arms: below three times of it.
    pub fn near_floor(&self) -> Vec<&str> {
        let near = self.figures.iter().filter(|figure| self.is_near_floor(figure));
        near.map(|figure| &*figure.name).collect()
    }

    fn is_near_floor(&self, figure: &TrialFigure) -> bool {
        let percentile = FloorRecord::PERCENTILES
            .into_iter()
            .find(|it| figure.name.strip_prefix("all.") == Some(&*it.to_string()));
        let Some((percentile, floors)) = percentile.zip(self.floors.as_ref()) else { return false };
        figure.medians.iter().zip(floors).any(|(median, floor)| {
            let both = median.zip(floor.percentile(percentile));
            both.is_some_and(|(median, floor)| median < (floor * FloorRecord::CLEAR) as f64)
        })
    }

    /// The trial as JSON for files and pipes: indented, ending with a line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a trial has only names as keys") + "\n"
    }
}

impl Pair {
    /// True if the pair counts for such a figure.
    fn counts(&self, named: Named) -> bool {
        self.left_out.is_none() || named.is_of_load() && self.is_short()
    }

    /// True if servers did not carry the load, and nothing else is wrong.
    fn is_short(&self) -> bool {
        self.short.contains(&true)
    }
}

/// A figure of a record, if it is known; one that falls among operations that were not answered is
/// infinite, so that no other run speaks for it.
pub(super) fn value(named: Named, record: &Record, unit: RateUnit) -> Option<f64> {
    match named.of(record, unit) {
        Measured::Known(value) => Some(value),
        Measured::Unanswered => Some(f64::INFINITY),
        // A mean without them: runs that answered all would speak for it.
        Measured::Missing(why) if why == SOME_UNANSWERED => Some(f64::INFINITY),
        Measured::Missing(_) => None,
    }
}

/// What memtide itself decided differently in two plans, as a clause: `wait hybrid in A and sleep
/// in B`. What the user chose is no difference of memtide's.
fn unlike(a: &PlanRecord, b: &PlanRecord) -> Option<String> {
    let decisions = [a, b].map(|plan| {
        let pinned = if plan.cpus.is_empty() { "off" } else { "on" };
        let workers = plan.workers.to_string();
        [("threads", workers), ("pin", pinned.to_owned()), ("wait", plan.wait.clone())]
    });
    let [of_a, of_b] = decisions;
    let pairs = of_a.into_iter().zip(of_b);
    let words = pairs.filter_map(|((field, a_word), (_, b_word))| {
        let is_own = [a, b].iter().any(|plan| plan.why.contains_key(field));
        let differs = is_own && a_word != b_word;
        differs.then(|| format!("{field} {a_word} in A and {b_word} in B"))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Why a run was not the load that was asked for; none if it was.
pub(super) fn spoilt(record: &Record) -> Option<&str> {
    spoiling(record).map(|check| &*check.message)
}

/// The check that says it. memtide's own trouble and the loss of an agent come first, because they
/// may explain the rate.
fn spoiling(record: &Record) -> Option<&Check> {
    let checks = &record.believable.checks;
    let mut spoiling = checks.iter().filter(|check| check.verdict() == Verdict::No);
    let own = spoiling
        .clone()
        .find(|check| matches!(check.code, CheckKind::WorkerBusy | CheckKind::OwnCpus));
    let loss = checks
        .iter()
        .find(|check| check.code == CheckKind::Shares && check.result == CheckResult::Failed);
    own.or(loss).or_else(|| spoiling.next())
}

/// True if a run was not the load that was asked for because its servers did not carry it.
pub(super) fn is_overloaded(record: &Record) -> bool {
    spoiling(record).is_some_and(is_of_servers)
}

/// True if a check that failed is about what servers answered.
const fn is_of_servers(check: &Check) -> bool {
    matches!(check.code, CheckKind::Rate | CheckKind::Errors | CheckKind::Answered)
}

/// What to do about a run that was not the load that was asked for; none if nothing is known.
fn remedy(record: &Record) -> Option<String> {
    let codes: &[&str] = match spoiling(record)?.code {
        CheckKind::WorkerBusy => &[Spoiler::CpuTaken.code(), "cpu_throttled", "client_saturated"],
        CheckKind::OwnCpus => &[Spoiler::SharedCpu.code(), "server_cpu_taken"],
        CheckKind::Rate => return Some(LOWER.to_owned()),
        _ => return None,
    };
    let mut warnings = record.warnings.iter();
    let warning = warnings.find(|warning| codes.contains(&&*warning.code))?;
    Some(warning.remedy.clone())
}

/// What to do about a rate that an arm did not carry.
const LOWER: &str = "compare at a rate that both carry, or their peaks in closed loops";
