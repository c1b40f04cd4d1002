//! The formatter's output is read back into the values that it was made of, and memaslap's own
//! output is read, too.

use crate::slap::{List, Output, Row, output};
use memtide_base::rng::Random;
use memtide_compat::memaslap::text::{Formatter, Kinds, Period, RunCounts, TimeFigures};
use memtide_compat::memaslap::{Environment, Options, parse};
use memtide_metrics::histogram::Histogram;

const SEED: u64 = 0x736c_6170_0000;
const ROUNDS: u64 = 200;

/// memaslap 1.1.4 printed this of `-c 2 -t 2s -S 1s -v 0.5 -e 0.1`; two blocks are left out.
const PRINTED: &str = include_str!("printed/memaslap.txt");

#[test]
fn what_memaslap_printed() {
    let read = output(PRINTED).unwrap();
    assert_eq!((read.header.concurrency, read.header.length), (2, Ok(2)));
    assert_eq!((read.header.sets, read.header.gets), (0.1, 0.9));
    assert_eq!(read.periods.len(), 1);
    assert_eq!((read.periods[0][0].global.tps, read.periods[0][0].period.net_mib), (80_120, 72.1));
    assert_eq!(read.last[0].buckets.iter().sum::<u64>(), read.last[0].events);
    assert_eq!((read.last[1].deviation_us, read.last[1].buckets[13]), (None, 1));
    assert_eq!(read.counters[2], ("get_misses".to_owned(), 0));
    assert_eq!((read.line.ops, read.line.tps), (178_050, 89_016.0));
    for (at, _) in PRINTED.match_indices('\n').rev().skip(1) {
        assert!(output(&PRINTED[..=at]).is_err(), "cut at {at}");
    }
    for (from, to) in
        [("  34339", " 34339"), ("133.35 ", "nan "), ("=0.10", "=0.1"), ("M/s\n", "\n")]
    {
        let changed = PRINTED.replace(from, to);
        assert!(changed == PRINTED || output(&changed).is_err(), "{from} as {to}");
    }
    assert!(output(&format!("{PRINTED}more\n")).is_err());
}

#[test]
fn what_is_printed_reads_back() {
    for seed in SEED..SEED + ROUNDS {
        let passed = std::panic::catch_unwind(|| round(&mut Random::new(seed)));
        assert!(passed.is_ok(), "with seed {seed}: see above");
    }
}

fn round(random: &mut Random) {
    let options = options(random);
    let formatter = Formatter::new(&options);
    let periods: Vec<Period> = (0..random.below(3)).map(|_| period(random)).collect();
    let totals = totals(random);
    let mut text = formatter.header();
    periods.iter().for_each(|period| text += &formatter.period(period));
    text += &formatter.end(&totals);
    let read = output(&text).unwrap_or_else(|why| panic!("{why} in\n{text}"));

    let is_timed = read.header.length.is_ok();
    let has_statistics = options.output.statistics_every.is_some();
    assert_eq!(u64::from(read.header.concurrency), u64::from(options.concurrency));
    assert_eq!(read.header.window_k * 1024, options.window);
    let shown = if is_timed && has_statistics { periods.len() } else { 0 };
    assert_eq!(read.periods.len(), shown);
    for (blocks, period) in read.periods.iter().zip(&periods) {
        let whole = kinds(&period.whole);
        assert_eq!(blocks.len(), whole.iter().filter(|(_, figures)| figures.count > 0).count());
        for block in blocks {
            let of = |all: &Kinds| {
                let found = kinds(all).into_iter().find(|(name, _)| *name == block.name);
                found.unwrap().1.clone()
            };
            same_row(&block.period, &of(&period.period), period.length_s);
            same_row(&block.global, &of(&period.whole), period.elapsed_s);
        }
    }
    if has_statistics {
        let all = kinds(&totals.kinds);
        let meant: Vec<_> = all.iter().filter(|(_, figures)| figures.count > 0).collect();
        assert_eq!(read.last.len(), meant.len());
        read.last.iter().zip(meant).for_each(|(list, (name, figures))| {
            assert_eq!(list.name, *name);
            same_list(list, figures);
        });
    } else {
        assert!(read.last.is_empty());
    }
    same_counters(&read, &totals, &options);
}

fn kinds(kinds: &Kinds) -> [(&'static str, &TimeFigures); 3] {
    [("Get", &kinds.gets), ("Set", &kinds.sets), ("Total", &kinds.total)]
}

fn same_row(row: &Row, figures: &TimeFigures, length_s: u64) {
    assert_eq!((row.time_s, row.ops, row.misses), (length_s, figures.count, figures.misses));
    assert_eq!(row.tps, figures.count / length_s);
    assert_eq!((row.min_us, row.max_us), (figures.min_us, figures.max_us));
    assert_eq!(row.avg_us, figures.mean_us as u64);
    close(row.deviation_us, figures.deviation_us, 0.01);
    close(row.geo_us, figures.geometric_mean_us, 0.01);
    close(row.net_mib, figures.count as f64 * 1088.0 / 1_048_576.0 / length_s as f64, 0.1);
}

fn same_list(list: &List, figures: &TimeFigures) {
    assert_eq!((list.events, list.min_us), (figures.count, figures.min_us));
    assert_eq!((list.max_us, list.avg_us), (figures.max_us, figures.mean_us as u64));
    close(list.geo_us, figures.geometric_mean_us, 0.01);
    assert_eq!(list.deviation_us.is_some(), figures.count > 1);
    close(list.deviation_us.unwrap_or(0.0), figures.deviation_us, 0.01);
    assert_eq!(list.buckets, figures.log2_counts);
    assert_eq!(list.buckets.iter().sum::<u64>(), list.events);
}

fn same_counters(read: &Output, totals: &RunCounts, options: &Options) {
    let of = |name: &str| {
        let found = read.counters.iter().find(|(counter, _)| counter == name);
        found.map(|(_, count)| *count)
    };
    assert_eq!((of("cmd_get"), of("cmd_set")), (Some(totals.gets), Some(totals.sets)));
    assert_eq!(of("get_misses"), Some(totals.misses));
    let is_verifying = options.shares.verified > 0.0;
    assert_eq!(of("verify_failed"), is_verifying.then_some(totals.verify_failed));
    assert_eq!(of("verify_misses"), is_verifying.then_some(totals.verify_misses));
    assert_eq!(of("packet_drop"), None);
    assert_eq!(of("written_bytes"), Some(totals.bytes_sent));
    assert_eq!(of("read_bytes"), Some(totals.bytes_received));
    assert_eq!(of("object_bytes"), Some(totals.object_bytes));
    let per_second = |amount: f64| if totals.run_s > 0.0 { amount / totals.run_s } else { 0.0 };
    let ops = u128::from(totals.gets) + u128::from(totals.sets);
    assert_eq!(read.line.ops, ops);
    close(read.line.time_s, totals.run_s, 0.1);
    close(read.line.tps, per_second(ops as f64), 1.0);
    let bytes = totals.bytes_sent as f64 + totals.bytes_received as f64;
    close(read.line.net_mib, per_second(bytes / 1_048_576.0), 0.1);
}

fn close(read: f64, meant: f64, step: f64) {
    let rounding = step / 2.0 + meant.abs() * 1e-12;
    assert!((read - meant).abs() <= rounding, "{read} was read, and {meant} was meant");
}

fn options(random: &mut Random) -> Options {
    let concurrency = (1 + random.below(4000)).to_string();
    let window = format!("{}k", 1 + random.below(2000));
    let mut words = vec!["-s", "h:1,[::1]", "-c", &concurrency, "-w", &window];
    for option in [["-S", "2s"], ["-v", "0.5"], ["-x", "3000000000"], ["-t", "3d"]] {
        if random.below(2) == 0 {
            words.extend(option);
        }
    }
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let environment = Environment { servers: None, home: None, read: &|_| None };
    parse("memaslap", &words, &environment).unwrap()
}

fn number(random: &mut Random) -> u64 {
    let magnitude = random.below(60);
    random.bits() % (1 << magnitude)
}

fn figures(random: &mut Random) -> (Histogram<u64>, TimeFigures) {
    let mut times = Histogram::new();
    let magnitude = 1 + random.below(35);
    (0..random.below(50)).for_each(|_| times.record(random.bits() % (1 << magnitude)));
    let misses = number(random);
    let figures = TimeFigures::of(&times, misses);
    (times, figures)
}

fn all(random: &mut Random) -> Kinds {
    let (gets, sets) = (figures(random), figures(random));
    let mut total = gets.0.clone();
    total.absorb(&sets.0);
    Kinds { gets: gets.1, sets: sets.1, total: TimeFigures::of(&total, 0) }
}

fn period(random: &mut Random) -> Period {
    let (length_s, elapsed_s) = (1 + random.below(99), 1 + random.below(99_999_999));
    Period { length_s, elapsed_s, period: all(random), whole: all(random) }
}

fn totals(random: &mut Random) -> RunCounts {
    RunCounts {
        kinds: all(random),
        gets: number(random),
        sets: number(random),
        misses: number(random),
        verify_misses: number(random),
        verify_failed: number(random),
        bytes_sent: number(random),
        bytes_received: number(random),
        object_bytes: number(random),
        run_s: number(random) as f64 / 1e9,
        ..RunCounts::default()
    }
}
