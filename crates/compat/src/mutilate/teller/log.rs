//! What the originals log with `-v` and `-vv` as a run goes, each line with the place in their
//! sources that prints it. The lines of `-vv` about single requests and generators are left out.

use crate::mutilate::options::{Mode, Options, Verbosity};
use crate::mutilate::rows::Face;
use memtide_base::Span;
use memtide_schema::Event;
use memtide_schema::record::{Phase, PlanRecord};

/// The log of one command line.
#[derive(Clone, Debug)]
pub(super) struct Log {
    face: Face,
    verbosity: Verbosity,
    /// Whether single runs are told when they start and stop.
    is_single: bool,
    threads: u32,
    servers: u32,
    connections: u64,
    connections_each: u32,
    rate_ops: u32,
    records: u32,
    is_filled: bool,
    time: Span,
    phase: Option<Phase>,
}

/// Lines of mutilate.cc or mcperf.cc.
struct Lines {
    file: &'static str,
    resolved: u16,
    loading: u16,
    warmup: [u16; 2],
    sleeping: u16,
    started: u16,
    stopped: u16,
    threads: u16,
    numbers: u16,
    records: u16,
    /// Of Connection.cc.
    connected: u16,
    loaded: u16,
}

const MUTILATE: Lines = Lines {
    file: "mutilate.cc",
    resolved: 408,
    loading: 845,
    warmup: [876, 951],
    sleeping: 961,
    started: 979,
    stopped: 1011,
    threads: 0,
    numbers: 0,
    records: 1074,
    connected: 258,
    loaded: 405,
};
const MCPERF: Lines = Lines {
    file: "mcperf.cc",
    resolved: 641,
    loading: 1182,
    warmup: [1218, 1311],
    sleeping: 1321,
    started: 1341,
    stopped: 1395,
    threads: 974,
    numbers: 1514,
    records: 1533,
    connected: 422,
    loaded: 665,
};
const MCPERF_DYNAMIC: Lines = Lines {
    file: "mcperf.cc",
    resolved: 865,
    loading: 1465,
    warmup: [1501, 1594],
    sleeping: 1604,
    started: 1624,
    stopped: 1679,
    threads: 1255,
    numbers: 1798,
    records: 1817,
    connected: 470,
    loaded: 713,
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

    /// A line of the program's main file.
    fn line(&self, number: u16, words: &str) -> String {
        format!("{}({number}): {words}\n", self.lines().file)
    }

    fn is_verbose(&self) -> bool {
        self.verbosity <= Verbosity::Verbose
    }

    fn is_debug(&self) -> bool {
        self.verbosity == Verbosity::Debug
    }

    /// What is logged before a wait of `wait` for `--wait`.
    pub(super) fn wait(&self, wait: Span) -> String {
        if !self.is_verbose() || wait.is_zero() {
            return String::new();
        }
        let words = format!("Sleeping {:.1}s for -W.", wait.as_s_f64());
        self.line(self.lines().sleeping, &words)
    }

    /// What is logged when `event` happens, `unix_s` seconds after 1970.
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

    /// The numbers of a run, its servers and its connections.
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
        if !self.face.is_mutilate() && self.threads > 1 {
            let words = format!("Starting {} threads.", self.threads);
            text += &self.line(lines.threads, &words);
        }
        let each_server = connections.div_ceil(u64::from(self.servers.max(1)));
        for server in &plan.servers {
            let address = server.addresses.first().unwrap_or(&server.name);
            let line = format!("Connection.cc({}): Connected to {address}.\n", lines.connected);
            (0..each_server).for_each(|_| text += &line);
        }
        text
    }

    /// The phase before has ended, and `phase` begins.
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
            // To the mcperfs it is a matter of -vv.
            Phase::Load if self.is_filled && (self.face.is_mutilate() || self.is_debug()) => {
                let line = self.line(lines.loading, "Loading database.");
                text += &line.repeat(self.threads as usize);
            }
            Phase::Warmup => text += &self.line(lines.warmup[0], "Warmup start."),
            Phase::Measure if self.is_single => {
                text += &self.line(lines.started, &format!("started at {unix_s:.6}"));
            }
            // Each thread of the mcperfs says it, in scans and searches too.
            Phase::Cooldown if before.is_some_and(|before| before == Phase::Measure) => {
                let times = match self.face {
                    Face::Mutilate => u32::from(self.is_single),
                    Face::Mcperf | Face::McperfDynamic => self.threads,
                };
                let whole_s = self.time.ns() / 1_000_000_000;
                let words = format!("stopped at {unix_s:.6}  options.time = {whole_s}");
                text += &self.line(lines.stopped, &words).repeat(times as usize);
            }
            Phase::Load | Phase::Measure | Phase::Cooldown => {}
        }
        text
    }
}
