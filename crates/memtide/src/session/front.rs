//! Who speaks with the user in a session: what is shown and when, how it is worded, and which exit
//! code tells how it went.

use crate::exit::Stop;
use crate::output::complain;
use memtide_base::Span;
use memtide_host::signal::StopFlag;
use memtide_run::steps::StepsOutcome;
use memtide_run::{Failure, Outcome};
use memtide_schema::scenario::Problem;
use memtide_schema::{Scenario, Settings, Warning};
use memtide_sinks::{Outlets, Sink};
use std::io;

/// One who speaks with the user: a command of memtide's own, or an older load generator's face.
/// Its methods stand in the order in which a session calls them; what most do alike is done here.
pub(crate) trait Front {
    /// Says what is said before anything else is done.
    fn preface(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// Refuses what cannot be done, or not with this many servers in this process.
    fn check(&self, _settings: &Settings, _servers_within: u64) -> Result<(), Stop> {
        Ok(())
    }

    /// Whether a server may be named again, which makes more connections to it.
    fn repeats(&self) -> bool;

    /// What is wrong with the scenario.
    fn refuse(&self, problem: &Problem) -> Stop;

    /// Whether a server that is not to be filled is looked at for values of other lengths.
    fn looks_unfilled(&self, _scenario: &Scenario) -> bool {
        false
    }

    /// What this machine does not allow.
    fn unfit(&self, warning: &Warning) -> Stop;

    /// Opens the outputs, so that a wrong name costs no run.
    fn open(&mut self, settings: &Settings) -> Result<Opened, Stop>;

    /// How a signal ends the run.
    fn manner(&self) -> Manner;

    /// Waits before the load, if that is wanted; false if the user did not want to.
    fn waits(&self, _stop: &StopFlag) -> bool {
        true
    }

    /// What is told on the run's own thread, in this order.
    fn screens<'a>(&'a self, settings: &'a Settings) -> Vec<InStep<'a>>;

    /// What ended a run that has nothing to show.
    fn fail(&self, failure: &Failure) -> Stop;

    /// Whether the measured operations of a run that failed are kept.
    fn keeps_partial(&self) -> bool {
        false
    }

    /// Says how it went; returns the exit code.
    fn end(&self, settings: &Settings, ended: Ended) -> Result<u8, Stop>;

    /// The last thing: says why there is no result, if so; returns the exit code, unless the
    /// program dies of a signal.
    fn exit(&self, ended: Result<u8, Stop>, stop: &StopFlag) -> u8;
}

/// How a signal ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The first asks the run to end, the second ends the program with an exit code.
    Asks,
    /// The first asks the run to end, after which the program can die by it; the second kills.
    Kills,
}

/// Outputs before a run.
#[derive(Default)]
pub(crate) struct Opened {
    /// Where measured operations go.
    pub(crate) samples: Option<Samples>,
    /// What has a thread of its own.
    pub(crate) outlets: Outlets,
    /// The outlet without whose reader no further step is of use.
    pub(crate) reader: Option<&'static str>,
}

/// Where measured operations go.
pub(crate) struct Samples {
    /// What it is called in messages.
    pub(crate) flag: &'static str,
    /// What takes them.
    pub(crate) rows: Box<dyn Rows>,
}

/// A sink of measured operations. Those of a plan may take the place of what came before.
pub(crate) trait Rows: Sink {
    /// Another plan begins.
    fn restart(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink of the run's own thread. What it writes is the program's result; whether anybody reads it
/// decides on the next step, and nothing else is to happen meanwhile. No worker waits for it.
pub(crate) trait Screen: Sink {
    /// Shows what is shown before anything happens.
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether the reader has gone, so that no further step is of use.
    fn is_gone(&self) -> bool {
        false
    }

    /// How often the times so far are wanted; not at all without one.
    fn looks_every(&self) -> Option<Span> {
        None
    }
}

/// A [`Screen`] with its name.
pub(crate) struct InStep<'a> {
    /// What it is called in messages.
    pub(crate) name: &'static str,
    /// What is told.
    pub(crate) screen: Box<dyn Screen + 'a>,
}

/// What came of a run, or of many.
pub(crate) enum Came {
    /// Of one.
    Run(Box<Outcome>),
    /// Of steps.
    Steps(StepsOutcome),
}

impl Came {
    /// Whether it came to no good end.
    pub(super) const fn has_failed(&self) -> bool {
        match self {
            Self::Run(outcome) => outcome.failure.is_some(),
            Self::Steps(concluded) => concluded.failure.is_some(),
        }
    }
}

/// What a front is told at the end.
pub(crate) struct Ended {
    /// What came of it.
    pub(crate) came: Came,
    /// Rates of steps that are not to be believed.
    pub(crate) doubted: Vec<f64>,
    /// What went wrong with outputs.
    pub(crate) trouble: Vec<Stop>,
}

impl Ended {
    /// Says everything that went wrong with outputs.
    pub(crate) fn complain(&self) {
        self.trouble.iter().for_each(|stop| complain(&stop.message));
    }
}
