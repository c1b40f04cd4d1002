//! The fields of the load: how much, when, and when it stops.
//!
//! Rows of the table only.

use super::parse::{count, parsed, rate, span};
use super::{AgentRule, Field, Section, member};
use crate::scenario::parse_list;

const LOAD: Field = Field::of(Section::Load, AgentRule::Allowed);

/// The fields of the section.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "rate",
        value: Some("RATE"),
        default: "10k with the embedded server, else 0",
        help: "Operations per second; 0 runs a closed loop",
        long: "The total over all workers and servers: `500`, `20k`, `1.5M` (k is 1000), at most \
               `1G`. With a rate above 0, operations are sent on schedule whether or not replies \
               arrive (open loop). With 0, each connection sends as soon as its depth allows \
               (closed loop): the result is the maximum throughput, and response times at \
               saturation are not comparable with those at a rate.",
        member: member!(scenario.rate, some rate),
        ..LOAD
    },
    Field {
        name: "duration",
        value: Some("TIME"),
        default: "10s; none with precision, ops-max or connections-total",
        help: "How long to measure",
        long: "A time with its unit: `500ms`, `30s`, `2m`, `1h`; at most `366d`. memtide measures \
               the operations that are due in this window, which starts after the warm-up. Load \
               continues until each of them has ended. With `ops-max`, the first limit reached \
               ends the run.",
        member: member!(scenario.duration, some span),
        ..LOAD
    },
    Field {
        name: "precision",
        value: Some("'FIGURE FRACTION'"),
        default: "p50 10%,p90 10% without a server and a duration; else none",
        help: "Measure until figures are known this narrowly, such as 'p99 5%'",
        long: "A figure (`p99`, `mean`, `get.p99.9` or `rate`) and half the width of the range in \
               which it lies: `'p99 5%'` ends the window once p99 is known within ± 5 %. memtide \
               looks first after 5 s and then when the window is at least a quarter longer, and \
               measures for `at-most` if that is not enough. The range includes what memtide may \
               have added, which a longer run does not make narrower. Repeat the flag or give a \
               comma list: the window ends when all are known. It replaces `duration`, and needs a \
               constant rate or a closed loop.",
        many: true,
        member: member!(scenario.precision, each parse_list),
        ..LOAD
    },
    Field {
        name: "at-most",
        value: Some("TIME"),
        default: "5m with precision; 30s without a server",
        help: "The longest time to measure with precision",
        long: "A time with its unit, such as `30s` or `10m`; at most `366d`. If the figures that \
               `precision` names are not narrow enough by then, memtide says so, and `strict` \
               exits with 4.",
        member: member!(scenario.at_most, some span),
        ..LOAD
    },
    Field {
        name: "warmup",
        value: Some("TIME|auto"),
        default: "auto in runs, searches and scans of 5s or longer (10s by agents); else 0s",
        help: "How long to load before measuring",
        long: "A time such as `5s`; or `auto`: until the load is steady, from 1 s to 30 % of the \
               duration (memtide warns if that may be too short), and not with a wave. The load \
               is the same as in the measured window. `auto` is the default where it is possible; \
               trials, simulations and runs by shares have no warm-up by default. The result does \
               not include it; the record counts it separately.",
        member: member!(scenario.warmup, parsed),
        ..LOAD
    },
    Field {
        name: "ops-max",
        value: Some("N"),
        default: "none",
        help: "End the run after this number of operations",
        long: "At least 1, such as `1M`. The run sends exactly this number, whatever the number of \
               workers. With `duration`, the first limit reached ends the run.",
        member: member!(scenario.ops_max, some count),
        ..LOAD
    },
    Field {
        name: "timeout",
        value: Some("TIME"),
        default: "5s",
        help: "Count an operation as timed out this long after it was due",
        long: "A time with its unit, above 0 and at most 1h. It applies whether or not the \
               operation was sent. Late replies are discarded and counted. Nothing is sent again. \
               The run ends when every server is gone for longer than this.",
        member: member!(scenario.timeout, span),
        ..LOAD
    },
    Field {
        name: "cooldown",
        value: Some("HOW"),
        default: "load",
        help: "What to send while the last measured operations end",
        long: "`load`: the same load, unmeasured, until every measured operation has ended, so \
               that the last ones meet the same server as the first. `drain`: only operations that \
               are already due. `stop`: nothing. With `stop`, memtide waits at most 1 s for \
               operations in flight and then abandons them; operations that were due but not sent \
               are dropped (`dropped_at_end`). Their response time is unknown but longer than the \
               time from when they were due to the end of the window, so they rank above every \
               answered operation. A run with `stop` ends on time even under overload, and is then \
               not believable. `stop` is not available under connection churn.",
        member: member!(scenario.cooldown, parsed),
        ..LOAD
    },
    Field {
        name: "wave",
        value: Some("SHAPE"),
        default: "constant",
        help: "Change the rate over time: steps, ramps, sines or random levels",
        long: "`constant`, `ramp:FROM,TO` over the duration, `step:A,B,…@EVERY` repeated in turn, \
               `sine:MEAN,AMPLITUDE,PERIOD`, or `random:MIN,MAX@EVERY` with a new level each time. \
               Rates are per second; times need a unit. A shape other than `constant` replaces \
               `rate`. Example: `step:10k,50k,10k@20s`.",
        member: member!(scenario.wave, parsed),
        ..LOAD
    },
    Field {
        name: "arrival",
        value: Some("LAW"),
        default: "poisson",
        help: "Distribution of the gaps between operations",
        long: "`poisson`: independent users. `fixed`: a metronome. `uniform`: from 0 to twice the \
               mean gap. `uniform:LEAST`: around the mean, from this fraction of it. \
               `ascending:STEP`: each gap is longer than the one before by this fraction of the \
               first gap; `rate` applies to the first. `normal:DEVIATION`: in mean gaps; a \
               negative gap becomes 0. `pareto:LOC,SCALE,SHAPE`: generalised Pareto, SHAPE below \
               1. `etc`: the gaps of Facebook's ETC pool. Gaps are scaled to the rate.",
        member: member!(scenario.arrival, parsed),
        ..LOAD
    },
    Field {
        name: "schedule",
        value: Some("WHOSE"),
        default: "shared",
        help: "One schedule for all connections, or one per connection",
        long: "`shared`: one schedule; each operation goes to the least loaded connection. \
               `connection`: every connection has its own schedule, and an operation waits for its \
               connection even if others are free.",
        member: member!(scenario.schedule, parsed),
        ..LOAD
    },
    Field {
        name: "on-full",
        value: Some("WHAT"),
        default: "queue",
        help: "What to do with an operation that is due while connections are full",
        long: "`queue`: wait; the wait is part of the response time. `drop`: do not send the \
               operation, and count it; dropped operations rank above every answered one in \
               percentiles. `skip:BEHIND,UNTIL`: wait, but when an operation is late by more than \
               BEHIND, drop all that are late by more than UNTIL; at the end of a run with \
               `cooldown drain`, drop these too. mutilate's `-S` is `skip:5ms,4ms`. A closed loop \
               has nothing to drop.",
        member: member!(scenario.on_full, parsed),
        ..LOAD
    },
    Field {
        name: "pause-after-reply",
        value: Some("TIME"),
        default: "0",
        help: "Idle time of a connection after each reply",
        long: "A time such as `250us`, at most 1h. With a rate, the schedule does not change, and \
               the wait for a connection is part of the response time. In a closed loop, the next \
               operation is due when the pause ends. The gets and the cas of a cas operation have \
               no pause between them. Fills have no pauses.",
        member: member!(scenario.pause_after_reply, span),
        ..LOAD
    },
    Field {
        name: "rate-unit",
        value: Some("UNIT"),
        default: "ops",
        help: "What rate and ops-max count: ops or keys",
        long: "`ops`: operations, whatever their number of keys. `keys`: keys, so a get of ten \
               keys counts as ten in `rate`, `wave` and `ops-max`. The last get requests fewer \
               keys if `ops-max` requires it, so the total is exact.",
        member: member!(scenario.rate_unit, parsed),
        ..LOAD
    },
];
