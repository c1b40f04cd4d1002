//! A command line of the mutilate family as decided values, with nothing left to parse.

use super::numbers::{Dynamic, Law, Scan, Search, Server, Sinusoid};
use super::rows::Face;
use super::text::Format;
use memtide_base::Span;

/// The purpose of a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Making load, alone or with agents.
    Load(Box<Options>),
    /// `-A`: making load for masters, one after the other.
    Agent(AgentOptions),
}

/// The decided values of a command line that makes load.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The face whose command line it is.
    pub face: Face,
    /// The kind of run.
    pub mode: Mode,
    /// The agents that make load, too; `None` without `-a`.
    pub agents: Option<Fleet>,
    /// The servers, and how to reach them.
    pub target: Target,
    /// The connections to servers, per thread.
    pub connections: Connections,
    /// The requests.
    pub load: Load,
    /// The times of the requests.
    pub paced: Paced,
    /// The output and its destinations.
    pub output: Output,
    /// Notes on this command line for the user: whole sentences, one per line, for stderr unless
    /// [`Verbosity::Quiet`].
    pub notes: Vec<String>,
}

/// The options of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    /// The face whose command line it is.
    pub face: Face,
    /// The port at which it waits for masters.
    pub port: u16,
    /// `-T`: the number of its threads; at least 1.
    pub threads: u32,
    /// The number of equal shares of the agents' load that it makes, each with a thread of its own:
    /// `-T` times `-l`; at least 1.
    pub shares: u32,
    /// `-B`: true if its threads sleep between events, even if the master's spin.
    pub is_blocking: bool,
    /// True to pin its threads to processors in turn.
    pub is_pinned: bool,
    /// The amount of messages on stderr.
    pub verbosity: Verbosity,
    /// True to print notes on stderr.
    pub has_notes: bool,
}

/// The kind of run.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// One run with one report.
    Once,
    /// `--loadonly`: the servers are filled; stdout stays empty.
    LoadOnly,
    /// `-M` without a number: one run, and stdout stays empty.
    Masterless,
    /// `--search`: runs until a rate is found, then its report.
    Search(Search),
    /// `--scan`: runs at several rates, with a row for each.
    Scan(Scan),
    /// `--qps_interval`: one run with a rate and a row for each interval.
    Dynamic(Dynamic),
}

/// The servers, and how to reach them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The servers, at least one; a range of ports becomes one server per port.
    pub servers: Vec<Server>,
    /// True for the binary protocol, false for the text protocol.
    pub is_binary: bool,
    /// The credentials; sent by SASL PLAIN in the binary protocol.
    pub login: Option<Login>,
    /// True to leave Nagle's algorithm on.
    pub is_nagle_on: bool,
    /// True to send `start_trace` to each server before the run and `stop_trace` after it.
    pub is_traced: bool,
}

/// A user name and its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The password; empty if none was written.
    pub password: String,
}

/// The requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The number of keys on each server, at least 1; their numbers count from 0.
    pub records_each: u32,
    /// The length of a key in bytes; a function of the key, and never shorter than its number.
    pub key_bytes: Law,
    /// The length of a value in bytes, drawn for each set.
    pub value_bytes: Law,
    /// The choice of the key of a request.
    pub keys: Keys,
    /// The probability that a request is a set.
    pub set_probability: f64,
    /// Gets of several keys; `None` for none.
    pub multiget: Option<Multiget>,
    /// True to fill the servers before each run.
    pub is_filled: bool,
    /// `--seed`; `None` for the fixed default.
    pub seed: Option<u32>,
}

/// The choice of the key of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys {
    /// Uniform, drawn for each request.
    Random,
    /// From a cache of keys that each connection draws beforehand. It takes them from the second to
    /// the last, then from the first, again and again.
    Cached {
        /// The law of the cached keys' numbers, modulo the number of records; `None`: entry i is
        /// key i.
        law: Option<Law>,
        /// The number of cached keys; 1 to the number of records.
        capacity: u32,
        /// Passes through the cache before some keys are redrawn; 0 redraws some after each pass.
        rounds: u32,
        /// The bound of k: every k-th key is redrawn, starting at random, with k random from 1 to
        /// this.
        stride_max: u32,
    },
}

/// Gets of several keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiget {
    /// The probability that a request other than a set is a multiget; above 0, at most 1.
    pub probability: f64,
    /// The number of keys of each; at least 1.
    pub keys: u32,
}

/// The times of the requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Paced {
    /// The requested total rate, in operations per second over all connections; 0 sends as fast as
    /// answers come. Searches start with it; scans and dynamic runs ignore it.
    pub rate_ops: u32,
    /// A sine of the rate around `rate_ops`; `None` for a constant rate.
    pub sinusoid: Option<Sinusoid>,
    /// The gaps between the requests of one connection. The rate determines their mean, whatever
    /// the parameters are (all may be 0). Kept are the location and shape of a Pareto law, the
    /// deviation of a normal law, and the lower bound of a uniform law, in seconds.
    pub gaps: Law,
    /// The law of the gaps as written.
    pub gaps_word: String,
    /// The pipeline depth; at least 1.
    pub depth: u32,
    /// The policy for dropping late requests; `None` drops none.
    pub skip: Option<Skip>,
    /// The least time between an answer and the next request of its connection.
    pub answer_gap: Option<Span>,
    /// The length of the measurement; above 0.
    pub time: Span,
    /// The length of the load before the measurement; zero for none.
    pub warmup: Span,
    /// The time from the start of the program to the measurement; zero for at once.
    pub wait: Span,
    /// True if threads sleep between events; otherwise they may spin.
    pub is_blocking: bool,
    /// True to pin threads to processors in turn.
    pub is_pinned: bool,
}

/// `-S`: if a connection is full and late, due requests are dropped and counted until it is less
/// late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The lateness above which dropping begins.
    pub late_max: Span,
    /// The lateness below which dropping ends.
    pub late_again: Span,
}

/// The output and its destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The format of the table on stdout.
    pub format: Format,
    /// True if the table shows response times in place of service times.
    pub is_response: bool,
    /// The file for the record.
    pub json: Option<String>,
    /// The file for the samples of gets.
    pub save: Option<String>,
    /// The file for the samples of all operations.
    pub save_all: Option<String>,
    /// The destination of points, as an output of memtide.
    pub influx: Option<String>,
    /// True to plot the histograms of all rows, false for gets only.
    pub is_plot_all: bool,
    /// The amount of messages on stderr.
    pub verbosity: Verbosity,
    /// True to print notes on stderr.
    pub has_notes: bool,
}

/// The amount of messages on stderr, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// `-vv`.
    Debug,
    /// `-v`.
    Verbose,
    /// Notes and the progress of searches.
    Info,
    /// `--quiet`: only errors.
    Quiet,
}

/// The agents of a run, and the load of their master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// `HOST:PORT` of each agent, without duplicates; at least one.
    pub addresses: Vec<String>,
    /// The time that the master waits for them.
    pub patience: Patience,
    /// The master's own load; `None` with `-T 0`.
    pub own: Option<OwnLoad>,
}

/// The time that a master waits for an agent that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// memtide's own limit; without the agent there is no run.
    Needed,
    /// This long (`-M`); then the run continues without the agent.
    GivesUp(Span),
}

/// The load of a master beside its agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnLoad {
    /// The number of threads, at least 1.
    pub threads: u32,
    /// Connections of each thread to each of its servers, at least 1: `-C`, or `-c`.
    pub connections_each: u32,
    /// The pipeline depth, at least 1: `-D`, or `-d`.
    pub depth: u32,
    /// `-Q`: its rate in operations per second, of which the agents get the rest; 0 sends as fast
    /// as answers come. `None` gives every connection, agents' ones included, an equal part.
    pub rate_ops: Option<u32>,
    /// `-l`: the load of each of its connections as a multiple of an agent's; at least 1.
    pub weight: u32,
}

/// The distribution of connections over servers and threads.
///
/// The rates of all connections always add up to the requested rate. The originals' sums are higher
/// for ranges of ports, for `-C`, and in masterless mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// The number of servers, each port of a range counting as one; at least 1.
    pub servers: u32,
    /// The number of threads; 0 if only agents make load.
    pub threads: u32,
    /// Connections of each thread to each of its servers; at least 1.
    pub each: u32,
    /// True if threads take the servers in turn, false if every thread takes all servers.
    pub is_roundrobin: bool,
}

impl Connections {
    /// The number of connections in all.
    pub fn total(&self) -> u64 {
        self.of_threads(self.threads)
    }

    /// The number of connections of a process that has this many threads.
    pub fn of_threads(&self, threads: u32) -> u64 {
        let pairs = if self.is_roundrobin {
            u64::from(self.servers.max(threads))
        } else {
            u64::from(self.servers) * u64::from(threads)
        };
        pairs.saturating_mul(u64::from(self.each))
    }
}
