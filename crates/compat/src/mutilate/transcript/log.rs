//! The originals' log with `-v` and `-vv` during a run, each line with the place in their sources
//! that prints it. The lines of `-vv` about single requests are left out.

use super::generators::{self, Generators};
use crate::mutilate::numbers::Law;
use crate::mutilate::options::{Keys, Mode, Options, Verbosity};
use crate::mutilate::rows::Face;
use memtide_base::Span;
use memtide_record::Event;
use memtide_record::{LoopKind, Phase, PlanRecord};

/// The log of one command line.
#[derive(Clone, Debug)]
pub(super) struct Log {
    face: Face,
    verbosity: Verbosity,
    /// True to log the start and stop of single runs.
    is_single: bool,
    threads: u32,
    servers: u32,
    connections: u64,
    connections_each: u32,
    /// The laws of each connection: the lengths of values and keys, and the order of keys.
    laws: Vec<Law>,
    gaps: (Law, String),
    rate_ops: u32,
    records: u32,
    is_filled: bool,
    time: Span,
    phase: Option<Phase>,
}

/// Line numbers in mutilate.cc or mcperf.cc.
struct Lines {
    file: &'static str,
    resolved: u16,
    loading: u16,
    warmup: [u16; 2],
    sleeping: u16,
    started: u16,
    stopped: u16,
    /// The start of threads, their common beginning, the wait for one, and the end of a run.
    threads: [u16; 4],
    /// The commands to a server, and the start and end of the loop that makes connections.
    making: [u16; 3],
    numbers: u16,
    records: u16,
    /// The line number in Connection.cc.
    gaps: u16,
    connected: u16,
    loaded: u16,
    generators: Generators,
}

const MUTILATE: Lines = Lines {
    file: "mutilate.cc",
    resolved: 408,
    loading: 845,
    warmup: [876, 951],
    sleeping: 961,
    started: 979,
    stopped: 1011,
    threads: [0; 4],
    making: [0; 3],
    numbers: 0,
    records: 1074,
    gaps: 35,
    connected: 258,
    loaded: 405,
    generators: generators::MUTILATE,
};
const MCPERF: Lines = Lines {
    file: "mcperf.cc",
    resolved: 641,
    loading: 1182,
    warmup: [1218, 1311],
    sleeping: 1321,
    started: 1341,
    stopped: 1395,
    threads: [974, 1022, 1026, 1058],
    making: [1132, 1154, 1177],
    numbers: 1514,
    records: 1533,
    gaps: 47,
    connected: 422,
    loaded: 665,
    generators: generators::MCPERF,
};
const MCPERF_DYNAMIC: Lines = Lines {
    file: "mcperf.cc",
    resolved: 865,
    loading: 1465,
    warmup: [1501, 1594],
    sleeping: 1604,
    started: 1624,
    stopped: 1679,
    threads: [1255, 1303, 1307, 1341],
    making: [1415, 1437, 1460],
    numbers: 1798,
    records: 1817,
    gaps: 63,
    connected: 470,
    loaded: 713,
    generators: generators::MCPERF,
};

impl Log {
    pub(super) fn new(options: &Options) -> Self {
        let connections = &options.connections;
        Self {
            face: options.face,
            verbosity: options.output.verbosity,
            is_single: !matches!(options.mode, Mode::Scan(_) | Mode::Search(_)),
            threads: connections.threads,
            servers: connections.servers,
            connections: connections.total(),
            connections_each: connections.each,
            laws: laws(options),
            gaps: (options.paced.gaps, options.paced.gaps_word.clone()),
            rate_ops: options.paced.rate_ops,
            records: options.load.records_each,
            is_filled: options.load.is_filled,
            time: options.paced.time,
            phase: None,
        }
    }

    const fn lines(&self) -> &'static Lines {
        match self.face {
            Face::Mutilate => &MUTILATE,
            Face::Mcperf => &MCPERF,
            Face::McperfDynamic => &MCPERF_DYNAMIC,
        }
    }

    /// A line that the program's main file logs.
    fn line(&self, number: u16, words: &str) -> String {
        format!("{}({number}): {words}\n", self.lines().file)
    }

    fn is_verbose(&self) -> bool {
        self.verbosity <= Verbosity::Verbose
    }

    fn is_debug(&self) -> bool {
        self.verbosity == Verbosity::Debug
    }

    /// The log before a wait of `wait` for `--wait`.
    pub(super) fn wait(&self, wait: Span) -> String {
        if !self.is_verbose() || wait.is_zero() {
            return String::new();
        }
        let words = format!("Sleeping {:.1}s for -W.", wait.as_s_f64());
        self.line(self.lines().sleeping, &words)
    }

    /// The log for `event`, `unix_s` seconds after 1970.
    pub(super) fn on(&mut self, event: &Event, unix_s: f64) -> String {
        if !self.is_verbose() {
            return String::new();
        }
        match event {
            Event::Started(plan) => {
                self.phase = None;
                if self.is_debug() { self.planned(plan) } else { String::new() }
            }
            Event::Phase(phase) => self.phase(*phase, unix_s),
            Event::Done(_) => self.phase(Phase::Cooldown, unix_s),
            _ => String::new(),
        }
    }

    /// Logs the numbers of a run, its servers and its connections.
    fn planned(&self, plan: &PlanRecord) -> String {
        let lines = self.lines();
        let mut text = String::new();
        let connections = self.connections;
        if !self.face.is_mutilate() {
            let (rate, each) = (self.rate_ops, self.connections_each);
            let own = f64::from(rate) / connections.max(1) as f64;
            text += &self.line(lines.numbers, &format!("{rate} {each} {connections} {own:.6}"));
        }
        text += &self.line(lines.records, &format!("options->records = {}", self.records));
        for server in &plan.servers {
            let host = server.name.rsplit_once(':').map_or(&*server.name, |(host, _)| host);
            let address = server.addresses.first().unwrap_or(&server.name);
            text += &self.line(lines.resolved, &format!("Resolved {host} to {address}"));
        }
        let of_threads = lines.threads;
        if !self.face.is_mutilate() && self.threads > 1 {
            let words = format!("Starting {} threads.", self.threads);
            text += &self.line(of_threads[0], &words);
            text += &self.line(of_threads[1], "Fired all threads.");
            text += &self.line(of_threads[2], "Waiting for thread 0.");
        }
        // One thread after the other, although the originals' threads log concurrently.
        let shares = u64::from(self.servers) * u64::from(self.threads);
        let each = connections.div_ceil(shares.max(1));
        let of_connection = self.connection(plan);
        for _ in 0..self.threads {
            text += &self.connected(plan, each, &of_connection);
        }
        text
    }

    /// Logs that a thread makes `each` connections to each server, and that they are made.
    fn connected(&self, plan: &PlanRecord, each: u64, of_connection: &str) -> String {
        let [asked, begun, done] = self.lines().making;
        let is_mcperf = !self.face.is_mutilate();
        let mut text = String::new();
        for server in &plan.servers {
            if is_mcperf {
                let all = self.connections_each;
                let words = format!("Connections req {} {each} [0/{all}]", server.name);
                text += &self.line(asked, &words);
            }
            (0..each).for_each(|_| text += of_connection);
        }
        if is_mcperf {
            text += &self.line(begun, "evt based loop start\n");
        }
        for server in &plan.servers {
            let address = server.addresses.first().unwrap_or(&server.name);
            let number = self.lines().connected;
            let line = format!("Connection.cc({number}): Connected to {address}.\n");
            (0..each).for_each(|_| text += &line);
        }
        if is_mcperf {
            text += &self.line(done, "evt based loop end\n");
        }
        text
    }

    /// The generators of one connection.
    fn connection(&self, plan: &PlanRecord) -> String {
        let lines = self.lines();
        let mut text: String = self.laws.iter().map(|&law| lines.generators.line(law)).collect();
        let (law, word) = &self.gaps;
        match plan.loop_kind {
            LoopKind::Open => {
                let line = lines.gaps;
                text += &format!("Connection.cc({line}): iagen = createGenerator({word})\n");
                text += &lines.generators.line(*law);
            }
            // As fast as answers come.
            LoopKind::Closed => text += &lines.generators.line(Law::Fixed(0.0)),
        }
        text
    }

    /// Logs the end of the phase before, and the beginning of `phase`.
    fn phase(&mut self, phase: Phase, unix_s: f64) -> String {
        let before = self.phase.replace(phase);
        if before == Some(phase) {
            return String::new();
        }
        let lines = self.lines();
        let mut text = match before {
            Some(Phase::Load) if self.is_debug() => {
                let line = format!("Connection.cc({}): Finished loading.\n", lines.loaded);
                line.repeat(self.threads as usize * self.servers as usize)
            }
            Some(Phase::Warmup) => self.line(lines.warmup[1], "Warmup stop."),
            _ => String::new(),
        };
        match phase {
            // The mcperfs log it only with -vv.
            Phase::Load if self.is_filled && (self.face.is_mutilate() || self.is_debug()) => {
                let line = self.line(lines.loading, "Loading database.");
                text += &line.repeat(self.threads as usize);
            }
            Phase::Warmup => text += &self.line(lines.warmup[0], "Warmup start."),
            Phase::Measure if self.is_single => {
                text += &self.line(lines.started, &format!("started at {unix_s:.6}"));
            }
            // Each thread of the mcperfs logs it, even in searches and scans.
            Phase::Cooldown if before.is_some_and(|before| before == Phase::Measure) => {
                let times = match self.face {
                    Face::Mutilate => u32::from(self.is_single),
                    Face::Mcperf | Face::McperfDynamic => self.threads,
                };
                let whole_s = self.time.ns() / 1_000_000_000;
                let words = format!("stopped at {unix_s:.6}  options.time = {whole_s}");
                text += &self.line(lines.stopped, &words).repeat(times as usize);
                text += &self.joined();
            }
            Phase::Cooldown => text += &self.joined(),
            Phase::Load | Phase::Measure => {}
        }
        text
    }

    /// The mcperfs' log of threads that have ended.
    fn joined(&self) -> String {
        if self.face.is_mutilate() || !self.is_debug() {
            return String::new();
        }
        let [_, _, waiting, end] = self.lines().threads;
        let wait = |thread| self.line(waiting, &format!("Waiting for thread {thread}."));
        let waits: String = (1..self.threads).map(wait).collect();
        waits + &self.line(end, "End of go()")
    }
}

/// The distributions of each connection of `options` other than its gaps, in the order in which the
/// originals make them.
fn laws(options: &Options) -> Vec<Law> {
    let order = match options.load.keys {
        Keys::Random => None,
        Keys::Cached { law, .. } => law,
    };
    [options.load.value_bytes, options.load.key_bytes].into_iter().chain(order).collect()
}
