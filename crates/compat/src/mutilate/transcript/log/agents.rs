//! The lines of a master about its agents: handing out their shares, agreeing on the beginning of
//! the load, and its own rate at the end.

use super::{Line, Log, RESOLVED, WARMUP_STARTED};
use crate::mutilate::options::{Connections, Fleet, Options, OwnLoad, Verbosity};
use crate::mutilate::rows::Face;
use crate::mutilate::text::{Material, TimeBasis, Whose};
use crate::mutilate::transcript::skipped;
use memtide_record::{Phase, Record, Shared, StepBegun};
use std::net::Ipv4Addr;

/// The agents of a command line, and the master's own load beside theirs.
#[derive(Clone, Debug)]
pub(super) struct Agents {
    addresses: Vec<String>,
    own: Option<OwnLoad>,
    /// Connections of an agent's thread.
    connections: Connections,
    /// The step that is carried out, in a search or a scan.
    step: Option<StepBegun>,
    /// The number of agents that take part.
    present: u32,
    /// The number of those that were lost before the load.
    errors: u32,
}

const ADDED: Line = [0, 698, 926];
const GIVEN: Line = [0, 956, 1234];
const ASKED: Line = [0, 391, 310];
const ASKED_SENT: Line = [0, 394, 313];
const ASKED_HEARD: Line = [0, 398, 317];
const DENOMINATOR: Line = [259, 437, 424];
const TOO_FAST: Line = [265, 443, 430];
const PAUSED: Line = [284, 469, 457];
const PREPARED: Line = [0, 958, 1236];
const SYNCHRONIZING: [Line; 2] = [[968, 1328, 1611], [880, 1222, 1505]];
const SYNCHRONIZED: [Line; 2] = [[974, 1335, 1618], [889, 1232, 1515]];
const AGENTS_SYNCHRONIZING: Line = [0, 516, 740];
const SYNC_SENT: Line = [0, 524, 748];
const PROCEED_SENT: Line = [0, 548, 772];
const AGENTS_SYNCHRONIZED: Line = [0, 585, 809];
const OWN_RATE: Line = [740, 1050, 0];
const FINISH_SENT: Line = [0, 481, 0];
const FINISH_HEARD: Line = [0, 487, 0];

impl Agents {
    pub(super) fn new(options: &Options, fleet: &Fleet) -> Self {
        Self {
            addresses: fleet.addresses.clone(),
            own: fleet.own,
            connections: options.connections,
            step: None,
            present: 0,
            errors: 0,
        }
    }

    /// The number of connections that the master makes.
    pub(super) fn own_connections(&self) -> u64 {
        let Some(own) = self.own else { return 0 };
        let each = Connections { each: own.connections_each, ..self.connections };
        each.of_threads(own.threads)
    }

    /// Connections of each of the master's threads, if they are not those of its agents'.
    pub(super) fn own_each(&self) -> u32 {
        let each = self.own.map_or(0, |own| own.connections_each);
        if each == self.connections.each { 0 } else { each }
    }

    /// True unless a step of a search or scan came before.
    fn is_first(&self) -> bool {
        self.step.is_none_or(|step| step.number == 1)
    }
}

impl Log {
    /// Keeps the step that begins.
    pub(super) fn step(&mut self, step: StepBegun) {
        self.agents.iter_mut().for_each(|agents| agents.step = Some(step));
    }

    /// The lines about agents that did not come, which all but `--quiet` print.
    pub(super) fn missed(&self, shared: &Shared) -> String {
        if self.verbosity == Verbosity::Quiet {
            return String::new();
        }
        let missing = (1..).zip(&shared.agents).filter(|(_, units)| units.is_none());
        missing.map(|(number, _)| skipped(self.face, number)).collect()
    }

    /// The agents that the master dials.
    pub(super) fn added(&self) -> String {
        let agents = self.agents.iter().filter(|agents| agents.is_first());
        let addresses = agents.flat_map(|agents| &agents.addresses);
        addresses.map(|address| self.resolved(address) + &self.dialled(address)).collect()
    }

    /// The line about an agent's address, which gets the port of a server; none about a name.
    fn resolved(&self, address: &str) -> String {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        match host.parse::<Ipv4Addr>() {
            Ok(_) => self.line_of_mcperf(RESOLVED, &format!("Resolved {host} to {host}:11211")),
            Err(_) => String::new(),
        }
    }

    fn dialled(&self, address: &str) -> String {
        self.line_of_mcperf(ADDED, &format!("Add tcp://{address} as agent\n"))
    }

    /// Logs that agents are handed their shares, and that the master prepares its own load.
    pub(super) fn shared(&mut self, shared: &Shared) -> String {
        let Some(agents) = &mut self.agents else { return String::new() };
        agents.present = shared.agents.iter().flatten().count() as u32;
        agents.errors = 0;
        let is_filled = self.is_filled && agents.is_first();
        let mut text = self.debug(|log| log.planned(&shared.plan));
        text += &self.line_of_mcperf(GIVEN, "agent given");
        for (number, units) in (1..).zip(&shared.agents) {
            text += &self.line_of_mcperf(ASKED, &format!("Agent {number} prep "));
            text += &self.debug(|log| {
                let heard = format!("Agent {number} prep recv= {}", units.is_some());
                log.line_of_mcperf(ASKED_SENT, &format!("Agent {number} prep send = true"))
                    + &log.line_of_mcperf(ASKED_HEARD, &heard)
            });
            if units.is_none() {
                text += &skipped(self.face, number);
            }
        }
        text += &self.divided(shared);
        text += &self.line(PAUSED, "MASTER SLEEPS");
        text += &self.line_of_mcperf(PREPARED, "Agent prep done.");
        text += &self.debug(|log| log.made(&shared.plan));
        if is_filled {
            text += &self.phase(Phase::Load);
        }
        text
    }

    /// The weight of all connections, by which the rate is divided, and a warning if the master's
    /// own connections are faster than its agents'.
    fn divided(&self, shared: &Shared) -> String {
        let Some(agents) = &self.agents else { return String::new() };
        let units = shared.agents.iter().flatten();
        let theirs: u64 = units.map(|&units| agents.connections.of_threads(units)).sum();
        let weight = u64::from(agents.own.map_or(1, |own| own.weight));
        let ours = agents.own_connections() * weight;
        let own_rate = agents.own.and_then(|own| own.rate_ops);
        let all = if own_rate.is_some() { theirs } else { theirs + ours };
        let text = self.line(DENOMINATOR, &format!("lambda_denom = {all}"));
        let of_step = agents.step.map(|step| step.rate.map_or(0.0, |rate| rate.per_s));
        let rate = of_step.unwrap_or_else(|| f64::from(self.rate_ops)).trunc();
        let Some(own_rate) = own_rate.map(f64::from).filter(|own| rate > 0.0 && *own != rate)
        else {
            return text;
        };
        let own = own_rate / ours as f64;
        let each = (rate - own_rate) / all as f64 * weight as f64;
        if own <= each {
            return text;
        }
        let words = format!("warning: master_lambda ({own:.6}) > options.lambda ({each:.6})");
        text + &self.line(TOO_FAST, &words)
    }

    /// Logs that this many agents have prepared their shares, and that the master now agrees with
    /// them on the beginning of the load.
    pub(super) fn prepared(&mut self, count: u32) -> String {
        if !self.is_shared() {
            return String::new();
        }
        if let Some(agents) = &mut self.agents {
            agents.errors = agents.present.saturating_sub(count);
        }
        let mut text = self.loaded();
        self.phase = None;
        if self.has_warmup() && self.threads > 0 {
            text += &self.line(WARMUP_STARTED, "Warmup start.");
        }
        text + &self.synchronizing(self.has_warmup())
    }

    /// Logs that the processes agree on the beginning of a phase; `is_warmup` if it is the warm-up.
    pub(super) fn synchronizing(&self, is_warmup: bool) -> String {
        if !self.is_shared() {
            return String::new();
        }
        let line = SYNCHRONIZING[usize::from(is_warmup)];
        let mut text = self.line_of_threads(line, "Synchronizing.");
        text += &self.line_of_mcperf(AGENTS_SYNCHRONIZING, "agent: synchronizing");
        text + &self.debug(|log| log.each_agent(SYNC_SENT, "Sent sync_req to agent"))
    }

    /// Logs that the processes begin a phase together.
    pub(super) fn synchronized(&self, is_warmup: bool) -> String {
        if !self.is_shared() {
            return String::new();
        }
        let mut text = self.debug(|log| log.each_agent(PROCEED_SENT, "Sent proceed to agent"));
        let errors = self.agents.as_ref().map_or(0, |agents| agents.errors);
        let words = format!("agent: synchronized with {errors} errors");
        text += &self.line_of_mcperf(AGENTS_SYNCHRONIZED, &words);
        text + &self.line_of_threads(SYNCHRONIZED[usize::from(is_warmup)], "Synchronized.")
    }

    /// Logs the rate of the master's own load, and that its agents have ended theirs.
    pub(super) fn agents_ended(&self, record: &Record) -> String {
        let Some(agents) = self.agents.as_ref().filter(|_| self.face != Face::McperfDynamic) else {
            return String::new();
        };
        let finished = self.debug(|log| {
            let each = 1..=agents.present - agents.errors;
            let sent =
                |n| log.line_of_mcperf(FINISH_SENT, &format!("Agent {n} finish send = true"));
            let heard =
                |n| log.line_of_mcperf(FINISH_HEARD, &format!("Agent {n} finish recv = true"));
            each.map(|number| sent(number) + &heard(number)).collect()
        });
        self.rate_line(record.own.as_deref()) + &finished
    }

    /// The rate of this process alone, whose record is `own`; `None` if it made no load.
    pub(super) fn rate_line(&self, own: Option<&Record>) -> String {
        let own = own.map(|own| Material::of(own, TimeBasis::Service, Whose::Process));
        // The report complains of a histogram that cannot be read back.
        let Ok(own) = own.transpose() else { return String::new() };
        let own = own.unwrap_or_default();
        let (rate, ops, time_s) = (own.rate_per_s(), own.ops(), own.measured_s);
        self.line(OWN_RATE, &format!("Local QPS = {rate:.1} ({ops} / {time_s:.1}s)"))
    }

    fn each_agent(&self, line: Line, words: &str) -> String {
        let each = 1..=self.agents.as_ref().map_or(0, |agents| agents.present);
        each.map(|number| self.line_of_mcperf(line, &format!("{words} {number}"))).collect()
    }

    /// A line that only the mcperfs log.
    pub(super) fn line_of_mcperf(&self, line: Line, words: &str) -> String {
        if self.face.is_mutilate() { String::new() } else { self.line(line, words) }
    }

    /// A line that the master logs only if it makes load.
    fn line_of_threads(&self, line: Line, words: &str) -> String {
        if self.threads == 0 { String::new() } else { self.line(line, words) }
    }

    /// Text of `-vv` alone.
    pub(super) fn debug(&self, text: impl FnOnce(&Self) -> String) -> String {
        if self.is_debug() { text(self) } else { String::new() }
    }
}
