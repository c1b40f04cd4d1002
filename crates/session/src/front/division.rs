//! Division of a run by agents: the common load of the agents, and the load of their master beside
//! it.

use memtide_scenario::{Goal, Load, Scenario, Settings};
use memtide_workload::Wave;

/// The loads of one run.
pub struct Division {
    /// The agents' common scenario.
    pub agents: Scenario,
    /// Number of shares of each agent, in the order of agents, at least 1.
    pub shares: Vec<u32>,
    /// The master's own load.
    pub own: Option<OwnPart>,
}

/// The rates of agents and master in a step with this rate; none means a closed loop.
pub(crate) type StepRates = Box<dyn Fn(Option<f64>) -> (Option<f64>, Option<f64>)>;

/// The load that a master makes beside its agents.
pub struct OwnPart {
    /// Its scenario.
    pub scenario: Scenario,
    /// Rates of agents and master in a step of a search or scan.
    pub rates: StepRates,
}

impl Division {
    /// Division of a run of memtide's own commands, whose agents take these numbers of shares: the
    /// master's rate is added to theirs, and is equal in all steps.
    pub(crate) fn of(settings: &Settings, shares: Vec<u32>) -> Self {
        let Settings { scenario, placement, .. } = settings;
        let Some(rate) = placement.agents.master_rate else {
            return Self { agents: scenario.clone(), shares, own: None };
        };
        // Goals are judged by what the master measures, not by what busy agents see.
        let agents = Scenario { goals: Vec::<Goal>::new(), ..scenario.clone() };
        let count = (shares.len() as u32).max(1);
        let own = Scenario {
            rate: Some(rate),
            wave: Wave::Constant,
            threads: Some(1),
            connections: scenario.connections.map(|all| all.div_ceil(count)),
            ops_max: None,
            load: Load::Never,
            before: None,
            after: None,
            ..scenario.clone()
        };
        let rates = Box::new(move |step| (step, Some(rate)));
        Self { agents, shares, own: Some(OwnPart { scenario: own, rates }) }
    }
}

#[cfg(test)]
mod tests;
