//! The lines of an agent about the loads that masters hand it.

use super::{Line, Log, NUMBERS, RECORDS};
use crate::mutilate::numbers::Law;
use crate::mutilate::options::AgentOptions;
use crate::mutilate::rows::Face;
use memtide_base::Span;
use memtide_record::{PlanRecord, Record};

/// A load of which an agent makes a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    /// The number of loads that the agent was handed, with this one.
    number: u32,
    /// Equal shares of all agents' load, and those of this agent.
    shares: [u32; 2],
    /// How many times an agent of weight 1 this one loads each of its connections.
    weight: u32,
    /// True if the agents only fill the servers.
    is_load_only: bool,
}

const NUMBER_SENT: Line = [0, 302, 477];
const OPTIONS: Line = [0, 305, 480];
const ACK_SENT: Line = [0, 312, 487];
const SERVER: Line = [182, 316, 491];
const PROFILE_HEARD: Line = [0, 0, 503];
const THANKS_SENT: Line = [0, 324, 510];
const DIVIDED: Line = [194, 329, 525];
const LAUNCHING: Line = [0, 336, 533];
const DONE: Line = [0, 339, 538];
const RESULT_ASKED: Line = [0, 358, 0];
const RESULT_SENT: Line = [0, 362, 0];

/// The lowest and the highest rate of the dynamic mcperf unless options name others.
const RATES: [f64; 2] = [1_000.0, 10_000.0];

impl Log {
    /// The log of an agent's part of a load. `number` counts its loads from 1; `shares` is the
    /// number of equal shares of all agents' load.
    pub(in crate::mutilate::transcript) fn of_agent(
        agent: &AgentOptions,
        number: u32,
        shares: u32,
        is_load_only: bool,
    ) -> Self {
        let weight = agent.shares / agent.threads.max(1);
        let shares = [shares, agent.shares].map(|shares| shares.max(1));
        Self {
            served: Some(Served { number, shares, weight, is_load_only }),
            threads: agent.threads,
            ..Self::empty(agent.face, agent.verbosity)
        }
    }

    /// Logs the options of an agent that makes no load yet: those of the originals' defaults.
    pub(in crate::mutilate::transcript) fn waits(&self) -> String {
        self.debug(|log| {
            log.line_of_mcperf(NUMBERS, "0 1 0 0.000000")
                + &log.line_of_mcperf(RECORDS, "options->records = 10000")
        })
    }

    /// Logs what a master hands its agent, and keeps what the later lines need.
    pub(super) fn handed(&mut self, plan: &PlanRecord) -> String {
        let Some(served) = self.served else { return String::new() };
        let [all, own] = served.shares;
        self.servers = plan.servers.len() as u32;
        let of_thread = plan.connections.div_ceil(own);
        self.connections_each = of_thread.div_ceil(self.servers.max(1));
        self.connections =
            u64::from(self.connections_each) * u64::from(self.servers) * u64::from(self.threads);
        self.laws = laws(plan);
        self.gaps = gaps(&plan.arrival);
        self.is_filled = plan.load != "never";
        self.time = Span::from_s_f64(plan.duration_s.unwrap_or(0.0));
        let filled = match (served.is_load_only, self.is_filled) {
            (true, _) => "loadonly",
            (false, true) => "",
            (false, false) => "noload",
        };
        let mut text = self.line_of_mcperf(NUMBER_SENT, &format!("sent num {}", served.number));
        let options = format!("Got options: {} {filled}", self.connections_each);
        text += &self.line_of_mcperf(OPTIONS, &options);
        text += &self.line_of_mcperf(ACK_SENT, "sent ack");
        for server in &plan.servers {
            let address = server.addresses.first().unwrap_or(&server.name);
            text += &self.line(SERVER, &format!("Got server = {address}"));
        }
        let connections = u64::from(of_thread) * u64::from(all);
        text + &self.rates(plan, connections, served.weight)
    }

    /// Logs the rates of each connection of this agent, and of all agents. Their connections have
    /// this weight together.
    fn rates(&self, plan: &PlanRecord, connections: u64, weight: u32) -> String {
        let profile = profile(&plan.wave);
        let is_dynamic = self.face == Face::McperfDynamic;
        let mut text = String::new();
        if is_dynamic && profile.is_some() {
            text += &self.line(PROFILE_HEARD, "sent tnx 1");
        }
        text +=
            &self.line_of_mcperf(THANKS_SENT, if is_dynamic { "sent tnx 2" } else { "sent tnx" });
        let rate = plan.rate_per_s.unwrap_or(0.0);
        let first = profile.map_or(rate, |[least, _]| least);
        let each = first / connections.max(1) as f64 * f64::from(weight);
        let mut words =
            format!("lambda_denom = {connections}, lambda = {each:.6}, qps = {rate:.0}");
        if is_dynamic {
            let [least, most] = profile.unwrap_or(RATES);
            words += &format!(", qps_min = {least:.0}, qps_max = {most:.0},");
        }
        text += &self.line(DIVIDED, &words);
        text + &self.line_of_mcperf(LAUNCHING, "launching go")
    }

    /// Logs that the agent has made its part of a load, and hands its master the result, which is
    /// `record`.
    pub(super) fn served_ended(&self, record: &Record) -> [String; 2] {
        if self.served.is_none() || self.face.is_mutilate() {
            return Default::default();
        }
        let mut handed = self.line(DONE, "Done run.");
        if self.face == Face::McperfDynamic {
            // The rate is a line of its rows on stdout.
            return [String::new(), handed];
        }
        handed += &self.line(RESULT_ASKED, "req = stats");
        handed += &self.line(RESULT_SENT, "send = stats");
        [self.rate_line(Some(record)), handed]
    }
}

/// The laws of each connection of `plan`, in the order in which the originals make them: the
/// lengths of values and keys, and the order of keys.
fn laws(plan: &PlanRecord) -> Vec<Law> {
    let order = plan.popularity.split_once('@').map(|(_, order)| order);
    [&*plan.value_size, &*plan.key_size].into_iter().chain(order).map(law).collect()
}

/// The law of the gaps that a scenario calls `word`, and its name on the originals' pages.
fn gaps(word: &str) -> (Law, String) {
    match word {
        "poisson" => (Law::Exponential { rate: 0.0 }, "exponential".to_owned()),
        "etc" => (Law::FacebookGap, Law::FacebookGap.to_string()),
        other => (law(other), other.to_owned()),
    }
}

/// The law of sizes that a scenario calls `word`.
fn law(word: &str) -> Law {
    match word {
        "etc-key" => Law::FacebookKey,
        "etc-value" => Law::FacebookValue,
        other => match Law::read(other, true) {
            // A scenario says the mean.
            Ok(Some(Law::Exponential { rate: mean })) => Law::Exponential { rate: mean.recip() },
            Ok(Some(law)) => law,
            Ok(None) | Err(_) => Law::Fixed(0.0),
        },
    }
}

/// The lowest and the highest rate of a wave in steps; `None` of any other.
fn profile(wave: &str) -> Option<[f64; 2]> {
    let (rates, _) = wave.strip_prefix("step:")?.split_once('@')?;
    let rates: Vec<f64> = rates.split(',').filter_map(|rate| rate.parse().ok()).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    Some([rates.iter().copied().fold(most, f64::min), most])
}
