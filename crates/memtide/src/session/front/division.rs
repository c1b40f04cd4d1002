//! How a run by agents is divided: what the agents make together, and what their master makes
//! beside them.

use memtide_engine::plan::StepTask;
use memtide_schema::scenario::{Goal, Load};
use memtide_schema::{Scenario, Settings};
use memtide_workload::Wave;

/// The loads of one run.
pub(crate) struct Division {
    /// What the agents make together.
    pub(crate) agents: Scenario,
    /// How many shares each agent has, in their order, at least 1.
    pub(crate) units: Vec<u32>,
    /// What the master makes beside them.
    pub(crate) own: Option<OwnLoad>,
}

/// A load of the master's own.
pub(crate) struct OwnLoad {
    /// What it makes.
    pub(crate) scenario: Scenario,
    /// Its rate in the steps of a search or scan.
    pub(crate) rate: OwnRate,
}

/// The rate of the master's own load in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OwnRate {
    /// Always this one, beside the step's; none in a closed loop.
    Beside(Option<f64>),
    /// This fraction of the step's, of which the agents have the rest.
    Fraction(f64),
}

impl Division {
    /// Of a run of memtide's own, by this many agents.
    pub(crate) fn of(settings: &Settings, agents: u32) -> Self {
        let Settings { scenario, placement, .. } = settings;
        let units = vec![1; agents as usize];
        let Some(rate) = placement.agents.master_rate else {
            return Self { agents: scenario.clone(), units, own: None };
        };
        // What is measured is judged; what agents see while they are busy is not.
        let agents_part = Scenario { goals: Vec::<Goal>::new(), ..scenario.clone() };
        let own = Scenario {
            rate: Some(rate),
            wave: Wave::Constant,
            threads: Some(1),
            connections: scenario.connections.map(|all| all.div_ceil(agents.max(1))),
            ops_max: None,
            load: Load::Never,
            before: None,
            after: None,
            ..scenario.clone()
        };
        let own = OwnLoad { scenario: own, rate: OwnRate::Beside(Some(rate)) };
        Self { agents: agents_part, units, own: Some(own) }
    }
}

impl OwnRate {
    /// What agents and master do in a step.
    pub(crate) fn divide(self, task: StepTask) -> (StepTask, StepTask) {
        let with = |rate_per_s| StepTask { rate_per_s, ..task };
        match self {
            Self::Beside(rate) => (task, with(rate)),
            Self::Fraction(part) => (
                with(task.rate_per_s.map(|rate| rate * (1.0 - part))),
                with(task.rate_per_s.map(|rate| rate * part)),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(rate_per_s: Option<f64>) -> StepTask {
        StepTask { number: 1, rate_per_s, keeps_data: true }
    }

    #[test]
    fn a_step_is_divided_or_the_master_goes_beside_it() {
        let rates = |own: OwnRate, step| {
            let (agents, master) = own.divide(task(step));
            (agents.rate_per_s, master.rate_per_s)
        };
        assert_eq!(
            rates(OwnRate::Beside(Some(10.0)), Some(1e3)),
            (Some(1e3), Some(10.0)),
            "beside the agents"
        );
        assert_eq!(rates(OwnRate::Beside(Some(10.0)), None), (None, Some(10.0)));
        assert_eq!(rates(OwnRate::Fraction(0.25), Some(1e3)), (Some(750.0), Some(250.0)));
        assert_eq!(rates(OwnRate::Fraction(0.25), None), (None, None));
    }
}
