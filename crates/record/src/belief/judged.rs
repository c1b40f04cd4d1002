//! The figures on which a run is judged: those that its goals name, else p50, p90 and p99 of all
//! operations and the rate.

use super::GradedFigure;
use crate::record::{Check, CheckKind, CheckResult, Record, Verdict};
use memtide_base::units::format_percent;
use memtide_belief::grade::{WITHIN_MAX, YES_MAX, half_width};
use memtide_scenario::{Goal, Kind, Measure, Subject};

/// The figures of a run without goals.
const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

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
            let all = |percent| self.response_figure(Kind::All, Measure::Percentile(percent));
            figures.extend(PERCENTILES.into_iter().filter_map(all));
            figures.push(self.rate_figure());
        }
        figures
    }

    /// The figure that a goal names, with its grade; none of errors, skew and maximum, which have
    /// none, and if no such operation was measured.
    pub fn figure_of(&self, subject: Subject) -> Option<GradedFigure> {
        match subject {
            Subject::Rate => Some(self.rate_figure()),
            Subject::Response { measure: Measure::Max, .. } => None,
            Subject::Response { kind, measure } => self.response_figure(kind, measure),
            Subject::Errors | Subject::StartSkew => None,
        }
    }

    /// True if every figure on which the run is judged is known within ± `bound`, and no check
    /// spoils all (`--strict`). A record from before slices were kept is judged by its verdict.
    pub fn stands(&self, bound: f64) -> bool {
        let record = self.judged();
        let known = |figure: &GradedFigure| figure.half_width.is_some_and(|x| x <= bound);
        self.believable.verdict != Verdict::No
            && (record.slicing.is_none() || record.judged_figures().iter().all(known))
    }

    /// The check that memtide's own delay is a small part of the figures on which the run is
    /// judged; the worst of them is named.
    pub fn own_share(&self) -> Check {
        let code = CheckKind::OwnShare;
        let figures = self.judged_figures().into_iter();
        let own = figures.filter_map(|figure| Some((half_width(1.0 - figure.own?, 1.0), figure)));
        let Some((x, figure)) = own.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            let message = "memtide's own share of the response times is not known".to_owned();
            let result = CheckResult::Skipped;
            return Check { code, result, message, measured: None, allowed: None };
        };
        let share = figure.own.unwrap_or(0.0);
        let message = format!(
            "memtide's own delay is at most {} of {}",
            format_percent(share),
            figure.full_name()
        );
        let result = if x <= YES_MAX { CheckResult::Passed } else { CheckResult::Failed };
        Check { code, result, message, measured: Some(x.min(f64::MAX)), allowed: Some(YES_MAX) }
    }
}

impl Check {
    /// The verdict that this check leaves at best. What memtide may have added to a figure widens
    /// its range; it spoils the figure only if the range is too wide.
    pub(crate) fn verdict(&self) -> Verdict {
        match (self.result, self.code) {
            (CheckResult::Passed | CheckResult::Skipped, _) => Verdict::Yes,
            (CheckResult::Failed, CheckKind::Shares) => Verdict::Within,
            (CheckResult::Failed, CheckKind::OwnShare) if self.measured <= Some(WITHIN_MAX) => {
                Verdict::Within
            }
            (CheckResult::Failed, _) => Verdict::No,
        }
    }
}

/// The grades of `figures` in one line, those of one grade together: `p50, p90 yes; p99 within
/// ± 18 % (memtide was late); p99.9 no (3 effective operations)`. A figure of one kind of operation
/// has its full name.
pub fn joined(figures: &[GradedFigure]) -> String {
    let words = |figure: &GradedFigure| match &figure.reason {
        Some(reason) => format!("{} ({reason})", figure.grade),
        None => figure.grade.to_string(),
    };
    let name = |figure: &GradedFigure| match &figure.of {
        super::Channel::Response(Kind::All) => figure.name(),
        _ => figure.full_name(),
    };
    let mut parts: Vec<(String, String)> = Vec::new();
    for figure in figures {
        let words = words(figure);
        match parts.last_mut().filter(|(_, last)| *last == words) {
            Some((names, _)) => *names = format!("{names}, {}", name(figure)),
            None => parts.push((name(figure), words)),
        }
    }
    let parts: Vec<String> =
        parts.iter().map(|(names, words)| format!("{names} {words}")).collect();
    parts.join("; ")
}
