//! `memtide sim`: the same run in virtual time, against servers made of nothing. A week of load
//! takes seconds, and the same seed gives the same trace.

use super::outlets::{Opened, RowsBy, check_places, failed, stream};
use super::run::{Conducted, publish, row};
use super::{room, serve};
use crate::exit::Stop;
use crate::flags;
use crate::observer::SimObserver;
use crate::output::say;
use crate::patient::Patient;
use clap::ArgMatches;
use memtide_base::{Instant, Law, Span};
use memtide_engine::{Address, ServerPlan};
use memtide_run::{Doors, Lowered, Surroundings, lower};
use memtide_schema::scenario::{Target, Transport};
use memtide_schema::{Event, Scenario, Settings};
use memtide_server::StoreOptions;
use memtide_sim::{Network, Script, Setting, SimFleet, SimServer, Trace};
use memtide_sinks::Sink;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

/// Processors that a simulated machine has: enough that the number of workers depends on none.
const CPUS: usize = 2;
/// The ports of simulated servers that need one.
const PORT_FIRST: u16 = 11_211;
const MEMORY_BYTES_MAX: u64 = 1 << 40;

pub(crate) fn sim(matches: &ArgMatches) -> Result<u8, Stop> {
    let settings = flags::settings(matches)?;
    let Settings { scenario, outputs } = &settings;
    let datagrams = scenario.transport != Transport::Tcp;
    serve::check_faults(matches, datagrams, "simulate --transport udp")?;
    let servers = servers(scenario);
    room::check(scenario, servers.len() as u64)?;
    let lowered = lower(scenario, &surroundings(&settings, &servers))?;
    let trace = matches.get_one::<String>("trace").map(String::as_str);
    check_places(outputs, &[("--trace", trace.filter(|place| *place != "-"))])?;
    let looks_unfilled = scenario.value_size != Scenario::default().value_size;
    let lowered = Lowered { looks_unfilled, ..lowered };
    let mut opened = Opened::open(outputs, RowsBy::Themselves)?;
    let lines = Rc::new(RefCell::new(Lines::default()));
    let trace = match trace {
        None => Trace::new(),
        Some("-") => Trace::with_lines(say),
        Some(path) => {
            lines.borrow_mut().out = Some(Patient::new(stream("--trace", path)?));
            let lines = Rc::clone(&lines);
            Trace::with_lines(move |line| lines.borrow_mut().write(line))
        }
    };
    let samples = Rc::new(RefCell::new(opened.samples.take()));
    let written = Rc::new(RefCell::new(Ok(())));
    let (taken, errors) = (Rc::clone(&samples), Rc::clone(&written));
    let setting = setting(matches, scenario, &servers);
    let mut fleet = SimFleet::new(setting, trace, move |sample| {
        if let Some(sink) = taken.borrow_mut().as_mut()
            && errors.borrow().is_ok()
        {
            *errors.borrow_mut() = sink.on(&Event::Sample(row(sample)));
        }
    });
    let outlets = opened.outlets(&settings)?;
    let mut observer = SimObserver::new(CPUS as u32, outputs.quiet, outlets);
    let outcome = memtide_run::run(&mut fleet, scenario, &lowered, false, &mut observer)?;
    let (hash, events) = fleet.trace_hash();
    let finished = samples.borrow_mut().as_mut().map_or(Ok(()), Sink::finish);
    let written = written.replace(Ok(())).and(finished);
    let mut trouble = Vec::new();
    trouble.extend(failed("--samples", written));
    trouble.extend(failed("--trace", lines.take().finish()));
    let conducted = Conducted { outcome, outlets: observer.take_outlets(), trouble };
    let code = publish(&settings, conducted, false)?;
    say(&format!("memtide: simulated, trace {hash:016x} over {events} events"));
    Ok(code)
}

/// Where the lines of a trace go, and the first error of writing them.
#[derive(Default)]
struct Lines {
    out: Option<Patient>,
    error: Option<io::Error>,
}

impl Lines {
    fn write(&mut self, line: &str) {
        if let (Some(out), None) = (&mut self.out, &self.error) {
            self.error = writeln!(out, "{line}").err();
        }
    }

    fn finish(self) -> io::Result<()> {
        let flushed = self.out.map_or(Ok(()), |mut out| out.flush());
        self.error.map_or(flushed, Err)
    }
}

/// One virtual server for each that the scenario names, or one.
fn servers(scenario: &Scenario) -> Vec<ServerPlan> {
    let named = scenario.servers.iter().map(Target::to_string);
    let names: Vec<String> =
        if scenario.servers.is_empty() { vec!["simulated".to_owned()] } else { named.collect() };
    let address = |number: usize| match scenario.transport {
        Transport::Tcp => Address::Unix(format!("server-{number}")),
        // Sockets of files have no datagrams.
        Transport::Udp | Transport::Split => {
            Address::Tcp(([127, 0, 0, 1], PORT_FIRST + number as u16).into())
        }
    };
    let plan =
        |(number, name): (usize, String)| ServerPlan { name, addresses: vec![address(number)] };
    names.into_iter().enumerate().map(plan).collect()
}

fn surroundings(Settings { scenario, outputs }: &Settings, servers: &[ServerPlan]) -> Surroundings {
    Surroundings {
        servers: servers.to_vec(),
        embedded: scenario.servers.is_empty(),
        repeats: false,
        cpus_allowed: (0..CPUS).collect(),
        cores: BTreeMap::new(),
        cpus_online: CPUS,
        cpu_quota: None,
        io: Doors::Simulated,
        outputs: outputs.into(),
    }
}

fn setting(matches: &ArgMatches, scenario: &Scenario, servers: &[ServerPlan]) -> Setting {
    let delay = matches.get_one::<Span>("delay").expect("it has a default");
    let server = |server: &ServerPlan| SimServer {
        addresses: vec![server.addresses[0].clone()],
        store: StoreOptions {
            memory_bytes_max: MEMORY_BYTES_MAX,
            item_bytes_max: scenario.value_max as usize + 1024,
            shards: 1,
        },
        profile: serve::profile(matches, scenario.seed),
        dead: Vec::new(),
    };
    Setting {
        seed: scenario.seed,
        network: Network {
            delay: Law::Fixed(delay.as_s_f64()),
            loss: *matches.get_one::<f64>("loss").expect("it has a default"),
            duplicates: *matches.get_one::<f64>("duplicates").expect("it has a default"),
            ..Network::default()
        },
        servers: servers.iter().map(server).collect(),
        script: Script::default(),
        pauses: Vec::new(),
        interrupt_at: Instant::NEVER,
    }
}
