//! The goals of a run as they stand: the figure so far, and whether it meets the bound.

use super::{Live, LiveTimes, unanswered};
use crate::number::{at_least, or_none};
use memtide_base::choice::RateUnit;
use memtide_metrics::{Quantile, quantile};
use memtide_record::judge::figure_word;
use memtide_record::mean_at_least;
use memtide_scenario::{Goal, Measure, Subject};

/// A goal as it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AimNow {
    /// The goal as the user wrote it.
    pub(crate) goal: String,
    /// The figure so far, in words.
    pub(crate) figure: String,
    /// True if the figure so far meets the bound; none if it is unknown.
    pub(crate) is_met: Option<bool>,
}

impl AimNow {
    /// `goal` by the figures of `live`. The uncertainty of a figure is not considered.
    pub(super) fn of(goal: &Goal, live: &Live) -> Self {
        let unit = live.plan.as_ref().map_or(RateUnit::default(), |plan| plan.unit());
        if let Some(least) = mean_at_least_of(goal.subject, live) {
            // Nothing bounds it from above.
            let is_met = goal.relation.holds(f64::INFINITY, goal.bound);
            return Self {
                goal: goal.to_string(),
                figure: at_least(&figure_word(goal.subject, least, unit)),
                is_met: Some(is_met).filter(|is| *is == goal.relation.holds(least, goal.bound)),
            };
        }
        let figure = figure(goal.subject, live);
        Self {
            goal: goal.to_string(),
            figure: or_none(figure.map(|figure| figure_word(goal.subject, figure, unit))),
            is_met: figure.map(|figure| goal.relation.holds(figure, goal.bound)),
        }
    }

    /// How it stands, in a word.
    pub(crate) const fn word(&self) -> &'static str {
        match self.is_met {
            Some(true) => "met so far",
            Some(false) => "missed so far",
            None => "not known yet",
        }
    }
}

/// The least that the mean which `subject` names can be, if some of its operations were answered
/// and others were not.
fn mean_at_least_of(subject: Subject, live: &Live) -> Option<f64> {
    let Subject::Response { kind, measure: Measure::Mean } = subject else { return None };
    let LiveTimes { times, unanswered } = live.measured.get(&kind)?;
    let is_cut = *unanswered > 0 && times.count() > 0;
    mean_at_least(times.moments(), *unanswered, 0).filter(|_| is_cut)
}

fn figure(subject: Subject, live: &Live) -> Option<f64> {
    match subject {
        Subject::Response { kind, measure } => {
            let LiveTimes { times, unanswered } = live.measured.get(&kind)?;
            match measure {
                Measure::Percentile(percent) => match quantile(times, *unanswered, percent / 100.0)
                {
                    Quantile::Known(ns) => Some(ns as f64),
                    Quantile::Unanswered => Some(f64::INFINITY),
                    Quantile::TooFew { .. } => None,
                },
                // What is not answered is longer than all that is.
                _ if *unanswered > 0 && (measure == Measure::Max || times.count() == 0) => {
                    Some(f64::INFINITY)
                }
                Measure::Mean => times.moments().mean(),
                Measure::Max => Some(times.moments().max as f64),
            }
        }
        Subject::Rate => {
            let shown = live.seconds.iter();
            let length_s: f64 = shown.clone().map(|second| second.length_s).sum();
            let answered: u64 = shown.map(|second| second.counts.answered).sum();
            (length_s > 0.0).then(|| answered as f64 / length_s)
        }
        Subject::Errors => {
            let bad = unanswered(&live.counts);
            let all = live.counts.answered.saturating_add(bad);
            // Noreply operations alone: none of them can have an error.
            let is_known = all > 0 || live.counts.unacknowledged > 0;
            is_known.then(|| bad as f64 / all.max(1) as f64)
        }
        Subject::StartSkew | Subject::Figure(_) => None,
    }
}
