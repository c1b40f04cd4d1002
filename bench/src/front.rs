//! The common part of all bare clients: command line, start-up, end and output. Each client
//! implements its own way of sending and receiving.
#![allow(clippy::print_stdout, clippy::print_stderr)] // The end of a program talks to its user.

use crate::pattern::{Pattern, Shape};
use crate::{peer, usage};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The number of turns of the loop per reading of the clock, which checks whether the time is over.
const TURNS_PER_LOOK: u32 = 256;

/// A client that only makes the system calls.
pub trait Client {
    /// Sends the first window on every connection.
    ///
    /// # Errors
    /// If a connection fails.
    fn send_first(&mut self) -> io::Result<()>;

    /// Waits once, at most 100 ms, and serves all ready connections; returns their number.
    ///
    /// # Errors
    /// If a connection fails.
    fn turn(&mut self) -> io::Result<usize>;

    /// The number of complete replies.
    fn ops(&self) -> u64;
}

/// The command line of a bare client called `name`.
pub fn command(name: &'static str) -> Command {
    Command::new(name)
        .about("The floor of what a memcached client costs: sends, counts bytes, sends again")
        .arg(server())
        .arg(positive("connections", "16", "Connections"))
        .arg(positive("depth", "1", "Outstanding requests per connection"))
        .arg(positive("keys", "1000", "Distinct keys, stored before the run"))
        .arg(
            number("key-bytes", "30", "Bytes of each key")
                .value_parser(value_parser!(u32).range(14..=250)),
        )
        .arg(
            number("value-bytes", "200", "Bytes of each value")
                .value_parser(value_parser!(u32).range(0..=1_000_000)),
        )
        .arg(number("set-every", "10", "One request in N is a set; 0 sends gets only"))
        .arg(positive("multiget", "1", "Keys that each get asks for"))
        .arg(number("ops", "0", "Stop after N operations; 0 for no such limit"))
        .arg(positive("seconds", "10", "Stop after N seconds"))
        .arg(
            Arg::new("whole-batches")
                .long("whole-batches")
                .action(ArgAction::SetTrue)
                .help("Send on a connection only when all that was sent is answered"),
        )
}

/// The option of the server's address.
pub fn server() -> Arg {
    Arg::new("server")
        .short('s')
        .long("server")
        .value_name("ADDRESS")
        .default_value("127.0.0.1:11211")
        .value_parser(value_parser!(SocketAddr))
        .help("An IP address and port")
}

/// The address of the server.
pub fn server_of(words: &ArgMatches) -> SocketAddr {
    *words.get_one("server").expect("the server has a default")
}

/// The value of an option of [`positive`].
pub fn number_of(words: &ArgMatches, name: &str) -> u32 {
    *words.get_one(name).expect("every number has a default")
}

fn number(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("N")
        .default_value(default)
        .value_parser(value_parser!(u32).range(0..))
        .help(help)
}

/// An option of at least 1.
pub fn positive(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    number(name, default, help).value_parser(value_parser!(u32).range(1..=10_000_000))
}

/// The requests that `words` describe.
pub fn pattern_of(words: &ArgMatches) -> Pattern {
    let number = |name: &str| number_of(words, name) as usize;
    Pattern::new(Shape {
        keys: number("keys"),
        key_bytes: number("key-bytes"),
        value_bytes: number("value-bytes"),
        set_every: number("set-every"),
        keys_per_get: number("multiget"),
        depth: number("depth"),
        whole_batches: words.get_flag("whole-batches"),
    })
}

/// Fills the server, runs a client as `words` say, and returns its figures as a line of JSON. `new`
/// makes the client over open connections, which are non-blocking and without Nagle's delay.
///
/// # Errors
/// If the server cannot be reached or a connection fails.
pub fn run<C: Client>(
    words: &ArgMatches,
    new: impl FnOnce(Pattern, Vec<TcpStream>) -> io::Result<C>,
) -> io::Result<String> {
    let (server, pattern) = (server_of(words), pattern_of(words));
    let unreachable = |error: io::Error| io::Error::new(error.kind(), format!("{server}: {error}"));
    peer::fill(server, &pattern).map_err(unreachable)?;
    let connections = number_of(words, "connections") as usize;
    let streams = peer::connect(server, connections).map_err(unreachable)?;
    drive(new(pattern, streams)?, words)
}

/// Runs a client until it has done what `words` say; returns its figures as a line of JSON.
///
/// # Errors
/// If a connection fails.
pub fn drive(mut client: impl Client, words: &ArgMatches) -> io::Result<String> {
    let ops_max = match number_of(words, "ops") {
        0 => u64::MAX,
        ops => u64::from(ops),
    };
    let time_max = Duration::from_secs(u64::from(number_of(words, "seconds")));
    let cpu_before = usage::Cpu::used();
    let began = Instant::now();
    client.send_first()?;
    let mut turns = 0u32;
    while client.ops() < ops_max {
        let events = client.turn()?;
        turns = turns.wrapping_add(1);
        let look = events == 0 || turns.is_multiple_of(TURNS_PER_LOOK);
        if look && began.elapsed() >= time_max {
            break;
        }
    }
    Ok(figures("ops", client.ops(), (began, cpu_before)))
}

/// A line of JSON: the `count` of what is called `name`, and the use of resources since then.
pub fn figures(name: &str, count: u64, (began, before): (Instant, usage::Cpu)) -> String {
    let wall_s = began.elapsed().as_secs_f64();
    let usage::Cpu { user_s, system_s } = usage::Cpu::used().since(before);
    let rss = usage::rss_max_bytes().map_or("null".to_owned(), |bytes| bytes.to_string());
    format!(
        "{{\"{name}\":{count},\"wall_s\":{wall_s:.6},\"cpu_user_s\":{user_s:.6},\
         \"cpu_system_s\":{system_s:.6},\"rss_max_bytes\":{rss}}}"
    )
}

/// Prints what the program `name` has found, or why it failed.
pub fn exit(name: &str, outcome: io::Result<String>) -> ExitCode {
    match outcome {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::from(3)
        }
    }
}
