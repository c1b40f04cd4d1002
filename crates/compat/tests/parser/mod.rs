//! A strict parser of the mutilate family's output: the formats of the programs' sources, column by
//! column, and no line more or less.
//!
//! It shares nothing with the printers and knows no records; every error names the line.

mod line;

use line::{Scanned, scanned};

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

    /// The format of a row without what a scan adds.
    fn row(self, name: &str) -> String {
        format!("{name:<7}{}", " %7.1f".repeat(self.figures()))
    }

    fn is_mcperf(self) -> bool {
        matches!(self, Self::Mcperf | Self::McperfDynamic)
    }
}

/// Reads the report of one run or of a search.
pub(crate) fn report(dialect: Dialect, text: &str) -> Result<Report, String> {
    let is_dynamic = dialect == Dialect::McperfDynamic;
    let mut page = Page::new(text)?;
    let timestamps = if is_dynamic { Some(page.timestamps()?) } else { None };
    page.exactly(dialect.header())?;
    let mut row = |name| page.line(&dialect.row(name)).map(|line| line.numbers);
    let rows = [row("read")?, row("update")?, row("op_q")?];
    page.exactly("")?;
    let total = page.total(is_dynamic)?;
    let peak = page.optional("Peak QPS", "Peak QPS  = %.1f")?;
    page.exactly("")?;
    let counts = page.counts(dialect)?;
    let saved = page.optional("Saving", "Saving latency samples to %s.")?;
    let saved = saved.map(|line| line.words[0].to_owned());
    let cpu = page.cpu(dialect)?;
    page.end()?;
    let peak_per_s = peak.map(|line| line.numbers[0]);
    Ok(Report { timestamps, rows, total, peak_per_s, counts, saved, cpu })
}

/// Reads a scan, which may have been cut after any whole row.
pub(crate) fn scan(dialect: Dialect, text: &str) -> Result<Scan, String> {
    let mut page = Page::new(text)?;
    page.exactly(&dialect.scan_header())?;
    let rows = page.steps(dialect, dialect == Dialect::McperfDynamic)?;
    let cpu = page.cpu(dialect)?;
    page.end()?;
    Ok(Scan { rows, cpu })
}

/// Reads the output of the dynamic program for a run that followed a waveform.
pub(crate) fn waveform(text: &str) -> Result<Waveform, String> {
    let dialect = Dialect::McperfDynamic;
    let mut page = Page::new(text)?;
    let kind = page.line("%s")?.words[0].to_owned();
    let known =
        ["Supplied waveform", "Random waveform, supplied seed", "Random waveform, random seed"];
    if !known.contains(&kind.as_str()) {
        return Err(format!("'{kind}' is no kind of waveform"));
    }
    let line = page.line("Total number of intervals = %d (%s)")?;
    let (count, targets) = (line.numbers[0] as usize, line.words[0]);
    let targets = targets.split(", ").filter(|_| !targets.is_empty());
    let targets = targets.map(|target| target.parse().map_err(|_| format!("target '{target}'")));
    let targets_per_s: Vec<u64> = targets.collect::<Result<_, _>>()?;
    if count != targets_per_s.len() {
        return Err(format!("{count} intervals, but {} targets", targets_per_s.len()));
    }
    let mean_per_s = page.whole("Average QPS expected = %d")?;
    let timestamps = page.timestamps()?;
    page.exactly(&format!("{FIFTEEN}      QPS   target"))?;
    let rows = page.steps(dialect, false)?;
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
    let is_mcperf = dialect.is_mcperf();
    let file = if is_mcperf { "mcperf.cc(%d): " } else { "mutilate.cc(%d): " };
    let [peak, trial] = match is_mcperf {
        true => [
            "peak qps = % 8d, %s = %.1f",
            ". target = % 8d, %s = %.1f, high_qps = %d, low_qps = %d, qps = %d",
        ],
        false => ["peak qps = %d, nth = %.1f", "cur_qps = %d, get_qps = %f, nth = %f"],
    };
    while let Some(line) = page.lines.get(page.at) {
        let is = |word: &str| line.contains(word);
        let format = match () {
            () if is("Search-mode") && is(" avg ") => "Search-mode.  Find QPS @ %dus %s latency.",
            () if is("Search-mode") => "Search-mode.  Find QPS @ %dus %sth percentile.",
            () if is("peak qps") => peak,
            () => trial,
        };
        let Scanned { numbers, words, .. } = page.line(&format!("{file}{format}"))?;
        steps.push(match numbers[1..] {
            [limit_us] => Progress::Begin { limit_us: limit_us as u64, order: words[0].to_owned() },
            [rate, measured_us] => Progress::Peak { rate_per_s: rate as u64, measured_us },
            [target, rate_per_s, measured_us] => {
                let target_per_s = target as u64;
                Progress::Trial { target_per_s, rate_per_s, measured_us, bounds: None }
            }
            [target, measured_us, high, low, rate_per_s] => Progress::Trial {
                target_per_s: target as u64,
                rate_per_s,
                measured_us,
                bounds: Some((low as u64, high as u64)),
            },
            _ => unreachable!("no format has {} numbers", numbers.len()),
        });
    }
    Ok(steps)
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

    fn next_opens_with(&self, word: &str) -> bool {
        self.lines.get(self.at).is_some_and(|line| line.starts_with(word))
    }

    /// Reads one whole line.
    fn line(&mut self, format: &str) -> Result<Scanned<'a>, String> {
        let text = *self.lines.get(self.at).ok_or("a line is missing at the end")?;
        self.at += 1;
        scanned(format, text).map_err(|why| format!("line {}, '{text}': {why}", self.at))
    }

    /// Reads a line that begins with `word`, if it is there.
    fn optional(&mut self, word: &str, format: &str) -> Result<Option<Scanned<'a>>, String> {
        if self.next_opens_with(word) { self.line(format).map(Some) } else { Ok(None) }
    }

    fn whole(&mut self, format: &str) -> Result<u64, String> {
        let digits = self.line(format)?.digits[0];
        digits.parse().map_err(|_| format!("'{digits}' is too large"))
    }

    /// Reads a whole number and a decimal one.
    fn pair(&mut self, format: &str) -> Result<(u64, f64), String> {
        self.line(format).map(|line| (line.numbers[0] as u64, line.numbers[1]))
    }

    fn exactly(&mut self, text: &str) -> Result<(), String> {
        self.line(&text.replace('%', "%%")).map(drop)
    }

    fn end(&self) -> Result<(), String> {
        match self.lines.get(self.at) {
            None => Ok(()),
            Some(line) => Err(format!("'{line}' does not belong there")),
        }
    }

    fn timestamps(&mut self) -> Result<(u64, u64), String> {
        let stamps = (self.whole("Timestamp start: %d")?, self.whole("Timestamp end: %d")?);
        self.exactly("")?;
        Ok(stamps)
    }

    /// Reads all rows with a rate and a target.
    fn steps(&mut self, dialect: Dialect, with_times: bool) -> Result<Vec<Step>, String> {
        let times = if with_times { " %14d %14d" } else { "" };
        let format = format!("{} %8.1f %8d{times}", dialect.row("read"));
        let mut rows = Vec::new();
        while self.next_opens_with("read") {
            let mut figures = self.line(&format)?.numbers;
            let more = figures.split_off(dialect.figures());
            let timestamps = with_times.then(|| (more[2] as u64, more[3] as u64));
            rows.push(Step {
                figures,
                rate_per_s: more[0],
                target_per_s: more[1] as u64,
                timestamps,
            });
        }
        Ok(rows)
    }

    fn total(&mut self, with_kinds: bool) -> Result<Total, String> {
        let kinds = if with_kinds { " - %.1f, %.1f" } else { "" };
        let line = self.line(&format!("Total QPS = %.1f (%d / %.1fs){kinds}"))?.numbers;
        Ok(Total {
            rate_per_s: line[0],
            ops: line[1] as u64,
            measured_s: line[2],
            kinds: with_kinds.then(|| (line[3], line[4])),
        })
    }

    fn counts(&mut self, dialect: Dialect) -> Result<Counts, String> {
        let connections = self.optional("Total conn", "Total connections = %d")?;
        if connections.is_some() != dialect.is_mcperf() {
            return Err("only mcperf counts connections".to_owned());
        }
        let misses = self.pair("Misses = %d (%.1f%%)")?;
        let skipped = match dialect {
            Dialect::Mutilate2012 => None,
            _ => Some(self.pair("Skipped TXs = %d (%.1f%%)")?),
        };
        self.exactly("")?;
        let mut bytes = |name: &str| self.pair(&format!("{name} %10d bytes : %6.1f MB/s"));
        let (received, sent) = (bytes("RX")?, bytes("TX")?);
        let connections = connections.map(|line| line.numbers[0] as u64);
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
        let line = self.line("CPU Usage Stats (avg/min/max): %.2f%%,%.2f%%,%.2f%%")?;
        let percent = line.numbers.try_into().expect("the format has three");
        Ok(Some(Cpu { warned, percent }))
    }
}
