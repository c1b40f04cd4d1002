//! A strict parser of memaslap's stdout: every line, every width, every blank line. Written from
//! the formats alone; unknown text is an error.

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
/// The columns of a row and their widths; the last has none.
const COLUMNS: [(&str, usize); 11] = [
    ("Type", 8),
    ("Time(s)", 8),
    ("Ops", 12),
    ("TPS(ops/s)", 12),
    ("Net(M/s)", 10),
    ("Get_miss", 10),
    ("Min(us)", 8),
    ("Max(us)", 10),
    ("Avg(us)", 10),
    ("Std_dev", 10),
    ("Geo_dist", 10),
];

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Result<&'a str, String> {
        let line = self.peek().ok_or("the text ends too early")?;
        self.at += 1;
        Ok(line)
    }

    /// The rest of the next line, which must begin with `start`.
    fn after(&mut self, start: &str) -> Result<&'a str, String> {
        let line = self.next()?;
        line.strip_prefix(start).ok_or_else(|| format!("{line:?} does not begin with {start:?}"))
    }

    fn exactly(&mut self, wanted: &str) -> Result<(), String> {
        let line = self.next()?;
        (line == wanted).then_some(()).ok_or_else(|| format!("{line:?} is not {wanted:?}"))
    }

    fn header(&mut self) -> Result<Header, String> {
        let servers = self.after("servers: ")?.to_owned();
        let threads = parsed(self.after("threads count: ")?)?;
        let concurrency = parsed(self.after("concurrency: ")?)?;
        let length = match self.peek().and_then(|line| line.strip_prefix("execute number: ")) {
            Some(count) => {
                self.at += 1;
                Err(parsed(count)?)
            }
            None => Ok(parsed(stripped(self.after("run time: ")?, "s")?)?),
        };
        let window_k = parsed(stripped(self.after("windows size: ")?, "k")?)?;
        let sets = fixed(self.after("set proportion: set_prop=")?, 2)?;
        let gets = fixed(self.after("get proportion: get_prop=")?, 2)?;
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
                blocks.push(self.block(name)?);
            }
        }
        Ok(Some(blocks))
    }

    fn block(&mut self, name: &str) -> Result<Block, String> {
        let heads = COLUMNS.map(|(head, width)| format!("{head:<width$}"));
        self.exactly(&heads.join(" "))?;
        let period = row(self.next()?, "Period")?;
        let global = row(self.next()?, "Global")?;
        self.exactly("")?;
        Ok(Block { name: name.to_owned(), period, global })
    }

    fn list(&mut self) -> Result<Option<List>, String> {
        let title = self.peek().unwrap_or("");
        let Some((name, events)) = title.split_once(" Statistics (") else { return Ok(None) };
        self.at += 1;
        if !NAMES.contains(&name) {
            return Err(format!("{title:?} has no known name"));
        }
        let events = parsed(stripped(events, " events)")?)?;
        let min_us = parsed(wide(self.after("   Min:  ")?, 8)?)?;
        let max_us = parsed(wide(self.after("   Max:  ")?, 8)?)?;
        let avg_us = parsed(wide(self.after("   Avg:  ")?, 8)?)?;
        let geo_us = fixed(wide(self.after("   Geo:  ")?, 8)?, 2)?;
        let deviation_us = match events {
            0 | 1 => None,
            _ => Some(fixed(wide(self.after("   Std:  ")?, 8)?, 2)?),
        };
        self.exactly("   Log2 Dist:")?;
        let buckets = self.buckets()?;
        self.exactly("")?;
        let name = name.to_owned();
        Ok(Some(List { name, events, min_us, max_us, avg_us, geo_us, deviation_us, buckets }))
    }

    fn buckets(&mut self) -> Result<Vec<u64>, String> {
        let mut buckets: Vec<u64> = Vec::new();
        let mut is_open = true;
        while let Some(line) = self.peek().filter(|line| !line.is_empty()) {
            self.at += 1;
            let wrong = || format!("{line:?} is no line of four buckets");
            let (place, counts) = line.split_once(':').ok_or_else(wrong)?;
            let place: usize = parsed(wide(place.strip_prefix("      ").ok_or_else(wrong)?, 2)?)?;
            if buckets.is_empty() {
                buckets.resize(place, 0);
            }
            if !is_open || place != buckets.len() || !place.is_multiple_of(4) {
                return Err(wrong());
            }
            let counts: Vec<&str> = counts.split_whitespace().collect();
            let again: String = counts.iter().map(|count| format!("   {count:>6}")).collect();
            if !line.ends_with(&format!(":{again}")) || !(1..=4).contains(&counts.len()) {
                return Err(wrong());
            }
            is_open = counts.len() == 4;
            for count in counts {
                buckets.push(parsed(count)?);
            }
        }
        match buckets.last() {
            Some(last) if *last > 0 => Ok(buckets),
            _ => Err("the last bucket has no content".to_owned()),
        }
    }

    fn counters(&mut self) -> Result<Vec<(String, u64)>, String> {
        let mut counters = Vec::new();
        loop {
            let line = self.next()?;
            if line.is_empty() {
                return Ok(counters);
            }
            let (name, count) = line.split_once(": ").ok_or(format!("{line:?} is no counter"))?;
            counters.push((name.to_owned(), parsed(count)?));
        }
    }

    fn last_line(&mut self) -> Result<LastLine, String> {
        let line = self.after("Run time: ")?;
        let wrong = || format!("{line:?} is no last line");
        let (time, rest) = line.split_once("s Ops: ").ok_or_else(wrong)?;
        let (ops, rest) = rest.split_once(" TPS: ").ok_or_else(wrong)?;
        let (tps, net) = rest.split_once(" Net_rate: ").ok_or_else(wrong)?;
        Ok(LastLine {
            time_s: fixed(time, 1)?,
            ops: parsed(ops)?,
            tps: parsed::<u128>(tps)? as f64,
            net_mib: fixed(stripped(net, "M/s")?, 1)?,
        })
    }
}

fn row(line: &str, name: &str) -> Result<Row, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut again: Vec<String> =
        words.iter().zip(COLUMNS).map(|(word, (_, width))| format!("{word:<width$}")).collect();
    if let (Some(last), Some(word)) = (again.last_mut(), words.last()) {
        *last = (*word).to_owned();
    }
    if words.len() != COLUMNS.len() || words[0] != name || again.join(" ") != line {
        return Err(format!("{line:?} is no row of {name}"));
    }
    Ok(Row {
        time_s: parsed(words[1])?,
        ops: parsed(words[2])?,
        tps: parsed(words[3])?,
        net_mib: fixed(words[4], 1)?,
        misses: parsed(words[5])?,
        min_us: parsed(words[6])?,
        max_us: parsed(words[7])?,
        avg_us: parsed(words[8])?,
        deviation_us: fixed(words[9], 2)?,
        geo_us: fixed(words[10], 2)?,
    })
}

fn parsed<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| is_plain).ok_or_else(|| format!("{word:?} is no whole number"))
}

/// A number with this many decimals.
fn fixed(word: &str, decimals: usize) -> Result<f64, String> {
    let wrong = || format!("{word:?} is no number of {decimals} decimals");
    let (whole, fraction) = word.split_once('.').ok_or_else(wrong)?;
    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_fixed = !whole.is_empty() && is_plain(whole) && is_plain(fraction);
    word.parse().ok().filter(|_| is_fixed && fraction.len() == decimals).ok_or_else(wrong)
}

/// A word aligned right in this many columns.
fn wide(text: &str, width: usize) -> Result<&str, String> {
    let word = text.trim_start();
    let is_wide = format!("{word:>width$}") == text;
    is_wide.then_some(word).ok_or_else(|| format!("{text:?} is not {width} wide"))
}

fn stripped<'a>(word: &'a str, end: &str) -> Result<&'a str, String> {
    word.strip_suffix(end).ok_or_else(|| format!("{word:?} does not end with {end:?}"))
}
