//! `memtide serve`: the embedded server by itself.

use crate::exit::{INTERRUPTED, Stop};
use crate::output::say;
use clap::ArgMatches;
use memtide_host::signal::StopFlag;
use memtide_host::{ServeOptions, Serving, machine};
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;

/// How often it looks whether it should end.
const LOOK_UP: Duration = Duration::from_millis(50);

pub(crate) fn serve(matches: &ArgMatches) -> Result<u8, Stop> {
    let listen = *matches.get_one::<IpAddr>("listen").expect("it has a default");
    let port = *matches.get_one::<u16>("port").expect("it has a default");
    let options = ServeOptions {
        listen: SocketAddr::new(listen, port),
        threads: usize::from(*matches.get_one::<u16>("threads").expect("it has a default")),
        memory_bytes_max: *matches.get_one::<u64>("memory").expect("it has a default"),
        item_bytes_max: *matches.get_one::<u64>("item-max").expect("it has a default") as usize,
    };
    machine::raise_file_limit();
    let stop = StopFlag::on_signals(i32::from(INTERRUPTED))
        .map_err(|error| Stop::usage(format!("signals cannot be caught: {error}")))?;
    let serving = start(&options)?;
    say(&format!("memtide serves memcached's text protocol at {}", serving.address()));
    while !stop.is_raised() {
        thread::sleep(LOOK_UP);
    }
    Ok(0)
}

/// Starts the server, or says why it cannot listen there.
pub(crate) fn start(options: &ServeOptions) -> Result<Serving, Stop> {
    Serving::start(options).map_err(|error| {
        Stop::usage(format!(
            "the embedded server cannot listen on {}: {error}; choose another --port or --listen",
            options.listen
        ))
    })
}
