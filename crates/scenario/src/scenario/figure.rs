//! The list of figures that `goal`, `abort-on` and `fail-on` can name, beside rate, errors, start
//! skew and times.
//!
//! Names and the forms of their bounds only; values are those of a record.

use memtide_base::{units, worded};

worded! {
    /// A figure of a whole run that is one number.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FigureName {
        /// Operations answered per second.
        Answered = "answered",
        /// Keys found.
        Hits = "hits",
        /// Keys not found.
        Misses = "misses",
        /// Fraction of the keys that were found.
        HitRatio = "hit_ratio",
        /// CPU seconds of memtide per million operations.
        ClientCpu = "client_cpu",
        /// CPU seconds of the servers per million operations.
        ServerCpu = "server_cpu",
        /// Busy fraction of the busiest worker.
        WorkerBusy = "worker_busy",
        /// Fraction of the workers' time with nothing in flight.
        NoneInFlight = "none_in_flight",
        /// Busy fraction of the machine's CPUs.
        MachineCpu = "machine_cpu",
        /// Fraction of the CPUs' time that the hypervisor took.
        Stolen = "stolen",
    }
    /// Name in goals, conditions, rules and tables.
    pub const fn name;
    /// Every figure, in the order of tables.
    pub const ALL;
}

/// The figures that can be named, as a literal for the help of fields.
macro_rules! figure_list {
    () => {
        "`KIND.MEASURE`, where KIND is `all`, an operation of the mix, `get_hit` or `get_miss`, \
         and MEASURE is `mean`, `max` or a percentile of the response times such as `p99.9`; \
         MEASURE alone, which is that of `all`; `rate`, `errors`, `start_skew`, `answered`, \
         `hits`, `misses`, `hit_ratio`, `client_cpu`, `server_cpu`, `worker_busy`, \
         `none_in_flight`, `machine_cpu`, `stolen`"
    };
}
pub(crate) use figure_list;

/// The figures that goals, conditions and rules can name, in the words of their help.
pub const FIGURE_LIST: &str = figure_list!();

impl FigureName {
    /// True if its bounds are fractions, which may be percentages.
    pub(super) const fn is_fraction(self) -> bool {
        use FigureName::{HitRatio, MachineCpu, NoneInFlight, Stolen, WorkerBusy};
        matches!(self, HitRatio | WorkerBusy | NoneInFlight | MachineCpu | Stolen)
    }

    /// Parses a bound: a fraction, a rate, or a number.
    ///
    /// # Errors
    /// A clause that says what is allowed.
    pub(super) fn parse_bound(self, word: &str) -> Result<f64, String> {
        if self.is_fraction() {
            return units::parse_fraction(word).map_err(|error| error.to_string());
        }
        if self == Self::Answered {
            return units::parse_rate(word).map_err(|error| error.to_string());
        }
        match word.parse::<f64>() {
            Ok(bound) if bound.is_finite() && bound >= 0.0 => Ok(bound),
            _ => Err(format!("'{word}' is not a number from 0 on, such as 1000 or 6.5")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FIELDS, parse_subject};

    /// `--goal`, `--abort-on` and `--fail-on` each knew other figures.
    #[test]
    fn one_list_is_parsed_and_stands_in_each_help() {
        for name in FigureName::ALL.map(FigureName::name) {
            assert!(FIGURE_LIST.contains(&format!("`{name}`")), "{name}");
            assert_eq!(parse_subject(name).unwrap().to_string(), name);
        }
        assert_eq!(parse_subject("p99.9").unwrap().to_string(), "all.p99.9");
        for field in ["goal", "abort-on"] {
            let field = FIELDS.iter().find(|of| of.name == field).unwrap();
            assert!(field.long.contains(FIGURE_LIST), "{}", field.name);
        }
    }
}
