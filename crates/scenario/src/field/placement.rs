//! The fields of runs that several machines share: which share this is, how the shares begin
//! together, and which agents carry them out.
//!
//! Rows of the table only.

use super::parse::{count, given, optional, optional_rate, optional_text, parsed, span};
use super::{AgentRule, Field, Section, member};
use crate::scenario::parse_switch;

const PLACEMENT: Field = Field::of(Section::Placement, AgentRule::Meeting);

/// The fields of the section.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "shard",
        value: Some("I/N"),
        help: "Carry out share I of N of this run: I/N, auto, auto/N or none",
        long: "Start the same scenario N times, each with its number I from 0: together the shares \
               send what one process with N times `threads` workers sends. `rate`, `connections` \
               and `ops-max` are totals of the whole run; `threads` applies to each share, default \
               1. `auto` takes I and N from a Slurm step, PMI or Open MPI; `auto/N` takes only I, \
               also from `JOB_COMPLETION_INDEX` (Kubernetes) or `NOMAD_ALLOC_INDEX`. Without this \
               field, memtide refuses to run in a step of several processes, because each would \
               send the whole load; with `none`, each does. A share of `run` needs `json` and \
               exits with 0 when its record is written; `memtide merge` then makes one record of \
               all shares. See docs/cluster.md.",
        member: member!(placement.shard, some parsed),
        ..PLACEMENT
    },
    Field {
        name: "start-at",
        value: Some("TIME"),
        help: "Begin the load at this time of day",
        long: "All shares begin to send at this time by their machines' clocks: RFC 3339 with a \
               zone, such as `2026-01-31T12:00:00Z`, or seconds since 1970, such as `@1769860800`; \
               at most 7 days ahead. Each share fills servers and opens connections before this \
               time. A share that is not ready in time sends nothing, and its record says so. \
               Needs `shard`; not available with `barrier`.",
        member: member!(placement.start_at, some parsed),
        ..PLACEMENT
    },
    Field {
        name: "barrier",
        value: Some("WHERE"),
        help: "Begin the load when all shares are ready: pmi or dir:PATH",
        long: "Each share fills its keys, opens its connections, and waits for the other shares; \
               then all begin at the same time. `pmi`: through the launcher (`srun --mpi=pmi2` or \
               `mpiexec.hydra`). `dir:PATH`: through a folder that all shares can write to, such \
               as `dir:/shared/start`. In a Slurm step, memtide makes a folder for the step inside \
               it; elsewhere, give each run a new folder. Needs `shard`; not available with \
               `start-at`.",
        member: member!(placement.barrier, some parsed),
        ..PLACEMENT
    },
    Field {
        name: "barrier-timeout",
        value: Some("TIME"),
        default: "60s",
        help: "How long a share waits at the barrier for the others",
        long: "A time with its unit, above 0 and at most 24h; longer than the slowest fill. A \
               share that has waited this long sends nothing. Its record says so and, with \
               `barrier dir:PATH`, names the missing shares.",
        member: member!(placement.barrier_timeout, span),
        ..PLACEMENT
    },
    Field {
        name: "agents",
        value: Some("N|LIST"),
        help: "Drive one run from agents on several machines: N or addresses",
        long: "A number: wait until this many agents (`memtide agent`) have connected. A list, \
               such as `lab1,lab2:11299`: connect to agents that were started with `--listen`. \
               Each agent carries out a share of the run, as with `shard`; all begin at the same \
               time, and memtide merges their records. `rate`, `connections` and `ops-max` are \
               totals of the whole run; `threads` applies to each agent, default 1. Needs the key \
               that `memtide key new` makes, except for your own agents on this machine. See \
               docs/cluster.md.",
        member: member!(placement.agents.which, optional, given),
        ..PLACEMENT
    },
    Field {
        name: "key",
        value: Some("DIR"),
        help: "Folder with the master's key, made by memtide key new",
        long: "Agents obey only the master that has this key. Without this field, memtide uses the \
               key in your state folder, which your agents without a join file on this machine \
               accept. Needs `agents`.",
        member: member!(placement.agents.key, optional_text, given),
        ..PLACEMENT
    },
    Field {
        name: "expect",
        value: Some("TIME"),
        default: "30s",
        help: "How long to wait for the agents",
        long: "A time with its unit, above 0 and at most 24h. If agents are still missing then, \
               memtide names them and sends nothing. Needs `agents`.",
        member: member!(placement.agents.expect, span),
        ..PLACEMENT
    },
    Field {
        name: "prepare-timeout",
        value: Some("TIME"),
        default: "60s",
        help: "How long an agent may prepare without progress",
        long: "A time with its unit, above 0 and at most 24h. An agent that fills keys, opens \
               connections or waits for a server, and reports no progress for this time, is lost. \
               Needs `agents`.",
        member: member!(placement.agents.prepare_timeout, span),
        ..PLACEMENT
    },
    Field {
        name: "master-share",
        default: "off",
        help: "Carry out a share of the load on this machine too",
        long: "The run then has one more share than agents. Needs `agents`.",
        member: member!(placement.agents.master_share, parse_switch),
        ..PLACEMENT
    },
    Field {
        name: "master-rate",
        value: Some("RATE"),
        help: "Measure on this machine at this rate while agents load",
        long: "This machine sends a small load of its own, in operations per second, with one \
               worker and as many connections as one agent. Its response times are free of delays \
               in busy agents. Goals and the result of a search refer to this load; `rate` applies \
               to the agents. The record contains it as `own`, and the report shows it after the \
               agents' load. Needs `agents`; not available with `master-share`.",
        member: member!(placement.agents.master_rate, optional_rate, given),
        ..PLACEMENT
    },
    Field {
        name: "allow-lost",
        value: Some("N"),
        default: "0",
        help: "Continue the run while at most N agents are lost",
        long: "With 0, the run ends when an agent is lost, and its record is partial. With N, the \
               remaining agents continue with their own shares until more than N are lost. The \
               share of a lost agent is not sent; the record names it. Needs `agents`.",
        member: member!(placement.agents.allow_lost, count),
        ..PLACEMENT
    },
];
