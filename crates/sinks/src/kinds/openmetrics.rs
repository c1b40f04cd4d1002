//! The totals of a run, or of each step of a search or scan, as OpenMetrics text, which Prometheus
//! and its agents read from a file. A value is that of a run that is over, hence a gauge.

use memtide_record::compare::FIGURES;
use memtide_record::steps::Step;
use memtide_record::{Distribution, Percentile, Record};
use memtide_scenario::Kind;

/// A family of metrics with one value for a load: its name without the prefix, its meaning, and its
/// value, if the load has it.
type Family = (&'static str, &'static str, fn(&Record) -> Option<f64>);

/// The families before those of [`FIGURES`].
const FAMILIES: &[Family] = &[
    ("started_timestamp_seconds", "when the run began", |it| Some(it.started_unix_ms as f64 / 1e3)),
    ("measured_seconds", "length of the measured window", |it| Some(it.measured_s)),
    ("target_per_second", "operations per second asked for", |it| it.rate.target_per_s),
    ("achieved_per_second", "operations per second", |it| Some(it.rate.achieved_per_s)),
    ("keys_per_second", "keys per second", |it| it.rate.keys_per_s),
    ("intended", "operations that were due", |it| Some(it.totals.intended as f64)),
    ("answered", "answered without an error", |it| Some(it.totals.answered as f64)),
    ("failed", "answered with an error", |it| Some(it.totals.failed as f64)),
    ("timed_out", "without an answer in time", |it| Some(it.totals.timed_out as f64)),
    ("lost", "lost with their connection", |it| Some(it.totals.lost as f64)),
    ("dropped", "not sent", |it| Some(it.totals.dropped as f64)),
    ("unacknowledged", "sent with noreply", |it| Some(it.totals.unacknowledged as f64)),
    ("abandoned", "without an outcome at the end", |it| Some(it.totals.abandoned as f64)),
    ("sent_bytes", "bytes of requests", |it| Some(it.totals.bytes_sent as f64)),
    ("received_bytes", "bytes of replies", |it| Some(it.totals.bytes_received as f64)),
    ("believable", "1 if the figures can be believed", |it| Some(f64::from(it.stands()))),
    ("partial", "1 if the run ended early", |it| Some(f64::from(it.partial))),
    ("exit", "the exit code", |it| Some(f64::from(it.exit))),
];

/// What the name of a rate ends with.
const PER_S: &str = "_per_second";

/// The text of one run, or of several steps.
#[derive(Default)]
pub(super) struct OpenMetrics {
    /// The lines of each family, in order: [`FAMILIES`], [`FIGURES`], response times.
    families: Vec<String>,
}

impl OpenMetrics {
    /// The text of a run.
    pub(super) fn of_run(record: &Record) -> Vec<u8> {
        let mut text = Self::default();
        text.add(record, None);
        text.text()
    }

    /// Adds a step.
    pub(super) fn step(&mut self, step: &Step) {
        self.add(&step.record, Some(("step", step.number.to_string())));
    }

    /// The whole text. A family without a value is left out.
    pub(super) fn text(&self) -> Vec<u8> {
        let own = FAMILIES.iter().map(|(name, help, _)| ((*name).to_owned(), *help));
        let figures = FIGURES.iter().map(|figure| (figure.member(PER_S), figure.label));
        let gauges = own.chain(figures).map(|(name, help)| (name, help, "gauge"));
        let help = "response time by kind of operation, by percentile";
        let response = [("response_seconds".to_owned(), help, "summary")];
        let mut text = String::new();
        for ((name, help, kind), lines) in gauges.chain(response).zip(&self.families) {
            if !lines.is_empty() {
                text += &format!("# TYPE memtide_{name} {kind}\n# HELP memtide_{name} {help}\n");
                text += lines;
            }
        }
        (text + "# EOF\n").into_bytes()
    }

    /// Adds a run and, if a master made a load of its own, that load.
    fn add(&mut self, record: &Record, step: Option<(&str, String)>) {
        let mut labels: Vec<(String, String)> = Vec::new();
        for (name, value) in &record.tags {
            let name = format!("tag_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
            // Two tags may become one name.
            if labels.iter().all(|(other, _)| *other != name) {
                labels.push((name, value.clone()));
            }
        }
        labels.extend(step.map(|(name, number)| (name.to_owned(), number)));
        let Some(own) = &record.own else { return self.add_load(record, &labels) };
        for (load, record) in [("agents", record), ("master", own)] {
            let load = ("load".to_owned(), load.to_owned());
            self.add_load(record, &[&labels[..], &[load]].concat());
        }
    }

    fn add_load(&mut self, record: &Record, labels: &[(String, String)]) {
        let own = FAMILIES.iter().map(|(name, _, value)| ((*name).to_owned(), value(record)));
        let figures = FIGURES.iter().map(|it| (it.member(PER_S), it.of(record).value));
        let mut lines: Vec<String> =
            own.chain(figures).map(|(name, value)| sample(&name, labels, value)).collect();
        let times = record.response.iter();
        lines.push(times.map(|(kind, times)| quantiles(*kind, times, labels)).collect());
        self.families.resize(lines.len(), String::new());
        self.families.iter_mut().zip(lines).for_each(|(family, line)| *family += &line);
    }
}

/// The lines of a kind's response times.
fn quantiles(kind: Kind, times: &Distribution, labels: &[(String, String)]) -> String {
    let lines = Percentile::ALL.map(|percentile| {
        let own = [("op", kind.to_string()), ("quantile", percentile.fraction().to_string())];
        let own = own.map(|(name, word)| (name.to_owned(), word));
        let seconds = times.percentile(percentile).map(|ns| ns as f64 / 1e9);
        sample("response_seconds", &[labels, &own].concat(), seconds)
    });
    lines.concat()
}

/// A line; nothing if the value is not known.
fn sample(name: &str, labels: &[(String, String)], value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return String::new() };
    let labels: Vec<_> =
        labels.iter().map(|(name, word)| format!("{name}=\"{}\"", escaped(word))).collect();
    match labels.is_empty() {
        true => format!("memtide_{name} {value}\n"),
        false => format!("memtide_{name}{{{}}} {value}\n", labels.join(",")),
    }
}

/// A label's value with the escapes of OpenMetrics.
fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
