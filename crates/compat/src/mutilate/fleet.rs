//! Runs on many machines: the agents that a command line names, and their master's own load.

use memtide_base::Span;

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
