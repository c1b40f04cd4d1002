//! A command line of memaslap and its configuration file as decided values: nothing in them is
//! left to be parsed.

use super::configuration::Configuration;
use super::servers::Server;
use memtide_base::Span;

/// Everything that a command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Whom to load.
    pub target: Target,
    /// Threads that make load; at least 1, and a divisor of `concurrency`.
    pub threads: u32,
    /// Virtual clients, each with one operation under way; at least 1.
    pub concurrency: u32,
    /// Connections of each virtual client; at least 1. With [`Transport::Split`] those over TCP,
    /// to which one over UDP is added.
    pub connections_each: u32,
    /// What ends the run.
    pub length: Length,
    /// The lengths of keys and values, and the shares of set and get.
    pub data: Configuration,
    /// Objects in the window of each virtual client: a multiple of 1024, at least 1024.
    pub window: u64,
    /// What is done to a part of the objects.
    pub shares: Shares,
    /// Keys in one get; at least 1.
    pub division: u32,
    /// Operations per second at most, every key counted; `None` without a limit.
    pub rate_ops_max: Option<u32>,
    /// The seed.
    pub seed: u64,
    /// Keys begin with eight unprintable bytes, as memaslap's do.
    pub is_raw_keys: bool,
    /// What is shown, and written where.
    pub output: Output,
    /// What a user should know about this command line: whole sentences, a line each, for stderr.
    pub notes: Vec<String>,
}

/// Whom to load, and how to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// At least one.
    pub servers: Vec<Server>,
    /// The value as it was written.
    pub written: String,
    /// The binary protocol; the text protocol otherwise.
    pub is_binary: bool,
    /// What carries requests and answers.
    pub transport: Transport,
    /// How many of the servers, from the first, are written; the others are read: at least 1, at
    /// most their number, of which there are then at least 2.
    pub writers: Option<u32>,
    /// Lost connections are opened again; always so when there are `writers`.
    pub is_reconnecting: bool,
}

/// What carries requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Sets go by TCP, gets by UDP.
    Split,
}

/// What ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Its time, in whole seconds, at least one.
    Time(Span),
    /// This many operations, counting every key of a get; at least 1.
    Operations(u64),
}

/// Parts of the operations, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Gets whose values are compared.
    pub verified: f64,
    /// Objects that are set to expire.
    pub expiring: f64,
    /// Sets that overwrite.
    pub overwriting: f64,
}

/// What is shown, and written where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// How often statistics are printed, in whole seconds; `None` prints them neither now and
    /// then nor at the end.
    pub statistics_every: Option<Span>,
    /// True to report each failed verification on stderr.
    pub is_verbose: bool,
    /// No escape sequences.
    pub is_plain: bool,
    /// File for the record.
    pub json: Option<String>,
    /// The exit code is 1 when a verification failed.
    pub is_failing: bool,
    /// Notes are wanted on stderr.
    pub has_notes: bool,
}
