//! mutilate's agents: a master that dials them, and an agent that waits for masters.
//!
//! Both authenticate with a join file, which the originals' command lines do not know: an
//! environment variable names it, or it lies beside the link by which the program was called.

use super::super::{JOIN_FILE, LINKS_MAX};
use super::{Asked, FATAL, refusal};
use crate::flags::JOIN;
use crate::output::wants_notes;
use memtide_cluster::files;
use memtide_cluster::join::Join;
use memtide_cluster::law::Law;
use memtide_cluster::transport::AgentNet;
use memtide_compat::FAMILY_WORDS;
use memtide_compat::mutilate::{
    AgentOptions, Divided, Fleet, Options, OwnRate, Patience, Server, Verbosity, agent_log,
    agent_rows, agent_waits, divide, skipped,
};
use memtide_host::clock::monotonic_ns;
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use memtide_record::Record;
use memtide_scenario::{AgentsWord, Settings};
use memtide_session::cluster::{MakeLog, Own, Setup, own_key, serve};
use memtide_session::console::{complain, say, say_part, show_part};
use memtide_session::exit::{Stop, caught};
use memtide_session::{Division, LostAgents, OwnPart};
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What to do if an agent's port is taken.
const OTHER_PORT: &str = "end the program that waits there, or choose another port with \
                          --agent_port (-p), and name it to masters as --agent (-a) HOST:PORT";
/// All addresses of the machine.
const ALL: &str = "[::]";

/// Sets in `settings` the agents of a run, if it has any.
///
/// # Errors
/// If the join file that the user names does not lead to a master's key.
pub(super) fn enlist(
    options: &Options,
    settings: &mut Settings,
) -> Result<(), memtide_compat::Stop> {
    let Some(fleet) = &options.agents else { return Ok(()) };
    let agents = &mut settings.placement.agents;
    agents.which = Some(AgentsWord::Listed(fleet.addresses.clone()));
    if let Patience::GivesUp(span) = fleet.patience {
        agents.expect = span;
        agents.allow_lost = u32::MAX;
    }
    agents.key = key_folder().map_err(|why| refusal(&why))?;
    if agents.key.is_none() {
        check_places(fleet, &options.target.servers).map_err(|why| refusal(&why))?;
    }
    // This process opens the file of samples itself; agents write none.
    settings.outputs.samples = None;
    Ok(())
}

/// Folder of the master's key: that of the join file; none for the key of this user's own agents.
fn key_folder() -> Result<Option<String>, String> {
    let Some(path) = join_file() else { return Ok(None) };
    let whole = fs::canonicalize(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let folder = whole.parent().unwrap_or(Path::new("/"));
    if !folder.join("master.pem").exists() {
        return Err(format!(
            "{} is for agents: the master's key (master.pem) is not beside it, so no master runs \
             on this machine; masters run where memtide key new was called, with the join file \
             that is in its folder",
            whole.display()
        ));
    }
    Ok(Some(folder.display().to_string()))
}

/// The join file that the environment names, or that lies beside the link by which the program was
/// called, a link to which that leads, or the program itself.
fn join_file() -> Option<PathBuf> {
    if let Some(named) = env::var_os(JOIN).filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(named));
    }
    let mut link = machine::started_as();
    for _ in 0..LINKS_MAX {
        let folder = link.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let beside = folder.join(JOIN_FILE);
        if beside.symlink_metadata().is_ok() {
            return Some(beside);
        }
        link = folder.join(fs::read_link(&link).ok()?);
    }
    None
}

/// Refuses agents on other machines, which a master without a join file never reaches. A run that
/// continues without agents continues without these.
fn check_places(fleet: &Fleet, servers: &[Server]) -> Result<(), String> {
    let elsewhere = fleet.addresses.iter().filter(|address| {
        let mut found = address.to_socket_addrs().into_iter().flatten();
        !found.any(|address| address.ip().to_canonical().is_loopback())
    });
    let elsewhere: Vec<&String> = elsewhere.collect();
    let hosts: Vec<&str> = elsewhere.iter().map(|address| host(address)).collect();
    let goes_on = matches!(fleet.patience, Patience::GivesUp(_));
    if hosts.is_empty() || (goes_on && elsewhere.len() < fleet.addresses.len()) {
        return Ok(());
    }
    let targets: Vec<String> = servers.iter().map(target).collect();
    let hosts = hosts.join(" ");
    Err(format!(
        "--agent (-a): agents on other machines ({hosts}) obey a master that has a join file, and \
         there is none here; make one with 'memtide key new lab --agents {hosts} --allow-target \
         {}', copy it to them with 'scp -p lab/agent.join HOST:', and call 'memtide install-faces \
         --join lab/agent.join ~/bin' here and 'memtide install-faces --join agent.join ~/bin' \
         there; then start agents and masters from ~/bin",
        targets.join(",")
    ))
}

/// The host of `HOST:PORT`.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// A server as an agent's limits name it.
fn target(server: &Server) -> String {
    let found = (server.host.as_str(), server.port).to_socket_addrs();
    let first = found.ok().and_then(|mut found| found.next());
    first.map_or_else(|| format!("ADDRESS-OF-{}:{}", server.host, server.port), |it| it.to_string())
}

/// The loads of a run whose agents take these numbers of shares.
pub(super) fn division(
    options: &Options,
    targets: &[u32],
    shares: Vec<u32>,
) -> Result<Division, Stop> {
    let divided = divide(options, targets, &shares);
    let Divided { agents, own, rate } =
        divided.map_err(|stop| Stop::usage(stop.stderr.trim_end()))?;
    let rates = Box::new(move |step| OwnRate::divide(rate, step));
    let own = own.map(|own| OwnPart { scenario: own.scenario, rates });
    Ok(Division { agents: agents.scenario, shares, own })
}

/// Reports in the original's words that agents are left out.
pub(super) fn tell_missed(options: &Options, lost: &LostAgents) {
    if options.output.verbosity == Verbosity::Quiet {
        return;
    }
    let enlisted = options.agents.iter().flat_map(|fleet| &fleet.addresses);
    let numbered = (1..).zip(enlisted).filter(|(_, address)| lost.addresses.contains(address));
    numbered.for_each(|(number, _)| say_part(&skipped(options.face, number)));
}

/// Waits for masters, and makes load for one after another.
pub(super) fn serving(agent: AgentOptions) -> Result<Asked, memtide_compat::Stop> {
    Ok(Asked::Other(Box::new(move || match work(agent) {
        Ok(()) => 0,
        Err(why) => {
            complain(&why);
            FATAL
        }
    })))
}

/// Serves masters until a signal ends the process, as the originals do.
fn work(agent: AgentOptions) -> Result<(), String> {
    // A core dump would contain the token.
    machine::hide_process()?;
    let stop = caught(StopFlag::on_no_signal()).map_err(|stop| stop.message)?;
    let speaks = wants_notes(agent.has_notes)? && agent.verbosity != Verbosity::Quiet;
    let path = join_file();
    let is_local = path.is_none();
    let (join, law, address) = credentials(path, agent.port)?;
    let listen = |address: &str| AgentNet::listen(address, &join, monotonic_ns);
    // A machine without IPv6 uses the other address.
    let net = listen(&address).or_else(|why| match address.starts_with(ALL) {
        true => listen(&format!("0.0.0.0:{}", agent.port)).map_err(|_| why),
        false => Err(why),
    });
    let net = net.map_err(|why| match why.strip_suffix("; name another address") {
        Some(what) => format!("{what}; {OTHER_PORT}"),
        None => why,
    })?;
    let name = format!("{}:{}", machine::host_name(), agent.port);
    if is_local && agent.verbosity != Verbosity::Quiet {
        say(&alone(&name, &address));
    } else if speaks {
        say(&format!("memtide agent: {name} waits for its master at {address}"));
    }
    say_part(&agent_waits(&agent));
    let logged = agent.clone();
    let logs: MakeLog = Box::new(move |number, shares, is_load_only| {
        Box::new(agent_log(&logged, number, shares, is_load_only))
    });
    let setup = Setup {
        law: Some(law),
        name,
        shares: agent.shares,
        own: Own::of_environment().map_err(|stop| stop.message)?,
        sleeps: agent.is_blocking,
        pins: agent.is_pinned,
        words: Some(&FAMILY_WORDS),
        logs: (agent.verbosity <= Verbosity::Verbose).then_some(logs),
        shows: Some(Box::new(move |record| show_rows(&agent, record))),
        complains: true,
        speaks,
        ..Setup::default()
    };
    serve(setup, net, &stop);
    Ok(())
}

/// The line of an agent without a join file: whom it obeys, and how it would obey others.
fn alone(name: &str, address: &str) -> String {
    let host = machine::host_name();
    format!(
        "memtide agent: {name} waits at {address}, where only masters of its own user on this \
         machine can command it; for masters on another machine, make a join file there with \
         'memtide key new lab --agents {host} --allow-target ADDRESS:PORT', copy lab/agent.join \
         here, and call 'memtide install-faces --join agent.join ~/bin' here; then start the agent \
         from ~/bin"
    )
}

/// Join file, limits and listening address of an agent: on this machine only, unless a join file
/// admits a remote master.
fn credentials(path: Option<PathBuf>, port: u16) -> Result<(Join, Law, String), String> {
    let Some(path) = path else {
        let own = own_key().map_err(|stop| stop.message)?;
        let join = files::read_join(&own.join("agent.join"))?;
        return Ok((join, Law::loopback(), format!("127.0.0.1:{port}")));
    };
    let join = files::read_join(&path)?;
    let law = Law::parse(&join.limits).and_then(Law::complete);
    let law = law.map_err(|why| format!("{}: {why}", path.display()))?;
    Ok((join, law, format!("{ALL}:{port}")))
}

/// Prints the rows that the original's agent prints after a run.
fn show_rows(agent: &AgentOptions, record: &str) {
    let record = Record::from_json(record).map_err(|why| why.to_string());
    let rows = record.and_then(|record| match &record.share {
        Some(share) if share.not_run.is_some() => Ok(String::new()),
        _ => agent_rows(agent, &record),
    });
    match rows {
        // A reader of stdout that has gone away is no error.
        Ok(rows) => drop(show_part(&rows)),
        Err(why) => complain(&why),
    }
}
