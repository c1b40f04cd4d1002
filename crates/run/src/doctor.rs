//! Judges whether the numbers can be believed: a few checks, each with its figure and its bound,
//! and the warnings that explain failures.

mod errors;

pub(crate) use errors::{Errors, Missed};

use memtide_base::units::{format_change, format_percent};
use memtide_base::{Rate, Span};
use memtide_belief::machine::{CPUS_OF_A_PAIR, KEPT_MAX, STALL, STALLED_SHARE, STOLEN_MAX};
use memtide_metrics::{Histogram, Quantile, quantile};
use memtide_record::{
    Agreement, Check, CheckKind, CheckResult, LateCause, MachineCpu, Percentile, ProgramCpu,
    ServerCpu, Warning,
};
use memtide_world::fleet::WorkerReport;
use memtide_world::{ChurnPlan, Pacing, Plan, Wait};

/// Largest difference between achieved and target rate, as a fraction; 4 σ of the arrival
/// distribution if that is more.
const RATE_TOLERANCE: f64 = 0.005;
/// Largest part of a percentile that may be memtide's own delay.
const GENERATOR_SHARE_MAX: f64 = 0.10;
/// Above this utilisation, a worker's own queueing shows in the times.
const BUSY_MAX: f64 = 0.70;
/// The kernel counts a stop by a CPU quota once it has ended: a reading may lack one that is as
/// long as this, the usual period of quotas.
const QUOTA_PERIOD: Span = Span::from_ms(100);

/// Figures that the checks judge.
pub(crate) struct Findings<'a> {
    pub(crate) plan: &'a Plan,
    /// Length of the measured window in seconds.
    pub(crate) measured_s: f64,
    /// Target rate of the schedule; none in a closed loop.
    pub(crate) target: Option<Rate>,
    /// Rate at which operations were passed to sockets during the window, in the same unit; all
    /// copies of a write count as one.
    pub(crate) sent: Rate,
    /// Connections that their schedule called for until the last one began, and connections begun;
    /// none without a rate of connections.
    pub(crate) connections: Option<(f64, u64)>,
    /// True if, under connection churn, no connection opened.
    pub(crate) none_opened: bool,
    /// True if a condition ended the run early.
    pub(crate) is_aborted: bool,
    /// Operations and connections without a good answer.
    pub(crate) errors: Errors<'a>,
    /// All response times, and the number of operations that rank above them.
    pub(crate) response: (&'a Histogram<u64>, u64),
    /// Response times less the most that memtide may have added to them; empty if that is unknown.
    pub(crate) punctual: &'a Histogram<u64>,
    /// Fraction of time in which each worker could have run while another thread had its CPU.
    pub(crate) kept: &'a [f64],
    /// Fraction of time in which each worker neither ran nor waited for a CPU or anything else.
    pub(crate) still: &'a [f64],
    /// Fraction of time in which memtide's process was stopped for long, and the longest stop.
    pub(crate) stopped: (f64, Span),
    /// Busy fraction of each worker.
    pub(crate) busy: &'a [f64],
    /// Fraction of all CPUs' time that the hypervisor withheld; none if unknown.
    pub(crate) stolen: Option<f64>,
    /// Fraction of time in which the control group's CPU quota stopped memtide; none without one.
    pub(crate) throttled: Option<f64>,
    /// CPU of each worker, or those that all workers share; empty if workers may use any.
    pub(crate) worker_cpus: &'a [usize],
    /// The busiest process beside memtide that may use the workers' CPUs, if it was busy.
    pub(crate) beside: Option<&'a ProgramCpu>,
    /// The server on this machine that waited longest for a CPU.
    pub(crate) server: Option<&'a ServerCpu>,
    /// Number of CPUs that the embedded server and the workers share, if fewer than two.
    pub(crate) shared_cpus: Option<f64>,
    /// Comparison of the servers' counters with memtide's.
    pub(crate) agreement: &'a Agreement,
}

/// All checks, in the order of the report.
pub(crate) fn examine(findings: &Findings<'_>) -> Vec<Check> {
    vec![
        answered(findings),
        errors::check(&findings.errors),
        rate(findings),
        generator(findings, 0.5, CheckKind::GeneratorP50),
        generator(findings, 0.99, CheckKind::GeneratorP99),
        busy(findings),
        own_cpus(findings),
        findings.agreement.check(),
    ]
}

/// Steal time of this machine, if it is more than negligible.
pub(crate) fn stolen(cpu: Option<&MachineCpu>) -> Option<Warning> {
    let share = cpu?.stolen.filter(|&share| share > STOLEN_MAX)?;
    Some(Warning::CpuStolen { share })
}

/// Stops by the control group's CPU quota, if they are more than negligible.
pub(crate) fn throttled(cpu: Option<&MachineCpu>) -> Option<Warning> {
    let share = cpu?.throttled.filter(|&share| share > STALLED_SHARE)?;
    Some(Warning::CpuThrottled { share })
}

/// Checks that operations were answered at all.
fn answered(findings: &Findings<'_>) -> Check {
    let code = CheckKind::Answered;
    let (times, unanswered) = findings.response;
    match (times.count(), unanswered) {
        (0, 0) if findings.none_opened => {
            judged(code, false, "no connection was opened".to_owned(), 0.0, 1.0)
        }
        (0, 0) if findings.is_aborted => {
            let message = "the run was aborted before an operation was measured";
            judged(code, false, message.to_owned(), 0.0, 1.0)
        }
        (0, 0) if findings.errors.operations.intended == 0 && findings.plan.churn().is_none() => {
            let message = "no operation was due in the measured window";
            judged(code, false, message.to_owned(), 0.0, 1.0)
        }
        (0, 0) => skipped(code, "no operation expected a reply"),
        (0, _) => judged(code, false, "no operation was answered".to_owned(), 0.0, 1.0),
        (count, _) => {
            judged(code, true, format!("{count} operations were answered"), count as f64, 1.0)
        }
    }
}

/// Checks the achieved rate.
fn rate(findings: &Findings<'_>) -> Check {
    let code = CheckKind::Rate;
    if let Some(churn) = findings.plan.churn() {
        return rate_of_connections(churn, findings.connections);
    }
    let (Some(target), Pacing::Open { arrival, .. }) = (findings.target, &findings.plan.pacing)
    else {
        return skipped(code, "a closed loop has no target rate");
    };
    let expected = target.per_s * findings.measured_s;
    if expected < 1.0 {
        return skipped(code, "nothing was due in the measured window");
    }
    let four_sigma = 4.0 * (arrival.squared_variation() * expected).sqrt() / expected;
    // A window that operations end has one gap less than operations.
    let allowed = RATE_TOLERANCE.max(four_sigma).max(1.0 / expected);
    let off = findings.sent / target - 1.0;
    let message =
        format!("{} were sent, {target} were requested ({})", findings.sent, format_change(off, 2));
    judged(code, off.abs() <= allowed, message, off.abs(), allowed)
}

/// Checks the rate of connection churn.
fn rate_of_connections(churn: &ChurnPlan, counted: Option<(f64, u64)>) -> Check {
    let code = CheckKind::Rate;
    let (Some((expected, begun)), Some(openings)) = (counted, &churn.openings) else {
        return skipped(code, "connections had no target rate");
    };
    if expected < 1.0 {
        return skipped(code, "no two connections were requested in the measured window");
    }
    let four_sigma = 4.0 * (openings.arrival.squared_variation() * expected).sqrt() / expected;
    let allowed = RATE_TOLERANCE.max(four_sigma).max(1.0 / expected);
    let off = begun as f64 / expected - 1.0;
    let message = format!(
        "{begun} connections were started, {expected:.0} were requested by then ({})",
        format_change(off, 2)
    );
    judged(code, off.abs() <= allowed, message, off.abs(), allowed)
}

/// True if no operation is due by a schedule.
pub(crate) fn is_closed(findings: &Findings<'_>) -> bool {
    match findings.plan.churn() {
        Some(churn) => churn.call_pace.is_none(),
        None => findings.target.is_none(),
    }
}

/// Checks memtide's own delay at one percentile.
fn generator(findings: &Findings<'_>, p: f64, code: CheckKind) -> Check {
    if is_closed(findings) {
        return skipped(code, "a closed loop has no schedule, so memtide cannot send late");
    }
    let name = format!("p{:.0}", p * 100.0);
    let (seen, ideal) = match seen_and_ideal(findings, p) {
        (Quantile::Known(seen), Quantile::Known(ideal)) => (seen as f64, ideal as f64),
        (Quantile::TooFew { needed }, _) => {
            return skipped(code, &format!("too few operations for {name}: {needed} needed"));
        }
        _ => {
            return skipped(code, &format!("{name} falls among operations that were not answered"));
        }
    };
    let share = if seen > 0.0 { (1.0 - ideal / seen).max(0.0) } else { 0.0 };
    let message = format!(
        "memtide's own delay is {} of {name} (limit {})",
        format_percent(share),
        format_percent(GENERATOR_SHARE_MAX)
    );
    judged(code, share <= GENERATOR_SHARE_MAX, message, share, GENERATOR_SHARE_MAX)
}

/// A percentile of response time, and the same without memtide's own delay.
fn seen_and_ideal(findings: &Findings<'_>, p: f64) -> (Quantile, Quantile) {
    let (times, unanswered) = findings.response;
    (quantile(times, unanswered, p), quantile(findings.punctual, unanswered, p))
}

/// Checks that workers had time to spare.
fn busy(findings: &Findings<'_>) -> Check {
    let code = CheckKind::WorkerBusy;
    let Some((worker, busy)) =
        findings.busy.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
    else {
        return skipped(code, "no worker ran");
    };
    let most_kept = findings.kept.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((worker, kept)) = most_kept.filter(|(_, kept)| *kept > KEPT_MAX && busy < BUSY_MAX)
    {
        let message = format!(
            "worker {worker} waited {} of the time for a CPU that other threads used (limit {})",
            format_percent(kept),
            format_percent(KEPT_MAX)
        );
        return judged(code, false, message, kept, KEPT_MAX);
    }
    if let Some(share) = findings.throttled.filter(|&it| it > KEPT_MAX && busy < BUSY_MAX) {
        let message = format!(
            "the CPU quota of memtide's control group stopped its threads for up to {} of the time \
             (limit {})",
            format_percent(share),
            format_percent(KEPT_MAX)
        );
        return judged(code, false, message, share, KEPT_MAX);
    }
    if busy < BUSY_MAX {
        let message = format!("the busiest worker was busy {} of the time", format_percent(busy));
        return judged(code, true, message, busy, BUSY_MAX);
    }
    let message = if is_closed(findings) {
        format!(
            "memtide is the limit: worker {worker} was busy {} of the time",
            format_percent(busy)
        )
    } else {
        format!(
            "worker {worker} was busy {} of the time (limit {})",
            format_percent(busy),
            format_percent(BUSY_MAX)
        )
    };
    judged(code, false, message, busy, BUSY_MAX)
}

/// Checks that the embedded server had a CPU when it needed one, which neither the workers nor
/// another program used; the message is that of the warning `shared_cpu` or `server_cpu_taken`.
fn own_cpus(findings: &Findings<'_>) -> Check {
    let code = CheckKind::OwnCpus;
    if let Some(cpus) = findings.shared_cpus {
        return judged(code, false, Warning::SharedCpu { cpus }.message(), cpus, CPUS_OF_A_PAIR);
    }
    match server_cpu_taken(findings) {
        Some(warning @ Warning::ServerCpuTaken { server: None, share, .. }) => {
            judged(code, false, warning.message(), share, KEPT_MAX)
        }
        _ => skipped(code, "no embedded server shares a CPU with the workers"),
    }
}

/// The warning that another program had the CPU of a server on this machine. A server that waits
/// for memtide alone, or whose CPUs are known to be the workers', is no case of it.
fn server_cpu_taken(findings: &Findings<'_>) -> Option<Warning> {
    let server = findings.server.filter(|_| findings.shared_cpus.is_none())?;
    let by = server.beside.clone().filter(|_| server.waited > KEPT_MAX)?;
    Some(Warning::ServerCpuTaken { server: server.name.clone(), share: server.waited, by })
}

fn skipped(code: CheckKind, why: &str) -> Check {
    let message = why.to_owned();
    Check { code, result: CheckResult::Skipped, message, measured: None, allowed: None }
}

fn judged(code: CheckKind, passed: bool, message: String, measured: f64, allowed: f64) -> Check {
    let result = if passed { CheckResult::Passed } else { CheckResult::Failed };
    Check { code, result, message, measured: Some(measured), allowed: Some(allowed) }
}

/// Warnings that follow from failed checks.
pub(crate) fn warnings(findings: &Findings<'_>, checks: &[Check]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut kept_max = KEPT_MAX;
    let late =
        [(CheckKind::GeneratorP99, Percentile::P99), (CheckKind::GeneratorP50, Percentile::P50)];
    let late = late.into_iter().find(|(code, _)| {
        checks.iter().any(|check| check.code == *code && check.result == CheckResult::Failed)
    });
    if let Some((_, percentile)) = late
        && let (Quantile::Known(seen_ns), Quantile::Known(ideal_ns)) =
            seen_and_ideal(findings, percentile.fraction())
    {
        let cause = late_cause(findings, Span::from_ns(seen_ns.saturating_sub(ideal_ns)));
        warnings.push(Warning::GeneratorLate { percentile, seen_ns, ideal_ns, cause });
        if cause == LateCause::OtherThreads {
            kept_max = STALLED_SHARE;
        }
    }
    if let Some(cpus) = findings.shared_cpus {
        warnings.push(Warning::SharedCpu { cpus });
    }
    for (worker, &share) in findings.kept.iter().enumerate() {
        if share > kept_max {
            let cpus = match findings.worker_cpus {
                each if each.len() == findings.kept.len() => &each[worker..=worker],
                shared => shared,
            };
            let by = findings.beside.filter(|program| program.may_use(cpus)).cloned();
            let by_server = by.as_ref().is_some_and(|program| program.is_server);
            warnings.push(Warning::CpuTaken { worker: worker as u32, share, by, by_server });
        }
    }
    warnings.extend(server_cpu_taken(findings));
    for (worker, &busy) in findings.busy.iter().enumerate() {
        if busy >= BUSY_MAX {
            warnings.push(Warning::ClientSaturated { worker: worker as u32, busy });
        }
    }
    warnings
}

/// The likeliest cause of operations that memtide sent late by `delay`: what keeps workers from
/// running comes before what they do while they run. A long delay needs less of a cause's time, and
/// is not explained by a cause that took less time than the worker stood still, nor by many short
/// waits for a CPU beside stops that are as long as the delay. A quota stops a worker as other
/// threads do, and for longer than these if it is the cause.
fn late_cause(findings: &Findings<'_>, delay: Span) -> LateCause {
    let (limit, still) = match delay >= STALL {
        true => (STALLED_SHARE, most(findings.still)),
        false => (KEPT_MAX, 0.0),
    };
    let kept = most(findings.kept);
    let (stopped, longest) = findings.stopped;
    let is_stop = delay >= STALL && stopped > STALLED_SHARE && longest.ns() >= delay.ns() / 2;
    let throttled = findings.throttled.unwrap_or(0.0);
    if throttled > STALLED_SHARE && throttled >= kept && throttled >= still / 2.0 {
        LateCause::Throttled
    } else if kept > limit && kept >= still && !is_stop {
        LateCause::OtherThreads
    } else if findings.stolen.is_some_and(|share| share > STOLEN_MAX) {
        LateCause::Steal
    } else if is_stop {
        LateCause::Stopped
    } else if most(findings.busy) >= BUSY_MAX {
        LateCause::Overload
    } else if still > STALLED_SHARE {
        LateCause::Stopped
    } else if findings.plan.wait == Wait::Spin {
        LateCause::Unknown
    } else {
        LateCause::Wake
    }
}

fn most(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max)
}

/// Fraction of `measured_s` in which a worker was at work: it did not wait for anything, and other
/// threads did not have its CPU. Work takes CPU time, so it is at most the CPU time; for a worker
/// that sleeps it is the CPU time, because a wait that returns at once is work too. A worker that
/// spins loses its CPU at any time.
pub(crate) fn busy_share(plan: &Plan, worker: &WorkerReport, measured_s: f64) -> f64 {
    let (not_idle, kept) = (not_idle(worker, measured_s), kept_share(worker, measured_s).min(1.0));
    let cpu = cpu_share(worker, measured_s);
    let share = match (plan.wait, cpu) {
        (Wait::Sleep, Some(cpu)) => cpu,
        (Wait::Sleep, None) => not_idle - kept,
        _ => (not_idle * (1.0 - kept)).min(cpu.unwrap_or(1.0)),
    };
    share.clamp(0.0, 1.0)
}

/// Fraction of `measured_s` in which a worker was ready to run while another thread had its CPU, or
/// a quota stopped it.
pub(crate) fn kept_share(worker: &WorkerReport, measured_s: f64) -> f64 {
    worker.run_delay.map_or(0.0, |delay| part(delay, measured_s))
}

/// Fraction of `measured_s` in which other threads certainly had the CPU that a worker was ready to
/// use: the kernel counts its stops by a quota, which took the fraction `throttled`, as such waits.
pub(crate) fn taken_share(worker: &WorkerReport, throttled: Option<f64>, measured_s: f64) -> f64 {
    let kept = kept_share(worker, measured_s);
    let stops = throttled.filter(|share| *share > 0.0);
    let stops = stops.map_or(0.0, |share| share + part(QUOTA_PERIOD, measured_s));
    (kept - stops).max(0.0)
}

/// Fraction of `measured_s` in which a worker neither ran nor waited for a CPU, although it had
/// ended its wait: its process was stopped, the hypervisor ran something else, or it woke late. A
/// worker that spins runs also while it waits.
pub(crate) fn still_share(plan: &Plan, worker: &WorkerReport, measured_s: f64) -> f64 {
    let Some(cpu) = cpu_share(worker, measured_s) else { return 0.0 };
    let all = if plan.wait == Wait::Spin { 1.0 } else { not_idle(worker, measured_s) };
    (all - cpu - kept_share(worker, measured_s)).max(0.0)
}

fn cpu_share(worker: &WorkerReport, measured_s: f64) -> Option<f64> {
    worker.cpu.map(|cpu| part(cpu.user + cpu.system, measured_s))
}

fn not_idle(worker: &WorkerReport, measured_s: f64) -> f64 {
    if measured_s > 0.0 { (1.0 - part(worker.idle, measured_s)).max(0.0) } else { 0.0 }
}

/// A thread's time as a fraction of `measured_s`. The last reading may be later than the window's
/// end, but no time is longer than the window.
fn part(of: Span, measured_s: f64) -> f64 {
    if measured_s > 0.0 { (of.as_s_f64() / measured_s).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests;
