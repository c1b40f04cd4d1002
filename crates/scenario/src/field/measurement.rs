//! The fields of the measurement and of verification: what is recorded, and how it is judged.
//!
//! Rows of the table only.

use super::parse::{bits, count, fraction, fraction_words, given, output_path, span};
use super::{AgentRule, Field, Section, member};
use crate::scenario::{figure_list, parse_list, parse_strict, parse_switch, strict_words};

const MEASUREMENT: Field = Field::of(Section::Measurement, AgentRule::Allowed);

/// The fields of the section Measurement.
pub(super) const MEASUREMENT_FIELDS: &[Field] = &[
    Field {
        name: "goal",
        value: Some("GOAL"),
        help: "Requirement for the result, such as 'get.p99<1ms'",
        long: concat!(
            "A figure, then `<`, `<=`, `>` or `>=`, then a limit. Figures: ",
            figure_list!(),
            ". `errors` is the fraction of operations that failed, counted as `errors-max` counts \
             them. `start_skew` is the time between the first and the last start of the shares of \
             a merged run. docs/outputs.md describes the figures from `answered` on. Limits are \
             times, rates, fractions or numbers. Repeat the flag or give a comma list. The report \
             shows met, missed or undecided for each goal; the exit code is 1 unless all are met. \
             Examples: `'p99.9<=5ms'`, `'get.mean<1ms'`, `'rate>=50k'`, `'errors<0.1%'`, \
             `'hit_ratio>95%'`."
        ),
        many: true,
        member: member!(scenario.goals, each parse_list),
        ..MEASUREMENT
    },
    Field {
        name: "abort-on",
        value: Some("CONDITION"),
        help: "End the run early if a condition is true, such as 'errors>50%'",
        long: concat!(
            "A condition in the form of a `goal`. Figures: ",
            figure_list!(),
            ". Times, `rate`, `errors` and `answered` are known while the load runs; the others \
             are refused here. memtide evaluates a condition about ten times a second over the \
             last second, from 5 s after the load starts until the measured window ends. `errors`, \
             `rate` and `answered` include the warm-up; response times include measured operations \
             only. If the condition is true, the run ends with a partial record and exit code 1; a \
             search or a scan ends as a whole. Repeat the flag or give a comma list: any one \
             condition ends the run. Examples: `'errors>50%'`, `'rate<1k'`, `'all.p99>1s'`."
        ),
        many: true,
        member: member!(scenario.trust.abort_on, each parse_list),
        ..MEASUREMENT
    },
    Field {
        name: "errors-max",
        value: Some("FRACTION"),
        default: "1%, or the limit of a goal such as errors<5%",
        help: "Fraction of failed operations that a believable result may have",
        long: "From 0 to 1, such as `0` or `5%`. The result is not believable if more of the \
               measured operations failed, timed out, were lost or were abandoned. A miss, \
               NOT_STORED, EXISTS and NOT_FOUND are not errors. `noreply` operations and \
               operations dropped by `on-full` are not included. Under connection churn, the \
               fraction of connections that failed to open must stay below the limit too.",
        member: member!(scenario.trust.errors_max, some fraction, fraction_words),
        ..MEASUREMENT
    },
    Field {
        name: "strict",
        default: "off",
        help: "Exit with code 4 if the result is not believable",
        long: "Use it in scripts and CI. All goals must be decided, or without goals p50, p90, p99 \
               and the rate known within ± 30 %, and no check may fail that spoils all. With a \
               bound, such as `--strict=10%`, the figures that goals name must be known within it, \
               too. Without it, the exit code does not depend on the last line of the report.",
        member: member!(scenario.trust.strict, parse_strict, strict_words),
        ..MEASUREMENT
    },
    Field {
        name: "no-stats",
        default: "off",
        help: "Do not send the stats command to the servers",
        long: "By default, memtide sends `stats` to every server before and after the load and \
               compares the server's counters with its own. It also sends `stats` once a second \
               while the load runs, over a connection of its own to each of up to 16 servers. Use \
               this switch for servers and proxies that answer `stats` in another way than \
               memcached. memtide then skips that comparison (the check `server_counters`) and the \
               servers' figures per second, and sends a single `get` to find out whether the \
               server is up. A server that refuses `stats`, or closes the connection on it, works \
               without this switch.",
        member: member!(scenario.trust.no_stats, parse_switch),
        ..MEASUREMENT
    },
    Field {
        name: "interval",
        value: Some("TIME"),
        default: "1s; longer with a timeout above 1m",
        help: "Length of the rows over time in the record",
        long: "At least `10ms`. Each of the record's `intervals` covers this time. An operation \
               counts in the row in which it was due; with `wave step:…@TIME`, each level has its \
               own row. At most 16384 rows fit into the duration, and at most 1024 into the \
               timeout: a worker keeps these rows in memory, at 20 kB each. By default there are \
               at most 1024 rows; when they are full, neighbours are merged.",
        member: member!(scenario.interval, some span),
        ..MEASUREMENT
    },
    Field {
        name: "interval-times",
        default: "off",
        help: "Record the response times of gets for each row over time",
        long: "Each of the record's `intervals` then contains the full distributions of response \
               and service time of its gets. This costs two more histogram updates per get and \
               three times the memory per row.",
        member: member!(scenario.interval_times, parse_switch),
        ..MEASUREMENT
    },
    Field {
        name: "message-sizes",
        default: "off",
        help: "Record the sizes of requests and replies",
        long: "The record then contains their distributions as `message_sizes`. For a cas that \
               reads first, the request size is that of the gets and the reply size that of the \
               cas.",
        member: member!(scenario.message_sizes, parse_switch),
        ..MEASUREMENT
    },
    Field {
        name: "count-refused",
        default: "off",
        help: "Count replies that are an error as answered, with their times",
        long: "mutilate and its descendants count so. The record has their number as `refused`. \
               They remain errors for `errors-max` and goals, and the source of operations learns \
               that they failed. Those of the fill are not answered.",
        member: member!(scenario.count_refused, parse_switch),
        ..MEASUREMENT
    },
    Field {
        name: "seed",
        value: Some("N"),
        default: "1",
        help: "Seed of everything random",
        long: "A whole number below 2^64, decimal or hexadecimal (`0x2a`). The seed determines \
               each operation and when it is due, so two runs of one scenario send the same \
               operations. Another seed means other keys and values, too: between repeated runs, \
               vary `gap-seed`.",
        member: member!(scenario.seed, bits),
        ..MEASUREMENT
    },
    Field {
        name: "gap-seed",
        value: Some("N"),
        default: "that of seed",
        help: "Seed of the gaps between operations alone",
        long: "A number as for `seed`. With another one, the same operations on the same keys and \
               values are due at other instants, so a run is repeated with other arrivals without \
               a new fill. `memtide ab` gives each pair its own.",
        member: member!(scenario.gap_seed, some bits),
        ..MEASUREMENT
    },
];

const VERIFICATION: Field = Field::of(Section::Verification, AgentRule::Allowed);

/// The fields of the section Verification.
pub(super) const VERIFICATION_FIELDS: &[Field] = &[
    Field {
        name: "verify",
        value: Some("FRACTION"),
        default: "0",
        help: "Fraction of reads whose values are checked",
        long: "From 0 to 1, such as `1` or `5%`. Stores then send values that identify their key \
               and version. memtide checks the replies to this fraction of the reads, including \
               the gets of a cas, as they arrive. A wrong value is corrupt, another key's, stale \
               or truncated; any wrong value makes the exit code 1. A value below 16 bytes has no \
               room for its identity, so only wrong bytes are found. Not available with append or \
               prepend; numeric keys are not checked. docs/verification.md describes what is \
               certain and why.",
        member: member!(scenario.verify, fraction),
        ..VERIFICATION
    },
    Field {
        name: "verify-keys",
        value: Some("N"),
        default: "65536",
        help: "Number of keys whose versions are tracked to find stale values",
        long: "From 1 to `100M`; each costs 8 bytes per server. If there are more keys, the seed \
               selects an even sample. Stale values are found for tracked keys only; with `verify` \
               0 none are tracked. In a `window`, all objects are tracked.",
        member: member!(scenario.verify_keys, count),
        ..VERIFICATION
    },
    Field {
        name: "verify-expiry",
        default: "off",
        help: "Check that items expire on time, neither early nor late",
        long: "For a `window` whose objects have an `expiry` of 5 to 2592000 seconds. An object \
               that is returned more than 2s after its expiry is an expired_get; an object that is \
               missing more than 2s before its expiry is an unexpired_unget. Any of them makes the \
               exit code 1. Within 2s of the expiry nothing is checked, because servers count \
               whole seconds. It costs 16 bytes per object. docs/verification.md describes what is \
               certain and why.",
        member: member!(scenario.verify_expiry, parse_switch),
        ..VERIFICATION
    },
    Field {
        name: "verify-details",
        value: Some("FILE"),
        help: "Write one line of JSON per wrong value that verify finds",
        long: "Each line is an object with `op` (the position of the operation in the run), \
               `server`, `key`, `class`, `version_min` (the oldest version allowed, 0 for any), \
               `version` (the version received, null if it has none) and `offset` (the first wrong \
               byte). At most 100000 are kept; the last line then counts the rest as `not_listed`. \
               `-` writes to stdout.",
        member: member!(outputs.verify_details, output_path, given),
        agents: AgentRule::Output,
        ..VERIFICATION
    },
];
