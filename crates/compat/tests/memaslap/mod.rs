//! A strict parser of memaslap's stdout: every line, every width, every blank line. Written from
//! the formats alone; unknown text is an error.

#[path = "../parser/line.rs"]
#[allow(clippy::duplicate_mod, reason = "the parser of the mutilate family reads lines by it, too")]
mod line;

use line::{Scanned, scanned};

/// The whole output of a run.
#[derive(Debug, PartialEq)]
pub struct Output {
    pub header: Header,
    /// Blocks of each instant.
    pub periods: Vec<Vec<Block>>,
    /// Blocks at the end.
    pub last: Vec<List>,
    /// Name and value, in order.
    pub counters: Vec<(String, u64)>,
    pub line: LastLine,
}

#[derive(Debug, PartialEq)]
pub struct Header {
    pub servers: String,
    pub threads: u32,
    pub concurrency: u32,
    /// `Ok` for seconds, `Err` for operations.
    pub length: Result<u64, u64>,
    pub window_k: u64,
    pub sets: f64,
    pub gets: f64,
}

/// Two rows of statistics.
#[derive(Debug, PartialEq)]
pub struct Block {
    pub name: String,
    pub period: Row,
    pub global: Row,
}

#[derive(Debug, PartialEq)]
pub struct Row {
    pub time_s: u64,
    pub ops: u64,
    pub tps: u64,
    pub net_mib: f64,
    pub misses: u64,
    pub min_us: u64,
    pub max_us: u64,
    pub avg_us: u64,
    pub deviation_us: f64,
    pub geo_us: f64,
}

/// A list of statistics.
#[derive(Debug, PartialEq)]
pub struct List {
    pub name: String,
    pub events: u64,
    pub min_us: u64,
    pub max_us: u64,
    pub avg_us: u64,
    pub geo_us: f64,
    pub deviation_us: Option<f64>,
    /// Counts by bucket, from bucket 0.
    pub buckets: Vec<u64>,
}

#[derive(Debug, PartialEq)]
pub struct LastLine {
    pub time_s: f64,
    pub ops: u128,
    pub tps: f64,
    pub net_mib: f64,
}

/// Parses `text`; the error names the invalid line.
pub fn output(text: &str) -> Result<Output, String> {
    let body = text.strip_suffix('\n').ok_or("the text does not end with a line break")?;
    let mut lines = Lines { rest: body.split('\n').collect(), at: 0 };
    let header = lines.header()?;
    let mut periods = Vec::new();
    while let Some(blocks) = lines.period()? {
        periods.push(blocks);
    }
    let mut last = Vec::new();
    while let Some(list) = lines.list()? {
        last.push(list);
    }
    let counters = lines.counters()?;
    let line = lines.last_line()?;
    match lines.peek() {
        None => Ok(Output { header, periods, last, counters, line }),
        Some(more) => Err(format!("something follows the last line: {more:?}")),
    }
}

struct Lines<'a> {
    rest: Vec<&'a str>,
    at: usize,
}

const CLEAR: &str = "\u{1b}[1;1H\u{1b}[2J";
const NAMES: [&str; 3] = ["Get", "Set", "Total"];
/// The heads of the columns, and the format of a row behind its name.
const HEADS: &str = "Type     Time(s)  Ops          TPS(ops/s)   Net(M/s)   Get_miss   Min(us)  \
                     Max(us)    Avg(us)    Std_dev    Geo_dist  ";
const ROW: &str = "%-8d %-12d %-12d %-10.1f %-10d %-8d %-10d %-10d %-10.2f %.2f";

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Result<&'a str, String> {
        let line = self.peek().ok_or("the text ends too early")?;
        self.at += 1;
        Ok(line)
    }

    /// The values of the next line, by the format in which C's printf writes it.
    fn read(&mut self, format: &str) -> Result<Scanned<'a>, String> {
        let line = self.next()?;
        scanned(format, line).map_err(|why| format!("{line:?}: {why}"))
    }

    /// The only number of the next line.
    fn number(&mut self, format: &str) -> Result<f64, String> {
        self.read(format).map(|line| line.numbers[0])
    }

    /// The only number of the next line, a whole one.
    fn whole(&mut self, format: &str) -> Result<u64, String> {
        self.read(format).and_then(|line| parsed(line.digits[0]))
    }

    fn exactly(&mut self, wanted: &str) -> Result<(), String> {
        self.read(wanted).map(drop)
    }

    fn header(&mut self) -> Result<Header, String> {
        let servers = self.read("servers: %s")?.words[0].to_owned();
        let threads = self.whole("threads count: %d")? as u32;
        let concurrency = self.whole("concurrency: %d")? as u32;
        let length = match self.peek().is_some_and(|line| line.starts_with("execute")) {
            true => Err(self.whole("execute number: %d")?),
            false => Ok(self.whole("run time: %ds")?),
        };
        let window_k = self.whole("windows size: %dk")?;
        let sets = self.number("set proportion: set_prop=%.2f")?;
        let gets = self.number("get proportion: get_prop=%.2f")?;
        Ok(Header { servers, threads, concurrency, length, window_k, sets, gets })
    }

    fn period(&mut self) -> Result<Option<Vec<Block>>, String> {
        if self.peek() != Some(CLEAR) {
            return Ok(None);
        }
        self.at += 1;
        let mut blocks = Vec::new();
        for name in NAMES {
            if self.peek() == Some(&format!("{name} Statistics")) {
                self.at += 1;
                self.exactly(HEADS)?;
                let (period, global) = (self.row("Period")?, self.row("Global")?);
                self.exactly("")?;
                blocks.push(Block { name: name.to_owned(), period, global });
            }
        }
        Ok(Some(blocks))
    }

    fn row(&mut self, name: &str) -> Result<Row, String> {
        let row = self.read(&format!("{name:<8} {ROW}"))?;
        let whole = |column: usize| parsed(row.digits[column]);
        Ok(Row {
            time_s: whole(0)?,
            ops: whole(1)?,
            tps: whole(2)?,
            net_mib: row.numbers[3],
            misses: whole(4)?,
            min_us: whole(5)?,
            max_us: whole(6)?,
            avg_us: whole(7)?,
            deviation_us: row.numbers[8],
            geo_us: row.numbers[9],
        })
    }

    fn list(&mut self) -> Result<Option<List>, String> {
        let title = self.peek().unwrap_or("");
        let Some((name, _)) = title.split_once(" Statistics (") else { return Ok(None) };
        if !NAMES.contains(&name) {
            return Err(format!("{title:?} has no known name"));
        }
        let name = name.to_owned();
        let events = self.whole(&format!("{name} Statistics (%d events)"))?;
        let min_us = self.whole("   Min:  %8d")?;
        let max_us = self.whole("   Max:  %8d")?;
        let avg_us = self.whole("   Avg:  %8d")?;
        let geo_us = self.number("   Geo:  %8.2f")?;
        let deviation_us = match events {
            0 | 1 => None,
            _ => Some(self.number("   Std:  %8.2f")?),
        };
        self.exactly("   Log2 Dist:")?;
        let buckets = self.buckets()?;
        self.exactly("")?;
        Ok(Some(List { name, events, min_us, max_us, avg_us, geo_us, deviation_us, buckets }))
    }

    fn buckets(&mut self) -> Result<Vec<u64>, String> {
        let mut buckets: Vec<u64> = Vec::new();
        let mut is_open = true;
        while let Some(line) = self.peek().filter(|line| !line.is_empty()) {
            let count = line.rsplit(':').next().map_or(0, |rest| rest.split_whitespace().count());
            let row = self.read(&format!("      %2d:{}", "   %6d".repeat(count)))?;
            let place = row.numbers[0] as usize;
            if buckets.is_empty() {
                buckets.resize(place, 0);
            }
            let is_next = is_open && place == buckets.len() && place.is_multiple_of(4);
            if !is_next || !(1..=4).contains(&count) {
                return Err(format!("{line:?} is no line of four buckets"));
            }
            is_open = count == 4;
            for digits in &row.digits[1..] {
                buckets.push(parsed(digits)?);
            }
        }
        match buckets.last() {
            Some(last) if *last > 0 => Ok(buckets),
            _ => Err("the last bucket has no content".to_owned()),
        }
    }

    fn counters(&mut self) -> Result<Vec<(String, u64)>, String> {
        let mut counters = Vec::new();
        while self.peek().is_some_and(|line| !line.is_empty()) {
            let line = self.read("%s: %d")?;
            counters.push((line.words[0].to_owned(), parsed(line.digits[0])?));
        }
        self.exactly("")?;
        Ok(counters)
    }

    fn last_line(&mut self) -> Result<LastLine, String> {
        let line = self.read("Run time: %.1fs Ops: %d TPS: %d Net_rate: %.1fM/s")?;
        let [time_s, _, tps, net_mib] = line.numbers[..] else { unreachable!("four numbers") };
        Ok(LastLine { time_s, ops: parsed(line.digits[1])?, tps, net_mib })
    }
}

fn parsed<T: std::str::FromStr>(digits: &str) -> Result<T, String> {
    digits.parse().map_err(|_| format!("{digits:?} is too large"))
}
