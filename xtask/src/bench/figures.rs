//! Medians and spreads of repeated runs, and the lines of text that show them.
//!
//! No means: one disturbed round must not move the answer.

use serde_json::{Value, json};

/// What one run of a client came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) ops_per_s: f64,
    /// User and system time of the client, per million operations.
    pub(crate) cpu_s_per_mops: f64,
    pub(crate) rss_max_bytes: f64,
    /// The median and the 99th percentile of response, where the client measures it.
    pub(crate) response_us: Option<(f64, f64)>,
    /// The same of lag: how late operations were sent.
    pub(crate) lag_us: Option<(f64, f64)>,
}

/// A set of figures by its middle, and where the middle of all possible ones lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// The ends of the interval that holds the true median with 95 % confidence; the least and
    /// the most of fewer than six figures.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// The spread of at least one figure.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        assert!(!sorted.is_empty(), "a spread is made of at least one figure");
        sorted.sort_by(f64::total_cmp);
        let (count, last) = (sorted.len(), sorted.len() - 1);
        let median = f64::midpoint(sorted[last / 2], sorted[count / 2]);
        let cut = outside_median(count);
        Self { median, low: sorted[cut], high: sorted[last - cut] }
    }

    /// `1.21 (1.18 – 1.26)`, each with `digits` behind the point.
    pub(crate) fn text(self, digits: usize) -> String {
        let Self { median, low, high } = self;
        format!("{median:.digits$} ({low:.digits$} – {high:.digits$})")
    }

    fn json(self) -> Value {
        json!({"median": self.median, "low": self.low, "high": self.high})
    }
}

/// How many of `count` sorted figures can be left out at each end so that the rest still spans
/// their median with 95 % confidence: each figure is above it with probability one half.
fn outside_median(count: usize) -> usize {
    let (mut cut, mut ways, mut tail) = (0_usize, 1.0, 0.0);
    let all = 2.0_f64.powi(count as i32);
    loop {
        // Of `count` figures exactly `cut` are below the median in `ways` of `all` cases.
        tail += ways / all;
        if 2.0 * tail > 0.05 {
            return cut.saturating_sub(1).min(count.saturating_sub(1) / 2);
        }
        ways *= (count - cut) as f64 / (cut + 1) as f64;
        cut += 1;
    }
}

/// The interleaved rounds of one shape: run i of every client belongs to round i. The first client
/// is the one that all are held against.
#[derive(Debug)]
pub(crate) struct Rounds {
    clients: Vec<(String, Vec<Run>)>,
}

impl Rounds {
    pub(crate) fn of(names: impl Iterator<Item = String>) -> Self {
        Self { clients: names.map(|name| (name, Vec::new())).collect() }
    }

    /// One more run of a client.
    pub(crate) fn add(&mut self, client: usize, run: Run) {
        self.clients[client].1.push(run);
    }

    /// A client's figure divided by the first client's of the same round.
    fn ratio(&self, runs: &[Run], figure: fn(&Run) -> f64) -> Spread {
        let (_, reference) = &self.clients[0];
        Spread::of(runs.iter().zip(reference).map(|(run, bare)| figure(run) / figure(bare)))
    }

    /// A table with a row for each client.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{:<18}{:>12}{:>9}  {:<22}{:<22}{:>9}{:>18}{:>16}\n",
            "",
            "per second",
            "CPU s/M",
            "CPU ratio",
            "throughput ratio",
            "peak MB",
            "p50/p99 us",
            "lag us"
        );
        for (name, runs) in &self.clients {
            let median = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(figure)).median;
            let response = pair(runs.iter().filter_map(|run| run.response_us));
            let lag = pair(runs.iter().filter_map(|run| run.lag_us));
            text += &format!(
                "{name:<18}{:>12.0}{:>9.3}  {:<22}{:<22}{:>9.1}{response:>18}{lag:>16}\n",
                median(|run| run.ops_per_s),
                median(|run| run.cpu_s_per_mops),
                self.ratio(runs, |run| run.cpu_s_per_mops).text(3),
                self.ratio(runs, |run| run.ops_per_s).text(3),
                median(|run| run.rss_max_bytes / 1e6),
            );
        }
        text
    }

    /// Every figure, for programs.
    pub(crate) fn json(&self) -> Value {
        let one = |run: &Run| {
            json!({
                "ops_per_s": run.ops_per_s,
                "cpu_s_per_mops": run.cpu_s_per_mops,
                "rss_max_bytes": run.rss_max_bytes,
                "response_p50_us": run.response_us.map(|(p50, _)| p50),
                "response_p99_us": run.response_us.map(|(_, p99)| p99),
                "lag_p50_us": run.lag_us.map(|(p50, _)| p50),
                "lag_p99_us": run.lag_us.map(|(_, p99)| p99),
            })
        };
        let client = |(name, runs): &(String, Vec<Run>)| {
            json!({
                "client": name,
                "runs": runs.iter().map(one).collect::<Vec<_>>(),
                "ratio": {
                    "ops_per_s": self.ratio(runs, |run| run.ops_per_s).json(),
                    "cpu_s_per_mops": self.ratio(runs, |run| run.cpu_s_per_mops).json(),
                },
            })
        };
        self.clients.iter().map(client).collect()
    }
}

/// The medians of both halves of some pairs, or a dash.
fn pair(pairs: impl Iterator<Item = (f64, f64)>) -> String {
    let (firsts, seconds): (Vec<f64>, Vec<f64>) = pairs.unzip();
    if firsts.is_empty() {
        return "–".to_owned();
    }
    format!("{:.1} / {:.1}", Spread::of(firsts).median, Spread::of(seconds).median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_its_interval() {
        let few = Spread { median: 2.0, low: 1.0, high: 3.0 };
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), few);
        assert_eq!(Spread::of([4.0, 1.0]).median, 2.5);
        assert_eq!(Spread::of([1.2, 1.1, 1.3]).text(1), "1.2 (1.1 – 1.3)");
        // Conover, Practical Nonparametric Statistics, table A3: of 11 the 2nd and the 10th.
        let eleven = Spread::of((1..=11).map(f64::from));
        assert_eq!((eleven.low, eleven.median, eleven.high), (2.0, 6.0, 10.0));
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let run = |ops_per_s, cpu_s_per_mops| Run {
            ops_per_s,
            cpu_s_per_mops,
            rss_max_bytes: 1e6,
            response_us: None,
            lag_us: Some((1.0, 2.0)),
        };
        let mut rounds = Rounds::of(["bare", "memtide"].map(str::to_owned).into_iter());
        for (client, one) in
            [(0, run(100.0, 5.0)), (1, run(90.0, 6.0)), (1, run(45.0, 12.0)), (0, run(50.0, 10.0))]
        {
            rounds.add(client, one);
        }
        let ratio = &rounds.json()[1]["ratio"];
        assert_eq!(ratio["ops_per_s"]["median"], 0.9);
        assert_eq!(ratio["cpu_s_per_mops"]["high"], 1.2);
        assert!(rounds.text().contains("0.900 (0.900 – 0.900)"), "{}", rounds.text());
    }
}
