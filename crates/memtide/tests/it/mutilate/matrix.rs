//! Command lines from the programs' pages and from scripts, shortened in time: each is accepted,
//! prints exactly the original's format, and agrees with the servers' counts.

use super::parser::{self, Counts, Dialect, Report};
use super::{Tally, counted, dialect};
use crate::child::Finished;
use crate::peer::Peer;
use memtide_record::Record;
use memtide_scenario::Kind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// One run and its report. `@S` is the server.
const PAGES: &[&str] = &[
    "mutilate -s @S -t 1",
    "mcperf -s @S -t 1",
    "mcperf-dynamic -s @S -t 1",
    "mutilate -s @S -T 4 -c 8 -t 1",
    "mcperf -s @S -T 2 -c 8 -t 1 --noload",
    "mutilate -s @S --noload -B -T 2 -Q 1000 -D 4 -C 4 -c 4 -q 20000 -t 1",
    "mcperf -s @S --noload -B -T 2 -Q 1000 -D 4 -C 4 -c 4 -q 20000 -t 1",
    "mcperf-dynamic -s @S --noload -T 2 -C 4 -D 4 -Q 1000 -c 4 -t 1 -q 5000",
    "mutilate -s @S -q 1000 -t 1 -v",
    "mutilate -s @S -q 1000 -t 1 --quiet",
    "mcperf -s @S -q 3000 -c 2 -d 4 -u 0.1 -K fb_key -V fb_value -i fb_ia -t 1 -r 2000",
    "mcperf -s @S -B -q 2000 -t 1 -w 1 -W 1",
    "mutilate -s @S -B -q 2000 -t 1 -w 1 -u 0.5",
    "mutilate -s @S -c 4 -d 4096 -q 5000 -i exponential -t 1",
    "mutilate -s @S -S -q 5000 -c 2 -t 1 --affinity",
    "mcperf -s @S --skip -q 5000 -t 1 --no_nodelay",
    "mutilate -s @S --moderate -q 5000 -c 4 -t 1",
    "mcperf -s @S --moderate -t 1",
    "mutilate -s @S -R -T 2 -t 1 -q 1000",
    "mutilate -s @S -M 120 -t 1 -q 500",
    "mutilate -s @S -M30 -t 1 -q 500",
    "mcperf -s @S -m 5 -M 60 -p 7777 -l 2 -t 1 -q 500",
    "mutilate -s @S -q 500 --sin 200 -t 1",
    "mutilate -s @S -q 1000 --sin=100 --sin_amplitude 1 -t 1 --seed 7",
];

/// Loads: sizes, shares, orders, multigets, inter-arrival times.
const LOADS: &[&str] = &[
    "mutilate -s @S -t 1 -K 16 -V 1024 -r 1000 -u 1.0",
    "mutilate -s @S -t 1 -K fixed:8 -V uniform:2000 -r 500 -u 0.25 -q 4000",
    "mutilate -s @S -t 1 -K uniform:60 -V normal:200,50 -q 2000",
    "mutilate -s @S -t 1 -K normal:30,5 -V exponential:0.01 -q 2000 -u 0.1",
    "mcperf -s @S -t 1 -K gev:30.7984,8.20449,0.078688 -V pareto:15,214.476,0.348238 -q 2000",
    "mcperf -s @S -t 1 -V uniform:100,1000 -q 2000 -u 0.1 -i uniform",
    "mutilate -s @S -t 1 -i fixed -q 2000",
    "mutilate -s @S -t 1 -i 5 -q 2000 -c 3",
    "mutilate -s @S -t 1 -i uniform:100 -q 2000",
    "mutilate -s @S -t 1 -i normal:0.001,0.0001 -q 2000",
    "mutilate -s @S -t 1 -i exponential:1 -q 2000",
    "mutilate -s @S -t 1 -i pareto:0.0,16.0292,0.154971 -q 2000",
    "mutilate -s @S -t 1 -i gev:1,2,3",
    "mcperf -s @S -t 1 -G 10 -g 0.5 -q 1000",
    "mcperf -s @S -t 1 -g 100 -u 0.1 -q 500",
    "mcperf -s @S -t 1 -G 50 -g 1 --binary -r 1000",
    "mutilate -s @S -t 1 --binary -u 0.1 -q 5000 -c 4 -T 2",
    "mcperf -s @S -t 1 --binary -d 8 -u 0.5",
    "mcperf -s @S -t 1 -e -q 1000",
    "mcperf -s @S -t 1 --keyorder uniform:20000 -r 20000 -q 5000",
    "mcperf -s @S -t 1 --keyorder pareto:0.0,16,0.154971 -r 5000 -q 5000",
    "mcperf -s @S -t 1 --keycache_capacity 100 --keyorder uniform:1000 -r 1000",
    "mcperf -s @S -t 1 --keycache_capacity 50 --keycache_reuse 3 --keycache_regen 10 -r 1000",
    "mcperf -s @S -t 1 --noload -K 77 -q 1000",
    "mcperf -s @S -t 1 --noload --profile 3",
];

/// Outputs in addition to the usual one, or instead of it.
const OUTPUTS: &[&str] = &[
    "mcperf -s @S -t 1 -q 1000 --format mutilate",
    "mcperf -s @S -t 1 -q 1000 -u 0.1 --format=mutilate-2012",
    "mutilate -s @S -t 1 -q 1000 -u 0.1 --format mcperf",
    "mutilate -s @S -t 1 -q 1000 -u 0.1 --form mcperf-dynamic",
    "mutilate -s @S -t 1 -q 1000 --response",
    "mcperf -s @S -t 1 -q 1000 --response -u 0.5",
];

/// Nothing on stdout.
const SILENT: &[&str] = &[
    "mutilate -s @S --loadonly",
    "mcperf -s @S --loadonly -r 5000 -K 40 -V 10 -T 4",
    "mcperf-dynamic -s @S --loadonly --qps_interval 1",
    "mutilate -v -s @S -M -T 2 -B -c 1 -t 1 --noload",
    "mutilate -s @S -BM -t 1 -q 1000",
    "mutilate -s @S --masterless_agentmode -t 1 -q 1000 --sin 500",
];

/// Several servers: `@S` and `@U` are two, `@N` are both by their range of ports.
const SERVERS: &[&str] = &[
    "mutilate -s @S -s @U -t 1 -q 2000",
    "mutilate -s @S,@U -t 1 -T 2 -c 2 -u 0.1",
    "mcperf -s @N -t 1 -q 2000 -r 1000",
    "mcperf -s @N -t 1 -T 2 -R -c 2 -q 2000",
    "mutilate -s @S -s @U -R -T 4 -t 1 -q 2000 --binary",
    "mcperf-dynamic -s @N -t 1 -u 0.5 -q 2000",
];

/// Number of command lines that run at a time.
const LANES: usize = 3;

/// Runs every line against its own memcached.
fn check_each(lines: &[&str]) {
    let next = AtomicUsize::new(0);
    let lane = || {
        let peer = Peer::memcached("-t 2");
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(&line.replace("@S", &peer.name), &[&peer]);
        }
    };
    thread::scope(|scope| (0..LANES).for_each(|_| drop(scope.spawn(lane))));
}

#[test]
fn the_command_lines_of_the_pages() {
    check_each(PAGES);
}

#[test]
fn every_kind_of_load() {
    check_each(LOADS);
}

#[test]
fn every_output() {
    check_each(OUTPUTS);
}

#[test]
fn those_that_print_nothing() {
    check_each(SILENT);
}

#[test]
fn several_servers() {
    let (first, second, both) = Peer::memcached_pair();
    for line in SERVERS {
        let line = line.replace("@S", &first.name).replace("@U", &second.name);
        check(&line.replace("@N", &both), &[&first, &second]);
    }
}

fn check(line: &str, peers: &[&Peer]) {
    let (ran, records, counted) = counted(peers, line);
    let record = &records[0];
    if ran.out.is_empty() {
        let silent = ["--loadonly", " -M ", "-BM ", "--masterless"];
        assert!(silent.iter().any(|word| line.contains(word)), "{ran}");
        return;
    }
    let dialect = dialect(line);
    let report = parser::report(dialect, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    check_total(&report, record, &ran);
    check_counts(&report.counts, record, &ran);
    check_speeds(&report, &ran);
    check_rows(&report, dialect, record, &ran);
    let measured = counted.minus(Tally::untold(record));
    assert_eq!(report.total.ops, measured.gets + measured.sets, "{ran}");
    assert_eq!(report.counts.misses.0, measured.misses, "{ran}");
    check_rate(line, record, &ran);
    let stamps = (record.started_unix_ms, record.ended_unix_ms);
    assert_eq!(report.timestamps.unwrap_or(stamps), stamps, "{ran}");
    assert_eq!((report.peak_per_s, report.saved), (None, None), "{ran}");
    let sources = ["mutilate.cc(", "mcperf.cc(", "Connection.cc(", "Generator.h("];
    let logged =
        |line: &str| line.is_empty() || sources.iter().any(|source| line.starts_with(source));
    assert!(ran.err.lines().all(logged), "stderr belongs to the original: {ran}");
    if let Some(cpu) = report.cpu {
        let [mean, min, max] = cpu.percent;
        assert!(0.0 <= min && min <= mean && mean <= max && max <= 100.0, "{ran}");
        assert_eq!(cpu.warned, max > 95.0, "{ran}");
    }
}

/// Asserts that the intended load is the requested one, however it is split.
fn check_rate(line: &str, record: &Record, ran: &Finished) {
    let Some((_, rest)) = line.split_once(" -q ") else { return };
    let asked: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    let intended = record.totals.intended as f64;
    // No distribution of gaps makes counts deviate by more than 1.25 times Poisson's deviation.
    let deviation = 5.0 * 1.25 * asked.sqrt();
    let allowed = deviation.max(0.02 * asked) + f64::from(record.plan.connections);
    assert!((intended - asked).abs() <= allowed, "{intended} of {asked}: {ran}");
}

fn sets(record: &Record) -> u64 {
    record.service.get(&Kind::Set).map_or(0, |times| times.count)
}

fn check_total(report: &Report, record: &Record, ran: &Finished) {
    let (gets, sets) = (record.totals.keys, sets(record));
    let total = &report.total;
    assert_eq!(total.ops, gets + sets, "{ran}");
    let kinds = (gets as f64, sets as f64);
    assert_eq!(total.kinds.unwrap_or(kinds), kinds, "{ran}");
    assert!(total.ops > 0, "{ran}");
    // Both are printed with one decimal.
    let rate = total.ops as f64 / total.measured_s;
    assert!((total.rate_per_s / rate - 1.0).abs() < 0.06, "{ran}");
}

fn check_counts(counts: &Counts, record: &Record, ran: &Finished) {
    let totals = &record.totals;
    let connections = u64::from(record.plan.connections);
    assert_eq!(counts.connections.unwrap_or(connections), connections, "{ran}");
    let ops = totals.keys + sets(record);
    for ((count, percent), expected, of) in [
        (counts.misses, totals.misses, totals.keys),
        (counts.skipped.unwrap_or_default(), totals.dropped_when_full(), ops),
    ] {
        assert_eq!(count, expected, "{ran}");
        let share = 100.0 * expected as f64 / of.max(1) as f64;
        assert!((percent - share).abs() < 0.06, "{percent} instead of {share}: {ran}");
    }
    let bytes = (totals.bytes_received, totals.bytes_sent);
    assert_eq!((counts.received.0, counts.sent.0), bytes, "{ran}");
}

fn check_speeds(report: &Report, ran: &Finished) {
    // The time by which the rate is divided, more exact than it is printed.
    let s = report.total.ops as f64 / report.total.rate_per_s;
    for (bytes, speed) in [report.counts.received, report.counts.sent] {
        let megabytes = bytes as f64 / 1_048_576.0;
        assert!((speed - megabytes / s).abs() < 0.06 + 1e-3 * speed, "{ran}");
    }
}

fn check_rows(report: &Report, dialect: Dialect, record: &Record, ran: &Finished) {
    let counts = [record.totals.keys, sets(record), 1];
    for (row, count) in report.rows.iter().zip(counts) {
        let first = if dialect == Dialect::Mutilate2012 { 1 } else { 2 };
        let (mean, least, most) = (row[0], row[first], row[row.len() - 1]);
        assert!(row[first..].is_sorted(), "{ran}");
        assert_eq!(mean > 0.0, count > 0, "{ran}");
        assert!(least <= mean && (most > 0.0) == (count > 0), "{ran}");
    }
    let times =
        if ran.to_string().contains("--response") { &record.response } else { &record.service };
    if let Some(least_ns) = times.get(&Kind::Set).and_then(|times| times.min_ns) {
        let least = report.rows[1][if dialect == Dialect::Mutilate2012 { 1 } else { 2 }];
        assert!((least - least_ns as f64 / 1e3).abs() < 0.06, "the least is the true one: {ran}");
    }
}
