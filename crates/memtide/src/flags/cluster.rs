//! The commands about agents: their flags and help.

use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;

/// Largest number of shares of one run that an agent takes.
const SHARES_MAX: i64 = 1024;

/// The exit codes of an agent.
const AGENT_CODES: &str = "Exit codes:\n    0  ended by a signal, or with --once after the runs of \
                           one master\n    2  a flag or the join file is wrong, or the address \
                           is taken";

/// `memtide key`.
pub(super) fn key_command() -> Command {
    let folder = Arg::new("folder")
        .required(true)
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Folder for the key and the join file; it must not hold any yet");
    let address = Arg::new("address")
        .long("address")
        .value_name("HOST:PORT")
        .default_value("127.0.0.1:11298")
        .help("Where agents reach the master; it is in the join file");
    let bind = Arg::new("bind").long("bind").value_name("IP:PORT").help(
        "Where the master waits, if that is not its address, as behind NAT [default: --address]",
    );
    let new = Command::new("new")
        .about("Make a master's key, and the join file of its agents")
        .long_about(
            "Make a folder with a master's key (master.pem) and the join file of its agents \
             (agent.join). Both are readable by their user alone. Copy the join file to each \
             machine that is to run an agent, by scp or as a secret of the cluster; the key stays \
             where memtide run is called.\n\nAn agent obeys the master that has the key, and no \
             other. Who reads the join file can pose as an agent, but cannot command one. Limits \
             in the join file bind every agent that is started with it.",
        )
        .arg(folder)
        .arg(address)
        .arg(bind)
        .args(limits());
    Command::new("key")
        .about("Make keys by which masters and agents know each other")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(new)
}

/// `memtide agent`.
pub(super) fn agent_command() -> Command {
    let path = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    Command::new("agent")
        .about("Make load for a master: memtide run --agents")
        .long_about(
            "Wait for a master and carry out its shares of runs. With --join, the agent dials the \
             master that the file names, again and again, from anywhere; with --listen, too, it \
             waits for that master to dial it. It obeys only the master that has the key, one at \
             a time, and within the limits that are given here or in the join file.\n\nWithout \
             --join, it works for masters of the same user on this machine, and loads only servers \
             on this machine.\n\nName and password for the servers are the agent's own: set \
             MEMTIDE_USER and MEMTIDE_PASSWORD.",
        )
        .after_help(AGENT_CODES)
        .args_conflicts_with_subcommands(true)
        .arg(path("join", "FILE", "Join file, made by memtide key new"))
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("IP:PORT")
                .requires("join")
                .help("Wait for masters at this address instead of dialling; needs --join"),
        )
        .args(limits())
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help("What the agent is called in reports [default: the machine's name]"),
        )
        .args(agent_outputs())
        .arg(path(
            "records",
            "DIR",
            "Where records are kept until a master has them [default: the user's state folder]",
        ))
        .arg(
            Arg::new("shares")
                .long("shares")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=SHARES_MAX))
                .default_value("1")
                .help("Take N of a run's equal shares, each with the run's --threads workers")
                .long_help(
                    "Take N of a run's equal shares, each with the run's --threads workers and \
                     its part of rate and connections. All shares of a run are equal, so a \
                     machine that can do twice as much as the others takes 2.",
                ),
        )
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("End after the runs of one master"),
        )
        .arg(
            Arg::new("quiet")
                .long("quiet")
                .action(ArgAction::SetTrue)
                .help("Say only errors on stderr"),
        )
        .subcommand(status_command())
        .subcommand(records_command())
}

/// Flags for the outputs that an agent writes for its master.
fn agent_outputs() -> [Arg; 3] {
    let samples = Arg::new("samples")
        .long("samples")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Allow masters to have samples written, into this folder");
    let influx = Arg::new("influx")
        .long("influx")
        .value_name("URL")
        .help("Allow masters to have points of operations written, into this InfluxDB")
        .long_help(
            "Allow masters to have points of operations written, into this InfluxDB: what \
             `memtide run` names as `--out influx=URL`. The master asks for them by \
             `--out influx=agents`. The agent's own MEMTIDE_INFLUX_TOKEN, or MEMTIDE_INFLUX_USER \
             and MEMTIDE_INFLUX_PASSWORD, prove who it is.",
        );
    let spool = Arg::new("spool")
        .long("spool")
        .value_name("DIR,SIZE")
        .requires("influx")
        .help("Keep points here that the database does not take now");
    [samples, influx, spool]
}

fn status_command() -> Command {
    Command::new("status")
        .about("Show which agents are free")
        .long_about(
            "Dial agents that were started with --listen, and show what each is at. The exit code \
             is 0 if all of them are free, 1 if one is busy, 3 if one cannot be reached.",
        )
        .arg(key())
        .arg(
            Arg::new("agent")
                .required(true)
                .num_args(1..)
                .value_name("HOST:PORT")
                .help("Addresses of agents"),
        )
}

fn records_command() -> Command {
    Command::new("records")
        .about("Fetch records that agents keep, after a master was lost")
        .long_about(
            "An agent keeps its record for a day until its master has it. This command takes the \
             place of the master that was lost: it waits for agents, as memtide run does, writes \
             each record that they keep to DIR, and lets them forget it. memtide merge DIR makes \
             one record of them.",
        )
        .arg(key())
        .arg(
            Arg::new("agents")
                .long("agents")
                .value_name("N|LIST")
                .required(true)
                .help("How many agents to wait for, or their addresses"),
        )
        .arg(
            Arg::new("expect")
                .long("expect")
                .value_name("TIME")
                .default_value("30s")
                .help("How long to wait for them"),
        )
        .arg(
            Arg::new("folder")
                .required(true)
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Folder for the records, made if it is missing"),
        )
}

fn key() -> Arg {
    Arg::new("key")
        .long("key")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Folder with the master's key [default: that of the user's own agents]")
}

/// Flags of `memtide install-faces` that concern agents.
pub(super) fn install_flags() -> Vec<Arg> {
    let join = Arg::new("join")
        .long("join")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Join file by which masters (-a) and agents (-A) of these links know each other")
        .long_help(
            "Join file by which masters (-a) and agents (-A) of these links know each other. The \
             folder gets a link to it, memtide.join; on the machine of the master, name the file \
             in the folder that memtide key new has made. With limits, such as --allow-target, \
             the folder gets a copy that has them. The variable MEMTIDE_JOIN overrides it. \
             Without a join file, agents work for masters of the same user on this machine.",
        );
    let limits = limits().into_iter().map(|limit| limit.requires("join").hide_short_help(true));
    std::iter::once(join).chain(limits).collect()
}

/// Flags for an agent's limits.
fn limits() -> Vec<Arg> {
    let limit = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    vec![
        limit(
            "allow-target",
            "CIDR:PORT",
            "Servers that may be loaded: 10.0.0.0/8:11211, [fd00::]/8:*, unix:PATH",
        )
        .action(ArgAction::Append),
        limit("rate-max", "N", "Most operations per second of this agent; then no closed loop"),
        limit("connections-max", "N", "Most connections of this agent"),
        limit("duration-max", "TIME", "Longest run, with its warm-up"),
        limit("threads-max", "N", "Most threads"),
        limit("memory-max", "BYTES", "Most memory that a run may need, by an estimate beforehand"),
    ]
}
