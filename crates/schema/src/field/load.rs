//! The fields of the load: how much, when, and by whom it is made.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{command_line, count, given, one, parsed, span};
use super::{Field, Section, Set, Show};
use crate::scenario::{parse_switch, span_word};
use memtide_base::units;

pub(super) const RATE: Field = Field {
    name: "rate",
    short: None,
    value: Some("RATE"),
    default: "10k with the embedded server, else 0",
    help: "Operations per second over all workers; 0 is a closed loop",
    long: "Operations per second, over all workers and servers: `500`, `20k`, `1.5M` (k is \
           1 000), at most `1G`. 0 asks for a closed loop, as fast as the connections and their \
           depth allow: \
           its result is the throughput, and its times are those at saturation, which are never \
           comparable with the times at a rate. With a `wave` the rate is left out.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.rate = Some(units::parse_rate(word).map_err(|e| e.to_string())?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.rate)),
};

pub(super) const RATE_UNIT: Field = Field {
    name: "rate-unit",
    short: None,
    value: Some("UNIT"),
    default: "ops",
    help: "What the rate and ops-max count: operations, or their keys",
    long: "`ops`: operations, whatever they ask for. `keys`: an operation counts as many as it \
           asks for keys, so that a get of ten keys takes the place of ten in `rate`, `wave` and \
           `ops-max`. A get for whose keys `ops-max` leaves no place asks for fewer, so that \
           exactly so many are asked for or stored.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.rate_unit = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.rate_unit)),
};

pub(super) const ARRIVAL: Field = Field {
    name: "arrival",
    short: None,
    value: Some("LAW"),
    default: "poisson",
    help: "The law of the gaps between operations",
    long: "`poisson` (independent users), `fixed` (a metronome), `uniform` (from 0 to twice the \
           mean gap) or `uniform:LEAST` (from this part of the mean gap up, evenly about the \
           mean), `ascending:STEP` (each gap is longer than the one before it by this part of the \
           first, and the rate is that of the first), `normal:DEVIATION` (in mean gaps; what would \
           be below 0 is 0), `pareto:LOC,SCALE,SHAPE` (generalised Pareto, SHAPE below 1) or \
           `etc` (the gaps of Facebook's ETC pool). Whatever the law, its gaps are rescaled to the \
           asked rate.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.arrival = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.arrival)),
};

pub(super) const SCHEDULE: Field = Field {
    name: "schedule",
    short: None,
    value: Some("WHOSE"),
    default: "shared",
    help: "One schedule for all connections, or one for each",
    long: "`shared`: one sequence of intended instants, and the least loaded connection is picked \
           when an operation is sent. `connection`: each connection has a schedule of its own, \
           and an operation waits for that connection even while others are free.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.schedule = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.schedule)),
};

pub(super) const ON_FULL: Field = Field {
    name: "on-full",
    short: None,
    value: Some("WHAT"),
    default: "queue",
    help: "What an operation does that finds every connection full",
    long: "`queue`: it waits, and its wait counts in its response time. `drop`: it is never sent, \
           and counted; dropped operations rank above every answered one. `skip:BEHIND,UNTIL`: it \
           waits, but once one is behind by more than BEHIND all are dropped that are behind by \
           more than UNTIL, and so when nothing more is offered (`cooldown drain`); mutilate's \
           `-S` is `skip:5ms,4ms`. A closed loop has nothing to drop.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.on_full = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.on_full)),
};

pub(super) const PAUSE_AFTER_REPLY: Field = Field {
    name: "pause-after-reply",
    short: None,
    value: Some("TIME"),
    default: "0",
    help: "How long a connection sends nothing after each answer",
    long: "A time such as `250us`, at most 1h. Until so long after its last answer a connection \
           takes no operation. With a rate the intended instants stay those of the schedule, and \
           waiting for a connection counts in the response time; in a closed loop an operation is \
           intended when the pause is over. The two halves of a cas are one operation, without a \
           pause between them. Fills take no pauses.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.pause_after_reply = span(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| vec![span_word(scenario.pause_after_reply)]),
};

pub(super) const WAVE: Field = Field {
    name: "wave",
    short: None,
    value: Some("SHAPE"),
    default: "constant",
    help: "The rate over time, instead of one rate",
    long: "`constant`, `ramp:FROM,TO` over the duration, `step:A,B,…@EVERY` in turn, \
           `sine:MEAN,AMPLITUDE,PERIOD`, or `random:MIN,MAX@EVERY`, a new level each time. Rates \
           are per second, times carry their unit. Anything but constant replaces `rate`. \
           Example: `step:10k,50k,10k@20s`.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.wave = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(&scenario.wave)),
};

pub(super) const BEFORE: Field = Field {
    name: "before",
    short: None,
    value: Some("LINE"),
    default: "",
    help: "A command that every server is told before the load begins",
    long: "A line of memcached's text protocol, without its end. When the servers are filled, and \
           before the warm-up, each of them is told it once, on a connection of its own, and the \
           load waits for the first line of its answer. An error for an answer is a warning. It \
           is meant for commands that switch something on at the server; what it counts of them is \
           not told from the load. `memtide load` tells nobody. Example: `verbosity 1`.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.before = Some(command_line(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.before)),
};

pub(super) const AFTER: Field = Field {
    name: "after",
    short: None,
    value: Some("LINE"),
    default: "",
    help: "A command that every server is told when the load is over",
    long: "As `before`, but when the last measured operation has ended, however the run ended, and \
           before the servers are asked for their counters. A server that is gone by then is a \
           warning, because what was measured stands. Example: `verbosity 0`.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.after = Some(command_line(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.after)),
};

pub(super) const THREADS: Field = Field {
    name: "threads",
    short: None,
    value: Some("N"),
    default: "half the CPUs; 1 to 4 for a local server, 1 to 8 else",
    help: "Workers, each a thread with connections of its own",
    long: "A count from 1 to 1024. The default is half the CPUs that the process may use, by its \
           inherited mask and its control group's quota: at most 4 for a server on this machine, \
           at most 8 else. Operations are the same whatever the number of workers.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.threads = Some(count(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.threads)),
};

pub(super) const PIN: Field = Field {
    name: "pin",
    short: None,
    value: None,
    default: "where CPUs are enough: with the embedded server, or in a narrowed mask",
    help: "Bind each worker to a CPU of its own",
    long: "Binds workers to CPUs in any case. Without it workers are bound where the embedded \
           server is measured and there is a CPU for it and one for each worker: all of them are \
           then bound. With a named server workers are bound where the process's mask was narrowed \
           (as `taskset` does) and holds a CPU for each of them.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.pin = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.pin)),
};

pub(super) const WAIT: Field = Field {
    name: "wait",
    short: None,
    value: Some("HOW"),
    default: "hybrid where no CPU is taken from the server, else sleep",
    help: "How a worker waits for the next instant",
    long: "`sleep`: in the kernel, which wakes late by some tens of microseconds. `hybrid`: \
           asleep until shortly before, then spinning. `spin`: always spinning, which needs a CPU \
           of its own for each worker. The default is `hybrid` where the embedded server is \
           measured and has a CPU of its own, and so has each worker; and where the server is \
           elsewhere, there are more than 2 CPUs, and no quota. Else it is `sleep`.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.wait = Some(parsed(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.wait)),
};

pub(super) const IO: Field = Field {
    name: "io",
    short: None,
    value: Some("DOOR"),
    default: "auto",
    help: "With what workers do input and output: uring or epoll",
    long: "`uring`: io_uring, one call for many sends and receives; needs Linux 6.1 and is \
           forbidden in many containers. `epoll`: one call for each. `auto`: uring where it can \
           be had, else epoll; the report says which and why.",
    section: Section::Load,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.io = if word == "auto" { None } else { Some(parsed(word)?) };
        Ok(())
    }),
    show: Show::Scenario(|scenario| {
        one(scenario.io.map_or_else(|| "auto".to_owned(), |io| io.to_string()))
    }),
};
