//! The embedded server, for a scenario that names no server and for `memtide serve`.

use super::tls::{self, Material};
use crate::console::say;
use crate::exit::{FAILED, Stop};
use crate::room;
use memtide_base::{Instant, Span};
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, ConnectGuard, HostFleet, ServeOptions, Serving, stay_off};
use memtide_run::{CpuChoice, CpuPlacement, Lowered};
use memtide_scenario::{Settings, Transport};
use memtide_server::ServerProfile;
use memtide_world::Plan;
use std::net::{Ipv4Addr, SocketAddr};

const MEMORY_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Starts a server. The error says why it cannot listen.
pub fn start(options: &ServeOptions, profile: ServerProfile) -> Result<Serving, Stop> {
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

/// Tries each way to wait and to divide the CPUs by a short load against the embedded server.
/// Returns the best one, and a line about it; none if there is nothing to choose, or a trial fails.
pub(super) fn tried(
    serving: &Serving,
    guard: &ConnectGuard,
    Settings { scenario, .. }: &Settings,
    lowered: &Lowered,
) -> Option<(CpuChoice, String)> {
    let mut tried = Vec::new();
    let begin = Clock::start();
    for choice in CpuChoice::all(scenario, lowered) {
        // A busy machine tries fewer ways.
        if begin.now() > Instant::ZERO + TRIED_MAX {
            break;
        }
        let plan = Plan { wait: choice.wait, ..lowered.plan.clone() };
        let (clock, stop) = (Clock::start(), StopFlag::default());
        let mut fleet = HostFleet::new(clock, stop, &choice.workers, None, guard.clone());
        serving.keep_on(choice.server).ok()?;
        tried.push((memtide_run::tried(&mut fleet, &plan, TRIED).ok()??, choice));
    }
    let usual = tried.first()?.0;
    let worst = tried.iter().map(|(p90, _)| *p90).max()?;
    let best = tried
        .iter()
        .filter(|(p90, _)| p90.as_s_f64() < usual.as_s_f64() * (1.0 - BETTER))
        .min_by_key(|(p90, _)| *p90);
    let (p90, choice) = best.unwrap_or(&tried[0]);
    let cpus: Vec<String> = choice.workers.iter().map(ToString::to_string).collect();
    let why = format!(
        "of {} ways tried before the run, this one had a p90 of {p90}, the worst one {worst}",
        tried.len()
    );
    let words = format!(
        "memtide: tried {} ways to wait and to divide the CPUs for {:.1} s: wait {}, server on CPU \
         {}, worker on CPU {} (p90 {p90}; the worst way {worst})",
        tried.len(),
        begin.now().since(Instant::ZERO).as_s_f64(),
        choice.wait,
        choice.server,
        cpus.join(", ")
    );
    Some((CpuChoice { why, ..choice.clone() }, words))
}

/// Pins the embedded server to its own CPU, and keeps other threads off the workers' CPUs: the
/// thread of the run and its outputs share the server's CPU if there is no other.
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
