//! The answer of a run: the main figures, each with its uncertainty, memtide's share and its grade.
//!
//! Nothing is judged here: intervals, bounds, grades and reasons are the record's.

mod explanation;
mod next;

pub(crate) use explanation::explanation;
pub(crate) use next::next;
pub use next::shell_word;

use crate::layout::{TextLayout, TextTable, labelled};
#[cfg(feature = "html")]
use crate::number::time;
use crate::number::{NONE, percent};
use crate::times;
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::{CheckKind, Grade, GradedFigure, Percentile, Record};
use memtide_scenario::{Kind, Measure};
use std::cmp::Reverse;

/// The percentiles of the answer, which its mean and rate follow.
const PERCENTILES: [(Percentile, f64); 4] = [
    (Percentile::P50, 50.0),
    (Percentile::P90, 90.0),
    (Percentile::P99, 99.0),
    (Percentile::P999, 99.9),
];
/// Largest number of kinds with a column each.
const KINDS_MAX: usize = 3;
/// Largest number of reasons below the table.
const REASONS_MAX: usize = 3;
/// Share of a figure from which on nothing is known from below.
const ALL_OWN: f64 = 0.995;

/// A row of the answer: one figure of all operations, with its values for the main kinds.
pub(crate) struct AnswerRow {
    pub(crate) graded: GradedFigure,
    /// The value in words, or what stands in its place.
    pub(crate) words: String,
    /// Half the width of the interval.
    pub(crate) half: String,
    /// The largest part that may be memtide's own.
    pub(crate) own: String,
    /// The value for each of the main kinds.
    kinds: Vec<String>,
}

impl AnswerRow {
    fn new(graded: GradedFigure, words: String, kinds: Vec<String>) -> Self {
        let half = graded.sampled().map_or_else(|| NONE.to_owned(), half_words);
        let own = match graded.own {
            Some(own) if own >= ALL_OWN => "?".to_owned(),
            Some(own) => percent(own),
            None => String::new(),
        };
        // Nothing is known from below: memtide may have caused all of it.
        let is_bound = graded.own.is_some_and(|own| own >= ALL_OWN);
        let words = if is_bound { format!("≤ {words}") } else { words };
        Self { graded, words, half, own, kinds }
    }

    /// Where the record has the figure.
    #[cfg(feature = "html")]
    pub(crate) fn names(&self) -> FigureNames {
        let name = self.graded.name().replace('.', "");
        match self.graded.measure {
            None => FigureNames {
                path: "rate",
                value: "achieved_per_s".to_owned(),
                ends: ["low", "high"].map(|end| format!("achieved_ci_{end}_per_s")),
            },
            Some(_) => FigureNames {
                path: "response.all",
                value: format!("{name}_ns"),
                ends: ["low", "high"].map(|end| format!("{name}_ci_{end}_ns")),
            },
        }
    }

    /// Formats a value of this figure.
    #[cfg(feature = "html")]
    pub(crate) fn word(&self, value: f64) -> String {
        match self.graded.measure {
            None => rate_words(value),
            Some(_) => time(value),
        }
    }

    /// Reason why the figure has no interval; none if it has one, and if there is no figure.
    fn why(&self) -> Option<&str> {
        let has_none = self.graded.range.is_none() && self.graded.value.is_some();
        self.graded.reason.as_deref().filter(|_| has_none)
    }
}

/// The names of a figure in the record: its path, its value below that, and its interval's ends.
#[cfg(feature = "html")]
pub(crate) struct FigureNames {
    pub(crate) path: &'static str,
    pub(crate) value: String,
    pub(crate) ends: [String; 2],
}

/// Half the width of an interval, as ratios have it.
pub(crate) fn half([low, high]: [f64; 2]) -> f64 {
    if high <= low { 0.0 } else { (high / low.max(f64::MIN_POSITIVE)).sqrt() - 1.0 }
}

/// Half the width of an interval in words.
fn half_words(ends: [f64; 2]) -> String {
    match half(ends) {
        wide if wide >= 1.0 => "> 100 %".to_owned(),
        half => percent(half),
    }
}

/// The figures of the answer, in its order.
pub(crate) fn answer_rows(record: &Record) -> Vec<AnswerRow> {
    let kinds = kinds(record);
    let percentiles = PERCENTILES.map(|(_, percent)| Measure::Percentile(percent));
    let measures = percentiles.into_iter().zip(1..).chain([(Measure::Mean, 0)]);
    let mut rows: Vec<AnswerRow> = measures
        .filter_map(|(measure, at)| {
            let graded = record.response_figure(Kind::All, measure)?;
            let words = time_words(record, Kind::All, at)?;
            let of_kinds = kinds.iter().map(|kind| {
                let words = time_words(record, *kind, at).unwrap_or_default();
                match record.response_figure(*kind, measure).and_then(|of| of.interval) {
                    Some(ends) => format!("{words} ± {}", half_words(ends)),
                    None => words,
                }
            });
            Some(AnswerRow::new(graded, words, of_kinds.collect()))
        })
        .collect();
    let graded = record.rate_figure();
    if let Some(value) = graded.value {
        let of_kinds = kinds.iter().map(|kind| record.rate.kinds_per_s.get(kind));
        let of_kinds = of_kinds.map(|per_s| per_s.copied().map_or_else(String::new, rate_words));
        rows.push(AnswerRow::new(graded, rate_words(value), of_kinds.collect()));
    }
    rows
}

/// The mean of a kind's times, at 0, or one of [`PERCENTILES`], counted from 1.
fn time_words(record: &Record, kind: Kind, at: usize) -> Option<String> {
    let times = record.response.get(&kind)?;
    let figures = times::figures(times, &PERCENTILES.map(|(percentile, _)| percentile));
    figures.into_iter().nth(at).map(|figure| figure.words)
}

/// Formats a rate of operations.
fn rate_words(per_s: f64) -> String {
    Rate::new(per_s, RateUnit::Operations).to_string()
}

/// The kinds with a column: as operations were sent, most frequent first.
fn kinds(record: &Record) -> Vec<Kind> {
    let kinds = record.response.iter().map(|(kind, times)| (*kind, times.count));
    let mut kinds: Vec<(Kind, u64)> = kinds
        .filter(|(kind, _)| !matches!(kind, Kind::All | Kind::GetHit | Kind::GetMiss))
        .filter(|(_, count)| *count > 0)
        .collect();
    kinds.sort_by_key(|(_, count)| Reverse(*count));
    kinds.truncate(KINDS_MAX);
    // A single kind would repeat the column of all.
    if kinds.len() < 2 { Vec::new() } else { kinds.into_iter().map(|(kind, _)| kind).collect() }
}

/// The table of the answer.
pub(crate) fn answer_table(record: &Record) -> TextTable {
    table(record, &answer_rows(record))
}

fn table(record: &Record, rows: &[AnswerRow]) -> TextTable {
    let kinds = kinds(record);
    let heading = ["figure", "all", "±", "memtide", "believable"].map(str::to_owned);
    let heading: Vec<String> =
        heading.into_iter().chain(kinds.iter().map(|kind| kind.name().to_owned())).collect();
    let names: Vec<&str> = kinds.iter().rev().map(|kind| kind.name()).collect();
    let dispensable: Vec<&str> = names.into_iter().chain(["memtide", "±"]).collect();
    let mut table = TextTable::new(&heading, &dispensable);
    for row in rows {
        let name = row.graded.name();
        let grade = grade(record, row);
        let cells = [name, row.words.clone(), row.half.clone(), row.own.clone(), grade];
        table.row(cells.into_iter().chain(row.kinds.iter().cloned()).collect());
    }
    table
}

/// Adds the table of the answer, and the reasons for absent intervals.
pub(crate) fn answer(out: &mut TextLayout, record: &Record) {
    let rows = answer_rows(record);
    table(record, &rows).render(out);
    for (why, names) in reasons(&rows).into_iter().take(REASONS_MAX) {
        let which =
            if names.len() == rows.len() { "any figure".to_owned() } else { names.join(", ") };
        labelled(out, NONE, &format!("no interval of {which}: {why}"));
    }
}

/// The grade of a figure in words: no if a check spoils all of them; none in older records.
pub(crate) fn grade(record: &Record, row: &AnswerRow) -> String {
    match record.slicing {
        None => NONE.to_owned(),
        Some(_) if record.believable.spoils_all() => Grade::No.to_string(),
        Some(_) => row.graded.grade.to_string(),
    }
}

/// The reasons for absent intervals, each with the names of the figures, in the order of these.
fn reasons(rows: &[AnswerRow]) -> Vec<(&str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let Some(why) = row.why() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(row.graded.name()),
            None => reasons.push((why, vec![row.graded.name()])),
        }
    }
    reasons
}

/// The figures whose grades the verdict names: those of the answer, and others on which the run is
/// judged.
pub(crate) fn verdict_figures(record: &Record) -> Vec<GradedFigure> {
    let mut figures: Vec<GradedFigure> =
        answer_rows(record).into_iter().map(|row| row.graded).collect();
    let more = record.judged_figures().into_iter().filter(|figure| !figures.contains(figure));
    let more: Vec<GradedFigure> = more.collect();
    figures.extend(more);
    figures
}

/// What a check looks at.
pub(crate) const fn check_name(code: CheckKind) -> &'static str {
    match code {
        CheckKind::Answered => "number of replies",
        CheckKind::Errors => "error rate",
        CheckKind::Rate => "rate",
        CheckKind::GeneratorP50 => "memtide's own delay at p50",
        CheckKind::GeneratorP99 => "memtide's own delay at p99",
        CheckKind::WorkerBusy => "busy time of the workers",
        CheckKind::OwnCpus => "CPUs of the embedded server",
        CheckKind::ServerCounters => "servers' counters",
        CheckKind::Shares => "number of shares",
        CheckKind::Silence => "silence of the servers",
    }
}
