//! The fields of the measurement: how it is judged, ended and repeated.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{bits, count, given_span, one, parsed, span};
use super::{Field, Section, Set, Show};
use crate::scenario::{Goal, fraction_word, parse_list, parse_switch};
use memtide_base::units;

pub(super) const GOAL: Field = Field {
    name: "goal",
    short: None,
    value: Some("GOAL"),
    default: "",
    help: "Requirement for the result, such as 'get.p99<1ms'",
    long: "`KIND.MEASURE`, `rate` or `errors`, then `<`, `<=`, `>` or `>=`, then a limit. KIND is \
           `all`, an operation of the mix, `get_hit` or `get_miss`. MEASURE is `mean`, `max` or a \
           percentile of the response times such as `p99.9`. `errors` is the fraction of \
           operations that failed. `start_skew` is the time between the first and the last start \
           of the shares of a merged run. Limits are times, rates or fractions. Repeat the flag or \
           give a comma list. The report shows met, missed or undecided for each goal; the exit \
           code is 1 unless all are met. Examples: `'all.p99.9<=5ms'`, `'rate>=50k'`, \
           `'errors<0.1%'`.",
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
    value: Some("CONDITION"),
    default: "",
    help: "End the run early if a condition is true, such as 'errors>50%'",
    long: "A condition in the form of a `goal`. memtide evaluates it about ten times a second over \
           the last second, from 5 s after the load starts until the measured window ends. \
           `errors` and `rate` include the warm-up; response times include measured operations \
           only. If the condition is true, the run ends with a partial record and exit code 1; a \
           search or a scan ends as a whole. Repeat the flag or give a comma list: any one \
           condition ends the run. Examples: `'errors>50%'`, `'rate<1k'`, `'all.p99>1s'`.",
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
    default: "1%, or the limit of a goal such as errors<5%",
    help: "Fraction of failed operations that a believable result may have",
    long: "From 0 to 1, such as `0` or `5%`. The result is not believable if more of the measured \
           operations failed, timed out, were lost or were abandoned. A miss, NOT_STORED, EXISTS \
           and NOT_FOUND are not errors. `noreply` operations and operations dropped by `on-full` \
           are not included. Under connection churn, the fraction of connections that failed to \
           open must stay below the limit too.",
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
    help: "Exit with code 4 if the result is not believable",
    long: "Use it in scripts and CI. Without it, the exit code does not depend on the last line of \
           the report (`believable: yes`, or no with its reasons).",
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
    help: "Do not send the stats command to the servers",
    long: "By default, memtide sends `stats` to every server before and after the load and \
           compares the server's counters with its own. It also sends `stats` once a second while \
           the load runs, over a connection of its own to each of up to 16 servers. Use this \
           switch for servers and proxies that answer `stats` in another way than memcached. \
           memtide then skips that comparison (the check `server_counters`) and the servers' \
           figures per second, and sends a single `get` to find out whether the server is up. A \
           server that refuses `stats`, or closes the connection on it, works without this \
           switch.",
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
    help: "Fraction of reads whose values are checked",
    long: "From 0 to 1, such as `1` or `5%`. Stores then send values that identify their key and \
           version. memtide checks the replies to this fraction of the reads, including the gets \
           of a cas, as they arrive. A wrong value is corrupt, another key's, stale or truncated; \
           any wrong value makes the exit code 1. A value below 16 bytes has no room for its \
           identity, so only wrong bytes are found. Not available with append or prepend; numeric \
           keys are not checked. docs/verification.md describes what is certain and why.",
    section: Section::Verification,
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
    help: "Number of keys whose versions are tracked to find stale values",
    long: "From 1 to `100M`; each costs 8 bytes per server. If there are more keys, the seed \
           selects an even sample. Stale values are found for tracked keys only; with `verify` 0 \
           none are tracked. In a `window`, all objects are tracked.",
    section: Section::Verification,
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
    help: "Check that items expire on time, neither early nor late",
    long: "For a `window` whose objects have an `expiry` of 5 to 2592000 seconds. An object that \
           is returned more than 2s after its expiry is an expired_get; an object that is missing \
           more than 2s before its expiry is an unexpired_unget. Any of them makes the exit code \
           1. Within 2s of the expiry nothing is checked, because servers count whole seconds. It \
           costs 16 bytes per object. docs/verification.md describes what is certain and why.",
    section: Section::Verification,
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
    default: "1s; longer with a timeout above 1m",
    help: "Length of the rows over time in the record",
    long: "At least `10ms`. Each of the record's `intervals` covers this time. An operation counts \
           in the row in which it was due; with `wave step:…@TIME`, each level has its own row. At \
           most 16384 rows fit into the duration, and at most 1024 into the timeout: a worker \
           keeps these rows in memory, at 20 kB each. By default there are at most 1024 rows; when \
           they are full, neighbours are merged.",
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
    help: "Record the sizes of requests and replies",
    long: "The record then contains their distributions as `message_sizes`. For a cas that reads \
           first, the request size is that of the gets and the reply size that of the cas.",
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
    help: "Record the response times of gets for each row over time",
    long: "Each of the record's `intervals` then contains the full distributions of response and \
           service time of its gets. This costs two more histogram updates per get and three times \
           the memory per row.",
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
    help: "What to send while the last measured operations end",
    long: "`load`: the same load, unmeasured, until every measured operation has ended, so that \
           the last ones meet the same server as the first. `drain`: only operations that are \
           already due. `stop`: nothing. With `stop`, memtide waits at most 1 s for operations in \
           flight and then abandons them; operations that were due but not sent are dropped \
           (`dropped_at_end`). Their response time is unknown but longer than the time from when \
           they were due to the end of the window, so they rank above every answered operation. A \
           run with `stop` ends on time even under overload, and is then not believable. `stop` is \
           not available under connection churn.",
    section: Section::Load,
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
    help: "Seed of everything random",
    long: "A whole number below 2^64, decimal or hexadecimal (`0x2a`). The seed determines each \
           operation and when it is due, so two runs of one scenario send the same operations. \
           Vary it between repeated runs.",
    section: Section::Measurement,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.seed = bits(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.seed)),
};
