//! `memtide run` and `memtide load`: from the user's words to a result, in the real world.

use super::outlets::{Opened, RowsBy, close, failed};
use super::{room, serve};
use crate::exit::{FAILED, Stop, UNBELIEVABLE, UNREACHABLE, unwritable};
use crate::flags;
use crate::observer::HostObserver;
use crate::output::{columns, complain, say, show};
use clap::ArgMatches;
use memtide_base::Instant;
use memtide_engine::ServerPlan;
use memtide_host::driver::check_uring;
use memtide_host::machine::Machine;
use memtide_host::signal::StopFlag;
use memtide_host::{
    Clock, HostFleet, SampleSink, Sampled, ServeOptions, Serving, machine, resolve, stay_off,
};
use memtide_report::{plan_text, text_for};
use memtide_run::{Doors, Lowered, Outcome, Places, Surroundings, lower};
use memtide_schema::record::Verdict;
use memtide_schema::scenario::{Target, Transport};
use memtide_schema::{Event, Sample, SampleOutcome, Scenario, Settings, Warning};
use memtide_sinks::{Outlets, Sink};
use memtide_workload::Outcome as OpOutcome;
use std::net::{Ipv4Addr, SocketAddr};

/// Files that the program needs beside its connections.
const FILES_BESIDE: u64 = 64;
const EMBEDDED_MEMORY_BYTES_MIN: u64 = 64 * 1024 * 1024;

pub(crate) fn run(matches: &ArgMatches, load_only: bool) -> Result<u8, Stop> {
    let settings = flags::settings(matches)?;
    let Settings { scenario, outputs } = &settings;
    if let Some(problem) = settings.check().into_iter().next() {
        return Err(problem.into());
    }
    if load_only && scenario.servers.is_empty() {
        return Err(Stop::usage(
            "load needs a --server: filling an embedded server that ends at once helps nobody",
        ));
    }
    let files_max = machine::raise_file_limit();
    let machine = machine::look();
    let embedded = embedded(&settings)?;
    let lowered = lower(scenario, &surroundings(&settings, embedded.as_ref(), &machine)?)?;
    let looks_unfilled = scenario.value_size != Scenario::default().value_size;
    let lowered = Lowered { looks_unfilled, ..lowered };
    if outputs.plan {
        show(&plan_text(&lowered.record, columns()))
            .map_err(|error| unwritable("stdout", &error))?;
        return Ok(0);
    }
    check_files(&lowered, embedded.is_some(), files_max)?;
    let opened = Opened::open(outputs, RowsBy::Fleet)?;
    settle(&lowered.places, embedded.as_ref())?;
    let conducted = profile(&settings, &lowered, load_only, machine, opened)?;
    drop(embedded);
    publish(&settings, conducted, load_only)
}

/// A server of our own, if the scenario names none.
pub(in crate::cmd) fn embedded(settings: &Settings) -> Result<Option<Serving>, Stop> {
    if settings.scenario.servers.is_empty() {
        return embed(settings).map(Some);
    }
    room::check(&settings.scenario, 0)?;
    Ok(None)
}

/// A server of our own for a scenario that names none. Fails when its data set does not fit in
/// memory.
fn embed(Settings { scenario, outputs }: &Settings) -> Result<Serving, Stop> {
    room::check(scenario, 1)?;
    // Twice the keys, for the numbers of incr and decr and for uneven shards.
    let wanted = room::item_bytes(scenario).saturating_mul(scenario.keys).saturating_mul(2);
    let serving = serve::start(&ServeOptions {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        udp: scenario.transport != Transport::Tcp,
        threads: 1,
        memory_bytes_max: wanted.max(EMBEDDED_MEMORY_BYTES_MIN),
        item_bytes_max: scenario.value_max as usize + 1024,
    })?;
    // Not even --quiet hides what is measured.
    if !outputs.plan {
        say(&format!(
            "memtide: no --server given, so this measures an embedded server at {}",
            serving.address()
        ));
    }
    Ok(serving)
}

/// Gives the embedded server its own processor, and leaves those of the workers to them: the
/// thread that watches over the run and its outputs runs beside the server if there is no
/// other processor.
pub(in crate::cmd) fn settle(places: &Places, embedded: Option<&Serving>) -> Result<(), Stop> {
    let (Some(serving), Some(cpu)) = (embedded, places.server) else { return Ok(()) };
    serving.keep_on(cpu).map_err(|error| Stop {
        code: FAILED,
        message: format!(
            "the embedded server cannot be kept on CPU {cpu}: {error}; start a server of its own \
             (memtide serve) and name it with --server"
        ),
    })?;
    stay_off(&places.workers);
    stay_off(&[cpu]);
    Ok(())
}

pub(in crate::cmd) fn surroundings(
    Settings { scenario, outputs }: &Settings,
    embedded: Option<&Serving>,
    machine: &Machine,
) -> Result<Surroundings, Stop> {
    let servers = match embedded {
        Some(serving) => {
            let address = serving.address();
            vec![resolved(&address.to_string(), &address.ip().to_string(), address.port())?]
        }
        None => scenario.servers.iter().map(server).collect::<Result<Vec<_>, _>>()?,
    };
    Ok(Surroundings {
        servers,
        embedded: embedded.is_some(),
        repeats: false,
        cpus_allowed: machine.cpus_allowed.clone(),
        cores: machine.cores.clone(),
        cpus_online: machine.cpus_online,
        cpu_quota: machine.cpu_quota,
        io: Doors::Kernel { uring: check_uring() },
        outputs: outputs.into(),
    })
}

fn server(target: &Target) -> Result<ServerPlan, Stop> {
    let name = target.to_string();
    match target {
        Target::Tcp { host, port } => resolved(&name, host, *port),
        Target::Unix { path } => Ok(resolve::unix(&name, path)),
    }
}

fn resolved(name: &str, host: &str, port: u16) -> Result<ServerPlan, Stop> {
    resolve::tcp(name, host, port).map_err(|message| Stop { code: UNREACHABLE, message })
}

pub(in crate::cmd) fn check_files(
    lowered: &Lowered,
    embedded: bool,
    files_max: u64,
) -> Result<(), Stop> {
    if lowered.plan.churn().is_some() {
        // How many will live at once nobody knows; a connect that finds no descriptor is counted.
        return Ok(());
    }
    let sides = if embedded { 2 } else { 1 };
    let needed = u64::from(lowered.plan.connections) * sides + FILES_BESIDE;
    if needed <= files_max {
        return Ok(());
    }
    let warning = Warning::FileLimit { needed, allowed: files_max };
    Err(Stop::usage(format!("{}; {}", warning.message(), warning.remedy())))
}

/// What a run brought, its outputs that are still being written, and what went wrong beside it.
pub(in crate::cmd) struct Conducted {
    pub(in crate::cmd) outcome: Outcome,
    pub(in crate::cmd) outlets: Outlets,
    pub(in crate::cmd) trouble: Vec<Stop>,
}

fn profile(
    settings: &Settings,
    lowered: &Lowered,
    load_only: bool,
    machine: Machine,
    mut opened: Opened,
) -> Result<Conducted, Stop> {
    let stop = StopFlag::on_signals(i32::from(crate::exit::INTERRUPTED))
        .map_err(|error| Stop::usage(format!("signals cannot be caught: {error}")))?;
    let sink = opened.samples.take().map(|mut sink| {
        Box::new(move |sampled: Sampled<'_>| match sampled {
            Sampled::One(sample) => sink.on(&Event::Sample(row(sample))),
            // Only one plan of a run exports.
            Sampled::Anew => Ok(()),
            Sampled::Pause => sink.flush(),
            Sampled::End => sink.finish(),
        }) as SampleSink
    });
    let mut fleet = HostFleet::new(Clock::start(), stop, &lowered.places.workers, sink);
    let outlets = opened.outlets(settings)?;
    let mut observer = HostObserver::new(machine, settings.outputs.quiet, outlets);
    let scenario = &settings.scenario;
    let outcome = memtide_run::run(&mut fleet, scenario, lowered, load_only, &mut observer)?;
    let mut trouble = Vec::new();
    trouble.extend(failed("--samples", fleet.finish_samples()));
    Ok(Conducted { outcome, outlets: observer.take_outlets(), trouble })
}

/// An engine's sample as a row.
pub(in crate::cmd) fn row(sample: &memtide_engine::Sample) -> Sample {
    let known = |at: Instant| (at != Instant::NEVER).then_some(at);
    Sample {
        intended: sample.intended,
        sent: known(sample.sent),
        received: known(sample.received),
        kind: sample.kind.into(),
        outcome: match sample.outcome {
            OpOutcome::Hit => SampleOutcome::Hit,
            OpOutcome::Miss => SampleOutcome::Miss,
            OpOutcome::Failed => SampleOutcome::Failed,
            OpOutcome::TimedOut => SampleOutcome::TimedOut,
            OpOutcome::Lost => SampleOutcome::Lost,
            OpOutcome::Dropped => SampleOutcome::Dropped,
            OpOutcome::Unacknowledged => SampleOutcome::Unacknowledged,
            OpOutcome::Abandoned => SampleOutcome::Abandoned,
            OpOutcome::Stored
            | OpOutcome::NotStored
            | OpOutcome::Exists
            | OpOutcome::NotFound
            | OpOutcome::Deleted
            | OpOutcome::Touched
            | OpOutcome::Number => SampleOutcome::Answered,
        },
        bytes: u64::from(sample.bytes),
        connection: (sample.connection != u32::MAX).then_some(sample.connection),
    }
}

/// Shows the result everywhere it should go; one output that fails does not cost the others.
pub(in crate::cmd) fn publish(
    Settings { scenario, outputs }: &Settings,
    conducted: Conducted,
    load_only: bool,
) -> Result<u8, Stop> {
    let Conducted { outcome: Outcome { record, failure, .. }, outlets, mut trouble } = conducted;
    let shown = if load_only {
        format!("stored {} keys\n", record.phases.load.totals.replies.get("stored").unwrap_or(&0))
    } else {
        text_for(&record, columns())
    };
    if !outputs.is_on_stdout()
        && let Err(error) = show(&shown)
    {
        trouble.push(unwritable("stdout", &error));
    }
    trouble.extend(close(outlets));
    for stop in &trouble {
        complain(&stop.message);
    }
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    if record.exit != 0 {
        return Ok(record.exit);
    }
    if !trouble.is_empty() {
        return Ok(FAILED);
    }
    let unbelievable = !load_only && record.believable.verdict == Verdict::No;
    Ok(if scenario.trust.strict && unbelievable { UNBELIEVABLE } else { 0 })
}
