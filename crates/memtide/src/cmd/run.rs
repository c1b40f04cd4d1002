//! `memtide run` and `memtide load`: from the command line to a result, in the real world; and the
//! front that runs have in any world.

mod repeat;

use crate::flags;
use crate::output::text_options;
use clap::ArgMatches;
use memtide_record::{Event, Record, ShareRecord};
use memtide_report::{TextOptions, text_for};
use memtide_run::RunOutcome;
use memtide_run::steps::RunTask;
use memtide_scenario::{OutputKind, Outputs, Settings};
use memtide_session::FloorMode;
#[cfg(feature = "cluster")]
use memtide_session::cluster::MasterWorld;
use memtide_session::console::{complain, show_part};
use memtide_session::exit::{FAILED, Stop, UNBELIEVABLE, UNREACHABLE};
use memtide_session::outlets::open;
use memtide_session::placement::{division, variable};
use memtide_session::world::HostWorld;
use memtide_session::{
    Came, Ended, Front, FrontProfile, InStep, Opened, Screen, Session, Task, check_whole,
};
use memtide_sinks::{OutputSubject, Sink, check_places};
use std::io;

/// Runs a scenario once, or only fills its servers.
pub(crate) fn run(matches: &ArgMatches, load_only: bool) -> Result<u8, Stop> {
    let mut settings = match load_only {
        true => flags::settings(matches),
        false => flags::settings_to_measure(matches),
    }?;
    if load_only && settings.scenario.servers.is_empty() {
        return Err(Stop::usage(
            "load needs a server, because an embedded server would end with this command; name one \
             with --server",
        ));
    }
    // The plan of each run is that of one.
    let repeat = matches.try_get_one::<u32>("repeat").ok().flatten();
    if let Some(times) = repeat.filter(|_| !settings.outputs.plan) {
        return repeat::repeat(*times, matches, &settings);
    }
    if repeat.is_none() {
        settings.decide_first_length();
    }
    let division = division(settings.placement.shard, &variable)?;
    // A share of a run by agents is refused with the rest of the settings.
    if division.is_some() && settings.placement.agents.which.is_none() {
        check_share(&settings, load_only)?;
    }
    let task = Task::Run(if load_only { RunTask::Fill } else { RunTask::Whole });
    let front = Box::new(Native { load_only, is_simulated: false, trace: None });
    let floors = flags::floors(matches, FloorMode::Off, &settings)?;
    #[cfg(feature = "cluster")]
    if settings.placement.agents.which.is_some() {
        return Ok(Session { settings, task, front, world: MasterWorld }.run());
    }
    let world = HostWorld::new(division).with(floors);
    Ok(Session { settings, task, front, world }.run())
}

/// Refuses a share whose figures would be lost, or that shares nothing with the others.
fn check_share(settings: &Settings, load_only: bool) -> Result<(), Stop> {
    let Settings { scenario, outputs, placement, .. } = settings;
    let waits = placement.start_at.is_some() || placement.barrier.is_some();
    let problem = if load_only && waits {
        "load does not need --start-at or --barrier, because shares of a fill may start at any \
         time; remove it"
    } else if scenario.servers.is_empty() {
        "--shard needs --server, because an embedded server would serve this share alone"
    } else if !load_only && !outputs.plan && outputs.first(OutputKind::Json).is_none() {
        "--shard needs --json FILE, because memtide merge makes the result of the run from the \
         records of all shares"
    } else {
        return Ok(());
    };
    Err(Stop::usage(problem))
}

/// Refuses two outputs to one file; the `trace` of a simulation is an output, too.
pub(super) fn check_all_places(outputs: &Outputs, trace: Option<&str>) -> Result<(), Stop> {
    let trace = trace.filter(|place| *place != "-");
    Ok(check_places(outputs, &[("--trace", trace)])?)
}

/// The front of a run with memtide's own output.
pub(super) struct Native {
    /// True if only the fill is reported.
    pub(super) load_only: bool,
    /// True if the run is simulated.
    pub(super) is_simulated: bool,
    /// Destination of a simulation's trace, which is an output, too.
    pub(super) trace: Option<String>,
}

impl Front for Native {
    fn profile(&self, settings: &Settings) -> FrontProfile {
        FrontProfile::native(settings)
    }

    fn check(&self, settings: &Settings, servers_within: u64) -> Result<(), Stop> {
        check_whole(settings, servers_within)
    }

    fn check_outputs(&self, outputs: &Outputs) -> Result<(), Stop> {
        check_all_places(outputs, self.trace.as_deref())
    }

    fn open(&mut self, settings: &Settings) -> Result<Opened, Stop> {
        open(settings, OutputSubject::Run, self.is_simulated)
    }

    fn screens<'a>(&'a self, settings: &'a Settings) -> Vec<InStep<'a>> {
        if settings.outputs.is_on_stdout() {
            return Vec::new();
        }
        let options = text_options(&settings.outputs);
        let report = Report { load_only: self.load_only, options };
        vec![InStep { name: "stdout", screen: Box::new(report) }]
    }

    fn end(&self, settings: &Settings, ended: Ended) -> Result<u8, Stop> {
        ended.complain();
        let Came::Run(outcome) = &ended.came else { return Ok(0) };
        if let (false, Some(share)) = (self.load_only, &outcome.record.share) {
            return Ok(end_of_share(share, outcome, ended.is_recorded));
        }
        if let Some(failure) = &outcome.failure {
            return Err(failure.clone().into());
        }
        let record = &outcome.record;
        // The loss of agents that the user allows is no fault, but what is left must stand.
        let is_allowed = ended.trouble.is_empty() && ended.came.misses_only_agents();
        let is_strict = settings.scenario.trust.strict.is_some();
        if record.exit == UNREACHABLE {
            for server in record.lost_servers() {
                complain(&format!("server {server} was lost, and did not come back"));
            }
        }
        if record.exit != 0 && !is_allowed {
            let is_open = is_strict && record.fails_undecided();
            return Ok(if is_open { UNBELIEVABLE } else { record.exit });
        }
        if !ended.trouble.is_empty() {
            return Ok(FAILED);
        }
        let unbelievable = !self.load_only && !record.stands();
        Ok(if is_strict && unbelievable { UNBELIEVABLE } else { 0 })
    }
}

/// Prints the result of a share; returns its exit code. Schedulers restart a process, or end the
/// others, if it exits with anything but 0: whether its record is good is decided by the merge.
fn end_of_share(share: &ShareRecord, outcome: &RunOutcome, is_recorded: bool) -> u8 {
    if let Some(failure) = &outcome.failure {
        complain(&failure.message());
    }
    if let Some(why) = &share.not_run {
        complain(&format!("share {} of {} did not run: {why}", share.number, share.of));
    }
    if is_recorded { 0 } else { FAILED }
}

/// The report on stdout.
struct Report {
    load_only: bool,
    options: TextOptions,
}

impl Report {
    fn text(&self, record: &Record) -> String {
        match self.load_only {
            true => {
                let stored = record.phases.load.totals.replies.get("stored").unwrap_or(&0);
                format!("stored {stored} keys\n")
            }
            false => text_for(record, &self.options),
        }
    }
}

impl Screen for Report {}

impl Sink for Report {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Done(record) = event else { return Ok(()) };
        show_part(&self.text(record))
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_))
    }
}
