//! The command line, made from the schema's table of fields: the flags, their help, and what they
//! say as a layer.

mod steps;

use crate::exit::Stop;
use crate::output::NOTES;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use memtide_base::units;
use memtide_compat::Mcperf;
use memtide_schema::{FIELDS, Field, Layer, Origin, Settings, from_toml};
use memtide_server::{Behaviour, Faults};
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::PathBuf;

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("memtide")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Loads and measures memcached, and says how far the numbers can be believed")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args_override_self(true)
        .subcommand(scenario_command(
            "run",
            "Makes load and reports what came of it",
            "Makes load and reports what came of it. Without a server it brings its own: a first \
             run needs no configuration.",
        ))
        .subcommand(scenario_command(
            "load",
            "Only fills the servers with the scenario's keys",
            "Only fills the servers with the scenario's keys, whatever they hold. It takes the \
             same fields as run; --load is always here.",
        ))
        .subcommand(steps::search_command())
        .subcommand(steps::scan_command())
        .subcommand(merge_command())
        .subcommand(sim_command())
        .subcommand(serve_command())
        .subcommands(faces())
        .subcommand(install_command())
        .subcommands(documents())
}

/// What is made of this description itself.
#[cfg(feature = "documents")]
fn documents() -> [Command; 2] {
    let shell = Arg::new("shell")
        .required(true)
        .value_name("SHELL")
        .value_parser(value_parser!(clap_complete::Shell))
        .help("Which shell");
    [
        Command::new("completions").about("Prints shell completions").arg(shell),
        Command::new("man").about("Prints the manual page"),
    ]
}

/// A program that was built without documents has no commands for them.
#[cfg(not(feature = "documents"))]
fn documents() -> [Command; 0] {
    []
}

const EXIT_CODES: &str = "Exit codes: 0 done and goals met · 1 a goal was missed, a fill did not \
fit or an output could not be written · 2 usage · 3 a server cannot be reached or was lost · 4 \
not believable (with --strict) · 130 interrupted (the partial result is still shown)";

fn scenario_command(name: &'static str, about: &'static str, long: &'static str) -> Command {
    let file = Arg::new(SCENARIO_FILE)
        .value_name("SCENARIO.toml")
        .help("A file with fields as keys, - for stdin; the environment and flags beat it");
    FIELDS.iter().fold(
        Command::new(name).about(about).long_about(long).after_help(EXIT_CODES).arg(file),
        |command, field| command.arg(flag(field)),
    )
}

const SCENARIO_FILE: &str = "scenario-file";
/// The longest scenario file; a table of sizes may be long.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

fn flag(field: &'static Field) -> Arg {
    let mut arg = Arg::new(field.name)
        .long(field.name)
        .help(help(field))
        .long_help(format!("{}\n\n[default: {}]", field.long, field.default))
        .help_heading(field.section.title());
    if let Some(short) = field.short {
        arg = arg.short(short);
    }
    match field.value {
        // A value can take back what a file or the environment switches on.
        None => arg
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL"),
        Some(value) => {
            let action = if field.many { ArgAction::Append } else { ArgAction::Set };
            arg.action(action).value_name(value).allow_hyphen_values(true)
        }
    }
}

fn help(field: &Field) -> String {
    match field.value {
        None => field.help.to_owned(),
        Some(_) => format!("{} [default: {}]", field.help, field.default),
    }
}

/// What file, environment and flags together say. Each field is right by itself; whether they fit
/// together is not looked at.
pub(crate) fn settings(matches: &ArgMatches) -> Result<Settings, Stop> {
    let mut settings = Settings::default();
    if let Some(path) = matches.get_one::<String>(SCENARIO_FILE) {
        let name = if path == "-" { "stdin" } else { path };
        let text = read_file(path).map_err(|error| {
            Stop::usage(format!("scenario file '{name}' cannot be read: {error}"))
        })?;
        settings.apply(&from_toml(&text, name)?)?;
    }
    let fields = std::env::vars_os().filter(|(name, _)| !FACES_OWN.iter().any(|own| name == own));
    settings.apply(&Layer::from_environment(fields)?)?;
    settings.apply(&flag_layer(matches))?;
    match settings.outputs.plot.is_some() {
        true => check_pictures("--plot").map(|()| settings),
        false => Ok(settings),
    }
}

/// Whether this program can draw the pictures that `flag` asks for.
pub(crate) fn check_pictures(flag: &str) -> Result<(), Stop> {
    match cfg!(feature = "plot") {
        true => Ok(()),
        false => Err(Stop::usage(format!(
            "{flag}: this program was built without pictures; leave the flag out, or build memtide \
             with the feature plot"
        ))),
    }
}

/// The text of a scenario file; `-` is stdin.
fn read_file(path: &str) -> io::Result<String> {
    let mut text = String::new();
    let read = match path {
        "-" => io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?,
        _ => File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?,
    };
    match read as u64 > FILE_BYTES_MAX {
        true => Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes"))),
        false => Ok(text),
    }
}

/// The variable that says which of three programs `mcperf` is.
pub(crate) const MCPERF: &str = "MEMTIDE_MCPERF";
/// Variables that are no fields of a scenario but for the faces.
const FACES_OWN: [&str; 2] = [NOTES, MCPERF];

fn flag_layer(matches: &ArgMatches) -> Layer {
    let mut layer = Layer::new();
    for field in FIELDS {
        if matches.value_source(field.name) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        let words = matches.get_many::<String>(field.name).into_iter().flatten();
        layer.push(field, words.cloned().collect(), Origin::Flag);
    }
    layer
}

/// The names of the faces: of subcommands, and of links to this program.
pub(crate) const FACES: [&str; 6] =
    ["mutilate", "mcperf", "mcperf-dynamic", "twemperf", "memaslap", "memcaslap"];

/// The faces, for the list of commands alone: their words are read by their own rules.
fn faces() -> impl Iterator<Item = Command> {
    let about = |name: &'static str| match name {
        "mutilate" => "mutilate, with its own options and output",
        "mcperf" => "mcperf 0.3 (memcache-perf), with its own options and output",
        "mcperf-dynamic" => "mcperf with dynamic load, with its own options and output",
        "twemperf" => "twemperf (Twitter's mcperf), with its own options and output",
        "memaslap" => "memaslap of libmemcached, with its own options and output",
        _ => "memaslap under the name that Debian gives it",
    };
    FACES.into_iter().map(move |name| {
        Command::new(name).about(about(name)).disable_help_flag(true).arg(
            Arg::new("words")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("Its own options; --help lists them"),
        )
    })
}

fn install_command() -> Command {
    let which = Arg::new("mcperf")
        .long("mcperf")
        .value_name("WHICH")
        .value_parser(|word: &str| word.parse::<Mcperf>())
        .help("Which program the link mcperf is: dynamic, 0.3 or twemperf")
        .long_help(
            "Which program the link mcperf is: dynamic, 0.3 or twemperf. Without it the command \
             line decides each time: options that only one of them has, 0.3 where all could be \
             meant. The variable MEMTIDE_MCPERF overrides both.",
        );
    Command::new("install-faces")
        .about(
            "Makes links by which scripts find memtide as mutilate, mcperf, twemperf and memaslap",
        )
        .arg(which)
        .arg(
            Arg::new("folder")
                .required(true)
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("The folder for the links, made if need be; put it first in PATH"),
        )
}

fn merge_command() -> Command {
    Command::new("merge")
        .about("Makes one record and one report of the records of several runs")
        .long_about(
            "Makes one record and one report of the records of several runs, as if one run had \
             made them: counts and histograms add up exactly, rates are divided by the union of \
             the measured windows, and goals are judged anew. Merged records can be merged again.",
        )
        .after_help(
            "Exit codes: 0 done and goals met · 1 a goal was missed, a value was wrong or an \
             output could not be written · 2 usage: a file is no record, or the records do not \
             belong together",
        )
        .arg(
            Arg::new("record")
                .required(true)
                .num_args(1..)
                .value_name("FILE")
                .help("Records that memtide run --json wrote"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .value_name("FILE")
                .help("Write the merged record, as JSON; - replaces the report on stdout"),
        )
        .arg(
            Arg::new("force")
                .long("force")
                .action(ArgAction::SetTrue)
                .help("Merge runs of different scenarios all the same"),
        )
}

fn serve_command() -> Command {
    let about = "Runs the embedded server by itself, until it is interrupted";
    let command = Command::new("serve").about(about);
    command.args(serve_place()).args(serve_size()).args(profile()).arg(serve_seed())
}

fn serve_place() -> [Arg; 3] {
    [
        Arg::new("listen")
            .long("listen")
            .value_name("ADDRESS")
            .value_parser(value_parser!(IpAddr))
            .default_value("127.0.0.1")
            .help("The address to listen on; anyone who reaches it can use the server"),
        Arg::new("port")
            .short('p')
            .long("port")
            .value_name("PORT")
            .value_parser(value_parser!(u16))
            .default_value("11211")
            .help("The port to listen on; 0 takes a free one"),
        Arg::new("udp")
            .long("udp")
            .action(ArgAction::SetTrue)
            .help("Answer UDP as well, at the same port"),
    ]
}

fn serve_size() -> [Arg; 3] {
    [
        Arg::new("threads")
            .long("threads")
            .value_name("COUNT")
            .value_parser(value_parser!(u16).range(1..=1024))
            .default_value("1")
            .help("How many threads serve"),
        Arg::new("memory")
            .long("memory")
            .value_name("SIZE")
            .value_parser(some_bytes)
            .default_value("64MiB")
            .help("Memory for items; beyond it the least recently used are evicted"),
        Arg::new("item-max")
            .long("item-max")
            .value_name("SIZE")
            .value_parser(some_bytes)
            .default_value("1MiB")
            .help("The largest item that is stored"),
    ]
}

/// A size above 0: a server that may keep nothing serves nothing.
fn some_bytes(word: &str) -> Result<u64, String> {
    match units::parse_size(word) {
        Ok(0) => Err("0 is not allowed; at least 1 byte".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

/// `memtide sim`: a scenario's fields, and the world that it is played in.
fn sim_command() -> Command {
    let about = "Rehearses a scenario in virtual time, against servers made of nothing";
    let long = "Rehearses a scenario in virtual time: the same engine and controller, but a \
         clock, a network and servers made of nothing. The same seed gives the same trace, whose \
         hash is printed at the end.";
    scenario_command("sim", about, long).args(profile()).args(world())
}

/// The network of a simulation, and what is told of it.
fn world() -> [Arg; 4] {
    [
        Arg::new("delay")
            .long("delay")
            .value_name("SPAN")
            .value_parser(|word: &str| units::parse_span(word))
            .default_value("10us")
            .help("How long bytes travel, one way"),
        Arg::new("loss")
            .long("loss")
            .value_name("FRACTION")
            .value_parser(|word: &str| units::parse_fraction(word))
            .default_value("0")
            .help("The share of writes that are lost: over UDP for good, else to come 200ms late"),
        Arg::new("duplicates")
            .long("duplicates")
            .value_name("FRACTION")
            .value_parser(|word: &str| units::parse_fraction(word))
            .default_value("0")
            .help("The share of datagrams that arrive twice"),
        Arg::new("trace")
            .long("trace")
            .value_name("FILE")
            .help("Where every event goes, line by line; - is stderr"),
    ]
}

/// How a server takes its time, and what it does wrong.
fn profile() -> [Arg; 2] {
    [
        Arg::new("behaviour")
            .long("behaviour")
            .value_name("WORD")
            .value_parser(|word: &str| word.parse::<Behaviour>())
            .default_value("instant")
            .help("When answers leave: instant, or after a time, a queue or a pause")
            .long_help(BEHAVIOUR_HELP),
        Arg::new("fault")
            .long("fault")
            .value_name("LIST")
            .value_parser(|word: &str| word.parse::<Faults>())
            .default_value("none")
            .help("What is done wrong on purpose, such as flip:0.001@get,reset:0.1%")
            .long_help(FAULT_HELP),
    ]
}

fn serve_seed() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("NUMBER")
        .value_parser(value_parser!(u64))
        .default_value("1")
        .help("What the draws of behaviour and faults are made from")
}

const BEHAVIOUR_HELP: &str = "When answers leave. One of these, or several joined by +:

  instant                  at once
  fixed:SPAN               each request takes so long, by itself
  exponential:MEAN         the same with drawn times
  lognormal:MEDIAN,SIGMA   the same; SIGMA is of the natural logarithm
  queue:K,LAW              one queue for the whole server, in which K take
                           requests as they came; LAW is one of the three above
  slowing:PERCENT/s        times grow each second by so many percent of what
                           they were at first: 10us when no law is given
  pause:EVERY,LENGTH       answers due within a pause leave at its end; the
                           first begins EVERY after the start; work goes on
  pause:AT,LENGTH,once     a single pause

For example queue:1,exponential:1ms+pause:2s,500ms. Requests without a key take no time. A thread \
spins shortly before each instant, so give it a processor of its own.";

const FAULT_HELP: &str =
    "What is done wrong on purpose: KIND:RATE[@COMMAND], joined by commas, or \
none. RATE is the share of the requests that this kind can strike, such as 0.001 or 0.1%; \
COMMAND is one that names a key; every get of the binary protocol is a gets, since its answer \
holds a CAS. At most one fault strikes a request, the first of the list. The command 'stats \
faults' tells how often each was done.

  reset          the connection is reset in place of the answer
  stall          nothing is answered on the connection from here on
  refuse         a new connection is reset at once; takes no COMMAND
  truncate       a value lacks its end
  flip           a bit of a value is wrong
  other-key      a key is answered with another key's value
  stale          a key is answered with its value before the present one, which
                 must be 100ms old
  expire-early   a value that is there is answered as a miss
  expire-late    a value that has just expired is answered
  server-error   SERVER_ERROR in place of the answer
  garbage        a line that is no answer in place of the answer

These strike datagrams of answers, of which RATE is the share (with --udp):

  udp-loss       a datagram does not leave
  udp-duplicate  a datagram leaves twice
  udp-disorder   a datagram leaves after the one that should follow it
  udp-late       a datagram leaves after the next answer to the same client

What was asked is done all the same: a fault changes what the client is told, never what the \
server holds.";
