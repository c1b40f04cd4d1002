//! The fields of runs that several machines share: which share this is, how the shares begin
//! together, and which agents carry them out.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{count, given, one, parsed, span};
use super::{Field, Section, Set, Show};
use crate::scenario::{parse_switch, span_word};
use memtide_base::units;

pub(super) const SHARD: Field = Field {
    name: "shard",
    short: None,
    value: Some("I/N"),
    default: "",
    help: "Carry out share I of N of this run: I/N, auto, auto/N or none",
    long: "Start the same scenario N times, each with its number I from 0: together the shares \
           send what one process with N times `threads` workers sends. `rate`, `connections` and \
           `ops-max` are totals of the whole run; `threads` applies to each share, default 1. \
           `auto` takes I and N from a Slurm step, PMI or Open MPI; `auto/N` takes only I, also \
           from `JOB_COMPLETION_INDEX` (Kubernetes) or `NOMAD_ALLOC_INDEX`. Without this field, \
           memtide refuses to run in a step of several processes, because each would send the \
           whole load; with `none`, each does. A share of `run` needs `json` and exits with 0 \
           when its record is written; `memtide merge` then makes one record of all shares. See \
           docs/cluster.md.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.shard = Some(parsed(word)?);
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.shard)),
};

pub(super) const START_AT: Field = Field {
    name: "start-at",
    short: None,
    value: Some("TIME"),
    default: "",
    help: "Begin the load at this time of day",
    long: "All shares begin to send at this time by their machines' clocks: RFC 3339 with a zone, \
           such as `2026-01-31T12:00:00Z`, or seconds since 1970, such as `@1769860800`; at most 7 \
           days ahead. Each share fills servers and opens connections before this time. A share \
           that is not ready in time sends nothing, and its record says so. Needs `shard`; not \
           available with `barrier`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.start_at = Some(parsed(word)?);
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.start_at)),
};

pub(super) const BARRIER: Field = Field {
    name: "barrier",
    short: None,
    value: Some("WHERE"),
    default: "",
    help: "Begin the load when all shares are ready: pmi or dir:PATH",
    long: "Each share fills its keys, opens its connections, and waits for the other shares; then \
           all begin at the same time. `pmi`: through the launcher (`srun --mpi=pmi2` or \
           `mpiexec.hydra`). `dir:PATH`: through a folder that all shares can write to, such as \
           `dir:/shared/start`. In a Slurm step, memtide makes a folder for the step inside it; \
           elsewhere, give each run a new folder. Needs `shard`; not available with `start-at`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.barrier = Some(parsed(word)?);
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.barrier)),
};

pub(super) const BARRIER_TIMEOUT: Field = Field {
    name: "barrier-timeout",
    short: None,
    value: Some("TIME"),
    default: "60s",
    help: "How long a share waits at the barrier for the others",
    long: "A time with its unit, above 0 and at most 24h; longer than the slowest fill. A share \
           that has waited this long sends nothing. Its record says so and, with `barrier \
           dir:PATH`, names the missing shares.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.barrier_timeout = span(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(span_word(placement.barrier_timeout))),
};

pub(super) const AGENTS: Field = Field {
    name: "agents",
    short: None,
    value: Some("N|LIST"),
    default: "",
    help: "Drive one run from agents on several machines: N or addresses",
    long: "A number: wait until this many agents (`memtide agent`) have connected. A list, such as \
           `lab1,lab2:11299`: connect to agents that were started with `--listen`. Each agent \
           carries out a share of the run, as with `shard`; all begin at the same time, and \
           memtide merges their records. `rate`, `connections` and `ops-max` are totals of the \
           whole run; `threads` applies to each agent, default 1. Needs the key that `memtide key \
           new` makes, except for your own agents on this machine. See docs/cluster.md.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.which = if word.is_empty() { None } else { Some(parsed(word)?) };
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.agents.which)),
};

pub(super) const KEY: Field = Field {
    name: "key",
    short: None,
    value: Some("DIR"),
    default: "",
    help: "Folder with the master's key, made by memtide key new",
    long: "Agents obey only the master that has this key. Without this field, memtide uses the key \
           in your state folder, which your agents without a join file on this machine accept. \
           Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.key = (!word.is_empty()).then(|| word.to_owned());
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.agents.key)),
};

pub(super) const EXPECT: Field = Field {
    name: "expect",
    short: None,
    value: Some("TIME"),
    default: "30s",
    help: "How long to wait for the agents",
    long: "A time with its unit, above 0 and at most 24h. If agents are still missing then, \
           memtide names them and sends nothing. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.expect = span(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(span_word(placement.agents.expect))),
};

pub(super) const MASTER_SHARE: Field = Field {
    name: "master-share",
    short: None,
    value: None,
    default: "false",
    help: "Carry out a share of the load on this machine too",
    long: "The run then has one more share than agents. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.master_share = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(placement.agents.master_share)),
};

pub(super) const MASTER_RATE: Field = Field {
    name: "master-rate",
    short: None,
    value: Some("RATE"),
    default: "",
    help: "Measure on this machine at this rate while agents load",
    long: "This machine sends a small load of its own, in operations per second, with one worker \
           and as many connections as one agent. Its response times are free of delays in busy \
           agents. Goals and the result of a search refer to this load; `rate` applies to the \
           agents. The record contains it as `own`, and the report shows it after the agents' \
           load. Needs `agents`; not available with `master-share`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        let rate = (!word.is_empty()).then(|| units::parse_rate(word)).transpose();
        placement.agents.master_rate = rate.map_err(|error| error.to_string())?;
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.agents.master_rate)),
};

pub(super) const ALLOW_LOST: Field = Field {
    name: "allow-lost",
    short: None,
    value: Some("N"),
    default: "0",
    help: "Continue the run while at most N agents are lost",
    long: "With 0, the run ends when an agent is lost, and its record is partial. With N, the \
           remaining agents continue with their own shares until more than N are lost. The \
           share of a lost agent is not sent; the record names it. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.allow_lost = count(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(placement.agents.allow_lost)),
};
