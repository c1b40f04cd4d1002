//! `memtide serve`: the embedded server by itself.

use clap::ArgMatches;
use memtide_base::units::format_bytes;
use memtide_host::signal::StopFlag;
use memtide_host::{ServeOptions, machine, memory};
use memtide_scenario::Tls;
use memtide_server::{Behaviour, Faults, ServerProfile};
use memtide_session::console::say;
use memtide_session::exit::{INTERRUPTED, Stop, caught};
use memtide_session::world::embedded::start;
use memtide_session::world::tls::secured;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;

/// Period at which the server checks whether it should end.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Serves until interrupted.
pub(crate) fn serve(matches: &ArgMatches) -> Result<u8, Stop> {
    let listen = *matches.get_one::<IpAddr>("listen").expect("it has a default");
    let port = *matches.get_one::<u16>("port").expect("it has a default");
    let tls = tls_of(matches);
    let (filter, published) = secured(&tls, listen)?;
    let options = ServeOptions {
        listen: SocketAddr::new(listen, port),
        udp: matches.get_flag("udp"),
        threads: usize::from(*matches.get_one::<u16>("threads").expect("it has a default")),
        memory_bytes_max: *matches.get_one::<u64>("memory").expect("it has a default"),
        item_bytes_max: *matches.get_one::<u64>("item-max").expect("it has a default") as usize,
        filter,
    };
    check_faults(matches, options.udp, "serve with --udp")?;
    if let Some(available) = memory::available()
        && options.memory_bytes_max > available.bytes
    {
        say(&format!(
            "memtide: --memory {} is more than the {} that are {}, so a full server may run out of \
             memory",
            format_bytes(options.memory_bytes_max),
            format_bytes(available.bytes),
            available.by
        ));
    }
    machine::raise_file_limit();
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED)))?;
    let profile = profile(matches, *matches.get_one::<u64>("seed").expect("it has a default"));
    let manner = manner(&profile);
    let serving = start(&options, profile)?;
    let udp = if options.udp { ", over TCP and UDP" } else { "" };
    let over = if tls.on { " over TLS" } else { "" };
    let address = serving.address();
    say(&format!("memtide serves memcached's text protocol{over} at {address}{udp}{manner}"));
    if let Some(published) = &published {
        say(&format!("memtide: the server's certificate is in {}", published.path()));
    }
    while !stop.is_raised() {
        thread::sleep(LOOK_UP);
    }
    Ok(0)
}

/// The TLS that the flags describe.
fn tls_of(matches: &ArgMatches) -> Tls {
    let [ca, cert, key] =
        ["tls-ca", "tls-cert", "tls-key"].map(|name| matches.get_one(name).cloned());
    Tls {
        on: matches.get_flag("tls"),
        ca,
        cert,
        key,
        min: *matches.get_one("tls-min").expect("it has a default"),
        ..Tls::default()
    }
}

/// The profile that the flags describe.
pub(crate) fn profile(matches: &ArgMatches, seed: u64) -> ServerProfile {
    ServerProfile {
        behaviour: matches.get_one::<Behaviour>("behaviour").expect("it has a default").clone(),
        faults: matches.get_one::<Faults>("fault").expect("it has a default").clone(),
        seed,
    }
}

/// Checks that the requested faults can happen at all; `remedy` says how they could.
pub(crate) fn check_faults(
    matches: &ArgMatches,
    datagrams: bool,
    remedy: &str,
) -> Result<(), Stop> {
    let faults = matches.get_one::<Faults>("fault").expect("it has a default");
    match faults.of_datagrams().filter(|_| !datagrams) {
        Some(kind) => Err(Stop::usage(format!(
            "--fault {}: this fault affects datagrams only, and TCP has none; {remedy}, or leave \
             the fault out",
            kind.word()
        ))),
        None => Ok(()),
    }
}

/// Describes a server that is not an ordinary one.
fn manner(profile: &ServerProfile) -> String {
    let ServerProfile { behaviour, faults, seed } = profile;
    match profile.is_plain() {
        true => String::new(),
        false => format!(", behaviour {behaviour}, faults {faults}, seed {seed}"),
    }
}
