//! The embedded server, for a scenario that names no server and for `memtide serve`.

use super::room;
use super::tls::{self, Material};
use crate::exit::{FAILED, Stop};
use crate::output::say;
use memtide_host::{ServeOptions, Serving, stay_off};
use memtide_run::CpuPlacement;
use memtide_scenario::Settings;
use memtide_scenario::Transport;
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
