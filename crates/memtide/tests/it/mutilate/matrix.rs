//! Command lines from the programs' pages and from scripts, shortened in time: each is accepted,
//! prints exactly the original's format, and agrees with the servers' counts.

use super::parser::{self, Counts, Dialect, Report};
use super::{Tally, counted, dialect, load_ms};
use crate::child::{Finished, section};
use crate::peer::Peer;
use memtide_record::Record;
use memtide_scenario::Kind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const LINES: &str = include_str!("lines.txt");
/// Number of command lines that run at a time.
const LANES: usize = 3;

/// Runs every line of a table in `lines.txt` against its own memcached.
fn check_each(table: &str) {
    let lines: Vec<&str> = section(LINES, table).collect();
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
    check_each("pages");
}

#[test]
fn every_kind_of_load() {
    check_each("loads");
}

#[test]
fn every_output() {
    check_each("outputs");
}

#[test]
fn those_that_print_nothing() {
    check_each("silent");
}

#[test]
fn several_servers() {
    let (first, second, both) = Peer::memcached_pair();
    for line in section(LINES, "servers") {
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
    let stamps = load_ms(record);
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
