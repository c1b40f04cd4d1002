//! Runs on many machines: the agents, the master's own load, and the options of an agent.

use super::{Reader, Settings, not_negative};
use crate::Stop;
use crate::mutilate::numbers::{Scan, names_port, servers_at};
use crate::mutilate::options::{AgentOptions, Fleet, Mode, OwnLoad, Patience};
use crate::server::port;
use memtide_base::Span;
use std::collections::BTreeSet;

/// The most shares of one run that an agent takes.
const SHARES_MAX: u32 = 1024;

impl Reader<'_> {
    /// True if agents make load, too. In masterless mode nothing is divided.
    pub(super) fn has_agents(&self) -> bool {
        self.given.has("agent")
            && !self.given.has("agentmode")
            && !self.given.has("masterless_agentmode")
    }

    /// The options of `-A`.
    pub(super) fn agent_options(&self) -> Result<AgentOptions, Stop> {
        let threads = self.natural_or_default("threads");
        let shares = threads.saturating_mul(self.natural_or_default("lambda_mul"));
        if !(1..=SHARES_MAX).contains(&shares) {
            return Err(self.further(&format!(
                "--threads (-T) times --lambda_mul (-l) must be between [1,{SHARES_MAX}] for an \
                 agent"
            )));
        }
        Ok(AgentOptions {
            face: self.face,
            port: self.port()?,
            threads,
            shares,
            is_blocking: self.given.has("blocking"),
            is_pinned: self.given.has("affinity"),
            verbosity: self.verbosity(),
            has_notes: self.given.has("notes"),
        })
    }

    /// The agents that make load, and the master's own load.
    pub(super) fn fleet(
        &mut self,
        settings: &Settings<'_>,
        mode: &Mode,
    ) -> Result<Option<Fleet>, Stop> {
        if !self.has_agents() {
            return Ok(None);
        }
        let given = self.given;
        let own = self.own(settings);
        self.note_rates(&own, settings, mode);
        // Only the mcperfs have a limit of their own for the wait, and only if it is set.
        let seconds = given.int("poll_max").filter(|seconds| *seconds > 0).map(not_negative);
        let patience = match seconds {
            Some(seconds) => Patience::GivesUp(Span::from_s(seconds.into())),
            None => Patience::Needed,
        };
        let addresses = self.addresses()?;
        Ok(Some(Fleet { addresses, patience, own: (own.threads > 0).then_some(own) }))
    }

    fn own(&self, settings: &Settings<'_>) -> OwnLoad {
        let connections_each = self.natural("measure_connections");
        let depth = self.natural("measure_depth");
        OwnLoad {
            threads: self.natural_or_default("threads"),
            connections_each: connections_each.unwrap_or(settings.connections_each),
            depth: depth.unwrap_or_else(|| self.natural_or_default("depth")),
            rate_ops: self.natural("measure_qps"),
            weight: self.natural_or_default("lambda_mul"),
        }
    }

    /// Notes a `-Q` that leaves no rate to the agents.
    fn note_rates(&mut self, own: &OwnLoad, settings: &Settings<'_>, mode: &Mode) {
        let Some(own) = own.rate_ops.filter(|_| own.threads > 0) else { return };
        let (least, option) = match mode {
            Mode::LoadOnly | Mode::Masterless | Mode::Dynamic(_) => return,
            Mode::Scan(Scan { min: 0, max, step }) if step <= max => (*step, "--scan"),
            Mode::Scan(scan) => (scan.min, "--scan"),
            Mode::Once | Mode::Search(_) => (settings.qps, "--qps (-q)"),
        };
        if least > 0 && own >= least {
            self.note(format!(
                "--measure_qps (-Q) {own} is not below the rate of {option}, {least}: the agents \
                 send as fast as answers come, as the original's do."
            ));
        }
    }

    fn addresses(&self) -> Result<Vec<String>, Stop> {
        let default = self.port()?;
        let mut addresses = Vec::new();
        let mut known = BTreeSet::new();
        for word in self.given.all("agent") {
            let named = agent(word, default).map_err(|why| {
                let allowed = "write host, host:port or [IPv6]:port";
                self.further(&format!("--agent (-a) '{word}': {why}; {allowed}"))
            })?;
            if !known.insert(named.clone()) {
                return Err(self.further(&format!(
                    "--agent (-a) '{word}' is named twice: an agent makes one share of the load \
                     at a time; start it with more threads (-T) instead"
                )));
            }
            addresses.push(named);
        }
        Ok(addresses)
    }

    /// The port of agents whose words name none.
    fn port(&self) -> Result<u16, Stop> {
        let word = self.given.word_or_default("agent_port");
        let port = word.trim().parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| {
            let what = "is no port; a port is a number from 1 to 65535";
            self.further(&format!("--agent_port (-p) '{word}' {what}"))
        })
    }
}

/// The `HOST:PORT` of the agent that a word names; memcache-perf writes `HOST@PORT`.
fn agent(word: &str, default: u16) -> Result<String, String> {
    let (host, port_behind) = match word.rsplit_once('@') {
        Some((host, number)) => (host, Some(port(number)?)),
        None => (word, None),
    };
    if port_behind.is_some() && names_port(host) {
        return Err("it names two ports".to_owned());
    }
    match servers_at(host, port_behind.unwrap_or(default))?.as_slice() {
        [server] => Ok(server.to_string()),
        _ => Err("an agent has one port".to_owned()),
    }
}
