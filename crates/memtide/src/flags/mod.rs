//! The command line, made from the table of fields: flags, help, and parsing into a layer.

mod steps;
mod ab;
#[cfg(feature = "cluster")]
mod cluster;
mod help;

pub(crate) use help::Length;

use crate::output::{NOTES, note_cut_keys};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use help::{Page, with_help};
use memtide_base::units;
use memtide_compat::Mcperf;
use memtide_scenario::{FIELDS, Field, Layer, Origin, Settings, TlsVersion, field, from_toml};
use memtide_server::{Behaviour, Faults};
use memtide_session::exit::Stop;
use memtide_session::{FloorMode, Floors};
use memtide_sinks::check_built;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::PathBuf;

/// Makes a command, with help of this length.
type Make = fn(Length) -> Command;

/// The commands that take every field of a scenario, and therefore much memory.
const OF_SCENARIOS: [(&str, Make); 6] = [
    ("run", run_command),
    ("load", load_command),
    ("search", |length| steps::search_command(length, false)),
    ("scan", |length| steps::scan_command(length, false)),
    ("ab", ab::ab_command),
    ("sim", sim_command),
];

/// The whole command line, with help of this length.
pub(crate) fn command(length: Length) -> Command {
    command_with(length, |_| true)
}

/// What is needed of the whole command line to read these words: of the commands that take every
/// field of a scenario only the one that is named.
pub(crate) fn command_for(words: &[OsString]) -> Command {
    let named = words.get(1).and_then(|word| word.to_str());
    let is_one = OF_SCENARIOS.iter().any(|(name, _)| named == Some(name));
    command_with(Length::of(words.iter().cloned()), |name| !is_one || named == Some(name))
}

fn command_with(length: Length, includes: impl Fn(&str) -> bool) -> Command {
    let [run, load, search, scan, ab, sim] =
        OF_SCENARIOS.map(|(name, make)| includes(name).then(|| make(length)));
    Command::new("memtide")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Load generator for memcached that reports how far its numbers can be trusted")
        .after_help(help::BEGINNING)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args_override_self(true)
        .subcommands([run, load, search, scan, ab].into_iter().flatten())
        .subcommand(merge_command())
        .subcommand(report_command())
        .subcommand(compare_command())
        .subcommands(views())
        .subcommands(sim)
        .subcommand(doctor_command())
        .subcommand(serve_command())
        .subcommands(agents())
        .subcommands(faces())
        .subcommand(install_command())
        .subcommands(documents())
}

/// Commands for runs by agents.
#[cfg(feature = "cluster")]
fn agents() -> [Command; 2] {
    [cluster::agent_command(), cluster::key_command()]
}

/// Without the feature for agents, there are no commands for them.
#[cfg(not(feature = "cluster"))]
fn agents() -> [Command; 0] {
    []
}

/// Commands that generate documents from this description.
#[cfg(feature = "documents")]
fn documents() -> [Command; 2] {
    let shell = argument("shell", "SHELL", "Shell to print completions for")
        .value_parser(value_parser!(clap_complete::Shell));
    [
        Command::new("completions").about("Print shell completions").arg(shell),
        Command::new("man").about("Print the manual page"),
    ]
}

/// Without the feature for documents, there are no commands for them.
#[cfg(not(feature = "documents"))]
fn documents() -> [Command; 0] {
    []
}

/// A flag with a value.
fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// A flag whose value is the path of a file or folder.
fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(name, value, help).value_parser(value_parser!(PathBuf))
}

/// A flag without a value.
fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// An argument that must be given.
fn argument(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).required(true).value_name(value).help(help)
}

/// Meaning of the exit codes of a run.
const EXIT_CODES: [(u8, &str); 6] = [
    (0, "done, and all goals are met"),
    (
        1,
        "a goal was missed or is undecided, a value was wrong, --abort-on ended the run, or an \
         output could not be written",
    ),
    (2, "the command line, environment or scenario is wrong; nothing was sent"),
    (3, "a server cannot be reached, refused the fill, or was lost"),
    (4, "the result is not believable (with --strict)"),
    (130, "interrupted; the partial result is shown and written"),
];

fn run_command(length: Length) -> Command {
    let command = scenario_command(
        "run",
        "Send load to memcached and report response times",
        "Send load to memcached, measure each operation from the moment it was due, and report \
         the response times and whether they can be believed. Without --server, memtide \
         starts an embedded server, so a first run needs no flags.",
    );
    let page = Page {
        usage: "run [OPTIONS] [SCENARIO.toml]",
        example: "memtide run -s cache1:11211 --rate 50k --duration 30s --goal 'get.p99<1ms'",
        exit_codes: &EXIT_CODES,
    };
    with_help(command.args(repeats()).arg(floor("off")), &page, length)
}

/// The floors of a scenario, if the command line or the command's `usual` mode wants them.
///
/// # Errors
/// If a floor is asked for and agents make the load: a floor is that of the machine that makes it.
pub(crate) fn floors(
    matches: &ArgMatches,
    usual: FloorMode,
    settings: &Settings,
) -> Result<Option<Floors>, Stop> {
    let word = matches.try_get_one::<String>("floor").ok().flatten().map(String::as_str);
    let is_by_agents = settings.placement.agents.which.is_some();
    if is_by_agents && word.is_some_and(|word| word != "off") {
        return Err(Stop::usage("floor is not possible with agents: remove --floor"));
    }
    Ok(Floors::new(word, usual, settings).filter(|_| !is_by_agents))
}

/// The flag for the floor of a load, which is `usual` without it.
fn floor(usual: &'static str) -> Arg {
    option("floor", "WORD", "Measure memtide's own part: kept, fresh, off")
        .value_parser(PossibleValuesParser::new(FloorMode::WORDS))
        .num_args(0..=1)
        .default_missing_value("kept")
        .help_heading("Trust")
        .long_help(format!(
            "Before the load, measure the response times of one with the same connections, sizes, \
             wait and rate against a server that does next to nothing: the embedded server, or, \
             over a network, the server asked for keys that it does not have. Figures below three \
             times their floor say little of the server. kept: a floor less than an hour old is \
             used again; fresh: it is not. [default: {usual}]"
        ))
}

fn repeats() -> [Arg; 3] {
    let repeat = option("repeat", "COUNT", "Run this often, and report the median of the runs")
        .value_parser(value_parser!(u32).range(2..=1_000))
        .long_help(
            "Each run has connections of its own, or a process (--fresh). The report has the \
             median of the runs with its interval, and the spread between runs beside the error \
             that each knows of itself. One JSON file holds all records.",
        );
    let between =
        option("between", "COMMAND", "Command between two runs, such as a server's restart")
            .requires("repeat")
            .long_help(
                "A shell carries it out. Its output goes to stderr. Repeating ends if it fails.",
            );
    let fresh = option("fresh", "WORD", "What each run has of its own: connections or process")
        .requires("repeat")
        .value_parser(PossibleValuesParser::new(["connections", "process"]))
        .long_help(
            "connections: all runs are made by this process. process: each run is made by a \
             process of its own, whose memory and threads lie elsewhere. [default: connections]",
        );
    [repeat, between, fresh].map(|arg| arg.help_heading("Repeats"))
}

fn load_command(length: Length) -> Command {
    let command = scenario_command(
        "load",
        "Fill the servers with the scenario's keys, and stop",
        "Store the scenario's keys in the servers, even if they already hold items, and stop. \
         It has the flags of memtide run and ignores --load.",
    );
    let page = Page {
        usage: "load [OPTIONS] [SCENARIO.toml]",
        example: "memtide load -s cache1:11211 --keys 1M --value-size 1k",
        exit_codes: &EXIT_CODES,
    };
    with_help(command, &page, length)
}

/// Fields about the length of a single run. Commands of several runs say why they refuse them.
const OF_ONE_RUN: [&str; 2] = ["precision", "at-most"];

fn scenario_command(name: &'static str, about: &'static str, long: &'static str) -> Command {
    let is_single = matches!(name, "run" | "load" | "sim");
    let file = Arg::new(SCENARIO_FILE)
        .value_name("SCENARIO.toml")
        .help("Flags as keys (- for stdin); flags override them");
    // `memtide ab` has a flag of its own by this name, for the whole trial.
    FIELDS.iter().filter(|field| (name, field.name) != ("ab", "at-most")).fold(
        Command::new(name).about(about).long_about(long).arg(file),
        |command, field| {
            let is_unfit = !is_single && OF_ONE_RUN.contains(&field.name);
            command.arg(flag(field).hide(is_unfit))
        },
    )
}

const SCENARIO_FILE: &str = "scenario-file";
/// Largest size of a scenario file in bytes; a table of sizes may be long.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

fn flag(field: &'static Field) -> Arg {
    let mut arg = Arg::new(field.name)
        .long(field.name)
        .help(help(field))
        .long_help(format!("{}. {}\n\n[default: {}]", field.help, field.long, field.default))
        .help_heading(field.section.title());
    if let Some(short) = field.short {
        arg = arg.short(short);
    }
    match field.value {
        // A value of `false` overrides a switch set by a file or the environment.
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

/// Settings of a command that measures this machine's load: without a warm-up, one is found where
/// that is possible.
pub(crate) fn settings_to_measure(matches: &ArgMatches) -> Result<Settings, Stop> {
    let (mut settings, has_warmup) = read(matches)?;
    if !has_warmup {
        settings.scenario.warmup = settings.warmup_by_default();
    }
    Ok(settings)
}

/// Settings from file, environment and flags together. Each field is valid by itself; combinations
/// are not checked.
pub(crate) fn settings(matches: &ArgMatches) -> Result<Settings, Stop> {
    Ok(read(matches)?.0)
}

/// [`settings`], and true if they say how long the warm-up is.
fn read(matches: &ArgMatches) -> Result<(Settings, bool), Stop> {
    let mut settings = Settings::default();
    let mut layers = Vec::new();
    if let Some(path) = matches.get_one::<String>(SCENARIO_FILE) {
        let name = if path == "-" { "stdin" } else { path };
        let text = read_file(path).map_err(|error| {
            Stop::usage(format!("scenario file '{name}' cannot be read: {error}"))
        })?;
        layers.push(from_toml(&text, name)?);
    }
    let fields = std::env::vars_os()
        .filter(|(name, _)| !FACES_OWN.iter().chain(&SECRETS).any(|own| name == own));
    layers.extend([Layer::from_environment(fields)?, flag_layer(matches)]);
    layers.iter().try_for_each(|layer| settings.apply(layer))?;
    if cfg!(not(feature = "cluster")) && settings.placement.agents.which.is_some() {
        return Err(Stop::usage(
            "--agents: this program was built without agents; leave the flag out, or build memtide \
             with the feature cluster",
        ));
    }
    check_built(&settings.outputs)?;
    note_cut_keys(&settings);
    let warmup = field::find("warmup").expect("it is a field");
    Ok((settings, layers.iter().any(|layer| layer.mentions(warmup))))
}

/// Reads the text of a scenario file; `-` is stdin.
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

/// The variable that selects one of three programs called `mcperf`.
pub(crate) const MCPERF: &str = "MEMTIDE_MCPERF";
/// The variable that names the join file of mutilate's agents and masters.
pub(crate) const JOIN: &str = "MEMTIDE_JOIN";
/// Variables that concern only the faces, and are no fields of a scenario.
const FACES_OWN: [&str; 3] = [NOTES, MCPERF, JOIN];
/// Variables with secrets, which are no fields either: nothing prints them.
pub(crate) const SECRETS: [&str; 5] = [
    "MEMTIDE_INFLUX_TOKEN",
    "MEMTIDE_INFLUX_TOKEN_FILE",
    "MEMTIDE_INFLUX_USER",
    "MEMTIDE_INFLUX_PASSWORD",
    "MEMTIDE_INFLUX_PASSWORD_FILE",
];

fn flag_layer(matches: &ArgMatches) -> Layer {
    let mut layer = Layer::new();
    for field in FIELDS {
        // A command may lack a field, or have a flag of its own with that name.
        let Ok(Some(words)) = matches.try_get_many::<String>(field.name) else { continue };
        if matches.value_source(field.name) == Some(clap::parser::ValueSource::CommandLine) {
            layer.push(field, words.cloned().collect(), Origin::Flag);
        }
    }
    layer
}

/// Names of the faces: of subcommands, and of links to this program.
pub(crate) const FACES: [&str; 6] =
    ["mutilate", "mcperf", "mcperf-dynamic", "twemperf", "memaslap", "memcaslap"];

/// The faces, only for the list of commands: they parse their words by their own rules.
fn faces() -> impl Iterator<Item = Command> {
    FACES.into_iter().map(|name| {
        let about = match name {
            "mutilate" => "mutilate: its options and its output",
            "mcperf" => "mcperf 0.3 (memcache-perf): its options and its output",
            "mcperf-dynamic" => "mcperf with dynamic load: its options and its output",
            "twemperf" => "twemperf (Twitter's mcperf): its options and its output",
            "memaslap" => "memaslap of libmemcached: its options and its output",
            _ => "memaslap under its Debian name",
        };
        Command::new(name).about(about).disable_help_flag(true).arg(
            Arg::new("words")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("Options of that program; --help lists them"),
        )
    })
}

fn install_command() -> Command {
    let which = option(
        "mcperf",
        "WHICH",
        "Program that the link mcperf stands for: dynamic, 0.3 or twemperf",
    )
    .value_parser(|word: &str| word.parse::<Mcperf>())
    .long_help(
        "Program that the link mcperf stands for: dynamic, 0.3 or twemperf. By default, the \
         options decide: an option that only one of the three programs has selects that \
         program; otherwise it is 0.3. The variable MEMTIDE_MCPERF overrides both.",
    );
    let command = Command::new("install-faces")
        .about("Create links so that scripts run memtide as mutilate, mcperf, twemperf or memaslap")
        .arg(which)
        .arg(
            argument(
                "folder",
                "DIR",
                "Directory for the links, created if missing; put it first in PATH",
            )
            .value_parser(value_parser!(PathBuf)),
        );
    #[cfg(feature = "cluster")]
    let command = command.args(cluster::install_flags());
    command
}

fn doctor_command() -> Command {
    Command::new("doctor")
        .about("Say what this machine does to measurements, before a campaign")
        .long_about(
            "Look at this machine for 4 s, and at the servers that are named: CPUs, other load, \
             stolen time, how late threads wake up, pauses, the clock, files, io_uring, and the \
             servers' threads and distance. Each fact has its measured effect where that can be \
             had; what spoils runs has its remedy. A run under such conditions would warn of the \
             same.",
        )
        .after_help(
            "Exit codes:\n    0  nothing spoils measurements\n    1  something does\n    2  the \
             command line is wrong\n    3  the name of a server leads nowhere",
        )
        .arg(
            option("server", "HOST[:PORT]", "Server to look at, too; may be repeated")
                .short('s')
                .action(ArgAction::Append),
        )
        .arg(switch("json", "Print the facts as JSON"))
}

fn merge_command() -> Command {
    Command::new("merge")
        .about("Merge the records of several runs into one record and report")
        .long_about(
            "Merge the records of several runs into one record and one report, as if a single run \
             had made them. Counts and histograms add up exactly, rates refer to the time in which \
             at least one run measured, and goals are evaluated again. Merged records can be \
             merged again.\n\nThe records of the shares of one run (memtide run --shard), up to \
             thousands, become the record of the whole run: it names missing shares, compares the \
             servers' counters with what all shares sent, and its rate is that of the time in \
             which all shares measured.",
        )
        .after_help(
            "Exit codes:\n    0  done, and all goals are met\n    1  a goal is not met, a value \
             was wrong, a share is missing, --abort-on ended the load, or an output could not be \
             written\n    2  a file is not a record, or the records do not belong together\n    \
             3  the servers were lost\n    4  the result of shares with --strict is not believable",
        )
        .arg(
            argument(
                "record",
                "PATH",
                "Records that memtide run --json wrote: files, folders or patterns",
            )
            .num_args(1..),
        )
        .arg(
            option(
                "allow-missing",
                "N",
                "Accept that shares are missing; with N, at most this number",
            )
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("4294967295")
            .value_parser(value_parser!(u32)),
        )
        .arg(option(
            "json",
            "FILE",
            "Write the merged record as JSON; - for stdout, in place of the report",
        ))
        .arg(out_argument())
        .args(report_arguments())
        .arg(switch("force", "Merge even if the runs had different scenarios"))
}

/// The flag for outputs of a command that makes them from records.
fn out_argument() -> Arg {
    option(
        "out",
        "KIND=WHERE",
        "Write an output, such as md=run.md; repeat it for more (see memtide run)",
    )
    .action(ArgAction::Append)
}

/// The flags that say how much of a report is printed.
fn report_arguments() -> [Arg; 2] {
    ["full", "explain"].map(|name| flag(field::find(name).expect("it is a field")))
}

fn report_command() -> Command {
    Command::new("report")
        .about("Show the report of a record again, or make outputs of it")
        .long_about(
            "Show the report of a record that memtide run --json wrote, or of the steps of a \
             search or scan, and write the outputs of --out. It measures and judges nothing \
             again. Samples cannot be made this way, because a record has no single operations.",
        )
        .after_help(
            "Exit codes:\n    0  done\n    1  an output could not be written\n    \
             2  a file is not a record, or an output is not allowed",
        )
        .arg(
            Arg::new("record")
                .required_unless_present("from-spool")
                .num_args(1..)
                .value_name("RECORD")
                .help("Files that --json wrote; with --out, a single one"),
        )
        .arg(
            path("from-spool", "DIR", "Deliver the points that --spool kept to --out influx=URL")
                .conflicts_with("record")
                .requires("out"),
        )
        .arg(out_argument())
        .args(report_arguments())
}

/// Commands that serve pages to browsers.
#[cfg(feature = "web")]
fn views() -> [Command; 1] {
    [view_command()]
}

/// Without a server there is no such command.
#[cfg(not(feature = "web"))]
fn views() -> [Command; 0] {
    []
}

#[cfg(feature = "web")]
fn view_command() -> Command {
    Command::new("view")
        .about("Show kept records in a browser")
        .long_about(
            "Serve the page of each record that memtide --json wrote, of a run, a search or a \
             scan; of several runs also the page that compares them, and of several shares of one \
             run the page of that run. The address is printed on stderr; Ctrl-C ends it. It \
             measures nothing and writes no file.\n\n\
             Examples:\n  memtide view before.json after.json\n  memtide view shares/",
        )
        .after_help(
            "Exit codes:\n    0  done\n    \
             2  a file is not a record, or the address cannot be used",
        )
        .arg(
            Arg::new("record")
                .required(true)
                .num_args(1..)
                .value_name("RECORD")
                .help("Files that --json wrote; a folder means its *.json"),
        )
        .arg(option(
            "web",
            "ADDRESS",
            "Where to serve: PORT or ADDRESS:PORT, with /PATH; default a free port of 127.0.0.1",
        ))
}

fn compare_command() -> Command {
    Command::new("compare")
        .about("Compare the records of runs with the first of them")
        .long_about(
            "Compare records that memtide run --json or memtide merge wrote: first the differences \
             in result, version, machine, servers and scenario, then each figure with its ratio to \
             that of the first record. The comparison is marked unlike if the runs differ in more \
             than their servers.\n\nA rule of --fail-on names a figure as a goal does. A limit \
             with a sign applies to the change since the first record: all.p99>+5%, rate<-1k. A \
             limit without a sign applies to the figure itself: errors>0.1%. A rule fails if the \
             runs establish it, or if its figure is missing.\n\nOne run each cannot tell a small \
             difference from chance. Two groups of runs can: write -- between them, after all \
             flags.\n\n\
             Examples:\n  memtide compare before.json after.json --fail-on 'all.p99>+5%'\n  \
             memtide compare before*.json -- after*.json",
        )
        .after_help(
            "Exit codes:\n    0  done, and no rule failed\n    \
             1  a rule failed, or an output could not be written\n    \
             2  a file is not a record, or a rule or an output is not allowed",
        )
        .arg(
            argument(
                "record",
                "RECORD",
                "Records that --json wrote; each is compared with the first",
            )
            .num_args(1..),
        )
        .arg(
            Arg::new("others")
                .value_name("OTHERS")
                .num_args(1..)
                .last(true)
                .help("Records of the second group, after --; the first group is before it"),
        )
        .args(ab::compared())
        .arg(
            option("drift", "FRACTION", "What the machine may have changed between two groups")
                .value_parser(|word: &str| units::parse_fraction(word))
                .default_value("5%")
                .long_help(
                    "Two groups that were measured one after the other differ also by what the \
                     machine did meanwhile. A rule fails only if the change is beyond its limit by \
                     this part of A's figure. Groups whose runs alternate have no such allowance.",
                ),
        )
        .args(ab::rules())
        .arg(
            out_argument()
                .help("Write the comparison, as md=, html= or json=FILE; repeat it for more"),
        )
}

fn serve_command() -> Command {
    let about = "Run the embedded server alone, until interrupted";
    let command = Command::new("serve").about(about);
    command
        .args(serve_place())
        .args(serve_tls())
        .args(serve_size())
        .args(profile())
        .arg(serve_seed())
}

fn serve_place() -> [Arg; 3] {
    [
        option("listen", "ADDRESS", "Address to listen on; there is no access control")
            .value_parser(value_parser!(IpAddr))
            .default_value("127.0.0.1"),
        option("port", "PORT", "Port to listen on; 0 chooses a free one")
            .short('p')
            .value_parser(value_parser!(u16))
            .default_value("11211"),
        switch("udp", "Serve UDP too, on the same port"),
    ]
}

fn serve_tls() -> [Arg; 5] {
    [
        switch("tls", "Speak TLS, with a new certificate unless one is given"),
        option("tls-cert", "FILE", "Certificate with its chain, as a PEM file")
            .requires("tls")
            .requires("tls-key"),
        option("tls-key", "FILE", "Private key of --tls-cert, as a PEM file").requires("tls-cert"),
        option("tls-ca", "FILE", "Take only clients with a certificate of these CAs (a PEM file)")
            .requires("tls"),
        option("tls-min", "VERSION", "Oldest version of TLS: 1.2 or 1.3")
            .value_parser(|word: &str| word.parse::<TlsVersion>())
            .default_value("1.2"),
    ]
}

fn serve_size() -> [Arg; 3] {
    [
        option("threads", "COUNT", "Server threads")
            .value_parser(value_parser!(u16).range(1..=1024))
            .default_value("1"),
        option(
            "memory",
            "SIZE",
            "Memory for items; when it is full, the least recently used are evicted",
        )
        .value_parser(some_bytes)
        .default_value("64MiB"),
        option("item-max", "SIZE", "Largest item to store")
            .value_parser(some_bytes)
            .default_value("1MiB"),
    ]
}

/// Parses a size above 0: a server without memory can serve nothing.
fn some_bytes(word: &str) -> Result<u64, String> {
    match units::parse_size(word) {
        Ok(0) => Err("0 is not allowed; at least 1 byte".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

/// `memtide sim`: a scenario's fields, and the simulated world; and a search or a scan in it.
fn sim_command(length: Length) -> Command {
    let about = "Simulate a scenario in virtual time, with simulated servers";
    let long = "Simulate a scenario: the same engine with a virtual clock, network and servers. \
         The same seed gives the same trace, whose hash is printed at the end.";
    let page = Page {
        usage: "sim [search|scan] [OPTIONS] [SCENARIO.toml]",
        example: "memtide sim --rate 700 --behaviour queue:1,exponential:1ms --duration 1h",
        exit_codes: &EXIT_CODES,
    };
    with_help(scenario_command("sim", about, long).args(simulation()), &page, length)
        .subcommand(steps::search_command(length, true))
        .subcommand(steps::scan_command(length, true))
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}

/// Flags for the simulated world.
fn simulation() -> Vec<Arg> {
    let all = profile().into_iter().chain(world());
    all.map(|arg| arg.help_heading("Simulation")).collect()
}

/// Flags for a simulation's network and its trace.
fn world() -> [Arg; 4] {
    [
        option("delay", "SPAN", "Network delay, one way")
            .value_parser(|word: &str| units::parse_span(word))
            .default_value("10us"),
        option("loss", "FRACTION", "Fraction of writes lost; over TCP: 200ms late")
            .value_parser(|word: &str| units::parse_fraction(word))
            .default_value("0"),
        option("duplicates", "FRACTION", "Fraction of datagrams that arrive twice")
            .value_parser(|word: &str| units::parse_fraction(word))
            .default_value("0"),
        option("trace", "FILE", "Write every event, one per line; - for stderr"),
    ]
}

/// Flags for a server's service times and faults.
fn profile() -> [Arg; 2] {
    [
        option("behaviour", "WORD", "When replies leave: after a delay, queue or pause")
            .value_parser(|word: &str| word.parse::<Behaviour>())
            .default_value("instant")
            .long_help(BEHAVIOUR_HELP),
        option("fault", "LIST", "Faults, such as flip:0.001@get,reset:1%")
            .value_parser(|word: &str| word.parse::<Faults>())
            .default_value("none")
            .long_help(FAULT_HELP),
    ]
}

fn serve_seed() -> Arg {
    option("seed", "NUMBER", "Seed of behaviour and faults")
        .value_parser(value_parser!(u64))
        .default_value("1")
}

const BEHAVIOUR_HELP: &str = "When the server sends its replies. One of these, or several joined \
by +:

  instant                  at once
  fixed:SPAN               every request takes SPAN, independently of others
  exponential:MEAN         every request takes an exponential time
  lognormal:MEDIAN,SIGMA   every request takes a log-normal time; SIGMA is
                           that of the natural logarithm
  queue:K,LAW              one queue for the whole server, with K requests in
                           service at a time; LAW is one of the three above
  slowing:PERCENT/s        service times grow by PERCENT of the initial ones
                           per second; without a LAW they start at 10us
  warming:PERCENT,SPAN     service times begin PERCENT above those of the LAW;
                           the excess falls to 37 % in each SPAN
  pause:EVERY,LENGTH       replies due in a pause leave at its end; the first
                           pause begins EVERY after the start; work continues
  pause:AT,LENGTH,once     a single pause

Example: queue:1,exponential:1ms+pause:2s,500ms. Requests without a key take no time. A thread \
spins shortly before each reply is due, so give it its own CPU.";

const FAULT_HELP: &str = "Faults to inject: none, or a comma list of KIND:RATE[@COMMAND]. RATE is \
the fraction of the requests that a fault can affect, such as 0.001 or 0.1%. COMMAND restricts \
it to one command that names a key; every get of the binary protocol counts as gets, because its \
reply holds a CAS. At most one fault affects a request: the first in the list. The command \
'stats faults' returns the count of each.

  reset          reset the connection in place of the reply
  stall          send nothing more on the connection
  refuse         reset a new connection at once; takes no COMMAND
  truncate       cut off the end of a value
  flip           flip a bit of a value
  other-key      return another key's value
  stale          return the key's previous value, which must be 100ms old
  expire-early   reply with a miss to a key that exists
  expire-late    return a value that has just expired
  server-error   reply with SERVER_ERROR
  garbage        reply with a line that is not part of the protocol

These affect datagrams of replies (with --udp):

  udp-loss       do not send a datagram
  udp-duplicate  send a datagram twice
  udp-disorder   send a datagram after the next one
  udp-late       send a datagram after the next reply to the same client

The request is executed all the same: a fault changes what the client receives, not what the \
server holds.";
