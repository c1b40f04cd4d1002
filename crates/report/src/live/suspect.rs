//! Whose share the times of the last second are: the server's, memtide's own, or its machine's.
//!
//! A first suspicion from one second's figures; the verdict judges the whole run.

use super::{Live, LiveSecond, time_word};
use crate::number::{percent, whole};
use memtide_belief::machine::{KEPT_MAX, STOLEN_MAX};

/// Above this part of the response time, lag is considered.
const LAG_SHARE: f64 = 0.10;
/// Lag below this is no delay to a reader, in ns.
const LAG_LEAST_NS: u64 = 200_000;
/// Above this share, a worker's own queue shows in the times.
const BUSY_MAX: f64 = 0.70;
/// A backlog that is younger comes and goes, in seconds.
const BACKLOG_S: f64 = 0.1;
/// Above this share, no CPU of the machine is free.
const FULL: f64 = 0.95;
/// With a schedule for each connection: load of a connection above which p99 shows that operations
/// waited for it.
const OVERLAP: f64 = 0.01;
/// A response this many times the usual one is unusual.
const UNUSUAL: u64 = 4;

/// A suspicion about the last second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspect {
    /// Nothing is unusual.
    Calm(String),
    /// The server, or the network to it.
    Server(String),
    /// memtide itself, or another program on its machine.
    Own(String),
}

impl Suspect {
    pub(super) fn of(live: &Live) -> Option<Self> {
        let now = live.last()?;
        let waits = now.under_way.oldest_due_s.filter(|age| *age >= BACKLOG_S);
        let backlog = waits.map_or_else(String::new, |age| {
            format!("; backlog {}", time_word(Some((age * 1e9) as u64)))
        });
        let theirs = server(live, now, waits.is_some());
        if let Some(why) = own(live, now) {
            return Some(match (theirs, too_little(now)) {
                (Some(theirs), Some(lacked)) => Self::Server(format!(
                    "server: {theirs}; memtide lacked its CPU for {lacked} alone{backlog}"
                )),
                _ => Self::Own(format!("memtide: {why}{backlog}")),
            });
        }
        match theirs {
            Some(why) => Some(match shortage(now) {
                Some(shortage) if live.plan.as_ref().is_some_and(|plan| plan.embedded) => {
                    let share = "other programs take CPUs from the embedded server";
                    Self::Own(format!("memtide's machine: {share} ({shortage}){backlog}"))
                }
                Some(shortage) => Self::Server(format!("server: {why}; {shortage} here{backlog}")),
                None => Self::Server(format!("server: {why}{backlog}")),
            }),
            None => {
                let (lag, service) = (time_word(now.lag_p99), time_word(now.service_p99));
                Some(Self::Calm(format!("calm: lag p99 {lag}, service p99 {service}")))
            }
        }
    }

    /// The suspicion as a sentence without its full stop.
    pub fn sentence(&self) -> &str {
        let (Self::Calm(text) | Self::Server(text) | Self::Own(text)) = self;
        text
    }
}

/// How late memtide sent, if no reply took long enough for operations to wait for it, and none
/// waits.
fn late_alone(now: &LiveSecond) -> Option<String> {
    let lag = now.lag_p99.filter(|lag| is_late(*lag, now))?;
    let waits = now.under_way.oldest_due_s.is_some_and(|age| age >= BACKLOG_S);
    let (lag_word, service) = (time_word(Some(lag)), time_word(now.service_max));
    (!waits && now.service_max? < lag / 2)
        .then(|| format!("operations were sent late (lag p99 {lag_word}), replies take {service}"))
}

/// True if lag is a good part of the response time.
fn is_late(lag: u64, now: &LiveSecond) -> bool {
    let response = now.response[1].unwrap_or(0);
    lag > LAG_LEAST_NS && lag as f64 > LAG_SHARE * response as f64
}

/// Why the second's times are the server's, if anything is unusual; `waits` is true if operations
/// are late.
fn server(live: &Live, now: &LiveSecond, waits: bool) -> Option<String> {
    let response = now.response[1].unwrap_or(0);
    if now.unanswered > 0 {
        return Some(format!("{} operations not answered", whole(now.unanswered)));
    }
    if now.answered_per_s == 0.0 && now.under_way.in_flight.is_some_and(|waiting| waiting > 0) {
        return Some("no answer in this second".to_owned());
    }
    let late = now.lag_p99.is_some_and(|lag| is_late(lag, now));
    if waits || late && may_fill_connections(live, now) {
        let service = time_word(now.service_p99);
        return Some(format!(
            "operations wait for a free connection, replies take {service} at p99; memtide has \
             time to spare"
        ));
    }
    let usual = usual(live).filter(|usual| !late && response > usual.saturating_mul(UNUSUAL))?;
    let [p99, usual, lag] = [Some(response), Some(usual), now.lag_p99].map(time_word);
    Some(format!("p99 {p99}, usually {usual}; memtide sends on time (lag p99 {lag})"))
}

/// True if operations may have found all connections full: as many as these carry were due while
/// the longest reply took. With a schedule for each connection, operations that are due on one
/// connection at once are enough.
fn may_fill_connections(live: &Live, now: &LiveSecond) -> bool {
    let Some((plan, longest_ns)) = live.plan.as_ref().zip(now.service_max) else { return false };
    let due = now.due_per_s.unwrap_or(now.answered_per_s) * longest_ns as f64 / 1e9;
    let room = f64::from(plan.connections) * f64::from(plan.depth);
    let enough = if plan.schedule == "connection" { OVERLAP } else { 1.0 };
    due >= room * enough
}

/// How long a worker lacked its CPU in the second, if that is less than what its operations took,
/// so that it cannot be the cause.
fn too_little(now: &LiveSecond) -> Option<String> {
    let kept = now.kept.filter(|kept| *kept > KEPT_MAX)?;
    let lacked_ns = (kept * now.length_s * 1e9) as u64;
    let is_idle = now.busy.is_some_and(|busy| busy <= BUSY_MAX);
    (is_idle && now.response[1]? > lacked_ns).then(|| time_word(Some(lacked_ns)))
}

/// How busy this machine is, if it has no CPU left.
fn shortage(now: &LiveSecond) -> Option<String> {
    let host = now.host.as_ref()?;
    let (busy, ready) = (host.cpu_busy?, host.runnable?);
    let is_full = busy > FULL && ready > host.cpus.len() as u64;
    is_full.then(|| format!("CPUs {} busy, {ready} threads ready", percent(busy)))
}

/// Why the second's times are memtide's or its machine's, if they are.
fn own(live: &Live, now: &LiveSecond) -> Option<String> {
    if let Some(kept) = now.kept.filter(|kept| *kept > KEPT_MAX) {
        let share = percent(kept);
        let busy = now.host.as_ref().and_then(|host| Some((host.cpu_busy?, host.runnable?)));
        let around = busy.map_or_else(String::new, |(busy, ready)| {
            format!(" (CPUs {} busy, {ready} threads ready)", percent(busy))
        });
        let whose = whose(live.worst_agent(|agent| agent.kept));
        // The kernel counts stops by a quota as waits; another program makes its CPU busy.
        let busiest = now.host.as_ref().and_then(|host| host.cpu_busy_max);
        if busiest.is_some_and(|busiest| busiest < kept) {
            return Some(format!(
                "{whose}a worker lacked its CPU for {share} of the time, and no CPU was as busy: \
                 probably a CPU quota"
            ));
        }
        return Some(format!(
            "{whose}another program had a worker's CPU for {share} of the time{around}"
        ));
    }
    if let Some(busy) = now.busy.filter(|busy| *busy > BUSY_MAX) {
        let whose = whose(live.worst_agent(|agent| agent.busy));
        return Some(format!("{whose}a worker was busy for {} of the time", percent(busy)));
    }
    let stolen = now.host.as_ref().and_then(|host| host.stolen);
    if let Some(stolen) = stolen.filter(|it| *it > STOLEN_MAX) {
        return Some(format!("the hypervisor took {} of its CPUs' time", percent(stolen)));
    }
    late_alone(now)
}

/// The agent to which a reason belongs, if there are agents.
fn whose(agent: Option<&str>) -> String {
    agent.map_or_else(String::new, |name| format!("agent {name}: "))
}

/// The median of the 99th percentiles of the seconds before the last.
fn usual(live: &Live) -> Option<u64> {
    let before = live.seconds.len().saturating_sub(1);
    let mut each: Vec<u64> =
        live.seconds.iter().take(before).filter_map(|second| second.response[1]).collect();
    each.sort_unstable();
    (each.len() >= 3).then(|| each[each.len() / 2])
}
