//! Instants on real sockets, from the exported samples, as far as they hold however late a busy
//! machine wakes memtide or the server: intended instants follow their law; nothing comes early.
//! How late it comes is tested in virtual time.

use crate::prelude::*;

/// What two readings of a clock may be apart, s.
const CLOCK_S: f64 = 1e-6;

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

/// The values in ascending order.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
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
        let rows = samples(&flags);
        let due = sorted(rows.iter().map(|row| row.intended));
        let gaps = due.windows(2).map(|pair| (pair[1] - pair[0]) * 2_000.0);
        let gaps: Vec<f64> = gaps.collect();
        let distance = match share {
            Some(share) => distance(gaps, share),
            None => gaps.into_iter().map(|gap| (gap - 1.0).abs()).fold(0.0, f64::max),
        };
        assert!(distance <= 0.04, "{law}: the gaps are {distance} from their law");
        assert!(rows.iter().all(|row| row.sent >= row.intended), "{law}: none is early");
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
/// the k-th ends at max(its arrival, the end of the one before) + S. Requests arrive after they
/// were sent, and replies are received after they ended, so the k-th reply comes no earlier.
pub(crate) fn responses_of_a_queue_are_what_lindleys_recursion_says() {
    const SERVICE_S: f64 = 1e-3;
    let peer = Peer::embedded("--behaviour queue:1,fixed:1ms");
    let flags = format!(
        "-s {} --load never --mix get=1 --rate 700 --arrival poisson --duration 5s --threads 1",
        peer.name
    );
    let rows = samples(&flags);
    let received = sorted(rows.iter().map(|row| row.received));
    let (mut free, mut waited) = (0.0_f64, 0);
    for (row, received) in rows.iter().zip(received) {
        waited += u32::from(free > row.sent);
        free = free.max(row.sent) + SERVICE_S;
        assert!(received >= free - CLOCK_S, "{received} s, not {free} s or later");
    }
    assert!(rows.len() > 3_000 && waited > 1_000, "{waited} of {} found a queue", rows.len());
}
