//! Rates that the program chooses or changes: waveforms, scans, searches and profiles.

use super::parser::{self, Dialect, Progress, Waveform};
use super::{Tally, counted, dialect, face, fresh, load_ms, record_at};
use crate::child::{Finished, shared};
use crate::peer::Peer;
use memtide_record::{EndedBy, Record, Verdict};
use memtide_scenario::Kind;

/// Parses a waveform's output, and compares it with its servers and its record.
fn waveform(peer: &Peer, line: &str) -> (Waveform, Record) {
    let (ran, mut records, counted) = counted(&[peer], &format!("{line} -s {}", peer.name));
    let record = records.remove(0);
    let printed = parser::waveform(&ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    let targets = &printed.targets_per_s;
    assert_eq!(printed.rows.len(), targets.len(), "{ran}");
    let mean = targets.iter().sum::<u64>() / targets.len() as u64;
    assert_eq!(printed.mean_per_s, mean, "{ran}");
    assert_eq!(printed.timestamps, load_ms(&record), "{ran}");
    let measured = counted.minus(Tally::untold(&record));
    assert_eq!(printed.total.ops, measured.gets + measured.sets, "{ran}");
    assert_eq!(printed.total.kinds, None, "{ran}");
    assert_eq!(printed.counts.misses.0, measured.misses, "{ran}");
    assert!(printed.cpu.is_some(), "{ran}");
    let mut ops = 0.0;
    for ((row, target), interval) in printed.rows.iter().zip(targets).zip(&record.intervals) {
        assert_eq!((row.target_per_s, row.timestamps), (*target, None), "{ran}");
        let rate = interval.ops as f64 / interval.length_s;
        assert!((row.rate_per_s - rate).abs() < 0.06, "{rate} in {ran}");
        assert_eq!(row.figures[0] > 0.0, interval.ops > 0, "{ran}");
        ops += row.rate_per_s * interval.length_s;
    }
    assert!((ops - printed.total.ops as f64).abs() < targets.len() as f64, "{ops} in {ran}");
    (printed, record)
}

pub(crate) fn a_seed_makes_the_waveform_that_it_made_before() {
    // Nearly 100 000/s from a program that is built for tests.
    let peer = Peer::memcached("-t 2");
    for (line, expected) in [
        (
            "mcperf --qps_seed 42 --qps_min 5000 --qps_max 100000 --qps_interval 0.125 -t 1 -d 64",
            &[5031, 54838, 74868, 30015, 40743, 23648, 97712, 53672][..],
        ),
        (
            "mcperf --noload -T 16 -C 4 -D 4 -Q 1000 -c 4 -t 1 --qps_interval 0.2 \
             --qps_min 10000 --qps_max 50000 --qps_seed 23",
            &[10007, 11014, 25157, 31958, 20146],
        ),
    ] {
        let (printed, record) = waveform(&peer, line);
        assert_eq!(printed.kind, "Random waveform, supplied seed");
        assert_eq!(printed.targets_per_s, expected);
        check_offered(line, &printed, &record);
    }
}

#[test]
fn what_is_intended_in_an_interval_is_what_was_asked_for() {
    let _turn = shared();
    let peer = Peer::memcached("");
    for line in [
        "mcperf --qps_seed 23 --qps_min 500 --qps_max 4000 --qps_interval 0.5 -t 4 -c 4",
        "mcperf-dynamic --qps_target 2000,500 --qps_target 4000 --qps_interval 1 -u 0.2",
        "mcperf --noload -T 4 -C 4 -D 4 -Q 1000 -c 4 --qps_interval 0.5 --qps_target 3200 \
         --qps_target 7400",
        "mcperf-dynamic --qps_interval 0.5 --qps_target 3000,0,1000 -i fixed -w 1",
        "mcperf-dynamic --qps_interval 0.25 -t 1 --qps_max 3000 -Q 1000 -T 2 -c 2 --noload",
    ] {
        let (printed, record) = waveform(&peer, line);
        let seed = if line.contains("seed") { "supplied" } else { "random" };
        let kind = match line.contains("target") {
            true => "Supplied waveform".to_owned(),
            false => format!("Random waveform, {seed} seed"),
        };
        assert_eq!(printed.kind, kind, "{line}");
        check_offered(line, &printed, &record);
    }
}

#[test]
fn what_a_server_cannot_serve_in_its_interval_is_late_there() {
    // The server serves at most 1000/s, so the second interval's operations are answered in the
    // third.
    let peer = Peer::embedded("--behaviour queue:1,fixed:1ms");
    let json = fresh("overload.json");
    let targets = "--qps_target 200,2000,100,100,100";
    let line = &format!("mcperf-dynamic --qps_interval 0.5 {targets} -r 100 --response");
    let ran = face(&format!("{line} -s {} --json {}", peer.name, json.display())).exits(0);
    let printed = parser::waveform(&ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    check_offered(line, &printed, &record_at(&json));
    let means_us: Vec<f64> = printed.rows.iter().map(|row| row.figures[0]).collect();
    assert!(means_us[1] > 100e3, "{ran}");
}

#[test]
fn a_run_under_overload_ends_with_its_time_and_counts_what_the_server_counts() {
    let peer = Peer::memcached("");
    for (line, dialect) in [
        ("mcperf -q 300000 -t 2 -u 0.1", Dialect::Mcperf),
        ("mcperf-dynamic -q 300000 -t 1 -T 2 -c 2", Dialect::McperfDynamic),
        ("mutilate -q 300000 -t 1 -i exponential:1 -S --response", Dialect::Mutilate),
    ] {
        let (ran, records, counted) = counted(&[&peer], &format!("{line} -s {}", peer.name));
        let record = &records[0];
        let measured = counted.minus(Tally::untold(record));
        let report = parser::report(dialect, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert_eq!(report.total.ops, measured.gets + measured.sets, "{ran}");
        let totals = &record.totals;
        assert!(totals.dropped_at_end > 0, "{ran}");
        assert_eq!(totals.dropped_when_full() > 0, line.contains("-S"), "{ran}");
        assert_eq!(totals.intended, totals.answered + totals.dropped, "{ran}");
        let skipped = report.counts.skipped.map_or(0, |(count, _)| count);
        assert_eq!(skipped, totals.dropped_when_full(), "{ran}");
        let end = (record.partial, record.ended_by, record.exit, record.believable.verdict);
        assert_eq!(end, (false, EndedBy::Duration, 0, Verdict::No), "{ran}");
        // Nothing was sent after the window, so the last answers came soon.
        let until_s = record.answered_until_s.unwrap();
        assert!(until_s < record.measured_s + 60.0, "{ran}");
        let all = &record.response[&Kind::All];
        assert_eq!(all.bounds.as_ref().map_or(0, |it| it.count), totals.dropped_at_end, "{ran}");
    }
}

/// Asserts that every interval's rate of intended operations is within 2 % or four deviations of
/// the target, and that what was answered of them is printed: what a busy machine sent too late is
/// cut off.
fn check_offered(line: &str, printed: &Waveform, record: &Record) {
    let rows = printed.targets_per_s.iter().zip(&printed.rows).zip(&record.intervals);
    for ((target, row), interval) in rows {
        let expected = *target as f64 * interval.length_s;
        let deviation = if line.contains("-i fixed") { 0.0 } else { expected.sqrt() };
        // Each connection's first gap of an interval may belong to the interval before.
        let allowed = (4.0 * deviation).max(0.02 * expected).max(8.0);
        let off = interval.intended as f64 - expected;
        assert!(off.abs() <= allowed, "{line}: {off} more than {expected}");
        let answered = row.rate_per_s * interval.length_s + interval.unanswered as f64;
        let unprinted = answered - interval.intended as f64;
        assert!(unprinted.abs() <= 1.0, "{line}: {unprinted} more than intended");
    }
}

/// Asserts that the printed rate counts answers until the last one, if that came after the window.
fn check_achieved(printed: f64, record: &Record, ran: &Finished) {
    let until_s = record.answered_until_s.unwrap_or(0.0).max(record.measured_s);
    let rate = record.totals.answered as f64 / until_s;
    assert!((printed / rate - 1.0).abs() < 1e-3, "{printed}, not {rate} in {ran}");
}

/// Parses the rows of a scan, and compares each with the servers and its record.
fn scan(peer: &Peer, line: &str) -> (parser::Scan, Finished) {
    let (ran, records, _) = counted(&[peer], &format!("{line} -s {}", peer.name));
    let printed =
        parser::scan(dialect(line), &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    assert_eq!(printed.rows.len(), records.len(), "{ran}");
    for (row, record) in printed.rows.iter().zip(&records) {
        check_achieved(row.rate_per_s, record, &ran);
        let stamps = load_ms(record);
        assert_eq!(row.timestamps.unwrap_or(stamps), stamps, "{ran}");
        assert_eq!(row.timestamps.is_some(), dialect(line) == Dialect::McperfDynamic);
        let asked = row.target_per_s as f64 * record.measured_s;
        let intended = record.totals.intended as f64;
        assert!((intended - asked).abs() <= 5.0 * asked.sqrt() + 4.0, "{ran}");
    }
    (printed, ran)
}

#[test]
fn scans_have_a_row_for_each_rate() {
    let peer = Peer::memcached("");
    for (line, targets) in [
        ("mutilate --scan 1000:2000:1000 -t 1 -c 2", &[1000, 2000][..]),
        ("mcperf --scan=500:1400:400 -t 1 -B -T 2", &[500, 900, 1300]),
        ("mcperf-dynamic --scan 1000:2000:600 -t 1 -u 0.1 --noload -w 1", &[1000, 1600]),
        ("mutilate --scan 1000:1000:500 -t 1 --format mcperf --binary", &[1000]),
        ("mcperf --scan 1000:1000:1 -t 1 --format mutilate-2012 -S", &[1000]),
        ("mutilate --scan 2000:1000:500 -t 1", &[]),
    ] {
        let (printed, ran) = scan(&peer, line);
        let found: Vec<u64> = printed.rows.iter().map(|row| row.target_per_s).collect();
        assert_eq!(found, targets, "{ran}");
        let is_mcperf = matches!(dialect(line), Dialect::Mcperf | Dialect::McperfDynamic);
        assert_eq!(printed.cpu.is_some(), is_mcperf && !targets.is_empty(), "{ran}");
        assert!(printed.rows.iter().all(|row| row.figures[0] > 0.0), "{ran}");
    }
}

/// The output of a search: its report, and its progress.
fn search(peer: &Peer, line: &str) -> (parser::Report, Vec<Progress>, Vec<Record>, Finished) {
    let (ran, records, _) = counted(&[peer], &format!("{line} -s {}", peer.name));
    let dialect = dialect(line);
    let report = parser::report(dialect, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    let logged = |line: &&str| line.starts_with("mutilate.cc") || line.starts_with("mcperf.cc");
    let log: String = ran.err.lines().filter(logged).map(|line| format!("{line}\n")).collect();
    let steps = parser::progress(dialect, &log).unwrap_or_else(|why| panic!("{why}: {ran}"));
    assert_eq!(steps.len(), records.len() + 1, "{ran}");
    let last = records.last().unwrap();
    assert_eq!(report.counts.received.0, last.totals.bytes_received, "the last run's: {ran}");
    check_achieved(report.peak_per_s.unwrap(), &records[0], &ran);
    check_achieved(report.total.rate_per_s, last, &ran);
    (report, steps, records, ran)
}

#[test]
fn searches_tell_how_they_go() {
    let peer = Peer::memcached("");
    for (line, limit_us, order) in [
        ("mutilate --search 95:1000000 -t 1 -c 2", 1_000_000, "95"),
        ("mcperf --search 999:1000000 -t 1 -c 2", 1_000_000, "999"),
        ("mcperf --search avg:1000000 -t 1 -u 0.2", 1_000_000, "avg"),
        ("mutilate --search 50:1 -t 1 -B", 1, "50"),
        ("mcperf-dynamic --search 99:1000000 -t 1", 1_000_000, "99"),
    ] {
        let (report, steps, records, ran) = search(&peer, line);
        assert_eq!(steps[0], Progress::Begin { limit_us, order: order.to_owned() }, "{ran}");
        let Progress::Peak { rate_per_s, measured_us } = steps[1] else { panic!("{ran}") };
        // One is truncated to a whole number, the other rounded to one decimal.
        let off = report.peak_per_s.unwrap() - rate_per_s as f64;
        assert!((-0.1..1.1).contains(&off), "{ran}");
        assert_eq!(records.len() > 1, measured_us > limit_us as f64, "{ran}");
        let mut lower = rate_per_s;
        for step in &steps[2..] {
            let Progress::Trial { target_per_s, bounds, .. } = step else { panic!("{ran}") };
            // With an impossible bound, every trial is the middle of the remaining range.
            assert!(*target_per_s < lower && bounds.is_none(), "{ran}");
            lower = *target_per_s;
        }
    }
}

/// Above the rate at which the 95th percentile of response time in a queue of 1000/s is 10 ms:
/// 1000/s minus ln 20 / 10 ms. With steps of 2 s, a search's result has a deviation of 38/s, as in
/// a model of the queue; four deviations are allowed.
const FOUND_MAX_PER_S: f64 = 852.0;

/// On a busy machine a search finds a lower rate; what it finds is tested in virtual time.
#[test]
fn a_search_finds_what_queueing_theory_says() {
    let peer = Peer::embedded("--behaviour queue:1,exponential:1ms");
    let line = "mutilate -c 4 -d 512 -i exponential -t 2 --search 95:10000 -r 100";
    let ran = face(&format!("{line} -s {}", peer.name)).exits(0);
    let report = parser::report(Dialect::Mutilate, &ran.out).unwrap();
    // The first step is a closed loop that fills the queue, and all its answers count.
    let (peak, found) = (report.peak_per_s.unwrap(), report.total.rate_per_s);
    assert!(peak < 1100.0, "{peak} in {ran}");
    assert!(found > 0.0 && found < FOUND_MAX_PER_S.min(peak), "{found} in {ran}");
}

/// Runs profiles on a memcached that keeps their connections open. Its items do not matter.
fn profiles(numbers: &[u32], targets: &[Option<u64>]) {
    let peer = Peer::memcached("-c 8192 -t 2");
    for (number, connections) in numbers.iter().zip(targets) {
        let line = format!("mcperf --profile {number} -t 1 --noload -s {}", peer.name);
        let ran = face(&line).exits(0);
        let report = parser::report(Dialect::Mcperf, &ran.out).unwrap();
        assert_eq!(report.counts.connections, *connections, "{ran}");
        assert_eq!(report.counts.misses.0, report.total.ops, "nothing was stored: {ran}");
        assert_eq!(report.peak_per_s.is_some(), *number != 3, "{ran}");
    }
}

#[test]
fn the_profiles_of_many_connections() {
    profiles(&[1, 3], &[Some(4000), Some(1)]);
}

#[test]
fn the_profiles_of_fewer_connections() {
    profiles(&[2, 4], &[Some(1000), Some(100)]);
}
