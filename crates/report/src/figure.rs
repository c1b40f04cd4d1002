//! A figure with its words: the cells, lines and properties of every output are made from it.
//!
//! A missing figure shows as a dash or a bound, with the reason. Nothing is computed here.

use crate::layout::{TextLayout, labelled};
use crate::number::{self, NONE, above, time, whole};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::Record;
use memtide_record::compare::{FIGURES, RunFigure, Unit, Value};

/// A figure, as outputs show it.
#[cfg_attr(not(feature = "html"), expect(dead_code, reason = "only pages show all of it"))]
pub(crate) struct Figure {
    /// Name of the figure in the record or in rules.
    pub(crate) name: String,
    /// The rounded figure with its unit, or what stands in its place.
    pub(crate) words: String,
    /// The exact figure, if there is one.
    pub(crate) value: Option<String>,
    /// Reason why there is no figure.
    pub(crate) why: Option<String>,
}

impl Figure {
    pub(crate) fn known(name: impl Into<String>, words: String, value: impl ToString) -> Self {
        Self { name: name.into(), words, value: Some(value.to_string()), why: None }
    }

    pub(crate) fn missing(
        name: impl Into<String>,
        words: impl Into<String>,
        why: Option<&str>,
    ) -> Self {
        let why = why.map(str::to_owned);
        Self { name: name.into(), words: words.into(), value: None, why }
    }

    /// A figure in `unit`: its value, its lower bound, or the reason why there is none.
    pub(crate) fn of(name: &str, unit: Unit, value: &Value) -> Self {
        match (value.value, value.at_least) {
            (Some(figure), _) => Self::known(name, in_unit(unit, figure), figure),
            (None, at_least) => {
                let words = match at_least {
                    // A percentile lies above its bound; a mean may be as large.
                    Some(ns) if name.ends_with(".mean") => number::at_least(&time(ns)),
                    Some(ns) => above(ns as u64),
                    None => NONE.to_owned(),
                };
                Self::missing(name, words, value.missing.as_deref())
            }
        }
    }
}

/// Formats a figure with its unit.
pub(crate) fn in_unit(unit: Unit, figure: f64) -> String {
    match unit {
        Unit::Ns => time(figure),
        Unit::PerS => Rate::new(figure, RateUnit::Operations).to_string(),
        Unit::KeysPerS => Rate::new(figure, RateUnit::Keys).to_string(),
        Unit::Count => whole(figure as u64),
        Unit::Fraction => format!("{:.3} %", figure * 100.0),
        Unit::CpuSPerMops => format!("{figure:.2} s/Mop"),
    }
}

/// The figures of a run that every output shows, as far as the record has them.
pub(crate) fn run_figures(record: &Record) -> Vec<(&'static RunFigure, Figure)> {
    let all = FIGURES.iter().map(|of| (of, Figure::of(of.name, of.unit, &of.of(record))));
    all.filter(|(_, figure)| figure.value.is_some()).collect()
}

/// Adds a line for each figure that has one, unless it is zero.
pub(crate) fn lines(out: &mut TextLayout, record: &Record) {
    for (of, figure) in run_figures(record) {
        let Some((label, words)) = of.line.filter(|_| figure.value.as_deref() != Some("0")) else {
            continue;
        };
        labelled(out, label, &format!("{} {words}", figure.words));
    }
}

#[cfg(test)]
mod tests;
