//! `memtide agent` and `memtide key`: agents, their keys, and their state.

mod records;

use clap::ArgMatches;
use memtide_cluster::files;
use memtide_cluster::join::Join;
use memtide_cluster::law::{LIMITS, Law, LawWords};
use memtide_cluster::transport::AgentNet;
use memtide_host::clock::monotonic_ns;
use memtide_host::machine;
use memtide_host::signal::{StopFlag, on_each_signal};
use memtide_scenario::{Output, OutputKind, Outputs, SpoolPlace};
use memtide_session::cluster::{Own, OwnPoints, Setup, own_key, records as kept_in, serve};
use memtide_session::console::{say, show};
use memtide_session::exit::{INTERRUPTED, Stop, caught};
use std::path::{Path, PathBuf};

/// `memtide key new`.
pub(super) fn key(matches: &ArgMatches) -> Result<u8, Stop> {
    let Some(("new", matches)) = matches.subcommand() else { return Ok(0) };
    machine::hide_process().map_err(Stop::usage)?;
    let folder = path(matches, "folder").unwrap_or_default();
    let address = word(matches, "address").map_or("", String::as_str);
    let bind = word(matches, "bind").map(String::as_str);
    let words = law_words(matches);
    Law::parse(&words).map_err(Stop::usage)?;
    files::make_folder(&folder, address, bind, words).map_err(Stop::usage)?;
    let mut shown = format!(
        "made {0}/master.pem, the master's key, and {0}/agent.join, the join file of its agents\n",
        folder.display()
    );
    if let Some(hosts) = matches.get_many::<String>("agents") {
        let copies: String = hosts.map(|host| copied(&folder, host)).collect();
        shown += &format!(
            "{copies}Older tools' masters here: memtide install-faces --join {}/agent.join ~/bin\n",
            folder.display()
        );
    }
    drop(show(&shown));
    Ok(0)
}

/// The commands that take the join file in `folder` to an agent's machine and use it there.
fn copied(folder: &Path, host: &str) -> String {
    format!(
        "scp -p {}/agent.join {host}:   # there: memtide agent --join agent.join, or for older \
         tools memtide install-faces --join agent.join ~/bin\n",
        folder.display()
    )
}

/// `memtide agent`, and its commands.
pub(super) fn agent(matches: &ArgMatches) -> Result<u8, Stop> {
    match matches.subcommand() {
        Some(("status", matches)) => records::status(matches),
        Some(("records", matches)) => records::fetch(matches),
        _ => work(matches),
    }
}

/// Serves masters until a signal arrives.
fn work(matches: &ArgMatches) -> Result<u8, Stop> {
    // A core dump would contain the token.
    machine::hide_process().map_err(Stop::usage)?;
    let join_path = path(matches, "join");
    let join = match &join_path {
        Some(path) => files::read_join(path).map_err(Stop::usage)?,
        None => files::read_join(&own_key()?.join("agent.join")).map_err(Stop::usage)?,
    };
    let law = law(matches, &join, join_path.is_some())?;
    let listen = matches.get_one::<String>("listen");
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED)))?;
    let net = match listen {
        Some(address) => AgentNet::listen(address, &join, monotonic_ns),
        None => AgentNet::dial(&join, monotonic_ns),
    };
    let net = net.map_err(Stop::usage)?;
    let waker = net.waker();
    caught(on_each_signal(move || waker.wake()))?;
    let setup = Setup {
        law: Some(law),
        name: matches.get_one::<String>("name").cloned().unwrap_or_else(machine::host_name),
        shares: *matches.get_one::<u32>("shares").expect("it has a default"),
        kept: Some(kept_in(path(matches, "records").as_deref())?),
        samples: samples(matches)?,
        points: points(matches)?,
        rows: None,
        own: Own::of_environment()?,
        watches: true,
        sleeps: false,
        pins: false,
        words: None,
        logs: None,
        shows: None,
        once: matches.get_flag("once"),
        complains: true,
        speaks: !matches.get_flag("quiet"),
    };
    if setup.speaks {
        let how = match listen {
            Some(address) => format!("waits for its master at {address}"),
            None => format!("connects to its master at {}", join.address),
        };
        say(&format!("memtide agent: {} {how}", setup.name));
    }
    serve(setup, net, &stop);
    Ok(0)
}

/// The folder for samples.
fn samples(matches: &ArgMatches) -> Result<Option<PathBuf>, Stop> {
    let folder = path(matches, "samples");
    if let Some(folder) = &folder {
        let made = files::own_folder(folder);
        made.map_err(|why| Stop::usage(format!("--samples: {why}, or name another folder")))?;
    }
    Ok(folder)
}

/// The database that the operator names for points.
fn points(matches: &ArgMatches) -> Result<Option<OwnPoints>, Stop> {
    let Some(url) = word(matches, "influx") else { return Ok(None) };
    if !cfg!(feature = "influx") {
        return Err(wrong("influx", "this program was built without it".to_owned()));
    }
    let place = format!("{}={url}", OutputKind::Influx).parse::<Output>();
    let place = place.map_err(|why| wrong("influx", why))?;
    let spool = word(matches, "spool").map(|word| word.parse()).transpose();
    let spool = spool.map_err(|why| wrong("spool", why))?;
    let spool: Option<SpoolPlace> = spool;
    if let Some(SpoolPlace { folder, .. }) = &spool {
        let made = files::own_folder(folder.as_ref());
        made.map_err(|why| wrong("spool", format!("{why}, or name another folder")))?;
    }
    let outputs = Outputs { out: vec![place], spool, ..Outputs::default() };
    match OwnPoints::of(&outputs) {
        Some(points) => Ok(Some(points)),
        None => Err(wrong("influx", "give the URL of a database".to_owned())),
    }
}

/// The refusal of a value of `flag`.
fn wrong(flag: &str, why: String) -> Stop {
    Stop::usage(format!("--{flag}: {why}"))
}

/// The operator's limits, from flags and join file: both must allow an action.
fn law(matches: &ArgMatches, join: &Join, has_join: bool) -> Result<Law, Stop> {
    let ours = Law::parse(&law_words(matches)).map_err(Stop::usage)?;
    let theirs = match has_join {
        true => Law::parse(&join.limits).map_err(Stop::usage)?,
        false => Law::loopback(),
    };
    ours.narrowed(&theirs).complete().map_err(Stop::usage)
}

/// The limits set by flags.
pub(super) fn law_words(matches: &ArgMatches) -> LawWords {
    let targets = matches.get_many::<String>("allow-target").into_iter().flatten();
    let most = LIMITS.iter().map(|limit| limit.name);
    LawWords {
        allow_target: targets.cloned().collect(),
        most: most.filter_map(|name| Some((name, word(matches, name)?.clone()))).collect(),
    }
}

fn word<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a String> {
    matches.get_one(name)
}

fn path(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    matches.get_one::<PathBuf>(name).cloned()
}
