//! `memtide agent status` and `records`: what agents are doing, and the records that they keep.

use clap::ArgMatches;
use memtide_base::printable::printable;
use memtide_base::units::parse_span;
use memtide_cluster::fetching::{Fetching, hellos};
use memtide_cluster::files::{self, Kept};
use memtide_cluster::message::Hello;
use memtide_cluster::transport::MasterNet;
use memtide_host::clock::monotonic_ns;
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use memtide_scenario::AgentsWord;
use memtide_session::cluster::own_key;
use memtide_session::console::{say, show};
use memtide_session::exit::{FAILED, INTERRUPTED, Stop, UNREACHABLE, caught, unwritable};
use std::path::PathBuf;
use std::time::Duration;

/// Longest time that an agent may take to report its state.
const STATUS_MAX: Duration = Duration::from_secs(5);

/// `memtide agent status`.
pub(super) fn status(matches: &ArgMatches) -> Result<u8, Stop> {
    let words: Vec<&str> =
        matches.get_many::<String>("agent").into_iter().flatten().map(String::as_str).collect();
    let AgentsWord::Listed(addresses) = parsed(&words.join(","))? else {
        return Err(Stop::usage("agent status needs the addresses of agents, such as lab1:11299"));
    };
    let net = open(matches, None, addresses.clone())?;
    let found = hellos(&net, &addresses, STATUS_MAX);
    let mut code = 0;
    let mut text = String::new();
    for address in &addresses {
        let (line, its_code) = line_of(found.get(address));
        text += &format!("{address}  {line}\n");
        code = code.max(its_code);
    }
    show(&text).map_err(|error| unwritable("stdout", &error))?;
    Ok(code)
}

/// The line about an agent, and the exit code that follows.
fn line_of(found: Option<&Result<Hello, String>>) -> (String, u8) {
    match found {
        None => ("no answer".to_owned(), UNREACHABLE),
        Some(Err(why)) => (why.clone(), UNREACHABLE),
        Some(Ok(hello)) => {
            let facts = format!(
                "{}, memtide {}, {} CPUs, {} records kept",
                printable(&hello.name, 64),
                printable(&hello.version, 64),
                hello.cpus,
                hello.kept.len()
            );
            match hello.busy_since_unix_s {
                Some(since) => (format!("busy since @{since}: {facts}"), FAILED),
                None => (format!("free: {facts}"), 0),
            }
        }
    }
}

/// `memtide agent records`.
pub(super) fn fetch(matches: &ArgMatches) -> Result<u8, Stop> {
    let which = parsed(matches.get_one::<String>("agents").map_or("", String::as_str))?;
    let expect = matches.get_one::<String>("expect").map_or("30s", String::as_str);
    let expect = parse_span(expect).map_err(|error| Stop::usage(format!("--expect: {error}")))?;
    let folder = matches.get_one::<PathBuf>("folder").cloned().unwrap_or_default();
    let folder = Kept::open(&folder).map_err(Stop::usage)?;
    let (wanted, dial) = match &which {
        AgentsWord::Count(count) => (*count as usize, Vec::new()),
        AgentsWord::Listed(all) => (all.len(), all.clone()),
    };
    let net = open(matches, matches!(which, AgentsWord::Count(_)).then_some(()), dial)?;
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED)))?;
    let mut fetching = Fetching::new(&net, folder, &tell);
    if !fetching.run(wanted, Duration::from_nanos(expect.ns()), || stop.is_raised()) {
        return Ok(INTERRUPTED);
    }
    let (written, done) = (fetching.written, fetching.done());
    drop(show(&format!("fetched {written} records of {done} agents\n")));
    Ok(match fetching.is_whole() {
        _ if done < wanted => UNREACHABLE,
        true => 0,
        false => FAILED,
    })
}

fn tell(sentence: &str) {
    say(&format!("memtide: {sentence}"));
}

/// The network side of a master that only queries agents.
fn open(matches: &ArgMatches, waits: Option<()>, dial: Vec<String>) -> Result<MasterNet, Stop> {
    machine::hide_process().map_err(Stop::usage)?;
    let folder = match matches.get_one::<PathBuf>("key") {
        Some(folder) => folder.clone(),
        None => own_key()?,
    };
    let key = files::read_identity(&folder).map_err(Stop::usage)?;
    let listen = waits.map(|()| &*key.bind);
    let net = MasterNet::start(&key.identity, key.join.token.clone(), listen, dial, monotonic_ns);
    net.map_err(Stop::usage)
}

fn parsed(word: &str) -> Result<AgentsWord, Stop> {
    word.parse().map_err(Stop::usage)
}
