//! Flags of other load generators (memtier_benchmark, wrk2, fio, redis-benchmark), each with what
//! says it here: who comes from one of them types its flags out of habit.

/// A flag as the other program spells it, and memtide's, with an example.
const FOREIGN: [(&str, &str); 63] = [
    ("-c", "--connections 50, for each server"),
    ("-t", "--threads 4"),
    ("-d", "--duration 10s (in wrk2), or --value-size 200 (in memtier)"),
    ("-n", "--ops-max 1M"),
    ("-R", "--rate 10k"),
    ("-P", "--protocol binary, or --depth 16 for a pipeline"),
    ("-a", "--user and --password"),
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
    ("--key-minimum", "--keys 100k"),
    ("--key-maximum", "--keys 100k"),
    ("-p", "--server HOST:PORT"),
    ("--key-pattern", "--popularity uniform, or zipf:0.99"),
    ("--key-zipf-exp", "--popularity zipf:0.99"),
    ("--zipf", "--popularity zipf:0.99"),
    ("--random-distribution", "--popularity zipf:0.99"),
    ("--expiry-range", "--expiry 10s"),
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
    ("--run-count", "several runs, and memtide compare A.json B.json"),
    ("-x", "several runs, and memtide compare A.json B.json"),
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
    ("--random-data", "--value-fill drawn, which is the default"),
    ("--data-size-list", "--value-size uniform:100,200"),
    ("--blocksize", "--value-size 200"),
    ("--key-median", "--popularity zipf:0.99"),
    ("--key-stddev", "--popularity zipf:0.99"),
    ("--multi-key-get", "--multiget 10"),
    ("--data-verify", "--verify 1"),
    ("--verify-only", "--verify 1"),
    ("--distinct-client-seed", "--seed 7, which all workers divide"),
    ("--randomize", "--seed 7"),
    ("--reconnect-interval", "--connection-rate 1k --calls 100"),
    ("--rw", "--mix get=9,set=1"),
    ("--authenticate", "--user and --password"),
];

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
