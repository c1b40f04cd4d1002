//! The front of a session: what is shown and when, how it is worded, and which exit code the run
//! ends with.

#[cfg(feature = "cluster")]
pub(crate) mod division;

use crate::console::complain;
use crate::exit::Stop;
use crate::room;
#[cfg(feature = "cluster")]
use division::Division;
use memtide_base::{Rate, Remedy, Span, Words};
use memtide_compat::FaceWords;
use memtide_host::signal::StopFlag;
use memtide_record::Warning;
use memtide_run::steps::StepsOutcome;
use memtide_run::{Failure, RunOutcome, SampledServers};
use memtide_scenario::field::find;
use memtide_scenario::{Outputs, Problem, Settings};
use memtide_sinks::{Outlets, Samples, Sink};
use std::io;

/// The side of a session that faces the user: a command of memtide's own, or an older load
/// generator's face. A session calls the methods in the order of their declaration. Defaults are
/// those of most fronts.
pub trait Front {
    /// Prints the introduction, before anything else is done.
    fn preface(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// Everything that is fixed before the run.
    fn profile(&self, settings: &Settings) -> FrontProfile;

    /// Refuses settings that cannot be run, or not with this number of servers in this process.
    fn check(&self, _settings: &Settings, _servers_within: u64) -> Result<(), Stop> {
        Ok(())
    }

    /// Refuses outputs that this process cannot write, also if only the plan is shown.
    fn check_outputs(&self, _outputs: &Outputs) -> Result<(), Stop> {
        Ok(())
    }

    /// The failure of a scenario that cannot be run.
    fn refuse(&self, problem: &Problem) -> Stop {
        problem.clone().into()
    }

    /// Opens the outputs before the run, so that a wrong name is found first.
    fn open(&mut self, settings: &Settings) -> Result<Opened, Stop>;

    /// The loads of a run by agents that take these numbers of its shares.
    #[cfg(feature = "cluster")]
    fn divide(&self, settings: &Settings, shares: Vec<u32>) -> Result<Division, Stop> {
        Ok(Division::of(settings, shares))
    }

    /// Reports agents without which the run continues.
    fn missed(&self, lost: &LostAgents) {
        lost.sentences.iter().for_each(|sentence| complain(sentence));
    }

    /// The screens, which run on the run's own thread in this order.
    fn screens<'a>(&'a self, settings: &'a Settings) -> Vec<InStep<'a>>;

    /// Prints the result; returns the exit code.
    fn end(&self, settings: &Settings, ended: Ended) -> Result<u8, Stop>;

    /// Ends the front: prints why there is no result, if there is none, and returns the exit code,
    /// unless the program ends by a signal.
    fn exit(&self, ended: Result<u8, Stop>, _stop: &StopFlag) -> u8 {
        ended.unwrap_or_else(|stop| {
            complain(&stop.message);
            stop.code
        })
    }
}

/// What a front states about itself before the run. The default is that of an older load
/// generator's face on this machine alone.
#[derive(Default)]
pub struct FrontProfile {
    /// The words in which failures are told; none for memtide's own.
    pub words: Option<&'static FaceWords>,
    /// True if a server may be repeated, which gives it more connections.
    pub repeats: bool,
    /// The servers that are sampled beside the load. The older load generators load blindly.
    pub sampled: SampledServers,
    /// True to query the servers' statistics during the load. The older load generators do not.
    pub watches_servers: bool,
    /// True if the measured operations of a failed run are kept.
    pub keeps_partial: bool,
    /// How signals end the run.
    pub manner: Manner,
    /// The wait before the load, if there is one: what is printed on stderr before it, and its
    /// length.
    pub wait: Option<(String, Span)>,
    /// True if the master of a run by agents makes a load of its own.
    pub has_own_load: bool,
    /// The flag that sets how long to wait for agents; none if the user cannot change it.
    pub patience_flag: Option<&'static str>,
    /// True if a run by agents begins without those that did not come in time.
    pub goes_on_without: bool,
}

impl FrontProfile {
    /// The profile of memtide's own commands.
    pub fn native(settings: &Settings) -> Self {
        let placement = &settings.placement;
        Self {
            sampled: SampledServers {
                unfilled: settings.sets(find("value-size").expect("it is a field")),
                filled: true,
            },
            watches_servers: true,
            keeps_partial: true,
            manner: Manner::Asks,
            has_own_load: placement.agents.master_rate.is_some(),
            patience_flag: Some("--expect"),
            ..Self::default()
        }
    }

    /// The failure of a plan that this machine does not allow.
    pub(crate) fn unfit(&self, warning: &Warning) -> Stop {
        let message = warning.message();
        Stop::usage(match self.words {
            None => format!("{message}; {}", warning.remedy()),
            Some(words) => {
                let fewer = words.remedy(Remedy::OrFewerConnections);
                format!("{message}; raise the hard limit (ulimit -Hn){fewer}")
            }
        })
    }
}

/// The failure of a run, in a face's words, or in memtide's own.
pub fn failed_in(words: Option<&FaceWords>, failure: &Failure) -> Stop {
    match words {
        None => failure.clone().into(),
        Some(words) => Stop { code: failure.exit, message: failure.sentence.in_words(words) },
    }
}

/// Refuses settings with a fault, or that need more memory than there is.
pub fn check_whole(settings: &Settings, servers_within: u64) -> Result<(), Stop> {
    if let Some(problem) = settings.check().into_iter().next() {
        return Err(problem.into());
    }
    room::check(&settings.scenario, servers_within)
}

/// Agents without which the run continues.
#[derive(Default)]
pub struct LostAgents {
    /// Addresses of lost agents that the master dials.
    pub addresses: Vec<String>,
    /// What happened to them: sentences without their full stops.
    pub sentences: Vec<String>,
}

/// How signals end the run. Those that come within a second of the first count as the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// The first signal asks the run to end; a later one ends the program with an exit code.
    Asks,
    /// The first signal asks the run to end, after which the program can end by that signal; a
    /// later one kills it.
    #[default]
    Kills,
    /// As with `Kills`, and SIGINT is caught even if it was ignored when the program started.
    KillsButInterrupts,
}

/// The outputs of a run, opened before it.
#[derive(Default)]
pub struct Opened {
    /// The outputs of measured operations.
    pub samples: Samples,
    /// The sinks, each on its own thread.
    pub outlets: Outlets,
    /// Name of the outlet whose reader decides on further steps: none is run once it has gone.
    pub reader: Option<String>,
}

/// A sink on the run's own thread. It writes the program's result, its reader decides on the next
/// step, and nothing else may happen meanwhile. No worker waits for it.
pub trait Screen: Sink {
    /// Prints the introduction.
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// True if the reader has gone away, so that no further step is needed.
    fn is_gone(&self) -> bool {
        false
    }

    /// Period at which it takes `Event::Times`; `None` for never.
    fn looks_every(&self) -> Option<Span> {
        None
    }
}

/// A [`Screen`] with its name.
pub struct InStep<'a> {
    /// Name in messages.
    pub name: &'static str,
    /// The sink.
    pub screen: Box<dyn Screen + 'a>,
}

/// The result of a run, or of a search or scan.
pub enum Came {
    /// The result of one run.
    Run(Box<RunOutcome>),
    /// The result of a search or scan.
    Steps(StepsOutcome),
}

impl Came {
    /// True if it failed.
    pub(crate) const fn has_failed(&self) -> bool {
        match self {
            Self::Run(outcome) => outcome.failure.is_some(),
            Self::Steps(concluded) => concluded.failure.is_some(),
        }
    }
}

/// Facts for a front at the end.
pub struct Ended {
    /// The result.
    pub came: Came,
    /// Rates of steps whose figures cannot be believed.
    pub doubted: Vec<Rate>,
    /// The errors of outputs.
    pub trouble: Vec<Stop>,
    /// True if a requested record was written.
    pub is_recorded: bool,
}

impl Ended {
    /// Prints the errors of outputs.
    pub fn complain(&self) {
        self.trouble.iter().for_each(|stop| complain(&stop.message));
    }
}
