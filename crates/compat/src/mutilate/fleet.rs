//! Many machines: the agents that a command line enlists, and their master's own load.

use memtide_base::Span;

/// The agents of a run, and the load of their master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// `HOST:PORT` of each, none of them twice; at least one.
    pub addresses: Vec<String>,
    /// How long the master waits for them.
    pub patience: Patience,
    /// The master's own load; none with `-T 0`.
    pub own: Option<OwnLoad>,
}

/// How long a master waits for an agent that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// For as long as memtide waits, and then there is no run.
    Needed,
    /// This long (`-M`), and then the run goes on without it.
    GivesUp(Span),
}

/// What a master makes beside its agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnLoad {
    /// Its threads, at least 1.
    pub threads: u32,
    /// Connections of each thread to each of its servers, at least 1: `-C`, or `-c`.
    pub connections_each: u32,
    /// Requests that may await their answers on one connection, at least 1: `-D`, or `-d`.
    pub depth: u32,
    /// `-Q`: its rate in operations per second, the agents having the rest; 0 sends as fast as
    /// answers come. `None` for an equal part for each connection of all.
    pub rate_ops: Option<u32>,
    /// `-l`: how many times as much as an agent's each of its connections offers; at least 1.
    pub weight: u32,
}
