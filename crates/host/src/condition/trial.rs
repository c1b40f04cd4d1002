//! Short trials: how late a thread on each CPU wakes up, how often something takes the CPU from a
//! thread that spins, and how long a server takes for the least of questions.

use crate::clock::Clock;
use crate::driver::ConnectGuard;
use crate::driver::epoll::EpollDriver;
use crate::machine::{self, pin};
use memtide_base::Span;
use memtide_engine::probe::{AskConnection, ask};
use memtide_metrics::Histogram;
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{Plan, ServerPlan};
use std::num::NonZeroU64;
use std::thread;

/// Time between the instants at which a thread asks to be woken.
const PERIOD: Span = Span::from_us(250);
/// Two readings of the clock that are further apart than this are a pause.
const PAUSE_MIN: Span = Span::from_us(10);
/// Readings of the clock between two looks whether the trial is over.
const READINGS: u64 = 64;

/// Observations of one thread that was pinned to a CPU: half of the time it slept and woke, half of
/// the time it spun.
#[derive(Clone, Debug)]
pub struct CpuTrial {
    /// The CPU.
    pub cpu: usize,
    /// From the instant at which the sleeping thread asked to be woken until it ran.
    pub late: Histogram<u64>,
    /// Pauses of the spinning thread.
    pub pauses: u64,
    /// The longest pause.
    pub longest: Span,
    /// Fraction of the spinning thread's time that pauses took.
    pub paused: f64,
    /// Fraction of all of the thread's time in which it was ready to run and another thread had
    /// the CPU; 0 if the kernel does not say.
    pub kept: f64,
    /// Time that one reading of the clock takes.
    pub reading: Span,
}

/// Tries each of `cpus` for this long, all at the same time. A CPU on which no thread can be
/// started or pinned has no trial.
pub fn trials(cpus: &[usize], length: Span) -> Vec<CpuTrial> {
    let clock = Clock::start();
    let threads = cpus.iter().filter_map(|&cpu| {
        let name = format!("trial-{cpu}");
        thread::Builder::new().name(name).spawn(move || trial(clock, cpu, length)).ok()
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
}

fn trial(clock: Clock, cpu: usize, length: Span) -> Option<CpuTrial> {
    pin::pin(cpu).ok()?;
    // As in workers. If it cannot be set, the lateness shows it.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let (begin, waited) = (clock.now(), machine::thread_run_delay());
    let half = Span::from_ns(length.ns() / 2);
    let mut late = Histogram::new();
    let mut due = begin + PERIOD;
    while due < begin + half {
        clock.sleep_until(due);
        let woke = clock.now();
        late.record(woke.since(due).ns());
        // Instants that passed meanwhile are left out: one delay is counted once.
        due = due.max(woke) + PERIOD;
    }
    let (spun, mut last) = (clock.now(), clock.now());
    let (mut pauses, mut total, mut longest, mut readings) = (0, Span::ZERO, Span::ZERO, 0);
    while last < begin + length {
        for _ in 0..READINGS {
            let now = clock.now();
            let gap = now.since(last);
            if gap >= PAUSE_MIN {
                (pauses, total, longest) = (pauses + 1, total + gap, longest.max(gap));
            }
            last = now;
        }
        readings += READINGS;
    }
    let spinning = last.since(spun);
    let kept = machine::thread_run_delay().saturating_sub(waited);
    Some(CpuTrial {
        cpu,
        late,
        pauses,
        longest,
        paused: share(total, spinning),
        kept: share(kept, last.since(begin)),
        reading: Span::from_ns(spinning.saturating_sub(total).ns() / readings.max(1)),
    })
}

fn share(part: Span, whole: Span) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_s_f64() / whole.as_s_f64() }
}

/// Facts that a server reports about itself.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// Its version.
    pub version: String,
    /// The names and values of its statistics, in its order.
    pub statistics: Vec<(String, String)>,
}

/// Asks a server of `plan` for its version and its statistics.
///
/// # Errors
/// If it cannot be reached or does not answer.
pub fn told(plan: &Plan, server: &ServerPlan) -> Result<ServerFacts, AskError> {
    let mut driver = EpollDriver::of_one(Clock::start(), &ConnectGuard::default())?;
    let mut told = ServerFacts { version: String::new(), statistics: Vec::new() };
    for question in [Question::Version, Question::Statistics] {
        match ask(&mut driver, plan, server, question)? {
            Answer::Version(version) => told.version = version,
            Answer::Statistics(rows) => told.statistics = rows,
            Answer::Found(_) | Answer::Line(_) => {}
        }
    }
    Ok(told)
}

/// Asks a server of `plan` for its version again and again over one connection, `count` times and
/// for at most `length`; returns the times from question to answer.
///
/// # Errors
/// If the server cannot be reached, or stops answering.
pub fn round_trips(
    plan: &Plan,
    server: &ServerPlan,
    count: u32,
    length: Span,
) -> Result<Histogram<u64>, AskError> {
    let (clock, question) = (Clock::start(), Question::Version);
    let mut driver = EpollDriver::of_one(clock, &ConnectGuard::default())?;
    let begin = clock.now();
    let mut asker = AskConnection::open(
        (&mut driver, &|| false),
        plan,
        server,
        question,
        begin + plan.timeout,
    )?;
    let mut times = Histogram::new();
    for _ in 0..count {
        let asked = clock.now();
        if asked.since(begin) > length {
            break;
        }
        asker.ask(question, asked + plan.timeout)?;
        times.record(clock.now().since(asked).ns());
    }
    asker.close();
    Ok(times)
}

#[cfg(test)]
mod tests;
