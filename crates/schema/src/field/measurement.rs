//! The fields of the measurement: how it is judged, ended and repeated.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{bits, count, given_span, one, parsed, span};
use super::{Field, Section, Set, Show};
use crate::scenario::{Goal, fraction_word, parse_list, parse_switch};
use memtide_base::units;

pub(super) const GOAL: Field = Field {
    name: "goal",
    short: None,
    value: Some("GOAL"),
    default: "",
    help: "What must be true of the result, such as 'get.p99<1ms'",
    long: "`KIND.MEASURE`, `rate` or `errors`, then `<`, `<=`, `>` or `>=`, then a bound. KIND is \
           `all`, an operation of the mix, `get_hit` or `get_miss`; MEASURE is `mean`, `max` or a \
           percentile such as `p99.9`, of response times; `errors` is the fraction of operations \
           that were not answered well. Bounds: a time, a rate, a fraction. May be repeated and \
           takes comma lists. Each goal prints met, missed or undecided, and the exit code is 1 \
           unless all are met. Examples: `'all.p99.9<=5ms'`, `'rate>=50k'`, `'errors<0.1%'`.",
    section: Section::Measurement,
    many: true,
    set: Set::Scenario(|scenario, word| {
        scenario.goals = parse_list(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| scenario.goals.iter().map(Goal::to_string).collect()),
};

pub(super) const ABORT_ON: Field = Field {
    name: "abort-on",
    short: None,
    value: Some("GOAL"),
    default: "",
    help: "End the run early when this is true, such as 'errors>50%'",
    long: "A condition in the form of a `goal`, which says when to stop. It is judged about ten \
           times a second over the last second, from 5 s after the load began until the measured \
           window ends. `errors` and `rate` include the warm-up; response times are those of \
           measured operations. When it is true, the run ends with a partial record and exit code \
           1. Of a search or a scan it ends the whole. May be repeated and takes comma lists: any \
           one ends the run. Examples: `'errors>50%'`, `'rate<1k'`, `'all.p99>1s'`.",
    section: Section::Measurement,
    many: true,
    set: Set::Scenario(|scenario, word| {
        scenario.trust.abort_on = parse_list(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| scenario.trust.abort_on.iter().map(Goal::to_string).collect()),
};

pub(super) const ERRORS_MAX: Field = Field {
    name: "errors-max",
    short: None,
    value: Some("FRACTION"),
    default: "1%; the bound of a goal such as errors<5%",
    help: "Share of operations that may go wrong in a believable result",
    long: "A fraction from 0 to 1, such as `0` or `5%`. The result is not believable when more of \
           the measured operations failed, timed out, were lost or were abandoned. A miss, \
           NOT_STORED, EXISTS and NOT_FOUND are answers. Operations that ask for no answer, and \
           those that `on-full` drops, are left out. Where connections are the load, the share of \
           connections that could not be opened must keep the bound as well.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.trust.errors_max =
            Some(units::parse_fraction(word.trim()).map_err(|e| e.to_string())?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| {
        scenario.trust.errors_max.map(fraction_word).into_iter().collect()
    }),
};

pub(super) const STRICT: Field = Field {
    name: "strict",
    short: None,
    value: None,
    default: "off",
    help: "Exit with 4 when the result cannot be believed",
    long: "The report ends with `believable: yes` or no and the reason; with this switch a no is \
           also the exit code 4, for scripts.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.trust.strict = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.trust.strict)),
};

pub(super) const NO_STATS: Field = Field {
    name: "no-stats",
    short: None,
    value: None,
    default: "off",
    help: "Do not ask the servers for their statistics",
    long: "Without this switch memtide asks every server for `stats` before and after the load and \
           compares the server's counters with its own. Use it for servers and proxies that answer \
           `stats` with something else than a memcached. It costs that comparison (the check \
           `server_counters` is skipped) and nothing else; a single `get` finds out whether the \
           server is there. A server that refuses `stats`, or closes the connection on it, is \
           measured without this switch too.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.trust.no_stats = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.trust.no_stats)),
};

pub(super) const VERIFY: Field = Field {
    name: "verify",
    short: None,
    value: Some("FRACTION"),
    default: "0",
    help: "The fraction of reads whose values are checked",
    long: "A fraction from 0 to 1, such as `1` or `5%`. Stores then send values that prove whose \
           and which they are, and the answers to this fraction of the operations that read, the \
           first half of cas included, are checked while their bytes pass: a wrong one is \
           corrupt, another key's, stale or truncated, and any wrong one makes the exit code 1. \
           Values below 16 bytes have no room for a proof: of them only wrong bytes can be told. \
           Not with append or prepend; numeric keys are not checked. docs/verification.md says \
           what is certain and why.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.verify = units::parse_fraction(word.trim()).map_err(|e| e.to_string())?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.verify)),
};

pub(super) const VERIFY_KEYS: Field = Field {
    name: "verify-keys",
    short: None,
    value: Some("N"),
    default: "65536",
    help: "For how many keys versions are kept, so that stale values are told",
    long: "A count from 1 to `100M`; each takes 8 bytes for each server. With more keys than this \
           an even sample of them is taken, by the seed. Only the values of these keys can be \
           found stale; with `verify` 0 none are kept. Of the objects of a `window` all are.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.verify_keys = count(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.verify_keys)),
};

pub(super) const VERIFY_EXPIRY: Field = Field {
    name: "verify-expiry",
    short: None,
    value: None,
    default: "off",
    help: "Check that what expires is there until then, and not any longer",
    long: "Of a `window` whose objects are stored with an `expiry` of 5 to 2592000 seconds: an \
           object that comes back more than 2s after its end is an expired_get, one that does not \
           although it has more than 2s to live an unexpired_unget; any of them makes the exit \
           code 1. Within the 2s nothing is said, because servers count whole seconds. Costs 16 \
           bytes for each object. docs/verification.md says what is certain and why.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.verify_expiry = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.verify_expiry)),
};

pub(super) const INTERVAL: Field = Field {
    name: "interval",
    short: None,
    value: Some("TIME"),
    default: "1s, more with a timeout above 1m",
    help: "How long the rows over time are",
    long: "A time of at least `10ms`, the length of each of the record's `intervals`. Operations \
           are counted in the row that they were intended in; with `wave step:…@TIME` each level \
           has a row of its own. At most 16384 rows fit into the duration, and at most 1024 into \
           the timeout, for so long a worker keeps each of them open; an open row takes 20 kB for \
           each worker. Without it there are at most 1024 rows, and when they are full, \
           neighbours merge.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.interval = Some(span(word)?);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given_span(scenario.interval)),
};

pub(super) const MESSAGE_SIZES: Field = Field {
    name: "message-sizes",
    short: None,
    value: None,
    default: "off",
    help: "Keep the sizes of requests and replies",
    long: "The record then has their distributions as `message_sizes`. Of a cas that reads first \
           the request of its gets counts, and the reply to its cas.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.message_sizes = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.message_sizes)),
};

pub(super) const INTERVAL_TIMES: Field = Field {
    name: "interval-times",
    short: None,
    value: None,
    default: "off",
    help: "Keep the times of gets for each row over time",
    long: "Each of the record's `intervals` then has the whole distributions of the response and \
           service times of its gets. It costs two more histograms for each get, and three times \
           the memory for each row.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.interval_times = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.interval_times)),
};

pub(super) const COOLDOWN: Field = Field {
    name: "cooldown",
    short: None,
    value: Some("HOW"),
    default: "load",
    help: "What goes on while the last measured operations end",
    long: "`load`: the same load, unmeasured, until each measured operation has its outcome, so \
           that the last ones see the same server as the first. `drain`: nothing more is offered, \
           but what is behind its schedule is sent. `stop`: nothing more is sent. What is in \
           flight is awaited for 1 s at most and then abandoned; what was due and not sent is \
           dropped (`dropped_at_end`). Of its time it is known that it is longer than from its \
           intended instant to the end of the window, and it ranks above every answered \
           operation. Under overload a run so ends with its window, and reads no. Not with \
           `calls` or `connection-rate`.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.cooldown = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.cooldown)),
};

pub(super) const SEED: Field = Field {
    name: "seed",
    short: None,
    value: Some("N"),
    default: "1",
    help: "The seed of everything random",
    long: "A whole number below 2^64, decimal or hexadecimal (`0x2a`). Operation i and its \
           intended instant are functions of the seed and i, so two runs of one scenario ask for \
           the same.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.seed = bits(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.seed)),
};
