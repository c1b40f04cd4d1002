//! The commands about agents: their flags and help.

use clap::{Arg, ArgAction, Command, value_parser};
use memtide_cluster::law::{LIMITS, Limit};
use std::path::PathBuf;

/// Largest number of shares of one run that an agent takes.
const SHARES_MAX: i64 = memtide_cluster::UNITS_MAX as i64;

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
    let bind = Arg::new("bind")
        .long("bind")
        .value_name("IP:PORT")
        .help("Where the master listens, if not at its address (NAT) [default: --address]");
    let agents = Arg::new("agents")
        .long("agents")
        .value_name("HOST")
        .num_args(1..)
        .help("Machines of agents: prints the commands that take the join file there");
    let new = Command::new("new")
        .about("Make a master's key, and the join file of its agents")
        .long_about(
            "Make a folder with a master's key (master.pem) and the join file of its agents \
             (agent.join). Only you can read them. Copy the join file to each machine that runs an \
             agent, by scp or as a secret of the cluster. Keep the key on the machine where you \
             call memtide run.\n\nAn agent obeys only the master that has the key. A reader of the \
             join file can pose as an agent, but cannot command one. Limits in the join file apply \
             to every agent that is started with it.",
        )
        .arg(folder)
        .arg(address)
        .arg(bind)
        .arg(agents)
        .args(limits());
    Command::new("key")
        .about("Make keys with which masters and agents authenticate each other")
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
            "Wait for a master and carry out its shares of runs. With --join, the agent connects \
             to the master that the file names, and tries again until it succeeds; with --join and \
             --listen, the master connects to the agent. The agent obeys only a master that has \
             the key, one at a time, within the limits given here and in the join file.\n\nWithout \
             --join, it works for your own masters on this machine, and loads only servers on this \
             machine.\n\nThe agent authenticates at memcached with its own MEMTIDE_USER and \
             MEMTIDE_PASSWORD.",
        )
        .after_help(AGENT_CODES)
        .args_conflicts_with_subcommands(true)
        .arg(path("join", "FILE", "Join file, made by memtide key new"))
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("IP:PORT")
                .requires("join")
                .help("Wait for the master at this address, do not connect to it; needs --join"),
        )
        .args(limits())
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help("Name of the agent in reports [default: the machine's name]"),
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
                    "Take N of a run's shares, each with the run's --threads workers and its part \
                     of rate and connections. All shares of a run are equal, so let a machine \
                     that is twice as fast as the others take 2.",
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
                .help("Print only errors on stderr"),
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
        .help("Write samples into this folder if a master asks for them");
    let influx = Arg::new("influx")
        .long("influx")
        .value_name("URL")
        .help("Send points to this InfluxDB if a master asks for them")
        .long_help(
            "Send points to this InfluxDB if a master asks for them with `--out influx=agents`. \
             The URL has the form that `memtide run --out influx=URL` takes. The agent \
             authenticates with its own MEMTIDE_INFLUX_TOKEN, or MEMTIDE_INFLUX_USER and \
             MEMTIDE_INFLUX_PASSWORD.",
        );
    let spool = Arg::new("spool")
        .long("spool")
        .value_name("DIR,SIZE")
        .requires("influx")
        .help("Keep points here while the database does not accept them");
    [samples, influx, spool]
}

fn status_command() -> Command {
    Command::new("status")
        .about("Show which agents are free")
        .long_about(
            "Connect to agents that were started with --listen, and show what each is doing. The \
             exit code is 0 if all agents are free, 1 if one is busy, and 3 if one cannot be \
             reached.",
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
        .about("Fetch the records that agents keep after their master was lost")
        .long_about(
            "An agent keeps each record until its master has it, at most for a day. This command \
             takes the place of a lost master: it waits for agents, as memtide run does, writes \
             the records that they keep to DIR, and lets the agents delete them. memtide merge DIR \
             then makes one record.",
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
        .help("Folder with the master's key [default: the key of your own agents]")
}

/// Flags of `memtide install-faces` that concern agents.
pub(super) fn install_flags() -> Vec<Arg> {
    let join = Arg::new("join")
        .long("join")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Join file for the masters (-a) and agents (-A) of these links")
        .long_help(
            "Join file with which masters (-a) and agents (-A) of these links authenticate each \
             other. On the master's machine, name the file in the folder that memtide key new \
             made. The folder of the links gets a link to it, memtide.join, or, with limits such \
             as --allow-target, a copy that contains them. The variable MEMTIDE_JOIN overrides it. \
             Without a join file, agents work for your own masters on this machine.",
        );
    let limits = limits().into_iter().map(|limit| limit.requires("join").hide_short_help(true));
    std::iter::once(join).chain(limits).collect()
}

/// Flags for an agent's limits.
fn limits() -> Vec<Arg> {
    let targets = Arg::new("allow-target")
        .long("allow-target")
        .value_name("CIDR:PORT")
        .help("Servers that may be loaded: 10.0.0.0/8:11211, [fd00::]/8:*, unix:PATH")
        .action(ArgAction::Append);
    let limit = |limit: Limit| {
        Arg::new(limit.name).long(limit.name).value_name(limit.value).help(limit.help)
    };
    std::iter::once(targets).chain(LIMITS.map(limit)).collect()
}
