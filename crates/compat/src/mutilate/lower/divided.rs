//! A run by agents as two loads that begin together: the agents' load in equal shares, and their
//! master's own load.
//!
//! The originals' rule: every connection offers the same rate, an agent's `-l` times as much; `-Q`
//! is subtracted first, and is the master's alone. Unlike theirs, the rates always add up to the
//! requested one.

use super::{Part, UNBOUNDED_OPS, is_idle, part};
use crate::Stop;
use crate::mutilate::numbers::Sinusoid;
use crate::mutilate::options::{Connections, Fleet, Mode, Options, OwnLoad};
use memtide_scenario::Settings;

/// The loads of a run by agents.
#[derive(Debug)]
pub struct Divided {
    /// The load that the agents make together, in equal shares of one thread each. It fills the
    /// servers.
    pub agents: Settings,
    /// The master's own load; `None` with `-T 0`.
    pub own: Option<Settings>,
    /// The division of a step's rate in a search or scan.
    pub rate: OwnRate,
}

/// The master's part of a step's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OwnRate {
    /// This many operations per second, of which the agents get the rest; `None` sends as fast as
    /// answers come.
    Fixed(Option<f64>),
    /// This fraction of the rate, so that each connection offers the same; the agents get the rest.
    Fraction {
        /// The weight of the master's connections.
        own: f64,
        /// The weight of all connections, above 0.
        of: f64,
    },
}

impl OwnRate {
    /// The agents' and the master's part of `rate`; `None` sends as fast as answers come, as agents
    /// do to whom the master leaves nothing.
    pub fn divide(self, rate: Option<f64>) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Fixed(own) => {
                let rest = rate.map(|rate| rate - own.unwrap_or(0.0));
                (rest.filter(|rest| *rest > 0.0), own)
            }
            Self::Fraction { own, of } => {
                (rate.map(|rate| rate * (of - own) / of), rate.map(|rate| rate * own / of))
            }
        }
    }
}

/// The loads of `options`, whose agents take these numbers of shares, at least 1 each. `targets`
/// are the rates of a dynamic run's intervals, and otherwise ignored.
///
/// # Errors
/// If no machine could carry it out, or the command line names no agents.
pub fn divide(options: &Options, targets: &[u32], shares: &[u32]) -> Result<Divided, Stop> {
    let Some(Fleet { own, .. }) = &options.agents else {
        return Err(Stop::complaint("no agent (-a) is enlisted", super::FATAL));
    };
    let whole = Part::whole(options, targets);
    let connections = connections(&options.connections, shares);
    let rate = own
        .as_ref()
        .map_or(OwnRate::Fraction { own: 0.0, of: 1.0 }, |own| own.rate(options, connections));
    let is_filled_only = matches!(options.mode, Mode::LoadOnly);
    let agents = Part {
        threads: 1,
        connections,
        rate: rate.of_agents(whole.rate),
        targets: whole
            .targets
            .as_ref()
            .map(|targets| rate.of_intervals(targets, OwnRate::of_agents)),
        sinusoid: whole.sinusoid.map(|swing| Sinusoid {
            mean_ops: rate.of_agents(swing.mean_ops),
            amplitude_ops: rate.of_agents(swing.mean_ops) * swing.amplitude_ops / swing.mean_ops,
            ..swing
        }),
        ..Part::whole(options, targets)
    };
    let own = own.as_ref().filter(|_| !is_filled_only);
    let own = own.map(|own| part(options, &own.part(options, whole, rate))).transpose()?;
    Ok(Divided { agents: part(options, &agents)?, own, rate })
}

impl OwnRate {
    /// The agents' part of `rate`; 0 sends as fast as answers come.
    fn of_agents(self, rate: f64) -> f64 {
        self.divide((rate > 0.0).then_some(rate)).0.unwrap_or(0.0)
    }

    /// The parts of the rates of a profile's intervals, of the agents or of a master that offers
    /// the same on each connection. The originals' agents never leave an interval in which nothing
    /// is left for them: until the run ends, they send as fast as answers come, and all of it
    /// counts there.
    fn of_intervals(self, targets: &[f64], part: fn(Self, f64) -> f64) -> Vec<f64> {
        let own = if let Self::Fixed(Some(own)) = self { own } else { 0.0 };
        let last = targets.iter().position(|target| *target <= own);
        let rates = targets.iter().enumerate().map(|(at, &target)| match last {
            Some(last) if at == last => UNBOUNDED_OPS,
            Some(last) if at > last => 0.0,
            _ => part(self, target),
        });
        rates.collect()
    }

    /// The master's part of `rate`.
    fn of_master(self, rate: f64) -> f64 {
        self.divide((rate > 0.0).then_some(rate)).1.unwrap_or(0.0)
    }
}

impl OwnLoad {
    /// The master's part, beside agents that have this many connections together.
    fn rate(&self, options: &Options, connections: u64) -> OwnRate {
        if let Some(rate) = self.rate_ops {
            return OwnRate::Fixed((rate > 0).then(|| f64::from(rate)));
        }
        let weight = self.connections(options) as f64 * f64::from(self.weight);
        OwnRate::Fraction { own: weight, of: weight + connections as f64 }
    }

    fn connections(&self, options: &Options) -> u64 {
        let each = Connections { each: self.connections_each, ..options.connections };
        each.of_threads(self.threads)
    }

    fn part(&self, options: &Options, whole: Part, rate: OwnRate) -> Part {
        let Part { targets, sinusoid, .. } = whole;
        // With -Q, the agents' rate follows the wave. Of zeros, the master has no rate, either.
        let (targets, sinusoid) = match rate {
            OwnRate::Fixed(_) => (None, None),
            OwnRate::Fraction { .. } => (
                targets
                    .filter(|all| !is_idle(all))
                    .map(|all| rate.of_intervals(&all, OwnRate::of_master)),
                sinusoid.map(|swing| Sinusoid {
                    mean_ops: rate.of_master(swing.mean_ops),
                    amplitude_ops: rate.of_master(swing.amplitude_ops),
                    ..swing
                }),
            ),
        };
        Part {
            threads: self.threads,
            connections: self.connections(options),
            depth: self.depth,
            rate: rate.of_master(whole.rate),
            targets,
            sinusoid,
            is_first: false,
        }
    }
}

/// The connections of agents that take these numbers of shares.
fn connections(each: &Connections, shares: &[u32]) -> u64 {
    shares.iter().map(|&threads| each.of_threads(threads)).sum()
}

#[cfg(test)]
mod tests;
