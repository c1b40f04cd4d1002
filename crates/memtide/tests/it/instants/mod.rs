//! Instants on real sockets, from the exported samples: sends follow their distribution, and a
//! server with known service times gives the computed response times.
//!
//! A machine that withholds the CPU for a while spoils an attempt, so there are a few, and a thread
//! that only sleeps says how late the machine makes everybody: the promise is about a program that
//! may run.

use crate::prelude::*;

const ATTEMPTS: usize = 8;

/// One row of the samples, in seconds since the start of the run.
struct Row {
    intended: f64,
    sent: f64,
    received: f64,
}

/// The samples of a run with `flags`, in the order of their sends.
fn samples(flags: &str) -> Vec<Row> {
    let path = scratch("instants.csv");
    let line = format!("run {flags} --samples {} --quiet", path.display());
    Running::start(&line).finish().exits(0);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("intended_ns,sent_ns,received_ns,"));
    let mut rows: Vec<Row> = lines
        .map(|line| {
            let mut seconds = line.split(',').map(|cell| cell.parse::<u64>().unwrap() as f64 / 1e9);
            let mut next = || seconds.next().unwrap();
            Row { intended: next(), sent: next(), received: next() }
        })
        .collect();
    rows.sort_by(|a, b| a.sent.total_cmp(&b.sent));
    rows
}

/// The smallest result of a few attempts at `measure`; stops once one is `enough`.
fn best(enough: f64, measure: impl Fn() -> f64) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ATTEMPTS {
        best = best.min(measure());
        if best <= enough {
            break;
        }
    }
    best
}

/// The value below which the fraction `share` of the values lies.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * share) as usize]
}

/// The values in ascending order.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The samples of a run with `flags`, and how late this machine lets a thread that only sleeps wake
/// up meanwhile, s.
fn samples_and_naps(flags: &str) -> (Vec<Row>, f64) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let naps = scope.spawn(|| naps(&is_over));
        let rows = samples(flags);
        is_over.store(true, Ordering::Relaxed);
        (rows, naps.join().unwrap())
    })
}

/// 95th percentile of the lateness of a sleeper that is due 2 000 times a second, s.
fn naps(is_over: &AtomicBool) -> f64 {
    const EVERY: Duration = Duration::from_micros(500);
    let mut due = Instant::now();
    let mut late = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        due += EVERY;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        late.push(due.elapsed().as_secs_f64());
    }
    quantile(late, 0.95)
}

pub(crate) fn sends_to_a_real_server_follow_their_law() {
    type Share = fn(f64) -> f64;
    let peer = Peer::memcached("");
    let exponential: Share = |x| 1.0 - (-x).exp();
    let uniform: Share = |x| (x / 2.0).min(1.0);
    let pareto: Share = |x| {
        let (scale, shape) = (16.0292, 0.154_971);
        let mean = scale / (1.0 - shape);
        1.0 - (1.0 + shape * x * mean / scale).powf(-1.0 / shape)
    };
    let laws = [
        ("fixed", None),
        ("poisson", Some(exponential)),
        ("uniform", Some(uniform)),
        ("etc", Some(pareto)),
    ];
    for (law, share) in laws {
        let flags = format!(
            "-s {} --load never --rate 2k --arrival {law} --duration 2s --threads 1",
            peer.name
        );
        let beyond = best(1.0, || {
            let (rows, naps) = samples_and_naps(&flags);
            // The schedule is the law's on any machine; a send can be late by what the machine
            // withholds from any sleeper.
            let due = sorted(rows.iter().map(|row| row.intended));
            let gaps = due.windows(2).map(|pair| (pair[1] - pair[0]) * 2_000.0);
            let gaps: Vec<f64> = gaps.collect();
            let distance = match share {
                Some(share) => distance(gaps, share),
                None => gaps.into_iter().map(|gap| (gap - 1.0).abs()).fold(0.0, f64::max),
            };
            assert!(distance <= 0.04, "{law}: the gaps are {distance} from their law");
            assert!(rows.iter().all(|row| row.sent >= row.intended), "{law}: none is early");
            let sends = quantile(rows.iter().map(|row| row.sent - row.intended).collect(), 0.95);
            sends / (3.0 * naps).max(200e-6)
        });
        assert!(beyond <= 1.0, "{law}: sends are {beyond} times as late as allowed");
    }
}

/// Kolmogorov–Smirnov distance between `values` and a distribution.
fn distance(mut values: Vec<f64>, share: fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let off = |(below, value): (usize, &f64)| {
        let expected = share(*value);
        (expected - below as f64 / n).max((below + 1) as f64 / n - expected)
    };
    values.iter().enumerate().map(off).fold(0.0, f64::max)
}

/// Lindley's recursion (1952): with one server and services of length S in the order of arrival,
/// the k-th ends at max(its arrival, the end of the one before) + S.
pub(crate) fn responses_of_a_queue_are_what_lindleys_recursion_says() {
    const SERVICE_S: f64 = 1e-3;
    let peer = Peer::embedded("--behaviour queue:1,fixed:1ms");
    let flags = format!(
        "-s {} --load never --mix get=1 --rate 700 --arrival poisson --duration 5s --threads 1",
        peer.name
    );
    let beyond = best(1.0, || {
        let (rows, naps) = samples_and_naps(&flags);
        let mut free = 0.0_f64;
        let offs = rows.iter().map(|row| {
            free = free.max(row.sent) + SERVICE_S;
            ((row.received - row.intended) - (free - row.intended)).abs()
        });
        quantile(offs.collect(), 0.5) / naps.max(150e-6)
    });
    assert!(beyond <= 1.0, "the median response is {beyond} times as far off as allowed");
}
