//! A command line of memaslap and its configuration file as decided values, with nothing left to
//! parse.

use super::configuration::Configuration;
use crate::server::Server;
use memtide_base::Span;

/// The decided values of a command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The servers, and how to reach them.
    pub target: Target,
    /// Threads that make load; at least 1, and a divisor of `concurrency`.
    pub threads: u32,
    /// Virtual clients, each with at most one operation outstanding; at least 1.
    pub concurrency: u32,
    /// Connections of each virtual client; at least 1. With [`Transport::Split`] these are over
    /// TCP, and one over UDP is added.
    pub connections_each: u32,
    /// The condition that ends the run.
    pub length: Length,
    /// The lengths of keys and values, and the shares of set and get.
    pub data: Configuration,
    /// Objects in the window of each virtual client: a multiple of 1024, at least 1024.
    pub window: u64,
    /// The operations done to a share of the objects.
    pub shares: Shares,
    /// Keys in one get; at least 1.
    pub division: u32,
    /// The most operations per second, every key counted; `None` without a limit.
    pub rate_ops_max: Option<u32>,
    /// The seed.
    pub seed: u64,
    /// True if keys begin with eight unprintable bytes, as memaslap's do.
    pub is_raw_keys: bool,
    /// The output and its destinations.
    pub output: Output,
    /// Notes on this command line for the user: whole sentences, one per line, for stderr.
    pub notes: Vec<String>,
}

/// The servers, and how to reach them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The servers; at least one.
    pub servers: Vec<Server>,
    /// The list of servers as written.
    pub written: String,
    /// True for the binary protocol, false for the text protocol.
    pub is_binary: bool,
    /// The transport of requests and answers.
    pub transport: Transport,
    /// The number of servers, from the first, that receive writes, while the others are read. At
    /// least 1 and at most the number of servers, which is then at least 2.
    pub writers: Option<u32>,
    /// True if lost connections are opened again; always true with `writers`.
    pub is_reconnecting: bool,
}

/// The transport of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Sets over TCP, gets over UDP.
    Split,
}

/// The condition that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// A time in whole seconds, at least one.
    Time(Span),
    /// A number of operations, counting every key of a get; at least 1.
    Operations(u64),
}

/// Shares of the operations, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// The share of gets whose values are verified.
    pub verified: f64,
    /// The share of objects that are set with an expiry.
    pub expiring: f64,
    /// The share of sets that overwrite.
    pub overwriting: f64,
}

/// The output and its destinations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The interval between prints of statistics, in whole seconds; `None` prints none, not even at
    /// the end.
    pub statistics_every: Option<Span>,
    /// True to report each failed verification on stderr.
    pub is_verbose: bool,
    /// True to print no escape sequences.
    pub is_plain: bool,
    /// The file for the record.
    pub json: Option<String>,
    /// True to exit with 1 if a verification failed.
    pub is_failing: bool,
    /// True to print notes on stderr.
    pub has_notes: bool,
}
