//! The formats of the family: the statistics of a table, and the headings of its columns.
//!
//! Widths and labels are those of the programs' sources; none is invented here.

use crate::mutilate::rows::Face;
use memtide_base::worded;
use std::fmt;
use std::str::FromStr;

worded! {
    /// The program whose output is printed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Format {
        /// mutilate 0.1, as its last sources print: eight statistics, with the deviation.
        Mutilate = "mutilate",
        /// mutilate as on its page of 2012: eight statistics, without the deviation.
        Mutilate2012 = "mutilate-2012",
        /// memcache-perf, `mcperf` 0.3: fifteen statistics.
        Mcperf = "mcperf",
        /// memcache-perf-dynamic: the statistics of `mcperf`, with the time of day.
        McperfDynamic = "mcperf-dynamic",
    }
    /// The word of `--format`.
    pub const fn name;
    /// Every format.
    pub const ALL;
}

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Statistic {
    Mean,
    Deviation,
    Minimum,
    /// A percentile, in percent.
    Percentile(f64),
}

/// A column of a table: its heading and its statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) label: &'static str,
    pub(super) statistic: Statistic,
}

const fn column(label: &'static str, statistic: Statistic) -> Column {
    Column { label, statistic }
}

const MUTILATE: &[Column] = &[
    column("avg", Statistic::Mean),
    column("std", Statistic::Deviation),
    column("min", Statistic::Minimum),
    column("5th", Statistic::Percentile(5.0)),
    column("10th", Statistic::Percentile(10.0)),
    column("90th", Statistic::Percentile(90.0)),
    column("95th", Statistic::Percentile(95.0)),
    column("99th", Statistic::Percentile(99.0)),
];

const MUTILATE_2012: &[Column] = &[
    column("avg", Statistic::Mean),
    column("min", Statistic::Minimum),
    column("1st", Statistic::Percentile(1.0)),
    column("5th", Statistic::Percentile(5.0)),
    column("10th", Statistic::Percentile(10.0)),
    column("90th", Statistic::Percentile(90.0)),
    column("95th", Statistic::Percentile(95.0)),
    column("99th", Statistic::Percentile(99.0)),
];

const MCPERF: &[Column] = &[
    column("avg", Statistic::Mean),
    column("std", Statistic::Deviation),
    column("min", Statistic::Minimum),
    column("p5", Statistic::Percentile(5.0)),
    column("p10", Statistic::Percentile(10.0)),
    column("p50", Statistic::Percentile(50.0)),
    column("p67", Statistic::Percentile(67.0)),
    column("p75", Statistic::Percentile(75.0)),
    column("p80", Statistic::Percentile(80.0)),
    column("p85", Statistic::Percentile(85.0)),
    column("p90", Statistic::Percentile(90.0)),
    column("p95", Statistic::Percentile(95.0)),
    column("p99", Statistic::Percentile(99.0)),
    column("p999", Statistic::Percentile(99.9)),
    column("p9999", Statistic::Percentile(99.99)),
];

impl Format {
    /// The default format of a face.
    pub const fn of(face: Face) -> Self {
        match face {
            Face::Mutilate => Self::Mutilate,
            Face::Mcperf => Self::Mcperf,
            Face::McperfDynamic => Self::McperfDynamic,
        }
    }

    /// The columns of a table after the first.
    pub(super) const fn columns(self) -> &'static [Column] {
        match self {
            Self::Mutilate => MUTILATE,
            Self::Mutilate2012 => MUTILATE_2012,
            Self::Mcperf | Self::McperfDynamic => MCPERF,
        }
    }

    /// The columns in the heading of a scan. mutilate prints those of 2012 above rows with
    /// [`Format::columns`]; parsers rely on the position, not on the heading.
    pub(super) const fn scan_columns(self) -> &'static [Column] {
        match self {
            Self::Mutilate => MUTILATE_2012,
            _ => self.columns(),
        }
    }

    /// True for the formats of memcache-perf.
    pub(super) const fn is_mcperf(self) -> bool {
        matches!(self, Self::Mcperf | Self::McperfDynamic)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    /// The error is a sentence that lists the formats.
    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == word).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|format| format.name()).collect();
            format!("'{word}' is not a format; known are {}", names.join(", "))
        })
    }
}
