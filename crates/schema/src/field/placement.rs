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
           `ops-max` are those of the whole run. `threads` is 1 by default and is per share. \
           `auto` takes I and N from a Slurm step, PMI or Open MPI; `auto/N` takes only I, also \
           from `JOB_COMPLETION_INDEX` (Kubernetes) or `NOMAD_ALLOC_INDEX`. Without this field, \
           memtide refuses to run in a step of several processes, because each would send the \
           whole load; `none` sends it all the same. A share of `run` needs `json`, and exits with \
           0 when its record is written: `memtide merge` makes one record of all of them. See \
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
    long: "All shares begin at this time by their machines' clocks: RFC 3339 with a zone, such as \
           `2026-01-31T12:00:00Z`, or seconds since 1970, such as `@1769860800`. Servers are \
           filled and connections opened before it. A share that is not ready by then sends \
           nothing, and its record says so. At most 7 days ahead. Needs `shard`; excludes \
           `barrier`.",
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
    long: "Each share fills its keys and opens its connections, waits until all others have done \
           so, and begins at a time on which they agree. `pmi` asks the launcher (`srun \
           --mpi=pmi2` or `mpiexec.hydra`). `dir:PATH` uses a folder that all shares see, such as \
           `dir:/shared/start`; inside a Slurm step memtide makes a folder of the step in it, \
           otherwise give each run a new folder. Needs `shard`; excludes `start-at`.",
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
    long: "A time with its unit, above 0 and at most 24h. After it the share sends nothing; its \
           record says so and, with `barrier dir:PATH`, names the shares that are missing. Allow \
           for the slowest fill.",
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
    help: "Let agents on other machines make the load: their number or addresses",
    long: "With a number, this command waits until that many agents (`memtide agent`) have dialled \
           it; with a list, such as `lab1,lab2:11299`, it dials agents that were started with \
           `--listen`. They carry out one run: each has a share, as with `shard`, all begin at one \
           instant, and their records become one record. `rate`, `connections` and `ops-max` are \
           those of the whole run; `threads` is 1 by default and is per agent. Needs the key that \
           `memtide key new` makes, except for the user's own agents on this machine. See \
           docs/cluster.md.",
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
    long: "Agents obey only the master that has this key. Without this field, the key in the \
           user's own state folder is used, which agents without a join file know; they work on \
           this machine alone. Needs `agents`.",
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
    long: "A time with its unit, above 0 and at most 24h. If agents are missing after it, nothing \
           is sent, and those that are missing are named. Needs `agents`.",
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
    help: "Make a share of the load on this machine, too",
    long: "The run then has one share more than agents. Needs `agents`.",
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
    long: "This machine then makes a load of its own, in operations per second, beside the \
           agents' load: with one worker, as many connections as an agent has, and times that \
           no busy agent has disturbed. Goals, and the answer of a search, are judged by it; \
           `rate` is the agents' alone. The record has it as `own`, and the report shows it \
           after the agents' load. Needs `agents`; excludes `master-share`.",
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
    help: "Go on when up to N agents are lost",
    long: "By default the run ends when an agent is lost, and its record is partial. Otherwise the \
           others go on at their own rates, nothing is given to them in its place, and the record \
           names what is missing. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.allow_lost = count(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(placement.agents.allow_lost)),
};
