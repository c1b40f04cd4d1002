//! The progress of a search, as the originals log it on stderr.
//!
//! Each line begins with the place in the original's source that prints it, which scripts cut off.

use super::format::Format;

/// The goal of a search: the highest rate at which a statistic stays within a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchGoal {
    /// The statistic as written: `95`, `999`, `avg`.
    pub order: String,
    /// Its limit, in µs.
    pub limit_us: u64,
}

/// A step of a search that is reported by a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchStep {
    /// The search begins.
    Begin,
    /// The run without a limit has ended.
    Peak {
        /// The achieved rate, per second.
        rate_per_s: f64,
        /// The measured statistic, in µs.
        measured_us: f64,
    },
    /// A run of the bisection has ended.
    Bisected(Trial),
    /// A run slightly below the last one has ended.
    Lowered(Trial),
}

/// A run at a rate that the search chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The requested rate, per second.
    pub target_per_s: u64,
    /// The achieved rate, per second.
    pub rate_per_s: f64,
    /// The measured statistic, in µs.
    pub measured_us: f64,
    /// The highest rate known to be good before this run, per second.
    pub low_per_s: u64,
    /// The lowest rate known to be too high before this run, per second.
    pub high_per_s: u64,
}

/// The line for `step`, with its line end.
pub fn search_line(format: Format, goal: &SearchGoal, step: &SearchStep) -> String {
    let is_mcperf = format.is_mcperf();
    let origin = origin(format, goal, step);
    let words = match step {
        SearchStep::Begin => begin(is_mcperf, goal),
        SearchStep::Peak { rate_per_s, measured_us } => {
            let rate = rate_per_s.trunc();
            match is_mcperf {
                true => {
                    format!("peak qps = {}, {} = {measured_us:.1}", spaced(rate), goal.order)
                }
                false => format!("peak qps = {rate:.0}, nth = {measured_us:.1}"),
            }
        }
        SearchStep::Bisected(trial) | SearchStep::Lowered(trial) => {
            let Trial { target_per_s, rate_per_s, measured_us, low_per_s, high_per_s } = trial;
            match is_mcperf {
                true => format!(
                    ". target = {}, {} = {measured_us:.1}, high_qps = {high_per_s}, \
                     low_qps = {low_per_s}, qps = {rate_per_s:.0}",
                    spaced(*target_per_s as f64),
                    goal.order
                ),
                false => format!(
                    "cur_qps = {target_per_s}, get_qps = {rate_per_s:.6}, nth = {measured_us:.6}"
                ),
            }
        }
    };
    format!("{origin}: {words}\n")
}

fn begin(is_mcperf: bool, goal: &SearchGoal) -> String {
    let limit = goal.limit_us;
    if is_mcperf && goal.is_mean() {
        return format!("Search-mode.  Find QPS @ {limit}us avg latency.");
    }
    // The number that a C program would read: its leading digits.
    let digits: String = goal.order.chars().take_while(char::is_ascii_digit).collect();
    let order = if digits.is_empty() { "0" } else { &digits };
    format!("Search-mode.  Find QPS @ {limit}us {order}th percentile.")
}

impl SearchGoal {
    /// True if memcache-perf reads the statistic as the mean: any piece of the word `avg`.
    fn is_mean(&self) -> bool {
        "avg".contains(&self.order)
    }
}

/// The file and line of the original that prints this.
fn origin(format: Format, goal: &SearchGoal, step: &SearchStep) -> String {
    let lines = match format {
        Format::Mutilate | Format::Mutilate2012 => [489, 489, 503, 521, 543],
        Format::Mcperf => [779, 780, 796, 816, 839],
        Format::McperfDynamic => [1009, 1010, 1026, 1047, 1071],
    };
    let [mean, percentile, peak, bisected, lowered] = lines;
    let line = match step {
        SearchStep::Begin if goal.is_mean() => mean,
        SearchStep::Begin => percentile,
        SearchStep::Peak { .. } => peak,
        SearchStep::Bisected(_) => bisected,
        SearchStep::Lowered(_) => lowered,
    };
    let file = if format.is_mcperf() { "mcperf.cc" } else { "mutilate.cc" };
    format!("{file}({line})")
}

/// Formats a whole number as C's `% 8d`: at least eight wide, and always with a space in front.
fn spaced(number: f64) -> String {
    format!("{:>8}", format!(" {number:.0}"))
}
