//! Servers for which queueing theory has a closed form. Each figure is the mean over independent
//! replications and must lie within 4 standard errors of it.
//!
//! M/M/1: response is exponential with rate μ − λ (Kleinrock, Queueing Systems I, 3.2).
//! M/D/1: the waiting time's distribution is Erlang's finite sum (ibid. 5.7; Erlang 1909).
//! M/M/c: waiting is Erlang C's probability times an exponential with rate cμ − λ.

pub(crate) mod belief;
mod blame;
mod cutoff;
mod drift;
mod empty;
pub(crate) mod precision;
mod verdicts;
mod warmup;

use crate::harness::mean_and_error;
use crate::prelude::*;

const REPLICATIONS: u64 = 16;
/// Mean service time in seconds.
const SERVICE_S: f64 = 1e-3;

/// p50, p90, p99 and mean of the response time in seconds, for each replication.
fn measure(rate: f64, behaviour: &str, arrival: &str) -> Vec<[f64; 4]> {
    (1..=REPLICATIONS)
        .map(|seed| {
            let rehearsal = World::of(&format!(
                "rate={rate} arrival={arrival} duration=60s warmup=2s mix=get=1 load=never \
                 connections=256 timeout=60s"
            ))
            .behaviour(behaviour)
            .seed(seed)
            .rehearse();
            let all = &rehearsal.record.response[&Kind::All];
            let s = |ns: Option<u64>| ns.expect("enough samples") as f64 / 1e9;
            [s(all.p50_ns), s(all.p90_ns), s(all.p99_ns), all.mean_ns.expect("some") / 1e9]
        })
        .collect()
}

/// Compares replications with `[p50, p90, p99, mean]`; buckets are up to 0.4 % off the true value.
fn check(name: &str, measured: &[[f64; 4]], theory: [f64; 4]) {
    for (at, figure) in ["p50", "p90", "p99", "mean"].into_iter().enumerate() {
        let values: Vec<f64> = measured.iter().map(|set| set[at]).collect();
        let (mean, error) = mean_and_error(&values);
        let bucket = if figure == "mean" { 0.0 } else { 0.004 * theory[at] };
        assert!(
            (mean - theory[at]).abs() <= 4.0 * error + bucket,
            "{name}: {figure} is {mean:.6} s ± {error:.6}, theory says {:.6} s",
            theory[at]
        );
    }
}

#[test]
fn an_exponential_server_gives_the_responses_of_m_m_1() {
    for utilisation in [0.5, 0.7, 0.8] {
        let rate = utilisation / SERVICE_S;
        let free = 1.0 / SERVICE_S - rate;
        let quantile = |p: f64| -(1.0 - p).ln() / free;
        let theory = [quantile(0.5), quantile(0.9), quantile(0.99), 1.0 / free];
        let measured = measure(rate, "queue:1,exponential:1ms", "poisson");
        check(&format!("M/M/1 at {utilisation}"), &measured, theory);
    }
}

#[test]
fn a_fixed_server_gives_the_responses_of_m_d_1() {
    for utilisation in [0.5, 0.7, 0.8] {
        let rate = utilisation / SERVICE_S;
        let quantile = |p: f64| SERVICE_S + m_d_1_wait_quantile(rate, SERVICE_S, p);
        let mean = SERVICE_S + utilisation * SERVICE_S / (2.0 * (1.0 - utilisation));
        let theory = [quantile(0.5), quantile(0.9), quantile(0.99), mean];
        let measured = measure(rate, "queue:1,fixed:1ms", "poisson");
        check(&format!("M/D/1 at {utilisation}"), &measured, theory);
    }
}

/// Erlang's sum: P(W ≤ t) = (1 − λD) Σ_{k=0}^{⌊t/D⌋} (λ(kD − t))^k / k! · e^{λ(t − kD)}, inverted
/// by bisection. Its terms alternate, but stay small enough for doubles up to t = 20 D.
fn m_d_1_wait_quantile(rate: f64, service: f64, p: f64) -> f64 {
    let below = |t: f64| -> f64 {
        let mut sum = 0.0;
        for k in 0..=(t / service).floor() as u32 {
            let x = rate * (f64::from(k) * service - t);
            let factorial: f64 = (1..=k).map(f64::from).product();
            sum += x.powi(k as i32) / factorial * (-x).exp();
        }
        (1.0 - rate * service) * sum
    };
    let (mut low, mut high) = (0.0, 20.0 * service);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if below(middle) < p { low = middle } else { high = middle }
    }
    high
}

#[test]
fn four_exponential_servers_follow_erlang_c() {
    let (servers, utilisation) = (4u32, 0.7);
    let service_rate = 1.0 / SERVICE_S;
    let rate = utilisation * f64::from(servers) * service_rate;
    let offered = rate / service_rate;
    let term = |k: u32| offered.powi(k as i32) / (1..=k).map(f64::from).product::<f64>();
    let top = term(servers) / (1.0 - utilisation);
    let waits = top / ((0..servers).map(term).sum::<f64>() + top);
    let free = f64::from(servers) * service_rate - rate;
    let mean = SERVICE_S + waits / free;
    let measured = measure(rate, "queue:4,exponential:1ms", "poisson");
    let (measured_mean, error) =
        mean_and_error(&measured.iter().map(|set| set[3]).collect::<Vec<_>>());
    assert!(
        (measured_mean - mean).abs() <= 4.0 * error,
        "M/M/4: mean is {measured_mean:.6} s ± {error:.6}, Erlang C says {mean:.6} s"
    );
}

#[test]
fn fixed_arrivals_into_a_fixed_server_never_queue() {
    for set in measure(700.0, "queue:1,fixed:1ms", "fixed") {
        assert!(set[2] / set[0] <= 1.05, "p99 / p50 is {}", set[2] / set[0]);
    }
}

#[test]
fn a_time_from_a_microsecond_to_ten_seconds_is_read_back() {
    for exponent in 0..=7 {
        let injected_us = 10_u64.pow(exponent);
        let rehearsal =
            World::of("rate=100 duration=1s mix=get=1 load=never connections=200 timeout=60s")
                .behaviour(&format!("fixed:{injected_us}us"))
                .rehearse();
        let all = &rehearsal.record.response[&Kind::All];
        let p50_us = all.p50_ns.expect("enough samples") as f64 / 1e3;
        let off = (p50_us / injected_us as f64 - 1.0).abs();
        assert!(off < 0.01, "{injected_us} us were injected, {p50_us} us read");
    }
}
