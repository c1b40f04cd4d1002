//! The reports on stdout: of one run, of a search, of a scan row by row, and of a waveform.
//!
//! The texts are those of the programs' sources (`mutilate.cc`, `mcperf.cc`), with the intended
//! numbers: whole counts are exact, and nothing is ever printed as nan or inf.

use super::format::Format;
use super::material::{Cpu, Material, share};
use super::table::{header, row};
use std::fmt::Write;

/// The program whose texts are used, and the facts that they mention.
#[derive(Clone, Debug)]
pub struct Formatter {
    /// The program whose output is printed.
    pub format: Format,
    /// The file of samples, as written on the command line; `None` without one.
    pub save: Option<String>,
}

/// The announcement of a waveform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waveform {
    /// True if the rates were listed one by one.
    pub given: bool,
    /// True if a seed for drawing them was set.
    pub seeded: bool,
    /// The rate of each interval, per second.
    pub targets_per_s: Vec<u64>,
}

/// A megabyte, as the originals define it.
const MEGABYTE: f64 = 1024.0 * 1024.0;
/// The CPU use in percent above which the originals distrust the machine that makes the load.
const CPU_MAX: f64 = 95.0;

impl Formatter {
    /// A formatter that saves no samples.
    pub const fn new(format: Format) -> Self {
        Self { format, save: None }
    }

    /// The report of one run.
    pub fn run(&self, material: &Material) -> String {
        self.tables(material, None)
    }

    /// The report of a search: its last run, with the rate that was reached without a limit.
    pub fn search(&self, last: &Material, peak_per_s: f64) -> String {
        self.tables(last, Some(peak_per_s))
    }

    /// The text that an agent prints after each run of a master: its own reads, and the rate of all
    /// its operations. Only memcache-perf's agents print it.
    pub fn agent(&self, material: &Material) -> String {
        if !self.format.is_mcperf() {
            return String::new();
        }
        let columns = self.format.columns();
        let (labels, reads) = (header(columns), row("read", columns, &material.reads));
        let rate = material.rate_per_s();
        self.agent_rate(material) + &format!("{labels} QPS\n{reads} {rate:>8.1}\n")
    }

    /// The line of an agent's rate, which only the dynamic mcperf prints.
    pub fn agent_rate(&self, material: &Material) -> String {
        if self.format != Format::McperfDynamic {
            return String::new();
        }
        let Material { measured_s: s, gets, sets, .. } = material;
        let (rate, ops) = (material.rate_per_s(), material.ops());
        format!("Local QPS = {rate:.1} ({ops} / {s:.1}s) - {gets}.0, {sets}.0\n")
    }

    /// The first line of a scan.
    pub fn scan_header(&self) -> String {
        let labels = header(self.format.scan_columns());
        match self.format {
            Format::Mutilate | Format::Mutilate2012 => {
                format!("{labels} {:>8} {:>8}\n", "QPS", "target")
            }
            // One space less than in its rows, as in the original.
            Format::Mcperf => format!("{labels}{:>8} {:>8}\n", "QPS", "target"),
            Format::McperfDynamic => format!(
                "{labels}{:>9} {:>8} {:>14} {:>14}\n",
                "QPS", "target", "ts_start", "ts_end"
            ),
        }
    }

    /// The row of a scan's step that aimed at `target_per_s`.
    pub fn scan_row(&self, step: &Material, target_per_s: u64) -> String {
        let mut line = row("read", self.format.columns(), &step.reads);
        push(&mut line, format_args!(" {:>8.1} {target_per_s:>8}", step.rate_per_s()));
        if self.format == Format::McperfDynamic {
            let (start, end) = (step.started_unix_ms, step.ended_unix_ms);
            push(&mut line, format_args!(" {start:>14} {end:>14}"));
        }
        line.push('\n');
        line
    }

    /// The text after the last row of a scan.
    pub fn scan_end(&self, cpu: Option<&Cpu>) -> String {
        let mut text = String::new();
        self.cpu(&mut text, cpu);
        text
    }

    /// The text before a run that follows `waveform`.
    pub fn waveform_header(&self, waveform: &Waveform) -> String {
        if self.format != Format::McperfDynamic {
            return String::new();
        }
        let kind = match waveform {
            Waveform { given: true, .. } => "Supplied waveform",
            Waveform { seeded: true, .. } => "Random waveform, supplied seed",
            Waveform { .. } => "Random waveform, random seed",
        };
        let targets: Vec<String> = waveform.targets_per_s.iter().map(u64::to_string).collect();
        let sum: u128 = waveform.targets_per_s.iter().copied().map(u128::from).sum();
        let mean = sum.checked_div(targets.len() as u128).unwrap_or(0);
        format!(
            "{kind}\nTotal number of intervals = {} ({})\nAverage QPS expected = {mean}\n",
            targets.len(),
            targets.join(", ")
        )
    }

    /// The report of a run that followed a waveform: one row per interval, and none for the whole.
    pub fn waveform(&self, material: &Material) -> String {
        let mut text = String::new();
        self.timestamps(&mut text, material);
        let labels = header(self.format.columns());
        push(&mut text, format_args!("{labels} {:>8} {:>8}\n", "QPS", "target"));
        for segment in &material.segments {
            let line = row("read", self.format.columns(), &segment.reads);
            let rate = share(segment.ops as f64, segment.length_s);
            push(&mut text, format_args!("{line} {rate:>8.1} {:>8}\n", segment.target_per_s));
        }
        total(&mut text, material);
        text.push_str("\n\n");
        self.counts(&mut text, material);
        self.cpu(&mut text, material.cpu.as_ref());
        text
    }

    fn tables(&self, material: &Material, peak_per_s: Option<f64>) -> String {
        let columns = self.format.columns();
        let mut text = String::new();
        self.timestamps(&mut text, material);
        push(&mut text, format_args!("{}\n", header(columns)));
        let rows = [
            ("read", &material.reads),
            ("update", &material.updates),
            ("op_q", &material.outstanding),
        ];
        for (name, figures) in rows {
            push(&mut text, format_args!("{}\n", row(name, columns, figures)));
        }
        total(&mut text, material);
        if self.format == Format::McperfDynamic {
            push(&mut text, format_args!(" - {}.0, {}.0", material.gets, material.sets));
        }
        text.push('\n');
        if let Some(peak) = peak_per_s.filter(|&peak| peak > 0.0) {
            push(&mut text, format_args!("Peak QPS  = {peak:.1}\n"));
        }
        text.push('\n');
        self.counts(&mut text, material);
        if let Some(file) = &self.save {
            push(&mut text, format_args!("Saving latency samples to {file}.\n"));
        }
        self.cpu(&mut text, material.cpu.as_ref());
        text
    }

    /// The start and end of the run, with the empty line before the table; only in the dynamic
    /// format.
    fn timestamps(&self, text: &mut String, material: &Material) {
        if self.format == Format::McperfDynamic {
            let (start, end) = (material.started_unix_ms, material.ended_unix_ms);
            push(text, format_args!("Timestamp start: {start}\nTimestamp end: {end}\n\n"));
        }
    }

    /// All counts below the totals.
    fn counts(&self, text: &mut String, material: &Material) {
        if self.format.is_mcperf() {
            push(text, format_args!("Total connections = {}\n", material.connections));
        }
        let misses = material.misses;
        let percent = share(misses as f64, material.gets as f64) * 100.0;
        push(text, format_args!("Misses = {misses} ({percent:.1}%)\n"));
        if self.format != Format::Mutilate2012 {
            let skipped = material.skipped;
            let percent = share(skipped as f64, material.ops() as f64) * 100.0;
            push(text, format_args!("Skipped TXs = {skipped} ({percent:.1}%)\n"));
        }
        text.push('\n');
        for (name, bytes) in [("RX", material.bytes_received), ("TX", material.bytes_sent)] {
            let speed = share(bytes as f64 / MEGABYTE, material.measured_s);
            push(text, format_args!("{name} {bytes:>10} bytes : {speed:>6.1} MB/s\n"));
        }
    }

    /// The warning that the machine was busy for `max` percent of a second, with its line end;
    /// empty where the originals print none.
    pub const fn cpu_warning(&self, max: f64) -> &'static str {
        if self.format.is_mcperf() && max > CPU_MAX {
            "Warning! Detected max cpu usage > 95%\n"
        } else {
            ""
        }
    }

    /// The CPU use; only in memcache-perf's formats.
    fn cpu(&self, text: &mut String, cpu: Option<&Cpu>) {
        let Some(Cpu { mean, min, max }) = cpu.filter(|_| self.format.is_mcperf()) else {
            return;
        };
        text.push_str(self.cpu_warning(*max));
        push(text, format_args!("CPU Usage Stats (avg/min/max): {mean:.2}%,{min:.2}%,{max:.2}%\n"));
    }
}

/// The total rate, without the line end.
fn total(text: &mut String, material: &Material) {
    let (rate, ops, s) = (material.rate_per_s(), material.ops(), material.measured_s);
    push(text, format_args!("\nTotal QPS = {rate:.1} ({ops} / {s:.1}s)"));
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to a string succeeds");
}
