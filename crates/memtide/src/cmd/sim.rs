//! `memtide sim`: a run in virtual time, against simulated servers, and the world of a search or a
//! scan there. A week of load takes seconds, and equal seeds give equal traces.

use super::run::Native;
use super::serve;
use crate::flags;
use clap::ArgMatches;
use memtide_base::{Instant, Law, Span};
use memtide_run::steps::RunTask;
use memtide_scenario::{Placement, Scenario, Settings, ShardWord, Target, Tls, Transport};
use memtide_server::StoreOptions;
use memtide_session::exit::Stop;
use memtide_session::world::SimWorld;
use memtide_session::{Session, Task};
use memtide_sim::{Network, Script, Setting, SimServer};
use memtide_world::{Address, ServerPlan};

/// First port of simulated servers that need a port.
const PORT_FIRST: u16 = 11_211;
const MEMORY_BYTES_MAX: u64 = 1 << 40;

pub(crate) fn sim(matches: &ArgMatches) -> Result<u8, Stop> {
    let settings = flags::settings(matches)?;
    let world = world(matches, &settings)?;
    let front = Box::new(Native { load_only: false, is_simulated: true, trace: trace(matches) });
    Ok(Session { settings, task: Task::Run(RunTask::Whole), front, world }.run())
}

/// The world that the command line describes.
pub(super) fn world(matches: &ArgMatches, settings: &Settings) -> Result<SimWorld, Stop> {
    check_whole(&settings.placement)?;
    let scenario = &settings.scenario;
    check_tls(&scenario.tls)?;
    let datagrams = scenario.transport != Transport::Tcp;
    serve::check_faults(matches, datagrams, "simulate --transport udp")?;
    let servers = servers(scenario);
    let setting = setting(matches, scenario, &servers);
    SimWorld::new(scenario, servers, setting, trace(matches))
}

/// Destination of the trace.
pub(super) fn trace(matches: &ArgMatches) -> Option<String> {
    matches.get_one::<String>("trace").cloned()
}

/// Refuses a share: a simulation needs no second machine.
fn check_whole(placement: &Placement) -> Result<(), Stop> {
    if placement.agents.which.is_some() {
        return Err(Stop::usage("--agents: a simulation runs in one process; remove --agents"));
    }
    match placement.shard {
        None | Some(ShardWord::Whole) => Ok(()),
        Some(word) => Err(Stop::usage(format!(
            "--shard {word}: a simulation runs in one process; remove --shard, and set --threads \
             to the workers of all shares"
        ))),
    }
}

/// Refuses files of certificates: simulated servers have a certificate of their own, and take any
/// client.
fn check_tls(tls: &Tls) -> Result<(), Stop> {
    let fields = [
        ("--tls-ca", tls.ca.is_some()),
        ("--tls-cert", tls.cert.is_some()),
        ("--tls-server-name", tls.server_name.is_some()),
        ("--tls-insecure", tls.insecure),
    ];
    match fields.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(Stop::usage(format!(
            "{flag}: simulated servers have a certificate of their own, which is trusted; remove \
             {flag}"
        ))),
    }
}

/// One virtual server for each that the scenario names; one if it names none.
fn servers(scenario: &Scenario) -> Vec<ServerPlan> {
    let named = scenario.servers.iter().map(Target::to_string);
    let names: Vec<String> =
        if scenario.servers.is_empty() { vec!["simulated".to_owned()] } else { named.collect() };
    let plans = names.into_iter().enumerate().map(|(number, name)| {
        let address = match scenario.transport {
            Transport::Tcp => Address::Unix(format!("server-{number}")),
            // Unix sockets have no datagrams.
            Transport::Udp | Transport::Split => {
                Address::Tcp(([127, 0, 0, 1], PORT_FIRST + number as u16).into())
            }
        };
        ServerPlan { name, addresses: vec![address] }
    });
    plans.collect()
}

fn setting(matches: &ArgMatches, scenario: &Scenario, servers: &[ServerPlan]) -> Setting {
    let delay = matches.get_one::<Span>("delay").expect("it has a default");
    let servers = servers.iter().map(|server| SimServer {
        addresses: vec![server.addresses[0].clone()],
        store: StoreOptions {
            memory_bytes_max: MEMORY_BYTES_MAX,
            item_bytes_max: scenario.value_max as usize + 1024,
            shards: 1,
        },
        profile: serve::profile(matches, scenario.seed),
        dead: Vec::new(),
    });
    Setting {
        seed: scenario.seed,
        network: Network {
            delay: Law::Fixed(delay.as_s_f64()),
            loss: *matches.get_one::<f64>("loss").expect("it has a default"),
            duplicates: *matches.get_one::<f64>("duplicates").expect("it has a default"),
            ..Network::default()
        },
        servers: servers.collect(),
        filter: None,
        script: Script::default(),
        pauses: Vec::new(),
        work: Span::ZERO,
        interrupt_at: Instant::NEVER,
    }
}
