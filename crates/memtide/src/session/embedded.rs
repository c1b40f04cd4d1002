//! The embedded server, for a scenario that names no server and for `memtide serve`.

use super::room;
use super::tls::{self, Material};
use crate::exit::{FAILED, Stop};
use crate::output::say;
use memtide_base::{Instant, Span};
use memtide_engine::Plan;
use memtide_host::machine::AwakeGuard;
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, ConnectGuard, HostFleet, ServeOptions, Serving, stay_off};
use memtide_run::{CpuChoice, CpuPlacement, Lowered};
use memtide_scenario::{Settings, Transport};
use memtide_server::ServerProfile;
use std::net::{Ipv4Addr, SocketAddr};

const MEMORY_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Starts a server. The error says why it cannot listen.
///
/// Cause: Another process listens on the address, or the address is not one of this machine's.
pub(crate) fn start(options: &ServeOptions, profile: ServerProfile) -> Result<Serving, Stop> {
    Serving::start(options, profile).map_err(|error| {
        Stop::usage(format!(
            "the embedded server cannot listen on {}: {error}; choose another --port or --listen",
            options.listen
        ))
    })
}

/// The embedded server for a scenario that names no server.
pub(super) fn embed(
    Settings { scenario, outputs, .. }: &Settings,
    own: Option<&Material>,
) -> Result<Serving, Stop> {
    // Twice the keys' size, for the numbers of incr and decr and for uneven shards.
    let wanted = room::item_bytes(scenario).saturating_mul(scenario.keys).saturating_mul(2);
    let options = ServeOptions {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        udp: scenario.transport != Transport::Tcp,
        threads: 1,
        memory_bytes_max: wanted.max(MEMORY_BYTES_MIN),
        item_bytes_max: scenario.value_max as usize + 1024,
        filter: own.map(|own| tls::embedded(own, &scenario.tls)).transpose()?,
    };
    let serving = start(&options, ServerProfile::default())?;
    // What is measured is printed even with --quiet.
    if !outputs.plan {
        say(&format!(
            "memtide: no --server given, so this measures an embedded server at {}",
            serving.address()
        ));
    }
    Ok(serving)
}

/// The length of a load that tries one way to wait and to divide the CPUs. All trials together,
/// with what they begin and end with, take less than a second.
const TRIED: Span = Span::from_ms(60);
/// After this time, no other trial begins.
const TRIED_MAX: Span = Span::from_ms(800);
/// Another way than the usual one must be better by this fraction: short trials scatter.
const BETTER: f64 = 0.1;

/// The way to wait and to divide the CPUs that was best in short loads.
pub(super) struct Tried {
    /// The way.
    pub(super) choice: CpuChoice,
    /// A line about it.
    pub(super) words: String,
    /// Keeps idle CPUs awake for as long as it is held; none if that gained nothing.
    pub(super) awake: Option<AwakeGuard>,
}

/// Tries each way to wait and to divide the CPUs by a short load against the embedded server, all
/// but the first with idle CPUs kept awake if that is allowed. None if there is nothing to choose,
/// or a trial fails.
pub(super) fn tried(
    serving: &Serving,
    guard: &ConnectGuard,
    Settings { scenario, .. }: &Settings,
    lowered: &Lowered,
) -> Option<Tried> {
    let begin = Clock::start();
    let trial = |choice: &CpuChoice| -> Option<Span> {
        let plan = Plan { wait: choice.wait, ..lowered.plan.clone() };
        let (clock, stop) = (Clock::start(), StopFlag::default());
        let mut fleet = HostFleet::new(clock, stop, &choice.workers, None, guard.clone());
        serving.keep_on(choice.server).ok()?;
        memtide_run::tried(&mut fleet, &plan, TRIED).ok()?
    };
    let ways = CpuChoice::all(scenario, lowered);
    let mut tried = vec![(trial(ways.first()?)?, &ways[0])];
    // The usual way is tried with CPUs that sleep, too.
    let mut awake = AwakeGuard::ask();
    for choice in &ways[usize::from(awake.is_none())..] {
        // A busy machine tries fewer ways.
        if begin.now() > Instant::ZERO + TRIED_MAX {
            break;
        }
        tried.push((trial(choice)?, choice));
    }
    let worst = tried.iter().map(|(p90, _)| *p90).max()?;
    let usual = tried[0].0.as_s_f64();
    let better = tried.iter().filter(|(p90, _)| p90.as_s_f64() < usual * (1.0 - BETTER));
    let best = better.min_by_key(|(p90, _)| *p90);
    if best.is_none() {
        awake = None;
    }
    let (number, &(p90, choice)) = (tried.len(), best.unwrap_or(&tried[0]));
    let idle = if awake.is_some() { ", idle CPUs kept awake" } else { "" };
    let why = format!(
        "of {number} ways tried before the run, this one had a p90 of {p90}, the worst one \
         {worst}{idle}"
    );
    let cpus: Vec<String> = choice.workers.iter().map(ToString::to_string).collect();
    let words = format!(
        "memtide: tried {number} ways to wait and to divide the CPUs for {:.1} s: wait {}, server \
         on CPU {}, worker on CPU {}{idle} (p90 {p90}; the worst way {worst})",
        begin.now().since(Instant::ZERO).as_s_f64(),
        choice.wait,
        choice.server,
        cpus.join(", "),
    );
    Some(Tried { choice: CpuChoice { why, ..choice.clone() }, words, awake })
}

/// Pins the embedded server to its own CPU, and keeps other threads off the workers' CPUs: the
/// thread of the run and its outputs share the server's CPU if there is no other.
///
/// Cause: The system does not allow a thread to be bound to this CPU.
pub(super) fn keep_on(serving: &Serving, placement: &CpuPlacement) -> Result<(), Stop> {
    let Some(cpu) = placement.server else { return Ok(()) };
    serving.keep_on(cpu).map_err(|error| Stop {
        code: FAILED,
        message: format!(
            "the embedded server cannot be pinned to CPU {cpu}: {error}; start one with memtide \
             serve and name it with --server"
        ),
    })?;
    stay_off(&placement.workers);
    stay_off(&[cpu]);
    Ok(())
}
