//! The commands about agents: their flags and help.

use super::{argument, option, path, switch};
use clap::{Arg, ArgAction, Command, value_parser};
use memtide_cluster::law::LIMITS;
use std::path::PathBuf;

/// Largest number of shares of one run that an agent takes.
const SHARES_MAX: i64 = memtide_cluster::UNITS_MAX as i64;

/// The exit codes of an agent.
const AGENT_CODES: &str = "Exit codes:\n    0  ended by a signal, or with --once after the runs of \
                           one master\n    2  a flag or the join file is wrong, or the address \
                           is taken";

/// `memtide key`.
pub(super) fn key_command() -> Command {
    let folder =
        argument("folder", "DIR", "Folder for the key and the join file; it must not hold any yet")
            .value_parser(value_parser!(PathBuf));
    let address =
        option("address", "HOST:PORT", "Where agents reach the master; it is in the join file")
            .default_value("127.0.0.1:11298");
    let bind = option(
        "bind",
        "IP:PORT",
        "Where the master listens, if not at its address (NAT) [default: --address]",
    );
    let agents = option(
        "agents",
        "HOST",
        "Machines of agents: prints the commands that take the join file there",
    )
    .num_args(1..);
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
            option(
                "listen",
                "IP:PORT",
                "Wait for the master at this address, do not connect to it; needs --join",
            )
            .requires("join"),
        )
        .args(limits())
        .arg(option("name", "NAME", "Name of the agent in reports [default: the machine's name]"))
        .args(agent_outputs())
        .arg(path(
            "records",
            "DIR",
            "Where records are kept until a master has them [default: the user's state folder]",
        ))
        .arg(
            option(
                "shares",
                "N",
                "Take N of a run's equal shares, each with the run's --threads workers",
            )
            .value_parser(value_parser!(u32).range(1..=SHARES_MAX))
            .default_value("1")
            .long_help(
                "Take N of a run's shares, each with the run's --threads workers and its part \
                 of rate and connections. All shares of a run are equal, so let a machine \
                 that is twice as fast as the others take 2.",
            ),
        )
        .arg(switch("once", "End after the runs of one master"))
        .arg(switch("quiet", "Print only errors on stderr"))
        .subcommand(status_command())
        .subcommand(records_command())
}

/// Flags for the outputs that an agent writes for its master.
fn agent_outputs() -> [Arg; 3] {
    let samples =
        path("samples", "DIR", "Write samples into this folder if a master asks for them");
    let influx = option("influx", "URL", "Send points to this InfluxDB if a master asks for them")
        .long_help(
            "Send points to this InfluxDB if a master asks for them with `--out influx=agents`. \
             The URL has the form that `memtide run --out influx=URL` takes. The agent \
             authenticates with its own MEMTIDE_INFLUX_TOKEN, or MEMTIDE_INFLUX_USER and \
             MEMTIDE_INFLUX_PASSWORD.",
        );
    let spool =
        option("spool", "DIR,SIZE", "Keep points here while the database does not accept them")
            .requires("influx");
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
        .arg(argument("agent", "HOST:PORT", "Addresses of agents").num_args(1..))
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
            option("agents", "N|LIST", "How many agents to wait for, or their addresses")
                .required(true),
        )
        .arg(option("expect", "TIME", "How long to wait for them").default_value("30s"))
        .arg(
            argument("folder", "DIR", "Folder for the records, made if it is missing")
                .value_parser(value_parser!(PathBuf)),
        )
}

fn key() -> Arg {
    path("key", "DIR", "Folder with the master's key [default: the key of your own agents]")
}

/// Flags of `memtide install-faces` that concern agents.
pub(super) fn install_flags() -> Vec<Arg> {
    let join = path(
        "join",
        "FILE",
        "Join file for the masters (-a) and agents (-A) of these links",
    )
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
    let targets = option(
        "allow-target",
        "CIDR:PORT",
        "Servers that may be loaded: 10.0.0.0/8:11211, [fd00::]/8:*, unix:PATH",
    )
    .action(ArgAction::Append);
    let limits =
        LIMITS.map(|it| Arg::new(it.name).long(it.name).value_name(it.value).help(it.help));
    std::iter::once(targets).chain(limits).collect()
}
