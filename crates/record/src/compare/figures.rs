//! The rows of a comparison: the figures of every record, with their ratios to the first record's.

use super::{FigureRow, Unit, Value};
use crate::belief::SOME_UNANSWERED;
use crate::judge::{Measured, measured};
use crate::record::{Distribution, Missing, Percentile, PlanRecord, Record};
use crate::run_figure::{FIGURES, known, missing};
use memtide_base::choice::RateUnit;
use memtide_scenario::{Kind, Subject};
use std::collections::BTreeSet;

/// The percentiles that have rows.
const PERCENTILES: [Percentile; 4] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999];

/// A row for each figure: rates and counts, then times, then the cost, which begins with the first
/// CPU time.
pub(super) fn figures(records: &[&Record]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    let counted = PlanRecord::common_unit(records.iter().map(|record| &record.plan));
    let per_s = match counted {
        RateUnit::Operations => Unit::PerS,
        RateUnit::Keys => Unit::KeysPerS,
    };
    rows.push(row("rate", per_s, records, |record| rate(record, counted)));
    rows.push(row("errors", Unit::Fraction, records, |record| {
        of_goal(Subject::Errors, record, counted)
    }));
    let first_cost = FIGURES.iter().position(|figure| figure.unit == Unit::CpuSPerMops);
    let (results, cost) = FIGURES.split_at(first_cost.unwrap_or(0));
    rows.extend(results.iter().map(|it| row(it.name, it.unit, records, |record| it.of(record))));
    for kind in kinds(records) {
        let name = format!("{kind}.mean");
        rows.push(row(&name, Unit::Ns, records, |record| mean(times(record, kind))));
        for percentile in PERCENTILES {
            let name = format!("{kind}.{percentile}");
            rows.push(row(&name, Unit::Ns, records, |record| at(times(record, kind), percentile)));
        }
    }
    rows.extend(cost.iter().map(|it| row(it.name, it.unit, records, |record| it.of(record))));
    rows
}

fn row(name: &str, unit: Unit, records: &[&Record], value: impl Fn(&Record) -> Value) -> FigureRow {
    let values = records.iter().map(|record| value(record)).collect();
    FigureRow { name: name.to_owned(), unit, values: related(values) }
}

/// The response times of a kind of operation, if it was measured.
fn times(record: &Record, kind: Kind) -> Option<&Distribution> {
    record.judged().response.get(&kind).filter(|times| times.count > 0)
}

/// Every kind of operation for which a record has times.
fn kinds(records: &[&Record]) -> BTreeSet<Kind> {
    let of_all = records.iter().flat_map(|record| &record.judged().response);
    of_all.filter(|(_, times)| times.count > 0).map(|(kind, _)| *kind).collect()
}

fn of_goal(subject: Subject, record: &Record, unit: RateUnit) -> Value {
    match measured(subject, record, unit) {
        Measured::Known(value) => known(value),
        Measured::Missing(why) => missing(&why),
        Measured::Unanswered => missing("it falls among unanswered operations"),
    }
}

/// The rate. A record has an interval of the rate of operations, and none of the rate of keys.
fn rate(record: &Record, unit: RateUnit) -> Value {
    let value = of_goal(Subject::Rate, record, unit);
    let is_known = value.value.is_some() && unit == RateUnit::Operations;
    Value { ci: record.rate_figure().interval.filter(|_| is_known), ..value }
}

fn mean(times: Option<&Distribution>) -> Value {
    let Some(times) = times else {
        return missing("no such operation was measured");
    };
    match times.mean_ns {
        Some(mean) => Value { ci: times.mean_interval(), ..known(mean) },
        None if times.count == times.unanswered => missing("no such operation was answered"),
        None => Value { at_least: times.mean_at_least_ns, ..missing(SOME_UNANSWERED) },
    }
}

fn at(times: Option<&Distribution>, percentile: Percentile) -> Value {
    let Some(times) = times else {
        return missing("no such operation was measured");
    };
    match (times.percentile(percentile), times.missing.get(&percentile)) {
        (Some(ns), _) => {
            let ci = times.interval(percentile).map(|ends| ends.map(|end| end as f64));
            Value { ci, ..known(ns as f64) }
        }
        (None, Some(Missing::Unanswered)) => Value {
            at_least: times.percentile_at_least(percentile).map(|ns| ns as f64),
            ..missing("it falls among operations that were not answered")
        },
        (None, Some(Missing::TooFew { needed, has })) => {
            missing(&format!("it needs {needed} operations, and {has} were measured"))
        }
        (None, None) => missing("the record does not contain it"),
    }
}

/// Returns the values, each with its ratio to the first and whether their intervals are apart.
fn related(mut values: Vec<Value>) -> Vec<Value> {
    let (value, ci) = values.first().map_or((None, None), |first| (first.value, first.ci));
    for other in values.iter_mut().skip(1) {
        let ratio = value.zip(other.value).map(|(first, other)| other / first);
        other.ratio = ratio.filter(|ratio| ratio.is_finite());
        other.apart = ci
            .zip(other.ci)
            .map(|([low, high], [other_low, other_high])| other_low > high || other_high < low);
    }
    values
}
