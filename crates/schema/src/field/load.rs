//! The fields of the load: how much, when, and by which workers it is made.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{command_line, count, given, one, parsed, span};
use super::{Field, Section, Set, Show};
use crate::scenario::{parse_switch, span_word};
use memtide_base::units;

pub(super) const RATE: Field = Field {
    name: "rate",
    short: None,
    value: Some("RATE"),
    default: "10k with the embedded server, else 0",
    help: "Operations per second; 0 runs a closed loop",
    long: "The total over all workers and servers: `500`, `20k`, `1.5M` (k is 1000), at most \
           `1G`. With a rate above 0, operations are sent on schedule whether or not replies \
           arrive (open loop). With 0, each connection sends as soon as its depth allows (closed \
           loop): the result is the maximum throughput, and response times at saturation are not \
           comparable with those at a rate.",
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
    help: "What rate and ops-max count: ops or keys",
    long: "`ops`: operations, whatever their number of keys. `keys`: keys, so a get of ten keys \
           counts as ten in `rate`, `wave` and `ops-max`. The last get requests fewer keys if \
           `ops-max` requires it, so the total is exact.",
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
    help: "Distribution of the gaps between operations",
    long: "`poisson`: independent users. `fixed`: a metronome. `uniform`: from 0 to twice the mean \
           gap. `uniform:LEAST`: around the mean, from this fraction of it. `ascending:STEP`: each \
           gap is longer than the one before by this fraction of the first gap; `rate` applies to \
           the first. `normal:DEVIATION`: in mean gaps; a negative gap becomes 0. \
           `pareto:LOC,SCALE,SHAPE`: generalised Pareto, SHAPE below 1. `etc`: the gaps of \
           Facebook's ETC pool. Gaps are scaled to the rate.",
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
    help: "One schedule for all connections, or one per connection",
    long: "`shared`: one schedule; each operation goes to the least loaded connection. \
           `connection`: every connection has its own schedule, and an operation waits for its \
           connection even if others are free.",
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
    help: "What to do with an operation that is due while connections are full",
    long: "`queue`: wait; the wait is part of the response time. `drop`: do not send the \
           operation, and count it; dropped operations rank above every answered one in \
           percentiles. `skip:BEHIND,UNTIL`: wait, but when an operation is late by more than \
           BEHIND, drop all that are late by more than UNTIL; at the end of a run with `cooldown \
           drain`, drop these too. mutilate's `-S` is `skip:5ms,4ms`. A closed loop has nothing to \
           drop.",
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
    help: "Idle time of a connection after each reply",
    long: "A time such as `250us`, at most 1h. With a rate, the schedule does not change, and the \
           wait for a connection is part of the response time. In a closed loop, the next \
           operation is due when the pause ends. The gets and the cas of a cas operation have no \
           pause between them. Fills have no pauses.",
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
    help: "Change the rate over time: steps, ramps, sines or random levels",
    long: "`constant`, `ramp:FROM,TO` over the duration, `step:A,B,…@EVERY` repeated in turn, \
           `sine:MEAN,AMPLITUDE,PERIOD`, or `random:MIN,MAX@EVERY` with a new level each time. \
           Rates are per second; times need a unit. A shape other than `constant` replaces `rate`. \
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
    help: "Send this command to every server before the load starts",
    long: "One line of memcached's text protocol. memtide sends it once to each server, on a \
           connection of its own, after the fill and before the warm-up, and waits for the first \
           line of the reply. An error reply is a warning. Use it to switch something on in the \
           server. The server's counters include the command. `memtide load` does not send it. \
           Example: `verbosity 1`.",
    section: Section::Target,
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
    help: "Send this command to every server after the load ends",
    long: "As `before`, but sent after the last measured operation has ended, in every run that \
           was started, and before memtide reads the servers' counters. If a server no longer \
           answers, the report has a warning, and the result is valid. Example: `verbosity 0`.",
    section: Section::Target,
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
    default: "half the CPUs; 1 to 4 for a local server, 1 to 8 for a remote one",
    help: "Worker threads; each has its own connections",
    long: "From 1 to 1024. The default is half the CPUs that this process may use (by its CPU mask \
           and its cgroup quota): at most 4 for a server on this machine, at most 8 for a remote \
           one. The operations are the same for any number of workers.",
    section: Section::Machine,
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
    default: "automatic: if the embedded server or a narrowed CPU mask leaves enough CPUs",
    help: "Pin each worker to its own CPU",
    long: "Pins workers in any case. By default, memtide pins them in two cases: with the embedded \
           server, if there is a CPU for it and one for each worker (all are pinned then); and \
           with a named server, if the CPU mask of the process was narrowed (as with `taskset`) \
           and holds a CPU for each worker.",
    section: Section::Machine,
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
    default: "hybrid if no CPU is taken from the server, else sleep",
    help: "How a worker waits until the next operation is due",
    long: "`sleep`: in the kernel, which wakes some tens of microseconds late. `hybrid`: sleep \
           until shortly before, then spin. `spin`: always spin; needs a CPU per worker. The \
           default is `hybrid` if the embedded server and each worker have their own CPU, and for \
           a remote server if there are more than 2 CPUs and no quota; otherwise `sleep`.",
    section: Section::Machine,
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
    value: Some("INTERFACE"),
    default: "auto",
    help: "Kernel interface for network I/O: uring, epoll or auto",
    long: "`uring`: io_uring, with many sends and receives per system call; needs Linux 6.1 and is \
           forbidden in many containers. `epoll`: one system call per send and receive. `auto`: \
           uring if available, else epoll; the report shows which and why.",
    section: Section::Machine,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.io = if word == "auto" { None } else { Some(parsed(word)?) };
        Ok(())
    }),
    show: Show::Scenario(|scenario| {
        one(scenario.io.map_or_else(|| "auto".to_owned(), |io| io.to_string()))
    }),
};
