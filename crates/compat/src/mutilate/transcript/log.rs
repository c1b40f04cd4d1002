//! The originals' log with `-v` and `-vv` during a run, of masters, of agents, and of processes on
//! their own: each line with the place in their sources that prints it. The lines of `-vv` about
//! single requests and messages are left out.

mod agents;
mod served;

use super::generators::{self, Generators};
use crate::mutilate::numbers::Law;
use crate::mutilate::options::{Keys, Mode, Options, Verbosity};
use crate::mutilate::rows::Face;
use agents::Agents;
use memtide_base::Span;
use memtide_record::{Event, LoopKind, Phase, PlanRecord, Record};
use served::Served;

/// The log of one command line, or of one load of an agent.
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
    /// The agents that make load, too.
    agents: Option<Agents>,
    /// The load of which this agent makes a part; `None` of masters and processes on their own.
    served: Option<Served>,
    /// The beginning of the load in seconds since 1970, and its length before and during the
    /// measurement.
    began_s: f64,
    warmup_s: f64,
    measured_s: f64,
}

/// A line number in the sources of mutilate, mcperf and the dynamic mcperf; 0 where a program does
/// not log it. Those of connections are in Connection.cc, the others in the program's main file.
type Line = [u16; 3];

const RESOLVED: Line = [408, 641, 865];
const LOADING: Line = [845, 1182, 1465];
const WARMUP_STARTED: Line = [876, 1218, 1501];
const WARMUP_STOPPED: Line = [951, 1311, 1594];
const SLEEPING: Line = [961, 1321, 1604];
const STARTED: Line = [979, 1341, 1624];
const STOPPED: Line = [1011, 1395, 1679];
const THREADS_STARTED: Line = [0, 974, 1255];
const THREADS_FIRED: Line = [0, 1022, 1303];
const THREAD_AWAITED: Line = [0, 1026, 1307];
const ENDED: Line = [0, 1058, 1341];
const CONNECTIONS_ASKED: Line = [0, 1132, 1415];
const CONNECTING: Line = [0, 1154, 1437];
const CONNECTED_ALL: Line = [0, 1177, 1460];
const NUMBERS: Line = [0, 1514, 1798];
const RECORDS: Line = [1074, 1533, 1817];
const GAPS: Line = [35, 47, 63];
const CONNECTED: Line = [258, 422, 470];
const LOADED: Line = [405, 665, 713];

impl Log {
    pub(super) fn new(options: &Options) -> Self {
        let connections = &options.connections;
        Self {
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
            agents: options.agents.as_ref().map(|fleet| Agents::new(options, fleet)),
            ..Self::empty(options.face, options.output.verbosity)
        }
    }

    /// The log of a load of which nothing is known yet.
    fn empty(face: Face, verbosity: Verbosity) -> Self {
        Self {
            face,
            verbosity,
            is_single: true,
            threads: 0,
            servers: 0,
            connections: 0,
            connections_each: 0,
            laws: Vec::new(),
            gaps: (Law::Fixed(0.0), String::new()),
            rate_ops: 0,
            records: 0,
            is_filled: false,
            time: Span::ZERO,
            phase: None,
            agents: None,
            served: None,
            began_s: 0.0,
            warmup_s: 0.0,
            measured_s: 0.0,
        }
    }

    /// True if several processes make the load together.
    fn is_shared(&self) -> bool {
        self.agents.is_some() || self.served.is_some()
    }

    fn generators(&self) -> &'static Generators {
        if self.face.is_mutilate() { &generators::MUTILATE } else { &generators::MCPERF }
    }

    /// A line that the program's main file logs.
    fn line(&self, line: Line, words: &str) -> String {
        let file = if self.face.is_mutilate() { "mutilate.cc" } else { "mcperf.cc" };
        format!("{file}({}): {words}\n", line[self.face as usize])
    }

    /// A line that the program's connections log.
    fn line_of_connection(&self, line: Line, words: &str) -> String {
        format!("Connection.cc({}): {words}\n", line[self.face as usize])
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
        self.line(SLEEPING, &words)
    }

    /// The log for `event`.
    pub(super) fn on(&mut self, event: &Event) -> String {
        match event {
            Event::Shared(shared) if !self.is_verbose() => self.missed(shared),
            _ if !self.is_verbose() => String::new(),
            Event::Started(plan) => {
                self.keep(plan);
                match self.served {
                    Some(_) => self.handed(plan) + &self.debug(|log| log.made(plan)),
                    None => self.debug(|log| log.planned(plan) + &log.made(plan)),
                }
            }
            Event::StepBegun(step) => {
                self.step(*step);
                String::new()
            }
            Event::Shared(shared) => {
                self.keep(&shared.plan);
                self.shared(shared)
            }
            Event::LoadBegun(unix_ns) => {
                self.began_s = Span::from_ns(*unix_ns).as_s_f64();
                String::new()
            }
            Event::Prepared(agents) => self.prepared(*agents),
            Event::Phase(phase) => self.phase(*phase),
            Event::Done(record) => {
                // A load that was cut short ended earlier than planned.
                if self.phase == Some(Phase::Measure) {
                    self.measured_s = Span::from_ns(record.window_ns).as_s_f64();
                }
                self.phase(Phase::Cooldown) + &self.ended(record)
            }
            _ => String::new(),
        }
    }

    /// Keeps what `plan` says of the load that begins.
    fn keep(&mut self, plan: &PlanRecord) {
        self.phase = None;
        self.warmup_s = plan.warmup_s;
        self.measured_s = plan.duration_s.unwrap_or(0.0);
    }

    /// Logs the numbers of a run, and its servers.
    fn planned(&self, plan: &PlanRecord) -> String {
        let mut text = String::new();
        let connections = self.connections;
        if !self.face.is_mutilate() {
            let (rate, each) = (self.rate_ops, self.connections_each);
            let own = f64::from(rate) / connections.max(1) as f64;
            text += &self.line(NUMBERS, &format!("{rate} {each} {connections} {own:.6}"));
        }
        text += &self.line(RECORDS, &format!("options->records = {}", self.records));
        text += &self.added();
        for server in &plan.servers {
            let host = server.name.rsplit_once(':').map_or(&*server.name, |(host, _)| host);
            let address = server.addresses.first().unwrap_or(&server.name);
            text += &self.line(RESOLVED, &format!("Resolved {host} to {address}"));
        }
        text
    }

    /// Logs the threads of a run and their connections.
    fn made(&self, plan: &PlanRecord) -> String {
        let mut text = String::new();
        if !self.face.is_mutilate() && self.threads > 1 {
            let words = format!("Starting {} threads.", self.threads);
            text += &self.line(THREADS_STARTED, &words);
            text += &self.line(THREADS_FIRED, "Fired all threads.");
            text += &self.line(THREAD_AWAITED, "Waiting for thread 0.");
        }
        // One thread after the other, although the originals' threads log concurrently.
        let shares = u64::from(self.servers) * u64::from(self.threads);
        let made = self.agents.as_ref().map_or(self.connections, Agents::own_connections);
        let each = made.div_ceil(shares.max(1));
        let of_connection = self.connection(plan);
        for _ in 0..self.threads {
            text += &self.connected(plan, each, &of_connection);
        }
        text
    }

    /// Logs that a thread makes `each` connections to each server, and that they are made.
    fn connected(&self, plan: &PlanRecord, each: u64, of_connection: &str) -> String {
        let is_mcperf = !self.face.is_mutilate();
        let mut text = String::new();
        for server in &plan.servers {
            if is_mcperf {
                let own = self.agents.as_ref().map_or(0, Agents::own_each);
                let all = self.connections_each;
                let words = format!("Connections req {} {each} [{own}/{all}]", server.name);
                text += &self.line(CONNECTIONS_ASKED, &words);
            }
            (0..each).for_each(|_| text += of_connection);
        }
        if is_mcperf {
            text += &self.line(CONNECTING, "evt based loop start\n");
        }
        for server in &plan.servers {
            let address = server.addresses.first().unwrap_or(&server.name);
            let line = self.line_of_connection(CONNECTED, &format!("Connected to {address}."));
            (0..each).for_each(|_| text += &line);
        }
        if is_mcperf {
            text += &self.line(CONNECTED_ALL, "evt based loop end\n");
        }
        text
    }

    /// The generators of one connection.
    fn connection(&self, plan: &PlanRecord) -> String {
        let generators = self.generators();
        let mut text: String = self.laws.iter().map(|&law| generators.line(law)).collect();
        let (law, word) = &self.gaps;
        match plan.loop_kind {
            LoopKind::Open => {
                let words = format!("iagen = createGenerator({word})");
                text += &self.line_of_connection(GAPS, &words);
                text += &generators.line(*law);
            }
            // As fast as answers come.
            LoopKind::Closed => text += &generators.line(Law::Fixed(0.0)),
        }
        text
    }

    /// Logs the end of the phase before, and the beginning of `phase`.
    fn phase(&mut self, phase: Phase) -> String {
        let before = self.phase;
        if before == Some(phase) {
            return String::new();
        }
        let measured_s = self.began_s + self.warmup_s;
        let mut text = match before {
            Some(Phase::Load) => self.loaded(),
            Some(Phase::Warmup) if self.threads > 0 => {
                self.line(WARMUP_STOPPED, "Warmup stop.") + &self.synchronizing(false)
            }
            _ => String::new(),
        };
        self.phase = Some(phase);
        match phase {
            // The mcperfs log it only with -vv.
            Phase::Load if self.is_filled && (self.face.is_mutilate() || self.is_debug()) => {
                let line = self.line(LOADING, "Loading database.");
                text += &line.repeat(self.threads as usize);
            }
            Phase::Warmup if self.is_shared() => text += &self.synchronized(true),
            Phase::Warmup => text += &self.line(WARMUP_STARTED, "Warmup start."),
            Phase::Measure => {
                if before != Some(Phase::Warmup) || self.threads > 0 {
                    text += &self.synchronized(false);
                }
                if self.is_single && self.threads > 0 {
                    text += &self.line(STARTED, &format!("started at {measured_s:.6}"));
                }
            }
            // Each thread of the mcperfs logs it, even in searches and scans.
            Phase::Cooldown if before.is_some_and(|before| before == Phase::Measure) => {
                let times = match self.face {
                    Face::Mutilate => u32::from(self.is_single && self.threads > 0),
                    Face::Mcperf | Face::McperfDynamic => self.threads,
                };
                let stopped_s = measured_s + self.measured_s;
                let whole_s = self.time.ns() / 1_000_000_000;
                let words = format!("stopped at {stopped_s:.6}  options.time = {whole_s}");
                text += &self.line(STOPPED, &words).repeat(times as usize);
            }
            Phase::Cooldown | Phase::Load => {}
        }
        text
    }

    /// The log of the end of a fill.
    fn loaded(&self) -> String {
        if self.phase != Some(Phase::Load) || !self.is_debug() {
            return String::new();
        }
        let line = self.line_of_connection(LOADED, "Finished loading.");
        line.repeat(self.threads as usize * self.servers as usize)
    }

    /// True if the load has a warm-up.
    fn has_warmup(&self) -> bool {
        self.warmup_s > 0.0
    }

    /// Logs the end of a run.
    fn ended(&self, record: &Record) -> String {
        let is_told = !self.face.is_mutilate() && self.is_debug();
        let mut text = String::new();
        if is_told {
            for thread in 1..self.threads {
                text += &self.line(THREAD_AWAITED, &format!("Waiting for thread {thread}."));
            }
        }
        let [rate, handed] = self.served_ended(record);
        text += &(self.agents_ended(record) + &rate);
        if is_told {
            text += &self.line(ENDED, "End of go()");
        }
        text + &handed
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
