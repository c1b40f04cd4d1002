//! The output as files of bytes, including published samples of the original, and the properties of
//! single figures.

use super::*;
use crate::memaslap::options::Options;
use crate::memaslap::{Environment, parse};
use crate::tests::{expect, words};
use memtide_metrics::histogram::Histogram;
use memtide_record::WrongValue;

fn options(line: &str) -> Options {
    let environment = Environment { servers: Some("127.0.0.1:21811"), home: None, read: &|_| None };
    parse("memaslap", &words(line), &environment).unwrap()
}

/// Figures that memaslap printed, without a distribution.
fn figures(
    count: u64,
    (min_us, max_us, mean_us): (u64, u64, u64),
    std_geo: (f64, f64),
) -> TimeFigures {
    let (deviation_us, geometric_mean_us) = std_geo;
    let mean_us = mean_us as f64 + 0.9;
    let misses = 0;
    let log2_counts = Vec::new();
    TimeFigures {
        count,
        misses,
        min_us,
        max_us,
        mean_us,
        geometric_mean_us,
        deviation_us,
        log2_counts,
    }
}

#[test]
fn a_header() {
    let of = |line: &str| Formatter::new(&options(line)).header();
    assert_eq!(
        of("-c 1 -t 3s"),
        "\
servers: 127.0.0.1:21811
threads count: 1
concurrency: 1
run time: 3s
windows size: 10k
set proportion: set_prop=0.10
get proportion: get_prop=0.90
"
    );
    let counted = of("-s a:1,b -T 2 -c 4 -x 3000000000 -w 1m -t 5s");
    assert_eq!(
        counted,
        "\
servers: a:1,b
threads count: 2
concurrency: 4
execute number: 3000000000
windows size: 1024k
set proportion: set_prop=0.10
get proportion: get_prop=0.90
"
    );
}

/// A block that memaslap 1.1.4 printed, with 1088 bytes per object.
const PERIOD: &str = "\
Get Statistics
Type     Time(s)  Ops          TPS(ops/s)   Net(M/s)   Get_miss   Min(us)  Max(us)    Avg(us)    \
Std_dev    Geo_dist  
Period   1        12566        12566        13.0       0          21       6079       71         \
286.16     42.54
Global   2        32436        16218        16.8       0          13       12871      55         \
246.47     33.47

";

#[test]
fn statistics_now_and_then() {
    let gets = figures(12_566, (21, 6079, 71), (286.16, 42.54));
    let whole_gets = figures(32_436, (13, 12_871, 55), (246.47, 33.47));
    let period = Period {
        length_s: 1,
        elapsed_s: 2,
        period: Kinds { gets, ..Kinds::default() },
        whole: Kinds { gets: whole_gets, ..Kinds::default() },
    };
    let of = |line: &str, period: &Period| Formatter::new(&options(line)).period(period);
    let clear = "\u{1b}[1;1H\u{1b}[2J\n";
    assert_eq!(of("-S 1s", &period), format!("{clear}{PERIOD}"));
    assert_eq!(of("-S 1s --plain", &period), format!("\n{PERIOD}"));
    assert_eq!(of("-S 1s", &Period::default()), clear);
    assert_eq!(of("-t 5s", &period), "", "nobody asked for it");
    assert_eq!(of("-S 1s -x 100", &period), "", "a run that ends by its count prints none");
    assert!(of("-S 1s -X 65536", &period).contains(" 786.1 "), "the fixed length counts");
}

#[test]
fn all_statistics_now_and_then() {
    let misses = TimeFigures { misses: 17, ..figures(345_826, (27, 2198, 203), (95.43, 177.29)) };
    let since = Kinds { gets: misses.clone(), sets: TimeFigures::default(), total: misses };
    let whole = Kinds {
        gets: figures(1_257_935, (26, 3791, 224), (117.79, 192.6)),
        sets: figures(1, (37, 37, 37), (0.0, 37.0)),
        total: figures(9_876_543_210_123, (26, 1_234_567_890, 227), (1.0, 195.6)),
    };
    let period = Period { length_s: 5, elapsed_s: 20, period: since, whole };
    expect("memaslap/expect/period.txt", &Formatter::new(&options("-S 5s")).period(&period));
}

/// A block that memaslap 1.1.4 printed.
const LAST: &str = "\
Get Statistics (45259 events)
   Min:        13
   Max:     12871
   Avg:        59
   Geo:     36.01
   Std:    253.43
   Log2 Dist:
       4:     1904    13624    26844     2104
       8:      212      114      121      128
      12:      172       35        1

";

/// The counters and the last line of the same run.
const COUNTERS: &str = "\
cmd_get: 45260
cmd_set: 5029
get_misses: 0
written_bytes: 8725175
read_bytes: 50277722
object_bytes: 5471552

Run time: 3.0s Ops: 50289 TPS: 16759 Net_rate: 18.8M/s
";

fn totals() -> RunCounts {
    let log2_counts = vec![0, 0, 0, 0, 1904, 13_624, 26_844, 2104, 212, 114, 121, 128, 172, 35, 1];
    let gets = TimeFigures { log2_counts, ..figures(45_259, (13, 12_871, 59), (253.43, 36.01)) };
    RunCounts {
        kinds: Kinds { gets, ..Kinds::default() },
        gets: 45_260,
        sets: 5029,
        bytes_sent: 8_725_175,
        bytes_received: 50_277_722,
        object_bytes: 5_471_552,
        run_s: 3.000_7,
        ..RunCounts::default()
    }
}

#[test]
fn the_end() {
    let of = |line: &str| Formatter::new(&options(line)).end(&totals());
    assert_eq!(of("-t 3s"), COUNTERS);
    assert_eq!(of("-S 2d"), format!("{LAST}{COUNTERS}"));
    assert_eq!(of("-S 1s -x 50289"), format!("{LAST}{COUNTERS}"));
}

#[test]
fn every_counter() {
    let totals = RunCounts {
        verify_misses: 1,
        verify_failed: 2,
        expired_found: 3,
        unexpired_missed: 4,
        datagrams_disordered: 5,
        datagrams_lost: 6,
        udp_timeouts: 7,
        misses: 8,
        ..totals()
    };
    expect(
        "memaslap/expect/counters.txt",
        &Formatter::new(&options("-v 1 -e 1 -U -S 1s")).end(&totals),
    );
    let names = |line: &str| {
        let text = Formatter::new(&options(line)).end(&totals);
        let name = |line: &str| line.split_once(": ").map(|(name, _)| name.to_owned());
        text.lines().filter_map(name).collect::<Vec<_>>().join(" ")
    };
    let always = |between: &str, behind: &str| {
        format!(
            "cmd_get cmd_set get_misses{between} written_bytes read_bytes object_bytes{behind} \
             Run time"
        )
    };
    assert_eq!(names("-x 1"), always("", ""));
    assert_eq!(names("-v 0.1"), always(" verify_misses verify_failed", ""));
    assert_eq!(names("-e 0.1"), always(" expired_get unexpired_unget", ""));
    assert_eq!(names("-a -d 2"), always("", " packet_disorder packet_drop udp_timeout"));
}

#[test]
fn runs_that_were_too_short_or_too_long() {
    let last = |totals: RunCounts| Formatter::new(&options("-x 1")).end(&totals);
    let text = last(RunCounts::default());
    assert!(text.ends_with("\n\nRun time: 0.0s Ops: 0 TPS: 0 Net_rate: 0.0M/s\n"), "{text}");
    let most = u64::MAX;
    let totals = RunCounts { gets: most, sets: most, bytes_sent: most, run_s: 1.0, ..totals() };
    assert!(last(totals).contains("Ops: 36893488147419103230 TPS: 36893488147419103232 "));
}

#[test]
fn where_a_distribution_begins() {
    let list = |counts: &[u64]| {
        let count = counts.iter().sum();
        let log2_counts = counts.to_vec();
        let total = TimeFigures { log2_counts, ..figures(count, (1, 2, 1), (1.0, 1.0)) };
        let kinds = Kinds { total, ..Kinds::default() };
        let totals = RunCounts { kinds, ..RunCounts::default() };
        let text = Formatter::new(&options("-S 1s")).end(&totals);
        let (_, rest) = text.split_once("Log2 Dist:\n").unwrap();
        rest.split_once("\n\n").unwrap().0.to_owned()
    };
    // memaslap prints all of these.
    assert_eq!(list(&[1]), "       0:        1");
    assert_eq!(
        list(&[0, 0, 0, 0, 0, 7, 2]),
        "       0:        0        0        0        0\n       4:        0        7        2"
    );
    assert_eq!(
        list(&[0, 0, 0, 0, 0, 7, 1, 0, 0, 1, 1]),
        "       4:        0        7        1        0\n       8:        0        1        1"
    );
    let mut far = [0; 14];
    far[13] = 1;
    assert_eq!(list(&far).lines().count(), 4);
    far[4] = 1_000_000;
    assert!(list(&far).starts_with("       4:   1000000        0        0        0\n       8: "));
}

#[test]
fn figures_of_times() {
    let of = |times: &[u64]| {
        let mut histogram = Histogram::new();
        times.iter().for_each(|ns| histogram.record(*ns));
        TimeFigures::of(&histogram, 3)
    };
    assert_eq!(of(&[]), TimeFigures::default());
    let one = of(&[17_900]);
    assert_eq!((one.count, one.misses, one.min_us, one.max_us), (1, 3, 17, 17));
    assert_eq!((one.mean_us_whole(), one.deviation_us), (17, 0.0));
    // memaslap printed 77, 48.26 and 84.85 for these two times, which are whole microseconds.
    let two = of(&[17_000, 137_000]);
    assert_eq!(two.mean_us_whole(), 77);
    assert!((two.geometric_mean_us / 48.26 - 1.0).abs() < 0.01, "{}", two.geometric_mean_us);
    assert_eq!(format!("{:.2}", two.deviation_us), "84.85");
    assert_eq!(two.log2_counts, [0, 0, 0, 0, 0, 1, 0, 0, 1]);
    let bounds = of(&[500, 1_500, 2_500, 3_500, 5_500, 3_600_000_000_000]);
    assert_eq!(bounds.log2_counts[..4], [2, 1, 1, 1]);
    assert_eq!((bounds.log2_counts.len(), bounds.log2_counts[32]), (33, 1));
}

#[test]
fn what_is_told_on_the_way() {
    let options = options("-s h:1,[::1]:2 -R");
    let (formatter, servers) = (Formatter::new(&options), &options.target.servers);
    assert_eq!(formatter.lost(&servers[0]), "Server h:1 disconnect\n");
    assert_eq!(formatter.back(&servers[1], 7), "Server ::1:2 reconnect after 7s\n");
    let wrong = WrongValue {
        op: 5,
        server: "h:1".to_owned(),
        key: "0000000000000abc".to_owned(),
        class: "corrupt",
        version_min: 3,
        version: Some(2),
        offset: 17,
    };
    let classes = ["corrupt", "stale", "truncated", "wrong_key", "expired_get", "unexpired_unget"];
    let text = classes.map(|class| failure(&WrongValue { class, ..wrong.clone() }));
    expect("memaslap/expect/failures.txt", &text.concat());
}
