//! A command line of the mutilate family as decided values: nothing in them is left to be parsed.

use super::fleet::Fleet;
use super::numbers::{Connections, Dynamic, Law, Scan, Search, Server, Sinusoid};
use super::rows::Face;
use super::text::Format;
use memtide_base::Span;

/// What a command line is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Making load, alone or with agents.
    Load(Box<Options>),
    /// `-A`: making load for masters, one after the other.
    Agent(AgentOptions),
}

/// Everything that a command line which makes load asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Whose command line it is.
    pub face: Face,
    /// What is run, and how often.
    pub mode: Mode,
    /// The agents that make load, too; none without `-a`.
    pub agents: Option<Fleet>,
    /// Whom to load.
    pub target: Target,
    /// How many connections there are, and where.
    pub connections: Connections,
    /// What is asked for.
    pub load: Load,
    /// When it is asked for.
    pub paced: Paced,
    /// What is shown, and written where.
    pub output: Output,
    /// What a user should know about this command line: whole sentences, a line each, for stderr
    /// unless [`Verbosity::Quiet`].
    pub notes: Vec<String>,
}

/// What an agent is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    /// Whose command line it is.
    pub face: Face,
    /// Where it waits for masters.
    pub port: u16,
    /// How many equal parts of the agents' load it makes, each with a thread of its own: `-T` times
    /// `-l`; at least 1.
    pub shares: u32,
    /// `-B`: its threads sleep between events, also where the master's spin.
    pub is_blocking: bool,
    /// Its threads are pinned to processors in turn.
    pub is_pinned: bool,
    /// How much is said on stderr.
    pub verbosity: Verbosity,
    /// Notes are wanted on stderr.
    pub has_notes: bool,
}

/// What is run, and how often.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// One run, one report.
    Once,
    /// `--loadonly`: the servers are filled; stdout stays empty.
    LoadOnly,
    /// `-M` without a number: one run, and stdout stays empty.
    Masterless,
    /// `--search`: runs until a rate is found, then its report.
    Search(Search),
    /// `--scan`: runs at several rates, a row for each.
    Scan(Scan),
    /// `--qps_interval`: one run with a rate for each interval, a row for each.
    Dynamic(Dynamic),
}

/// Whom to load, and how to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// At least one; a range of ports is spread out.
    pub servers: Vec<Server>,
    /// The binary protocol; the text protocol otherwise.
    pub is_binary: bool,
    /// Whom to log in as; by SASL PLAIN in the binary protocol.
    pub login: Option<Login>,
    /// Nagle's algorithm stays on.
    pub is_nagle_on: bool,
    /// Each server is told `start_trace` before the run and `stop_trace` after it.
    pub is_traced: bool,
}

/// A name and its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The password; empty when none was given.
    pub password: String,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Keys on each server, 0 to this less 1; at least 1.
    pub records_each: u32,
    /// The length of a key in bytes; a function of the key, and never shorter than its number.
    pub key_bytes: Law,
    /// The length of a value in bytes, drawn for each set.
    pub value_bytes: Law,
    /// Which keys are asked for.
    pub keys: Keys,
    /// The probability that a request is a set.
    pub set_probability: f64,
    /// Gets of many keys at once.
    pub multiget: Option<Multiget>,
    /// The servers are filled before each run.
    pub is_filled: bool,
    /// `--seed`; `None` for the fixed default.
    pub seed: Option<u32>,
}

/// Which keys are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys {
    /// All evenly, drawn for each request.
    Random,
    /// Each connection draws keys beforehand and goes through them from the second to the last,
    /// then from the first, again and again.
    Cached {
        /// Which keys are drawn, as numbers, the remainder by the number of records; `None` for
        /// key i in place i.
        law: Option<Law>,
        /// Keys that are drawn beforehand; 1 to the number of records.
        capacity: u32,
        /// Rounds through them before some are drawn anew; 0 for every round.
        rounds: u32,
        /// Every k-th is drawn anew, from a random one on, k being random from 1 to this.
        stride_max: u32,
    },
}

/// Gets of many keys at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiget {
    /// The probability that what is not a set is a multiget; above 0, at most 1.
    pub probability: f64,
    /// Keys of each; at least 1.
    pub keys: u32,
}

/// When it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Paced {
    /// The total rate asked for, in operations a second over all connections; 0 sends as fast as
    /// answers come. Searches begin with it; scans and dynamic runs do not look at it.
    pub rate_ops: u32,
    /// The rate swings around `rate_ops`.
    pub sinusoid: Option<Sinusoid>,
    /// The gaps between the requests of one connection. Their mean follows from the rate, whatever
    /// the parameters say (which may all be 0): of a Pareto law location and shape stay, of a
    /// normal law the deviation, of a uniform law the lower bound, in seconds.
    pub gaps: Law,
    /// Their word as it was given.
    pub gaps_word: String,
    /// Requests that may await their answers on one connection; at least 1.
    pub depth: u32,
    /// Late requests are dropped.
    pub skip: Option<Skip>,
    /// The least time between an answer and the next request of its connection.
    pub answer_gap: Option<Span>,
    /// How long is measured; above 0.
    pub time: Span,
    /// Load before measuring; zero for none.
    pub warmup: Span,
    /// Measuring begins this long after the start of the program; zero for at once.
    pub wait: Span,
    /// Threads sleep between events; otherwise they may spin.
    pub is_blocking: bool,
    /// Threads are pinned to processors in turn.
    pub is_pinned: bool,
}

/// `-S`: when a connection's depth is used up and it is late, requests that are due are dropped
/// and counted until it is less late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Dropping begins above this.
    pub late_max: Span,
    /// Dropping ends below this.
    pub late_again: Span,
}

/// What is shown, and written where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The table on stdout.
    pub format: Format,
    /// The table shows response times in place of service times.
    pub is_response: bool,
    /// File for the record.
    pub json: Option<String>,
    /// File for the samples of gets.
    pub save: Option<String>,
    /// File for the samples of all operations.
    pub save_all: Option<String>,
    /// Where points go, as an output of memtide.
    pub influx: Option<String>,
    /// All rows' histograms are drawn, not only those of gets.
    pub is_plot_all: bool,
    /// How much is said on stderr.
    pub verbosity: Verbosity,
    /// Notes are wanted on stderr.
    pub has_notes: bool,
}

/// How much is said on stderr, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// `-vv`.
    Debug,
    /// `-v`.
    Verbose,
    /// Notes and the progress of searches.
    Info,
    /// `--quiet`: errors alone.
    Quiet,
}
