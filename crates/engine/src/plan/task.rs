//! Which of a run's plans a plan is. With the decided scenario this says all of it, so it is what
//! has to reach a machine that makes the load; nothing that could be derived is in it.

use memtide_base::ServerId;

/// What of a run a plan does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Task {
    /// Which step of a search or a scan the run is; none where it is no step.
    pub step: Option<StepTask>,
    /// Tells this run's values from those of other runs: [`super::Verify::writer`].
    pub writer: u32,
    /// The work itself.
    pub work: Work,
}

/// One step of a search or a scan: the same scenario at a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTask {
    /// From 1.
    pub number: u32,
    /// Operations per second; none asks for a closed loop.
    pub rate_per_s: Option<f64>,
    /// Whether it finds what the step before it has left on the servers.
    pub keeps_data: bool,
}

/// The work of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// The load that the scenario describes.
    #[default]
    Load,
    /// Every client fills its window.
    FillWindows,
    /// Keys are stored on one server.
    Fill {
        /// Which.
        server: ServerId,
        /// The position of the first key among those that the process stores: its id, if the run
        /// is not divided.
        first: u64,
        /// The first position after the last key's.
        end: u64,
    },
    /// One server is asked for a sample of keys.
    Sample {
        /// Which.
        server: ServerId,
        /// The sample is drawn from this many of the keys that the process stores, from the first
        /// on.
        keys: u64,
    },
    /// One server is asked for the keys that were stored first.
    Earliest {
        /// Which.
        server: ServerId,
    },
}
