//! A figure of two arms: whether B is better than A, worse, equal, or undecided, by pairs of runs
//! or by groups. Rules and records are not known here.

use super::{Named, Unit};
use memtide_base::choice::RateUnit;
use memtide_belief::Paired;
use memtide_belief::paired::{Finding, PAIRS_MIN};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So small a part of the runs may be left out without making the others a choice of the best.
pub(super) const FEW: f64 = 0.05;

/// A figure of both arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TrialFigure {
    /// Name of the figure, as in rules.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Pairs that have it in both arms and count; of groups, the runs of the smaller one.
    pub pairs: u64,
    /// The median of each arm; `None` if it is unknown.
    pub medians: [Option<f64>; 2],
    /// Mean change from A to B, as a fraction of A or in the unit; none with fewer than two pairs.
    pub change: Option<f64>,
    /// Interval of the change, by Student's distribution of the logarithms or of the differences.
    pub range: Option<[f64; 2]>,
    /// True if `change` and `range` are differences in the figure's unit, as of shares (0.01 is one
    /// percentage point) and where a run has 0; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_unit: bool,
    /// The smallest change that this many pairs find in more than nine of ten trials, as a
    /// fraction: of shares 0.01 is one percentage point, of other figures of what they are.
    pub visible: Option<f64>,
    /// The answer.
    pub finding: TrialFinding,
    /// The most of the figure that may be memtide's own delay, in each arm, as a fraction: the
    /// median of the pairs; none if unknown.
    #[serde(default)]
    pub own: [Option<f64>; 2],
    /// Why no pair has the figure; none if one has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// True if the range tells, but by the best runs of the arm that carried the load less often;
    /// the figure is then undecided. Absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub picked: bool,
}

/// Result of a trial for a figure of arm B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialFinding {
    /// Better than in arm A.
    Better,
    /// Worse than in arm A.
    Worse,
    /// It differs by less than the asked difference.
    Equal,
    /// The pairs do not tell.
    Undecided,
}

impl TrialFigure {
    /// A figure of which nothing is known yet.
    pub(super) fn new(named: &Named) -> Self {
        Self {
            name: named.to_string(),
            unit: named.unit(RateUnit::Operations),
            pairs: 0,
            medians: [None; 2],
            change: None,
            range: None,
            in_unit: false,
            visible: None,
            finding: TrialFinding::Undecided,
            own: [None; 2],
            missing: None,
            picked: false,
        }
    }

    /// True if its pairs find a change by this fraction.
    pub(super) fn sees(&self, difference: f64) -> bool {
        self.visible.is_some_and(|visible| visible <= difference)
    }

    /// True if more pairs would not find a smaller change, because a percentile is no finer than
    /// the steps of its histogram.
    pub fn is_finest(&self) -> bool {
        let step = Named::parse(&self.name).map_or(1.0, Named::step);
        step > 1.0 && self.sees(Paired::finest(step))
    }

    /// Decides nothing by the best runs of an arm that often did not carry the load; given is how
    /// often A and B did not.
    pub(super) fn leave_picked(&mut self, [a, b]: [f64; 2], named: Named) {
        let is_picked = match self.finding {
            TrialFinding::Equal => (a - b).abs() > FEW,
            TrialFinding::Better => b - a > FEW,
            TrialFinding::Worse => a - b > FEW,
            TrialFinding::Undecided => false,
        };
        self.picked = is_picked && !named.is_of_load();
        if self.picked {
            self.finding = TrialFinding::Undecided;
        }
    }

    /// Compares the values of both arms, pair by pair. Few pairs decide nothing, also if they are
    /// all alike: how much others would differ is then unknown.
    pub(super) fn look(
        &mut self,
        a: &[f64],
        b: &[f64],
        figures: usize,
        difference: f64,
        named: Named,
    ) {
        self.medians = [median(a), median(b)];
        self.pairs = a.len() as u64;
        let paired = match whole(a, b, named) {
            Some(whole) => Paired::by_difference(a, b, whole, figures),
            None => {
                let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
                Paired::of(&ratios, figures)
            }
        };
        self.set(paired.map(|it| it.not_finer_than(named.step())), difference, named);
        if a.len() < PAIRS_MIN {
            self.finding = TrialFinding::Undecided;
        }
    }

    /// Compares the values of two groups that are no pairs.
    pub(super) fn look_at_groups(
        &mut self,
        a: &[f64],
        b: &[f64],
        figures: usize,
        difference: f64,
        named: Named,
    ) {
        self.medians = [median(a), median(b)];
        self.pairs = a.len().min(b.len()) as u64;
        let paired = match whole(a, b, named) {
            Some(whole) => Paired::of_groups_by_difference(a, b, whole, figures),
            None => Paired::of_groups(a, b, figures),
        };
        self.set(paired.map(|it| it.not_finer_than(named.step())), difference, named);
    }

    fn set(&mut self, paired: Option<Paired>, difference: f64, named: Named) {
        self.change = paired.map(|it| it.change());
        self.range = paired.map(|it| it.range());
        self.in_unit = paired.is_some_and(|it| it.is_difference());
        self.visible = paired.map(|it| it.visible());
        let finding = paired.map_or(Finding::Undecided, |it| it.finding(difference));
        self.finding = match (finding, named.more_is_better()) {
            (Finding::Higher, true) | (Finding::Lower, false) => TrialFinding::Better,
            (Finding::Higher, false) | (Finding::Lower, true) => TrialFinding::Worse,
            (Finding::Equal, _) => TrialFinding::Equal,
            (Finding::Undecided, _) => TrialFinding::Undecided,
        };
    }
}

/// The size of a change by all of the figure, if it is compared by differences: shares are, and
/// what is 0 in some runs, of which there is no ratio. None if it is compared by ratios.
fn whole(a: &[f64], b: &[f64], named: Named) -> Option<f64> {
    match named.is_fraction() {
        true => Some(1.0),
        false => a.iter().chain(b).any(|value| *value == 0.0).then(|| mean(a).max(mean(b))),
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median; none without values, and if it is not finite.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [low, high] = [sorted.len().checked_sub(1)? / 2, sorted.len() / 2].map(|at| sorted[at]);
    Some(f64::midpoint(low, high)).filter(|median| median.is_finite())
}
