//! How one figure came about, step by step, in the words of docs/measurement.md.

use super::{ALL_OWN, check_name, half, rate_words};
use crate::layout::{TextLayout, labelled};
use crate::number::{counted, percent, seconds, time, whole};
use memtide_record::{Channel, CheckResult, Distribution, GradedFigure, Record};
use memtide_scenario::{Explained, Kind, Measure};

/// Half widths of the grades, as fractions.
const GRADES: &str = "yes up to ± 2.5 %, within ± x % up to ± 30 %";

/// Adds the explanation of a figure, or why there is none.
pub(crate) fn explanation(out: &mut TextLayout, record: &Record, figure: Explained) {
    let Some(of) = Explanation::of(record, figure) else {
        labelled(out, "explain", &format!("{figure}: no such operation was measured"));
        return;
    };
    labelled(out, "explain", &of.subject(figure));
    for (label, text) in of.steps() {
        labelled(out, label, &text);
    }
    labelled(out, "see", "docs/measurement.md, \"How far a figure can be believed\"");
}

struct Explanation<'a> {
    record: &'a Record,
    /// The figure with its grade.
    graded: GradedFigure,
    /// The times that the figure summarises; the rate summarises none.
    times: Option<&'a Distribution>,
}

impl<'a> Explanation<'a> {
    /// The explanation of `figure`; none if no such operation was measured.
    fn of(record: &'a Record, figure: Explained) -> Option<Self> {
        let (graded, times) = match figure {
            Explained::Rate => (record.rate_figure(), None),
            Explained::Response { kind, measure } => {
                let times = record.response.get(&kind)?;
                (record.response_figure(kind, measure)?, Some(times))
            }
            Explained::Service(measure) => {
                let times = record.service.get(&Kind::All)?;
                let of = Channel::Service(Kind::All);
                let mut all = record.graded().into_iter();
                (all.find(|it| it.of == of && it.measure == Some(measure))?, Some(times))
            }
        };
        Some(Self { record, graded, times })
    }

    fn word(&self, value: f64) -> String {
        match self.times {
            Some(_) => time(value),
            None => rate_words(value),
        }
    }

    fn range_words(&self, ends: [f64; 2]) -> String {
        let [low, high] = ends.map(|end| self.word(end));
        let half = half(ends);
        match half.is_finite() && half < 1e3 {
            true => format!("{low} to {high}, ± {}", percent(half)),
            false => format!("at most {high}"),
        }
    }

    /// What the figure is of, and its value.
    fn subject(&self, figure: Explained) -> String {
        let value = self.graded.value.map_or_else(|| "no value".to_owned(), |it| self.word(it));
        let what = match figure {
            Explained::Rate => "operations sent per second in the measured window".to_owned(),
            Explained::Response { kind: Kind::All, .. } => "response of all operations".to_owned(),
            Explained::Response { kind, .. } => format!("response of {kind}"),
            Explained::Service(_) => "service of all operations".to_owned(),
        };
        format!("{figure} is {value}: {what}")
    }

    /// The steps, each with its label.
    fn steps(&self) -> Vec<(&'static str, String)> {
        let steps = [
            ("count", self.count()),
            ("slices", self.slices()),
            ("effective", self.effective()),
            ("interval", Some(self.interval())),
            ("memtide", Some(self.own())),
            ("range", self.range()),
            ("grade", Some(self.grade())),
            ("checks", Some(self.checks())),
        ];
        steps.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
    }

    /// Number of operations, and of those beyond a percentile.
    fn count(&self) -> Option<String> {
        let times = self.times?;
        let mut text = counted(times.count, "operation");
        if let Some(Measure::Percentile(number)) = self.graded.measure {
            let beyond = (times.count as f64 * (1.0 - number / 100.0)).round() as u64;
            text += &format!(", {} of them above p{number}", whole(beyond));
        }
        if times.unanswered > 0 {
            text += &format!("; {} were not answered and rank above all", whole(times.unanswered));
        }
        Some(text)
    }

    /// The slices of the window.
    fn slices(&self) -> Option<String> {
        let slicing = self.record.slicing.as_ref()?;
        let length = seconds(slicing.width_ns as f64 / 1e9);
        let text = format!(
            "the window is divided into {} of {length}; how much they differ shows how alike \
             neighbouring operations are",
            counted(u64::from(slicing.count), "slice")
        );
        Some(text)
    }

    /// Number of effective operations.
    fn effective(&self) -> Option<String> {
        let (times, effective) = (self.times?, self.graded.n_effective?);
        let inflation = times.count as f64 / effective.max(1.0);
        let mut text = format!(
            "{}: as exact as this number of independent operations",
            counted(effective.round() as u64, "effective operation")
        );
        if inflation >= 1.05 {
            text +=
                &format!(", because {inflation:.1} operations say as much as an independent one");
        }
        if let Some(Measure::Percentile(number)) = self.graded.measure {
            let beyond = effective * (1.0 - number / 100.0);
            text += &format!("; {} of them above p{number}", whole(beyond.round() as u64));
        }
        Some(text)
    }

    /// The interval, or the reason why there is none.
    fn interval(&self) -> String {
        if let Some(ends) = self.graded.eighths {
            let interval = self.graded.interval;
            let is_narrower = interval.is_some_and(|[low, high]| high / low < ends[1] / ends[0]);
            let why = match is_narrower {
                true => "the slices do not show by how much they move".to_owned(),
                false => format!(
                    "which are alike; the interval of {} would be wide",
                    self.graded.n_effective.map_or_else(
                        || "so few effective operations".to_owned(),
                        |of| counted(of.round() as u64, "effective operation")
                    )
                ),
            };
            return format!(
                "{}: the range of the values in the eighths of the window, {why}",
                self.range_words(ends)
            );
        }
        match self.graded.interval {
            Some(ends) => format!(
                "{}: in 95 of 100 runs like this one, such an interval holds the value of an \
                 endless run",
                self.range_words(ends)
            ),
            None => {
                format!("none: {}", self.graded.reason.as_deref().unwrap_or("nothing was measured"))
            }
        }
    }

    /// The bound of memtide's own share.
    fn own(&self) -> String {
        let Some(own) = self.graded.own else {
            return match self.times {
                Some(_) => "its own share of this figure is not known".to_owned(),
                None => "its own delay does not change the rate".to_owned(),
            };
        };
        if own >= ALL_OWN {
            return "it was late, and may have caused all of this: the figure is an upper bound"
                .to_owned();
        }
        let low = self.graded.value.map_or(0.0, |value| value * (1.0 - own));
        format!(
            "at most {} is its own: had it sent and read every operation at its instant, the \
             figure would be at least {}",
            percent(own),
            self.word(low)
        )
    }

    /// Interval and bound together.
    fn range(&self) -> Option<String> {
        let ends = self.graded.range?;
        Some(format!("{}: interval and memtide's share together", self.range_words(ends)))
    }

    fn grade(&self) -> String {
        let because =
            self.graded.reason.as_ref().map_or_else(String::new, |why| format!(", {why}"));
        format!("{}{because} ({GRADES})", self.graded.grade)
    }

    /// The checks of the whole run.
    fn checks(&self) -> String {
        let checks = &self.record.believable.checks;
        let failed: Vec<String> = checks
            .iter()
            .filter(|check| check.result == CheckResult::Failed)
            .map(|check| format!("{}: {}", check_name(check.code), check.message))
            .collect();
        let passed = checks.iter().filter(|check| check.result == CheckResult::Passed).count();
        let passed = counted(passed as u64, "check");
        match failed.is_empty() {
            true => format!("{passed} passed, none failed"),
            false => format!("{passed} passed; failed: {}", failed.join("; ")),
        }
    }
}
