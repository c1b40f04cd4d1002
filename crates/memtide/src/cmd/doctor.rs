//! `memtide doctor`: what this machine, and the servers that it can reach, do to measurements.

use clap::ArgMatches;
use memtide_base::{Instant, Span};
use memtide_belief::machine::{Asked, Condition, Fact, Server, Trial};
use memtide_host::condition::{self, Interrupts};
use memtide_host::driver::check_uring;
use memtide_host::machine::{self, Busyness};
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, memory};
use memtide_report::facts_text;
use memtide_scenario::{Layer, Origin, Settings, field};
use memtide_session::console::{columns, say, show};
use memtide_session::exit::{FAILED, INTERRUPTED, Stop, caught, unwritable};
use memtide_session::world::HostWorld;
use memtide_session::world::World;
use memtide_world::{Plan, ServerPlan};
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

/// Time in which the machine is watched before the trials, and that of the trials.
const WATCHED: Span = Span::from_s(1);
const TRIED: Span = Span::from_s(3);
/// Questions to a server, and the most time for them.
const QUESTIONS: u32 = 1_000;
const QUESTIONS_FOR: Span = Span::from_s(1);

/// How often an interrupt is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks at the machine and the servers; exits with 1 if something spoils measurements.
pub(crate) fn doctor(matches: &ArgMatches) -> Result<u8, Stop> {
    let (settings, is_quiet) = (settings(matches)?, matches.get_flag("json"));
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED)))?;
    let facts = unless_stopped(&stop, move || facts(&settings, is_quiet))??;
    let text = match matches.get_flag("json") {
        true => json(&facts),
        false => facts_text(&facts, columns()),
    };
    show(&text).map_err(|error| unwritable("stdout", &error))?;
    Ok(if facts.iter().any(|fact| fact.spoils) { FAILED } else { 0 })
}

/// What `look` returns, on a thread that the end of the program ends, unless `stop` is raised
/// before.
fn unless_stopped<T: Send + 'static>(
    stop: &StopFlag,
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stop> {
    let looking = thread::spawn(look);
    while !looking.is_finished() {
        if stop.is_raised() {
            let message = "interrupted before anything was found out".to_owned();
            return Err(Stop { code: INTERRUPTED, message });
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(looking.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// What is found out about this machine and the servers.
fn facts(settings: &Settings, is_quiet: bool) -> Result<Vec<Fact>, Stop> {
    // What is named wrongly is said at once.
    let servers = match settings.scenario.servers.is_empty() {
        true => Vec::new(),
        false => servers(settings)?,
    };
    if !is_quiet {
        let seconds = (WATCHED + TRIED).as_s_f64();
        say(&format!(
            "memtide: looks at this machine for {seconds:.0} s; leave it alone meanwhile"
        ));
    }
    Ok(condition(servers).facts())
}

fn settings(matches: &ArgMatches) -> Result<Settings, Stop> {
    let mut settings = Settings::default();
    let words = matches.get_many::<String>("server").into_iter().flatten();
    let mut layer = Layer::new();
    layer.push(
        field::find("server").expect("it is a field"),
        words.cloned().collect(),
        Origin::Flag,
    );
    settings.apply(&layer)?;
    Ok(settings)
}

fn json(facts: &[Fact]) -> String {
    let text = serde_json::to_string_pretty(&serde_json::json!({ "facts": facts }));
    text.expect("facts are plain data") + "\n"
}

/// The servers with what they say of themselves.
fn servers(settings: &Settings) -> Result<Vec<Asked>, Stop> {
    let around = HostWorld::new(None).surroundings(settings)?;
    let lowered = memtide_run::lower(&settings.scenario, &around)?;
    let plan = &lowered.plan;
    Ok(plan.servers.iter().map(|server| (server.name.clone(), asked(plan, server))).collect())
}

fn asked(plan: &Plan, server: &ServerPlan) -> Result<Server, String> {
    let told = condition::told(plan, server).map_err(|error| error.to_string())?;
    let [threads, connections_max] = ["threads", "max_connections"]
        .map(|name| told.statistics.iter().find(|row| row.0 == name)?.1.parse().ok());
    let round_trips = condition::round_trips(plan, server, QUESTIONS, QUESTIONS_FOR);
    Ok(Server {
        is_local: server.addresses.iter().any(|address| address.is_local()),
        threads,
        connections_max,
        round_trips: round_trips.map_err(|error| error.to_string())?,
        version: told.version,
    })
}

/// The condition of this machine, from settings and trials, with these `servers`.
fn condition(servers: Vec<Asked>) -> Condition {
    let files_max = machine::raise_file_limit();
    let (of, clock, mut watched) = (machine::look(), Clock::start(), Busyness::default());
    let before = Interrupts::read();
    watched.read(clock.now());
    clock.sleep_until(Instant::ZERO + WATCHED);
    watched.read(clock.now());
    let (busy, mut tried) = (watched.summary().map(|busy| busy.mean), Busyness::default());
    let interrupts = Interrupts::read().since(&before, clock.now().since(Instant::ZERO));
    let groups = machine::ControlGroups::own();
    let stopped = groups.throttled();
    tried.read(clock.now());
    let trials = condition::trials(&of.cpus_allowed, TRIED).into_iter().map(trial).collect();
    tried.read(clock.now());
    let is_throttled = groups.throttled() > stopped;
    let first = of.cpus_allowed.first().copied().unwrap_or(0);
    Condition {
        cpus_online: of.cpus_online,
        cores: of.cores,
        cpu_quota: of.cpu_quota,
        governor: condition::governor(first),
        idle: condition::idle_state(first).map(|idle| (idle.name, idle.exit)),
        clock_source: of.clock_source,
        slack: condition::inherited_slack(),
        stolen: tried.summary().map(|busy| busy.stolen),
        busy,
        interrupts: interrupts.into_iter().map(|it| (it.cpu, it.per_s, it.source)).collect(),
        trials,
        is_throttled,
        files_max,
        memory_bytes: memory::available().map(|available| available.bytes),
        uring: check_uring(),
        servers,
        cpus_allowed: of.cpus_allowed,
    }
}

fn trial(of: condition::CpuTrial) -> Trial {
    let condition::CpuTrial { cpu, late, pauses, longest, paused, kept, reading } = of;
    let pauses_per_s = pauses as f64 / (TRIED.as_s_f64() / 2.0);
    Trial { cpu, late, pauses_per_s, longest, paused, kept, reading }
}
