//! Flags of other load generators (memtier_benchmark, wrk2, fio, redis-benchmark), each with what
//! says it here: who comes from one of them types its flags out of habit.

use clap::ArgMatches;
use clap::parser::ValueSource;
use memtide_base::units;

/// memtier's keys by a normal law, whose median and deviation are numbers of keys.
const GAUSSIAN: &str = "--popularity walk:10k,1,100%@normal:50k,17k, with median and deviation";

/// A flag as the other program spells it, and memtide's, with an example.
const FOREIGN: [(&str, &str); 63] = [
    ("-c", "--connections 50, for each server"),
    ("-t", "--threads 4"),
    ("-d", "--duration 10s (in wrk2), or --value-size 200 (in memtier)"),
    ("-n", "--ops-max 1M"),
    ("-R", "--rate 10k (in wrk2), or --value-fill drawn, the default (in memtier)"),
    ("-P", "--protocol binary, or --depth 16 for a pipeline"),
    ("-a", "--user NAME and --password WORD"),
    ("-r", "--keys 100k"),
    ("--requests", "--ops-max 1M"),
    ("--test-time", "--duration 10s"),
    ("--runtime", "--duration 10s"),
    ("--time", "--duration 10s"),
    ("--ramp-time", "--warmup 2s"),
    ("--ratio", "--mix get=9,set=1"),
    ("--rwmixread", "--mix get=9,set=1"),
    ("--data-size", "--value-size 200"),
    ("--data-size-range", "--value-size uniform:100,200"),
    ("--bs", "--value-size 200"),
    ("--key-minimum", "--key-first 1000"),
    ("--key-maximum", "--keys 100k"),
    ("-p", "--server HOST:PORT"),
    ("--key-pattern", "--popularity uniform, or --popularity zipf:0.99"),
    ("--key-zipf-exp", "--popularity zipf:0.99"),
    ("--zipf", "--popularity zipf:0.99"),
    ("--random-distribution", "--popularity zipf:0.99"),
    ("--expiry-range", "--expiry 10, in seconds"),
    ("--pipeline", "--depth 16"),
    ("--iodepth", "--depth 16"),
    ("--numjobs", "--threads 4"),
    ("--rate-limiting", "--rate 10k"),
    ("--rate-iops", "--rate 10k"),
    ("--latency", "the report, which always has percentiles"),
    ("--print-percentiles", "the report, which always has percentiles"),
    ("--hdr-file-prefix", "--out hgrm=FILE or --out hlog=FILE"),
    ("--json-out-file", "--json FILE"),
    ("--out-file", "--out md=FILE, or --json FILE"),
    ("--run-count", "--repeat 5, which shows the median of the runs"),
    ("-x", "--repeat 5, which shows the median of the runs"),
    ("-o", "--json FILE, or --out md=FILE"),
    ("-H", "--server HOST:PORT"),
    ("-S", "--server unix:/PATH"),
    ("--host", "--server HOST:PORT"),
    ("--port", "--server HOST:PORT"),
    ("--server-port", "--server HOST:PORT"),
    ("--unix-socket", "--server unix:/PATH"),
    ("-L", "the report, which always has percentiles"),
    ("--u-latency", "the report, which always has percentiles"),
    ("--hide-histogram", "the report, which is short"),
    ("-D", "--out hlog=FILE, or --out intervals=FILE.csv"),
    ("--client-stats", "--out intervals=FILE.csv"),
    ("--random-data", "--value-fill drawn, the default"),
    ("--data-size-list", "--value-size table:100=3,200=1"),
    ("--blocksize", "--value-size 200"),
    ("--key-median", GAUSSIAN),
    ("--key-stddev", GAUSSIAN),
    ("--multi-key-get", "--multiget 10"),
    ("--data-verify", "--verify 1"),
    ("--verify-only", "--verify 1"),
    ("--distinct-client-seed", "--seed 7, which all workers divide"),
    ("--randomize", "--seed 7"),
    ("--reconnect-interval", "--connection-rate 1k --calls 100"),
    ("--rw", "--mix get=9,set=1"),
    ("--authenticate", "--user NAME and --password WORD"),
];

/// Flags that memtier_benchmark lacks, of counted clients: with one of them, those are meant.
const OF_CLIENTS: [&str; 7] = [
    "window",
    "connections-per-client",
    "connection-turn",
    "writers",
    "schedule",
    "mix-order",
    "transport",
];

/// A note about `--clients` of a command line, which memtier_benchmark has for each thread; `None`
/// if memtide's is meant, or both are the same.
pub(super) fn same_name(command: &ArgMatches) -> Option<String> {
    let clients = units::parse_count(flag(command, "clients")?).ok()?;
    let threads = units::parse_count(flag(command, "threads")?).ok()?;
    let is_meant = OF_CLIENTS.iter().any(|name| flag(command, name).is_some());
    if threads < 2 || is_meant || flag(command, "quiet").is_some() {
        return None;
    }
    Some(format!(
        "memtide: --clients {clients} is the number over all {threads} threads; the --clients of \
         memtier_benchmark is that of each thread, which is --connections {} here",
        clients.saturating_mul(threads)
    ))
}

/// The word of a flag on the command line; `None` also for a flag that the command lacks.
fn flag<'a>(command: &'a ArgMatches, name: &str) -> Option<&'a String> {
    let word = command.try_get_one::<String>(name).ok().flatten()?;
    (command.value_source(name) == Some(ValueSource::CommandLine)).then_some(word)
}

/// What says here what `flag` says in another program; none for an unknown flag.
pub(super) fn ours(flag: &str) -> Option<&'static str> {
    let plain = match flag.strip_prefix("--") {
        Some(name) => format!("--{}", name.replace('_', "-")),
        None => flag.to_owned(),
    };
    FOREIGN.iter().find(|(theirs, _)| *theirs == plain).map(|(_, ours)| *ours)
}

#[cfg(test)]
mod tests;
