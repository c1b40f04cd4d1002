//! Medians and spreads of repeated runs, and the lines of text that show them.
//!
//! No means: one disturbed round must not affect the result.

use serde_json::{Value, json};

/// The figures of one run of a client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) ops_per_s: f64,
    /// User and system time of the client, per million operations.
    pub(crate) cpu_s_per_mops: f64,
    pub(crate) rss_max_bytes: f64,
    /// The median and the 99th percentile of the response time, if the client measures them.
    pub(crate) response_us: Option<(f64, f64)>,
    /// The lag of operations: its median and 99th percentile.
    pub(crate) lag_us: Option<(f64, f64)>,
}

/// The median of some figures, and the interval of the true median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// The interval that contains the true median with 95 % confidence; minimum and maximum of
    /// fewer than six figures.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// The median and interval of the figures; `None` without figures.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let last = count.checked_sub(1)?;
        let median = f64::midpoint(sorted[last / 2], sorted[count / 2]);
        let cut = outside_median(count);
        Some(Self { median, low: sorted[cut], high: sorted[last - cut] })
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

/// The number of the `count` sorted figures that can be left out at each end so that the rest still
/// spans their median with 95 % confidence: each figure is above it with probability one half.
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

/// The interleaved rounds of one shape. All clients are compared with the first.
#[derive(Debug)]
pub(crate) struct Rounds {
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    name: &'static str,
    /// The run of each round, or the reason why it has no figures.
    runs: Vec<Result<Run, String>>,
}

impl Client {
    fn measured(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().flatten()
    }

    /// Its figure divided by that of `base` in the same round; `None` without such rounds.
    fn beside(&self, base: &Self, figure: fn(&Run) -> f64) -> Option<Spread> {
        let pairs = self.runs.iter().zip(&base.runs);
        let pairs = pairs.filter_map(|(run, base)| run.as_ref().ok().zip(base.as_ref().ok()));
        Spread::of(pairs.map(|(run, base)| figure(run) / figure(base)))
    }

    /// `2 of 11 rounds without a figure: why`, with the last reason; `None` if each round has one.
    fn missing(&self) -> Option<String> {
        let why = self.runs.iter().rev().find_map(|run| run.as_ref().err())?;
        let missing = self.runs.len() - self.measured().count();
        Some(format!("{missing} of {} rounds without a figure: {why}", self.runs.len()))
    }
}

impl Rounds {
    pub(crate) fn of(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self { clients: names.into_iter().map(|name| Client { name, runs: Vec::new() }).collect() }
    }

    /// Adds a run of a client, or the reason why it has no figures.
    pub(crate) fn add(&mut self, client: usize, run: Result<Run, String>) {
        self.clients[client].runs.push(run);
    }

    /// A client's figure divided by the first client's in the same round; `None` without such
    /// rounds.
    fn ratio(&self, client: &Client, figure: fn(&Run) -> f64) -> Option<Spread> {
        client.beside(&self.clients[0], figure)
    }

    /// A line about each client's CPU beside that of the client called `name`; empty if that has no
    /// figures.
    pub(crate) fn cpu_beside(&self, name: &str) -> String {
        let Some(base) = self.clients.iter().find(|client| client.name == name) else {
            return String::new();
        };
        let others = self.clients.iter().filter(|client| client.name != name);
        let line = |client: &Client| {
            let ratio = client.beside(base, |run| run.cpu_s_per_mops)?.text(3);
            Some(format!("{}: {ratio} of {name}'s CPU\n", client.name))
        };
        others.filter_map(line).collect()
    }

    /// A line about the number of what was counted, called `what`, for each second of a client's
    /// CPU, and its ratio to the first client's.
    pub(crate) fn per_cpu_s(&self, what: &str) -> String {
        let figure = |run: &Run| 1e6 / run.cpu_s_per_mops;
        let line = |client: &Client| {
            let median = Spread::of(client.measured().map(figure))?.median;
            let ratio = self.ratio(client, figure)?.text(3);
            Some(format!("{}: {median:.0} {what} per CPU second, ratio {ratio}\n", client.name))
        };
        self.clients.iter().filter_map(line).collect()
    }

    /// A table with a row for each client.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{:<22}{:>12}{:>9}  {:<24}{:<24}{:>9}{:>22}{:>20}\n",
            "",
            "per second",
            "CPU s/M",
            "CPU ratio",
            "throughput ratio",
            "peak MB",
            "p50/p99 us",
            "lag us"
        );
        for client in &self.clients {
            let median = |figure: fn(&Run) -> f64| Spread::of(client.measured().map(figure));
            let response = pair(client.measured().filter_map(|run| run.response_us));
            let lag = pair(client.measured().filter_map(|run| run.lag_us));
            let one = |spread: Option<Spread>, digits: usize| match spread {
                Some(spread) => format!("{:.digits$}", spread.median),
                None => NOTHING.to_owned(),
            };
            let whole = |spread: Option<Spread>| match spread {
                Some(spread) => spread.text(3),
                None => NOTHING.to_owned(),
            };
            text += &format!(
                "{:<22}{:>12}{:>9}  {:<24}{:<24}{:>9}{response:>22}{lag:>20}\n",
                client.name,
                one(median(|run| run.ops_per_s), 0),
                one(median(|run| run.cpu_s_per_mops), 3),
                whole(self.ratio(client, |run| run.cpu_s_per_mops)),
                whole(self.ratio(client, |run| run.ops_per_s)),
                one(median(|run| run.rss_max_bytes / 1e6), 1),
            );
        }
        for client in &self.clients {
            if let Some(missing) = client.missing() {
                text += &format!("{}: {missing}\n", client.name);
            }
        }
        text
    }

    /// All figures as JSON.
    pub(crate) fn json(&self) -> Value {
        let run = |run: &Result<Run, String>| match run {
            Ok(run) => json!({
                "ops_per_s": run.ops_per_s,
                "cpu_s_per_mops": run.cpu_s_per_mops,
                "rss_max_bytes": run.rss_max_bytes,
                "response_p50_us": run.response_us.map(|(p50, _)| p50),
                "response_p99_us": run.response_us.map(|(_, p99)| p99),
                "lag_p50_us": run.lag_us.map(|(p50, _)| p50),
                "lag_p99_us": run.lag_us.map(|(_, p99)| p99),
            }),
            Err(why) => json!({"missing": why}),
        };
        let spread = |spread: Option<Spread>| spread.map(Spread::json);
        let client = |client: &Client| {
            json!({
                "client": client.name,
                "runs": client.runs.iter().map(run).collect::<Vec<_>>(),
                "ratio": {
                    "ops_per_s": spread(self.ratio(client, |run| run.ops_per_s)),
                    "cpu_s_per_mops": spread(self.ratio(client, |run| run.cpu_s_per_mops)),
                },
            })
        };
        self.clients.iter().map(client).collect()
    }
}

/// The text for a missing figure.
const NOTHING: &str = "–";

/// The medians of the first and the second members of some pairs, or a dash.
fn pair(pairs: impl Iterator<Item = (f64, f64)>) -> String {
    let (firsts, seconds): (Vec<f64>, Vec<f64>) = pairs.unzip();
    match Spread::of(firsts).zip(Spread::of(seconds)) {
        Some((first, second)) => format!("{:.1} / {:.1}", first.median, second.median),
        None => NOTHING.to_owned(),
    }
}

#[cfg(test)]
mod tests;
