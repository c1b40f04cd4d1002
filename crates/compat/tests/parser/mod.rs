//! A strict parser of the mutilate family's output: the formats of the programs' sources, column by
//! column, and no line more or less.
//!
//! It shares nothing with the printers and knows no records; every error names the line.

mod line;

use line::Line;

/// The program whose output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Mutilate,
    Mutilate2012,
    Mcperf,
    McperfDynamic,
}

/// The report of one run, or of a search.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// Beginning and end, in ms since 1970.
    pub(crate) timestamps: Option<(u64, u64)>,
    /// The figures of the rows `read`, `update` and `op_q`.
    pub(crate) rows: [Vec<f64>; 3],
    pub(crate) total: Total,
    pub(crate) peak_per_s: Option<f64>,
    pub(crate) counts: Counts,
    /// The file of `--save`.
    pub(crate) saved: Option<String>,
    pub(crate) cpu: Option<Cpu>,
}

/// `Total QPS = rate (ops / seconds)`, with gets and sets if they follow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Total {
    pub(crate) rate_per_s: f64,
    pub(crate) ops: u64,
    pub(crate) measured_s: f64,
    pub(crate) kinds: Option<(f64, f64)>,
}

/// The lines below the total.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    pub(crate) connections: Option<u64>,
    /// The number, and the percentage.
    pub(crate) misses: (u64, f64),
    pub(crate) skipped: Option<(u64, f64)>,
    /// Bytes, and megabytes per second.
    pub(crate) received: (u64, f64),
    pub(crate) sent: (u64, f64),
}

/// `CPU Usage Stats`, and true if the warning precedes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cpu {
    pub(crate) warned: bool,
    pub(crate) percent: [f64; 3],
}

/// A scan.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub(crate) rows: Vec<Step>,
    pub(crate) cpu: Option<Cpu>,
}

/// A row with a rate and a target: of a scan or of an interval.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) figures: Vec<f64>,
    pub(crate) rate_per_s: f64,
    pub(crate) target_per_s: u64,
    /// Beginning and end, in ms since 1970.
    pub(crate) timestamps: Option<(u64, u64)>,
}

/// The output of a run that followed a waveform.
#[derive(Clone, Debug)]
pub(crate) struct Waveform {
    /// The first line.
    pub(crate) kind: String,
    pub(crate) targets_per_s: Vec<u64>,
    pub(crate) mean_per_s: u64,
    pub(crate) timestamps: (u64, u64),
    pub(crate) rows: Vec<Step>,
    pub(crate) total: Total,
    pub(crate) counts: Counts,
    pub(crate) cpu: Option<Cpu>,
}

/// A line that a search prints on stderr.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Progress {
    Begin { limit_us: u64, order: String },
    Peak { rate_per_s: u64, measured_us: f64 },
    Trial { target_per_s: u64, rate_per_s: f64, measured_us: f64, bounds: Option<(u64, u64)> },
}

const EIGHT: &str = "#type       avg     std     min     5th    10th    90th    95th    99th";
const OLD: &str = "#type       avg     min     1st     5th    10th    90th    95th    99th";
const FIFTEEN: &str = "#type       avg     std     min      p5     p10     p50     p67     p75     \
                       p80     p85     p90     p95     p99    p999   p9999";

impl Dialect {
    fn header(self) -> &'static str {
        match self {
            Self::Mutilate => EIGHT,
            Self::Mutilate2012 => OLD,
            Self::Mcperf | Self::McperfDynamic => FIFTEEN,
        }
    }

    fn scan_header(self) -> String {
        match self {
            Self::Mutilate | Self::Mutilate2012 => format!("{OLD}      QPS   target"),
            Self::Mcperf => format!("{FIFTEEN}     QPS   target"),
            Self::McperfDynamic => {
                format!("{FIFTEEN}      QPS   target       ts_start         ts_end")
            }
        }
    }

    fn figures(self) -> usize {
        match self {
            Self::Mutilate | Self::Mutilate2012 => 8,
            Self::Mcperf | Self::McperfDynamic => 15,
        }
    }

    fn is_mcperf(self) -> bool {
        matches!(self, Self::Mcperf | Self::McperfDynamic)
    }
}

/// Reads the report of one run or of a search.
pub(crate) fn report(dialect: Dialect, text: &str) -> Result<Report, String> {
    let mut page = Page::new(text)?;
    let timestamps = match dialect {
        Dialect::McperfDynamic => Some(page.timestamps()?),
        _ => None,
    };
    page.exactly(dialect.header())?;
    let rows = [page.row(dialect, "read")?, page.row(dialect, "update")?];
    let [read, update] = rows;
    let rows = [read, update, page.row(dialect, "op_q")?];
    page.exactly("")?;
    let total = page.total(dialect == Dialect::McperfDynamic)?;
    let peak_per_s = match page.next_opens_with("Peak QPS") {
        true => Some(page.line(|line| {
            line.word("Peak QPS  = ")?;
            line.decimal(0, 1)
        })?),
        false => None,
    };
    page.exactly("")?;
    let counts = page.counts(dialect)?;
    let saved = match page.next_opens_with("Saving") {
        true => Some(page.line(|line| {
            line.word("Saving latency samples to ")?;
            line.up_to_the_last(".")
        })?),
        false => None,
    };
    let cpu = page.cpu(dialect)?;
    page.end()?;
    Ok(Report { timestamps, rows, total, peak_per_s, counts, saved, cpu })
}

/// Reads a scan, which may have been cut after any whole row.
pub(crate) fn scan(dialect: Dialect, text: &str) -> Result<Scan, String> {
    let mut page = Page::new(text)?;
    page.exactly(&dialect.scan_header())?;
    let mut rows = Vec::new();
    while page.next_opens_with("read") {
        rows.push(page.step(dialect, dialect == Dialect::McperfDynamic)?);
    }
    let cpu = page.cpu(dialect)?;
    page.end()?;
    Ok(Scan { rows, cpu })
}

/// Reads the output of the dynamic program for a run that followed a waveform.
pub(crate) fn waveform(text: &str) -> Result<Waveform, String> {
    let dialect = Dialect::McperfDynamic;
    let mut page = Page::new(text)?;
    let kind = page.line(|line| line.up_to_the_last(""))?;
    let known =
        ["Supplied waveform", "Random waveform, supplied seed", "Random waveform, random seed"];
    if !known.contains(&kind.as_str()) {
        return Err(format!("'{kind}' is no kind of waveform"));
    }
    let targets_per_s = page.line(|line| {
        line.word("Total number of intervals = ")?;
        let count = line.whole(0)?;
        line.word(" (")?;
        let mut targets = Vec::new();
        while !line.follows(")") {
            if !targets.is_empty() {
                line.word(", ")?;
            }
            targets.push(line.whole(0)?);
        }
        line.word(")")?;
        match count == targets.len() as u64 {
            true => Ok(targets),
            false => Err(format!("{count} intervals, but {} targets", targets.len())),
        }
    })?;
    let mean_per_s = page.line(|line| {
        line.word("Average QPS expected = ")?;
        line.whole(0)
    })?;
    let timestamps = page.timestamps()?;
    page.exactly(&format!("{FIFTEEN}      QPS   target"))?;
    let mut rows = Vec::new();
    while page.next_opens_with("read") {
        rows.push(page.step(dialect, false)?);
    }
    page.exactly("")?;
    let total = page.total(false)?;
    page.exactly("")?;
    let counts = page.counts(dialect)?;
    let cpu = page.cpu(dialect)?;
    page.end()?;
    Ok(Waveform { kind, targets_per_s, mean_per_s, timestamps, rows, total, counts, cpu })
}

/// Reads the lines of a search that stand on stderr; any other line is an error.
pub(crate) fn progress(dialect: Dialect, text: &str) -> Result<Vec<Progress>, String> {
    let mut page = Page::new(text)?;
    let mut steps = Vec::new();
    while !page.is_over() {
        steps.push(page.line(|line| {
            line.word(if dialect.is_mcperf() { "mcperf.cc(" } else { "mutilate.cc(" })?;
            line.whole(0)?;
            line.word("): ")?;
            if line.follows("Search-mode") {
                return begin(line);
            }
            if dialect.is_mcperf() { mcperf_progress(line) } else { mutilate_progress(line) }
        })?);
    }
    Ok(steps)
}

fn begin(line: &mut Line<'_>) -> Result<Progress, String> {
    line.word("Search-mode.  Find QPS @ ")?;
    let limit_us = line.whole(0)?;
    line.word("us ")?;
    let order = match line.follows("avg") {
        true => line.up_to_the_last(" latency.")?,
        false => line.up_to_the_last("th percentile.")?,
    };
    Ok(Progress::Begin { limit_us, order })
}

fn mutilate_progress(line: &mut Line<'_>) -> Result<Progress, String> {
    if line.follows("peak") {
        line.word("peak qps = ")?;
        let rate_per_s = line.whole(0)?;
        line.word(", nth = ")?;
        return Ok(Progress::Peak { rate_per_s, measured_us: line.decimal(0, 1)? });
    }
    line.word("cur_qps = ")?;
    let target_per_s = line.whole(0)?;
    line.word(", get_qps = ")?;
    let rate_per_s = line.decimal(0, 6)?;
    line.word(", nth = ")?;
    let measured_us = line.decimal(0, 6)?;
    Ok(Progress::Trial { target_per_s, rate_per_s, measured_us, bounds: None })
}

fn mcperf_progress(line: &mut Line<'_>) -> Result<Progress, String> {
    if line.follows("peak") {
        line.word("peak qps = ")?;
        let rate_per_s = line.spaced(8)?;
        line.word(", ")?;
        line.up_to(" = ")?;
        return Ok(Progress::Peak { rate_per_s, measured_us: line.decimal(0, 1)? });
    }
    line.word(". target = ")?;
    let target_per_s = line.spaced(8)?;
    line.word(", ")?;
    line.up_to(" = ")?;
    let measured_us = line.decimal(0, 1)?;
    line.word(", high_qps = ")?;
    let high = line.whole(0)?;
    line.word(", low_qps = ")?;
    let low = line.whole(0)?;
    line.word(", qps = ")?;
    let rate_per_s = line.whole(0)? as f64;
    Ok(Progress::Trial { target_per_s, rate_per_s, measured_us, bounds: Some((low, high)) })
}

/// The lines that are still to be read.
struct Page<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Page<'a> {
    fn new(text: &'a str) -> Result<Self, String> {
        if !text.is_empty() && !text.ends_with('\n') {
            return Err("the last line has no end".to_owned());
        }
        Ok(Self { lines: text.lines().collect(), at: 0 })
    }

    fn is_over(&self) -> bool {
        self.at == self.lines.len()
    }

    fn next_opens_with(&self, word: &str) -> bool {
        self.lines.get(self.at).is_some_and(|line| line.starts_with(word))
    }

    /// Reads one whole line.
    fn line<T>(
        &mut self,
        read: impl FnOnce(&mut Line<'a>) -> Result<T, String>,
    ) -> Result<T, String> {
        let text = *self.lines.get(self.at).ok_or("a line is missing at the end")?;
        self.at += 1;
        let mut line = Line::new(text);
        let value = read(&mut line).and_then(|value| line.end().map(|()| value));
        value.map_err(|why| format!("line {}, '{text}': {why}", self.at))
    }

    fn exactly(&mut self, text: &str) -> Result<(), String> {
        self.line(|line| line.word(text))
    }

    fn end(&self) -> Result<(), String> {
        match self.lines.get(self.at) {
            None => Ok(()),
            Some(line) => Err(format!("'{line}' does not belong there")),
        }
    }

    fn timestamps(&mut self) -> Result<(u64, u64), String> {
        let mut stamp = |word: &str| {
            self.line(|line| {
                line.word(word)?;
                line.whole(0)
            })
        };
        let stamps = (stamp("Timestamp start: ")?, stamp("Timestamp end: ")?);
        self.exactly("")?;
        Ok(stamps)
    }

    fn row(&mut self, dialect: Dialect, name: &str) -> Result<Vec<f64>, String> {
        self.line(|line| figures(line, dialect, name))
    }

    fn step(&mut self, dialect: Dialect, with_times: bool) -> Result<Step, String> {
        self.line(|line| {
            let figures = figures(line, dialect, "read")?;
            line.word(" ")?;
            let rate_per_s = line.decimal(8, 1)?;
            line.word(" ")?;
            let target_per_s = line.whole(8)?;
            let timestamps = match with_times {
                true => {
                    line.word(" ")?;
                    let start = line.whole(14)?;
                    line.word(" ")?;
                    Some((start, line.whole(14)?))
                }
                false => None,
            };
            Ok(Step { figures, rate_per_s, target_per_s, timestamps })
        })
    }

    fn total(&mut self, with_kinds: bool) -> Result<Total, String> {
        self.line(|line| {
            line.word("Total QPS = ")?;
            let rate_per_s = line.decimal(0, 1)?;
            line.word(" (")?;
            let ops = line.whole(0)?;
            line.word(" / ")?;
            let measured_s = line.decimal(0, 1)?;
            line.word("s)")?;
            let kinds = match with_kinds {
                true => {
                    line.word(" - ")?;
                    let gets = line.decimal(0, 1)?;
                    line.word(", ")?;
                    Some((gets, line.decimal(0, 1)?))
                }
                false => None,
            };
            Ok(Total { rate_per_s, ops, measured_s, kinds })
        })
    }

    fn counts(&mut self, dialect: Dialect) -> Result<Counts, String> {
        let connections = match dialect.is_mcperf() {
            true => Some(self.line(|line| {
                line.word("Total connections = ")?;
                line.whole(0)
            })?),
            false => None,
        };
        let mut part = |name: &str| {
            self.line(|line| {
                line.word(name)?;
                let count = line.whole(0)?;
                line.word(" (")?;
                let percent = line.decimal(0, 1)?;
                line.word("%)")?;
                Ok((count, percent))
            })
        };
        let misses = part("Misses = ")?;
        let skipped = match dialect {
            Dialect::Mutilate2012 => None,
            _ => Some(part("Skipped TXs = ")?),
        };
        self.exactly("")?;
        let mut bytes = |name: &str| {
            self.line(|line| {
                line.word(name)?;
                let bytes = line.whole(10)?;
                line.word(" bytes : ")?;
                let speed = line.decimal(6, 1)?;
                line.word(" MB/s")?;
                Ok((bytes, speed))
            })
        };
        let (received, sent) = (bytes("RX ")?, bytes("TX ")?);
        Ok(Counts { connections, misses, skipped, received, sent })
    }

    fn cpu(&mut self, dialect: Dialect) -> Result<Option<Cpu>, String> {
        if !dialect.is_mcperf() {
            return Ok(None);
        }
        let warned = self.next_opens_with("Warning");
        if warned {
            self.exactly("Warning! Detected max cpu usage > 95%")?;
        } else if !self.next_opens_with("CPU") {
            return Ok(None);
        }
        let percent = self.line(|line| {
            line.word("CPU Usage Stats (avg/min/max): ")?;
            let mean = line.decimal(0, 2)?;
            line.word("%,")?;
            let min = line.decimal(0, 2)?;
            line.word("%,")?;
            let max = line.decimal(0, 2)?;
            line.word("%")?;
            Ok([mean, min, max])
        })?;
        Ok(Some(Cpu { warned, percent }))
    }
}

fn figures(line: &mut Line<'_>, dialect: Dialect, name: &str) -> Result<Vec<f64>, String> {
    line.word(&format!("{name:<7}"))?;
    let mut figures = Vec::new();
    for _ in 0..dialect.figures() {
        line.word(" ")?;
        figures.push(line.decimal(7, 1)?);
    }
    Ok(figures)
}
