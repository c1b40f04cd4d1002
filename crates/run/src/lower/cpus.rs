//! Chooses the CPUs of the workers and the embedded server, and how workers wait.
//!
//! It divides the CPUs that the process may use; it does not look at the machine.

use super::{Doors, Lowered, Surroundings, is_local};
use memtide_belief::machine::CPUS_OF_A_PAIR;
use memtide_scenario::Scenario;
use memtide_world::{Pacing, Wait};
use std::collections::BTreeMap;

const APART: &str = "the servers on this machine are limited to other CPUs";
const OWN: &str = "the embedded server and each worker have a CPU of their own";
const OF_EMBEDDED: &str =
    "spinning would take CPU time from the embedded server, which has no CPU of its own";
const OF_SERVER: &str =
    "spinning would take CPU time from the server, because at most 2 CPUs may be used";

/// CPUs of the workers and of the embedded server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuPlacement {
    /// CPU of each worker, or, if there are more of them than workers, those that all workers
    /// share; empty if workers may use any.
    pub workers: Vec<usize>,
    /// CPU of the embedded server; none if it is not pinned, or if there is none.
    pub server: Option<usize>,
    /// Number of CPUs that the embedded server and the workers share, if fewer than two.
    pub shared: Option<f64>,
    /// True if the workers run on CPUs that the servers on this machine may not use.
    pub apart: bool,
}

/// A way to wait and to divide the CPUs between the embedded server and the workers.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuChoice {
    /// How workers wait.
    pub wait: Wait,
    /// The server's CPU.
    pub server: usize,
    /// The workers' CPUs.
    pub workers: Vec<usize>,
    /// Why this one.
    pub why: String,
}

impl CpuChoice {
    /// The ways that are worth a trial, the usual one first; empty if the user decides, if the
    /// embedded server has no CPU of its own, or if nothing waits.
    pub fn all(scenario: &Scenario, lowered: &Lowered) -> Vec<Self> {
        let CpuPlacement { workers, server, .. } = &lowered.placement;
        let decided = scenario.wait.is_some() || scenario.pin;
        let is_open = matches!(lowered.plan.pacing, Pacing::Open { .. });
        let Some(server) = server.filter(|_| !decided && is_open) else { return Vec::new() };
        let waits = [lowered.plan.wait, Wait::Spin, Wait::Sleep];
        let here = waits.iter().map(|wait| Self::new(*wait, server, workers.clone()));
        let swapped = waits.iter().filter_map(|wait| match workers[..] {
            [worker] => Some(Self::new(*wait, worker, vec![server])),
            _ => None,
        });
        here.chain(swapped).collect()
    }

    fn new(wait: Wait, server: usize, workers: Vec<usize>) -> Self {
        Self { wait, server, workers, why: String::new() }
    }
}

impl CpuPlacement {
    /// Divides the CPUs. Embedded server and workers are pinned to separate CPUs if there are
    /// enough; other workers are pinned if the user asks for it, if servers on this machine are
    /// limited to CPUs beside them, or if the mask was narrowed.
    pub(super) fn of(
        scenario: &Scenario,
        around: &Surroundings,
        workers: u32,
        why: &mut BTreeMap<String, String>,
    ) -> Self {
        let workers = workers as usize;
        if has_own_server(around) {
            if let Some(chosen) = around.chosen.as_ref().filter(|it| it.workers.len() == workers) {
                why.insert("server".to_owned(), chosen.why.clone());
                let workers = chosen.workers.clone();
                return Self { workers, server: Some(chosen.server), ..Self::default() };
            }
            let usable = usable(around);
            if usable >= workers as f64 + 1.0 {
                let server = around.cpus_allowed[0];
                why.insert("server".to_owned(), OWN.to_owned());
                let workers = apart_from(server, workers, around);
                return Self { workers, server: Some(server), ..Self::default() };
            }
            let shared = Some(usable).filter(|&usable| usable < CPUS_OF_A_PAIR);
            return Self { shared, ..Self::without_server(scenario, around, workers, why) };
        }
        Self::without_server(scenario, around, workers, why)
    }

    fn without_server(
        scenario: &Scenario,
        around: &Surroundings,
        workers: usize,
        why: &mut BTreeMap<String, String>,
    ) -> Self {
        let (allowed, free) = (&around.cpus_allowed, free(around, workers));
        let apart = free.len() >= workers;
        if apart && free.len() < allowed.len() && !scenario.pin {
            why.insert("pin".to_owned(), APART.to_owned());
            return Self { workers: free, apart, ..Self::default() };
        }
        let narrowed = allowed.len() < around.cpus_online;
        let pin = scenario.pin || (narrowed && allowed.len() >= workers);
        let from = if apart { &free } else { allowed };
        let each = from.iter().copied().cycle().take(if pin { workers } else { 0 });
        Self { workers: each.collect(), apart, ..Self::default() }
    }
}

/// The CPUs that no server of the user on this machine may use, if there are such servers; those of
/// cores that the servers do not use, if they are enough for `workers`. Empty without such servers.
fn free(around: &Surroundings, workers: usize) -> Vec<usize> {
    let servers = &around.server_cpus;
    if servers.is_empty() {
        return Vec::new();
    }
    let mut free = around.cpus_allowed.clone();
    free.retain(|cpu| !servers.contains(cpu));
    let mut alone = free.clone();
    alone.retain(|cpu| servers.iter().all(|server| core(*server, around) != core(*cpu, around)));
    if alone.len() >= workers { alone } else { free }
}

/// The core of a CPU; a CPU of which none is known counts as one of its own.
fn core(cpu: usize, around: &Surroundings) -> usize {
    around.cores.get(&cpu).copied().unwrap_or(cpu)
}

/// True if the server runs in this process, on real CPUs.
fn has_own_server(around: &Surroundings) -> bool {
    around.embedded && matches!(around.io, Doors::Kernel { .. })
}

/// Number of CPUs that the process may keep busy.
pub(super) fn usable(around: &Surroundings) -> f64 {
    let allowed = around.cpus_allowed.len().max(1) as f64;
    around.cpu_quota.unwrap_or(allowed).min(allowed)
}

/// CPUs for workers: not `server`, and as few as possible that share a core with the server or
/// another worker. Highest numbers first, because machines do most of their other work on the
/// lowest.
fn apart_from(server: usize, workers: usize, around: &Surroundings) -> Vec<usize> {
    let mut taken = vec![server];
    for _ in 0..workers {
        let free = around.cpus_allowed.iter().rev().filter(|cpu| !taken.contains(cpu));
        let best = free.copied().min_by_key(|cpu| taken_on_core_of(*cpu, &taken, around));
        taken.push(best.expect("there are more processors than workers"));
    }
    taken.split_off(1)
}

/// Number of taken CPUs that share the core of `cpu`.
fn taken_on_core_of(cpu: usize, taken: &[usize], around: &Surroundings) -> usize {
    taken.iter().filter(|other| core(**other, around) == core(cpu, around)).count()
}

/// How workers wait: as the user says, else spinning if that takes no CPU from the server.
pub(super) fn wait(
    scenario: &Scenario,
    around: &Surroundings,
    placement: &CpuPlacement,
    workers: u32,
    why: &mut BTreeMap<String, String>,
) -> Wait {
    if let Some(wait) = scenario.wait {
        return wait;
    }
    // Spinning would take a worker's only CPU from memtide's other threads.
    let has_more = around.cpus_allowed.len() > workers as usize;
    let is_apart = placement.apart && has_more && around.cpu_quota.is_none();
    let (wait, reason) = if let Some(chosen) = &around.chosen {
        (chosen.wait, &*chosen.why)
    } else if placement.server.is_some() {
        (Wait::Hybrid, OWN)
    } else if is_apart {
        (Wait::Hybrid, APART)
    } else if has_own_server(around) {
        (Wait::Sleep, OF_EMBEDDED)
    } else if around.cpus_allowed.len() <= 2 {
        (Wait::Sleep, OF_SERVER)
    } else if around.cpu_quota.is_some() {
        (Wait::Sleep, "spinning would use up the control group's quota")
    } else if is_local(around) {
        (Wait::Sleep, "spinning would take CPU time from the server on this machine")
    } else {
        (Wait::Hybrid, "the server is elsewhere and CPUs are free")
    };
    why.insert("wait".to_owned(), reason.to_owned());
    wait
}
