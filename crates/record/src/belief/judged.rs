//! The figures on which a run is judged: those that its goals name, else p50, p90 and p99 of all
//! operations and the rate.

use super::GradedFigure;
use crate::record::{Check, CheckKind, CheckResult, GoalResult, Record, Verdict};
use crate::warning::Warning;
use memtide_belief::grade::WITHIN_MAX;
use memtide_scenario::{Goal, Kind, Measure, Precision, Subject};

/// The figures of a run without goals.
const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

/// How much wider than asked a figure of the whole window may be. The look that closes the window
/// judges what was settled by then, and a little more changes a figure a little.
const WIDER_MAX: f64 = 1.25;

impl Record {
    /// The figures on which the run is judged, each once: those that goals name, in their order; if
    /// none names a figure with a grade, p50, p90 and p99 of all operations, and the rate.
    pub fn judged_figures(&self) -> Vec<GradedFigure> {
        let mut figures: Vec<GradedFigure> = Vec::new();
        let goals = self.goals.iter().filter_map(|goal| goal.goal.parse::<Goal>().ok());
        for figure in goals.filter_map(|goal| self.figure_of(goal.subject)) {
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        if figures.is_empty() {
            figures.extend(PERCENTILES.into_iter().filter_map(|percent| {
                self.response_figure(Kind::All, Measure::Percentile(percent))
            }));
            figures.push(self.rate_figure());
        }
        figures
    }

    /// The figure that a goal names, with its grade; none of what is no time and no rate, and
    /// of the maximum, and if no such operation was measured.
    pub fn figure_of(&self, subject: Subject) -> Option<GradedFigure> {
        match subject {
            Subject::Rate => Some(self.rate_figure()),
            Subject::Response { measure: Measure::Max, .. } => None,
            Subject::Response { kind, measure } => self.response_figure(kind, measure),
            Subject::Errors | Subject::StartSkew | Subject::Figure(_) => None,
        }
    }

    /// By how much each figure with a precision is wider than asked: half the width of its range
    /// over the half width that was asked, infinite without a range.
    pub fn widths(&self) -> impl Iterator<Item = (Precision, f64)> {
        let asked = self.plan.precision.iter().flat_map(|it| &it.asked);
        asked.filter_map(|word| word.parse::<Precision>().ok()).map(|asked| {
            let half_width = self.figure_of(asked.subject).and_then(|figure| figure.half_width);
            (asked, half_width.map_or(f64::INFINITY, |x| x / asked.half_width))
        })
    }

    /// Takes the precision as reached if the figures of the whole window are as narrow as asked,
    /// although no look at them fell on its end; and as not reached if they are much wider than the
    /// look that closed the window, which missed what was in flight. A share of a run says what it
    /// was told: the run's figures are those of all shares.
    pub fn settle_precision(&mut self) {
        let widest = self.widths().map(|(_, width)| width).fold(0.0, f64::max);
        // Without slices nothing is known of the widths: what was told stays.
        let is_known = self.share.is_none() && self.has_slices();
        let Some(precision) = self.plan.precision.as_mut().filter(|_| is_known) else { return };
        precision.reached = match precision.reached {
            Some(false) if widest <= 1.0 => Some(true),
            Some(true) if widest > WIDER_MAX => Some(false),
            reached => reached,
        };
    }

    /// A warning for each figure that is wider than asked, if the window ended with it.
    pub fn imprecise(&self) -> Vec<Warning> {
        let precision = self.plan.precision.as_ref();
        if precision.is_none_or(|it| it.reached != Some(false)) {
            return Vec::new();
        }
        let wide = self.widths().filter(|(_, width)| *width > 1.0);
        let warnings = wide.map(|(asked, width)| Warning::Imprecise {
            asked: asked.to_string(),
            half_width: width.is_finite().then_some(width * asked.half_width),
            length_s: self.measured_s,
        });
        warnings.collect()
    }

    /// True if no check spoils all figures, the precision that was asked for was reached, and the
    /// run answers what it was asked: all goals are decided; without goals, p50, p90, p99 and the
    /// rate are known within ± 30 %. With a bound of its own (`--strict=10%`), a strict run must
    /// know the figures that its goals name within that bound, too. A record from before slices
    /// were kept is judged by its verdict.
    pub fn stands(&self) -> bool {
        let record = self.judged();
        let bound = self.strict().unwrap_or(WITHIN_MAX);
        let are_decided = self.goals.iter().all(|goal| goal.result != GoalResult::Undecided);
        let asks_no_width = !self.goals.is_empty() && bound == WITHIN_MAX;
        let answers = are_decided && (asks_no_width || record.is_known_within(bound));
        self.believable.verdict != Verdict::No
            && self.plan.precision.as_ref().is_none_or(|it| it.reached != Some(false))
            && (record.slicing.is_none() || answers)
    }

    fn is_known_within(&self, bound: f64) -> bool {
        let mut figures = self.judged_figures().into_iter();
        figures.all(|figure| figure.half_width.is_some_and(|x| x <= bound))
    }
}

impl Check {
    /// The verdict that this check leaves at best.
    pub(crate) fn verdict(&self) -> Verdict {
        match (self.result, self.code) {
            (CheckResult::Passed | CheckResult::Skipped, _) => Verdict::Yes,
            (CheckResult::Failed, CheckKind::Shares) => Verdict::Within,
            (CheckResult::Failed, code) if code.is_of_figures() => Verdict::Within,
            (CheckResult::Failed, _) => Verdict::No,
        }
    }
}

/// The grades of `figures` in one line, those of one grade together: `p50, p90 yes; p99 within
/// ± 18 % (memtide was late); p99.9 no (3 effective operations)`. A figure of one kind of operation
/// has its full name.
pub fn joined(figures: &[GradedFigure]) -> String {
    let mut parts: Vec<(String, String)> = Vec::new();
    for figure in figures {
        let name = match &figure.of {
            super::Channel::Response(Kind::All) => figure.name(),
            _ => figure.full_name(),
        };
        let words = match &figure.reason {
            Some(reason) => format!("{} ({reason})", figure.grade),
            None => figure.grade.to_string(),
        };
        match parts.last_mut().filter(|(_, last)| *last == words) {
            Some((names, _)) => *names = format!("{names}, {name}"),
            None => parts.push((name, words)),
        }
    }
    let parts: Vec<String> =
        parts.iter().map(|(names, words)| format!("{names} {words}")).collect();
    parts.join("; ")
}
