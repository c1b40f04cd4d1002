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
}

/// A set of figures by its middle and its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of at least one figure.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        assert!(!sorted.is_empty(), "a spread is made of at least one figure");
        sorted.sort_by(f64::total_cmp);
        let (count, last) = (sorted.len(), sorted.len() - 1);
        let median = f64::midpoint(sorted[last / 2], sorted[count / 2]);
        Self { median, min: sorted[0], max: sorted[last] }
    }

    /// `1.21 (1.18 – 1.26)`, each with `digits` behind the point.
    pub(crate) fn text(self, digits: usize) -> String {
        let Self { median, min, max } = self;
        format!("{median:.digits$} ({min:.digits$} – {max:.digits$})")
    }

    fn json(self) -> Value {
        json!({"median": self.median, "min": self.min, "max": self.max})
    }
}

/// The interleaved rounds of one shape: run i of both clients belongs to round i.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) bare: Vec<Run>,
    pub(crate) memtide: Vec<Run>,
}

impl Rounds {
    /// memtide's figure divided by the bare client's of the same round.
    fn ratio(&self, figure: fn(&Run) -> f64) -> Spread {
        let pairs = self.memtide.iter().zip(&self.bare);
        Spread::of(pairs.map(|(memtide, bare)| figure(memtide) / figure(bare)))
    }

    /// A few aligned lines: a row per client, and the ratios.
    pub(crate) fn text(&self) -> String {
        let (name, ops, cpu, memory) = ("", "operations/s", "CPU s per million", "peak MB");
        let mut text = format!("{name:<12}{ops:<32}{cpu:<26}{memory}\n");
        for (name, runs) in [("bare-epoll", &self.bare), ("memtide", &self.memtide)] {
            let of = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(figure));
            let ops = of(|run| run.ops_per_s).text(0);
            let cpu = of(|run| run.cpu_s_per_mops).text(2);
            let memory = of(|run| run.rss_max_bytes / 1e6).median;
            text += &format!("{name:<12}{ops:<32}{cpu:<26}{memory:.1}\n");
        }
        let ops = self.ratio(|run| run.ops_per_s).text(3);
        let cpu = self.ratio(|run| run.cpu_s_per_mops).text(3);
        text + &format!("{:<12}{ops:<32}{cpu}\n", "ratio")
    }

    /// Every figure, for programs.
    pub(crate) fn json(&self) -> Value {
        let runs = |runs: &[Run]| -> Vec<Value> {
            let one = |run: &Run| {
                json!({
                    "ops_per_s": run.ops_per_s,
                    "cpu_s_per_mops": run.cpu_s_per_mops,
                    "rss_max_bytes": run.rss_max_bytes,
                })
            };
            runs.iter().map(one).collect()
        };
        json!({
            "bare_epoll": runs(&self.bare),
            "memtide": runs(&self.memtide),
            "ratio": {
                "ops_per_s": self.ratio(|run| run.ops_per_s).json(),
                "cpu_s_per_mops": self.ratio(|run| run.cpu_s_per_mops).json(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_ends() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of([1.2, 1.1, 1.3]).text(1), "1.2 (1.1 – 1.3)");
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let run = |ops_per_s, cpu_s_per_mops| Run { ops_per_s, cpu_s_per_mops, rss_max_bytes: 1e6 };
        let rounds = Rounds {
            bare: vec![run(100.0, 5.0), run(50.0, 10.0)],
            memtide: vec![run(90.0, 6.0), run(45.0, 12.0)],
        };
        let ratio = &rounds.json()["ratio"];
        assert_eq!(ratio["ops_per_s"]["median"], 0.9);
        assert_eq!(ratio["cpu_s_per_mops"]["max"], 1.2);
        assert!(rounds.text().contains("ratio       0.900 (0.900 – 0.900)"), "{}", rounds.text());
    }
}
