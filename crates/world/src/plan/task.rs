//! The task of a plan in its run. Together with the decided scenario it determines the plan, so a
//! machine that makes load receives these two. It holds nothing that can be derived.

use memtide_base::ServerId;

/// The task of a plan in its run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Task {
    /// The step of a search or a scan; `None` if the run is no step.
    pub step: Option<StepTask>,
    /// The number that distinguishes this run's values from those of other runs:
    /// [`super::Verify::writer`].
    pub writer: u32,
    /// The work of the plan.
    pub work: Work,
}

/// One step of a search or a scan: the scenario at a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTask {
    /// The number of the step, from 1.
    pub number: u32,
    /// The rate per second, in the unit of the scenario; `None` for a closed loop.
    pub rate_per_s: Option<f64>,
    /// The length of its window, as a multiple of the scenario's.
    pub longer: u32,
    /// True if the step finds the data that the step before it left on the servers.
    pub keeps_data: bool,
}

/// The work of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// The load that the scenario describes.
    #[default]
    Load,
    /// Fill the window of every client.
    FillWindows,
    /// Store keys on one server.
    Fill {
        /// The server.
        server: ServerId,
        /// The position of the first key among those that the process stores: its id, if the run
        /// is not divided.
        first: u64,
        /// The first position after the last key's.
        end: u64,
    },
    /// Request a sample of keys from one server.
    Sample {
        /// The server.
        server: ServerId,
        /// The number of keys, among those that the process stores, from whose beginning the sample
        /// is drawn.
        keys: u64,
    },
    /// Request the keys that were stored first from one server.
    Earliest {
        /// The server.
        server: ServerId,
    },
}
