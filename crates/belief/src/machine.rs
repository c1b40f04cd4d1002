//! Judges a machine before a campaign (`memtide doctor`): each fact with its effect, and what to do
//! about those that spoil measurements. The checks and warnings of a run have the same bounds.

use memtide_base::Span;
use memtide_base::units::{format_bytes, format_percent, format_span, format_whole};
use memtide_base::worded;
use memtide_metrics::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// With fewer CPUs, a worker and a server on the same machine cannot run at the same time.
pub const CPUS_OF_A_PAIR: f64 = 2.0;
/// Above this fraction of time without its CPU, a worker is considered to share it.
pub const KEPT_MAX: f64 = 0.05;
/// A delay of this length is no late wake-up: something kept the worker from running.
pub const STALL: Span = Span::from_ms(5);
/// Above this fraction of time, stalls reach the p99.
pub const STALLED_SHARE: f64 = 0.01;
/// Above this fraction of all CPUs' time, steal time shows in the upper percentiles.
pub const STOLEN_MAX: f64 = 0.01;
/// A paced operation that is sent later than this at p99 is late beside most response times.
const LATE_WAKE: Span = Span::from_ms(1);
/// A reading of the clock that takes longer is a system call, and an operation takes several.
const SLOW_READING: Span = Span::from_ns(500);
/// Files that memtide needs besides its connections.
const FILES_BESIDE: u64 = 64;
/// Connections that a run has unless its user says otherwise.
const CONNECTIONS: u64 = 64;
/// CPUs that memtide itself keeps busy, beside the threads of a server on the same machine.
const WORKERS: f64 = 1.0;

worded! {
    /// A condition of a machine of which a run warns, too.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Spoiler {
        /// Fewer than two CPUs for a worker and a server on the same machine.
        SharedCpu = "shared_cpu",
        /// Other threads have a worker's CPU.
        CpuTaken = "cpu_taken",
        /// The hypervisor withholds CPU time.
        CpuStolen = "cpu_stolen",
        /// Fewer files may be open than the connections need.
        FileLimit = "file_limit",
    }
    /// The code of the run's warning.
    pub const fn code;
}

impl Spoiler {
    /// Remedy, before a run and after it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::SharedCpu => {
                "give memtide at least two CPUs, or measure a --server that runs elsewhere"
            }
            Self::CpuTaken => {
                "stop other programs on memtide's CPUs, or give it CPUs of its own (taskset); \
                 fewer --threads if there are more of them than CPUs"
            }
            Self::CpuStolen => {
                "measure on a machine with CPUs of its own, or again when the host is less busy"
            }
            Self::FileLimit => "raise the hard limit (ulimit -Hn) or use fewer --connections",
        }
    }
}

/// The files that a run with this number of connections needs; an embedded server has one more for
/// each.
pub const fn files_needed(connections: u64, embedded: bool) -> u64 {
    let sides = if embedded { 2 } else { 1 };
    connections.saturating_mul(sides).saturating_add(FILES_BESIDE)
}

/// Observations of a machine. Fractions are from 0 to 1.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Number of CPUs that are online.
    pub cpus_online: usize,
    /// CPUs that memtide may use.
    pub cpus_allowed: Vec<usize>,
    /// The core of each of these, by the core's first CPU.
    pub cores: BTreeMap<usize, usize>,
    /// The control group's limit in CPUs; none without one.
    pub cpu_quota: Option<f64>,
    /// How the kernel chooses the clock frequency; none if it does not say.
    pub governor: Option<String>,
    /// The deepest state of an idle CPU, and the time to leave it; none if the kernel does not say.
    pub idle: Option<(String, Span)>,
    /// The kernel's clock source; none if it does not say.
    pub clock_source: Option<String>,
    /// The slack of timers that new threads have; none if the kernel does not say.
    pub slack: Option<Span>,
    /// Fraction of all CPUs' time that the hypervisor withheld; none if unknown.
    pub stolen: Option<f64>,
    /// True if a CPU quota stopped the trials' threads, which try all CPUs at once and use it up.
    pub is_throttled: bool,
    /// Busy fraction of all CPUs before the trials; none if unknown.
    pub busy: Option<f64>,
    /// Interrupts per second of each CPU, and the device that raised most of them.
    pub interrupts: Vec<(usize, f64, String)>,
    /// Observations of a thread on each CPU.
    pub trials: Vec<Trial>,
    /// Limit of open files.
    pub files_max: u64,
    /// Memory that can be used, in bytes; none if unknown.
    pub memory_bytes: Option<u64>,
    /// Ok if io_uring can be used, else the reason why not.
    pub uring: Result<(), String>,
    /// The servers.
    pub servers: Vec<Asked>,
}

/// A server's name, and what it says of itself, or why it could not be asked.
pub type Asked = (String, Result<Server, String>);

/// Observations of a thread that was pinned to a CPU.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The CPU.
    pub cpu: usize,
    /// How late the thread ran after the instants for which it had asked.
    pub late: Histogram<u64>,
    /// Pauses of the thread while it did not sleep, in one second.
    pub pauses_per_s: f64,
    /// The longest of them.
    pub longest: Span,
    /// Fraction of time that they took.
    pub paused: f64,
    /// Fraction of time in which another thread had the CPU.
    pub kept: f64,
    /// Time that one reading of the clock takes.
    pub reading: Span,
}

/// A server, as it describes itself.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its version.
    pub version: String,
    /// True if it runs on this machine.
    pub is_local: bool,
    /// Number of its worker threads; none if it does not say.
    pub threads: Option<u64>,
    /// Most connections that it accepts; none if it does not say.
    pub connections_max: Option<u64>,
    /// Times from a question to its answer over one connection.
    pub round_trips: Histogram<u64>,
}

/// A fact, and what it does to a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Subject: one word or two.
    pub about: String,
    /// The fact, measured where that is possible.
    pub found: String,
    /// True if runs under these conditions are spoilt.
    pub spoils: bool,
    /// Remedy; none if none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_do: Option<String>,
    /// The code of the warning that a run under these conditions has; none if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'static str>,
}

impl Fact {
    fn new(about: &str, found: impl Into<String>) -> Self {
        let about = about.to_owned();
        Self { about, found: found.into(), spoils: false, to_do: None, warning: None }
    }

    /// With advice that makes figures better.
    fn advised(self, to_do: Option<&str>) -> Self {
        Self { to_do: to_do.map(str::to_owned), ..self }
    }

    /// Spoils measurements if `spoils`, as a run warns.
    fn warned_if(self, spoils: bool, of: Spoiler) -> Self {
        let warning = spoils.then(|| of.code());
        Self { warning, ..self.spoiling_if(spoils, of.remedy()) }
    }

    /// Spoils measurements if `spoils`; then this is what to do.
    fn spoiling_if(self, spoils: bool, to_do: &str) -> Self {
        match spoils {
            true => Self { spoils, ..self.advised(Some(to_do)) },
            false => self,
        }
    }
}

impl Condition {
    /// The facts, each once, in the order of what matters most.
    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![self.cpus(), self.others(), self.steal(), self.wake_ups()];
        facts.extend([self.pauses(), self.clock(), self.frequency(), self.idleness()]);
        facts.extend([self.interrupts(), self.slack(), self.memory(), self.files(), self.uring()]);
        facts.extend(self.servers.iter().map(|(name, server)| self.server(name, server)));
        facts
    }

    fn cpus(&self) -> Fact {
        let (allowed, online) = (self.cpus_allowed.len(), self.cpus_online);
        let mut found = format!("{allowed} of {online} may be used");
        if let Some(quota) = self.cpu_quota {
            found = format!("{found}, the control group allows {quota} of them");
        }
        let usable = self.cpu_quota.unwrap_or(f64::INFINITY).min(allowed as f64);
        let shared = self.shared_cores();
        if shared > 0 {
            found = format!("{found}; {shared} share a core with another");
        }
        let advice = "a thread slows the other one on its core down: leave every second CPU idle";
        let fact = Fact::new("CPUs", found).advised((shared > 0).then_some(advice));
        let is_few = usable < CPUS_OF_A_PAIR;
        // A run does not know whether a server of the user's could run elsewhere: no warning.
        match self.servers.is_empty() {
            true => fact.warned_if(is_few, Spoiler::SharedCpu),
            false => {
                let mut servers =
                    self.servers.iter().filter_map(|(_, server)| server.as_ref().ok());
                let is_here = servers.any(|server| server.is_local);
                fact.spoiling_if(is_few && is_here, Spoiler::SharedCpu.remedy())
            }
        }
    }

    /// Number of allowed CPUs that have another one on their core.
    fn shared_cores(&self) -> usize {
        let mut each: BTreeMap<usize, usize> = BTreeMap::new();
        for cpu in &self.cpus_allowed {
            *each.entry(*self.cores.get(cpu).unwrap_or(cpu)).or_default() += 1;
        }
        each.values().filter(|count| **count > 1).sum()
    }

    fn others(&self) -> Fact {
        let most = self.trials.iter().max_by(|a, b| a.kept.total_cmp(&b.kept));
        let Some(most) = most else { return Fact::new("other load", "no CPU could be tried") };
        // The kernel counts these stops as waits for a CPU.
        if self.is_throttled {
            return Fact::new(
                "other load",
                "unknown: the CPU quota stopped the threads that tried",
            );
        }
        let kept = format_percent(most.kept);
        let mut found = format!("other threads had CPU {} for {kept} of the time", most.cpu);
        if let Some(busy) = self.busy {
            found = format!("{found}; all CPUs were {} busy before", format_percent(busy));
        }
        Fact::new("other load", found).warned_if(most.kept > KEPT_MAX, Spoiler::CpuTaken)
    }

    fn steal(&self) -> Fact {
        let Some(stolen) = self.stolen else {
            return Fact::new("steal", "the kernel does not say");
        };
        let found = format!("the hypervisor withheld {} of the time", format_percent(stolen));
        Fact::new("steal", found).warned_if(stolen > STOLEN_MAX, Spoiler::CpuStolen)
    }

    fn wake_ups(&self) -> Fact {
        let worst = self.trials.iter().max_by_key(|trial| at(&trial.late, 0.99).unwrap_or(0));
        let Some(worst) = worst else { return Fact::new("wake-ups", "no CPU could be tried") };
        let [p50, p99] = [0.5, 0.99].map(|p| Span::from_ns(at(&worst.late, p).unwrap_or(0)));
        let longest = Span::from_ns(worst.late.moments().max);
        let found = format!(
            "a thread that sleeps wakes late: p50 {p50}, p99 {p99}, at most {longest} (CPU {})",
            worst.cpu
        );
        let to_do = "let workers spin (--wait spin) on CPUs that nothing else uses";
        Fact::new("wake-ups", found).spoiling_if(p99 > LATE_WAKE, to_do)
    }

    fn pauses(&self) -> Fact {
        let worst = self.trials.iter().max_by(|a, b| a.paused.total_cmp(&b.paused));
        let Some(worst) = worst else { return Fact::new("pauses", "no CPU could be tried") };
        let found = match worst.longest.is_zero() {
            true => "a thread that spins is never interrupted for 10 µs".to_owned(),
            false => format!(
                "a thread that spins is interrupted {} times a second, for {} of the time, at most \
                 {} (CPU {})",
                format_whole(worst.pauses_per_s.round() as u64),
                format_percent(worst.paused),
                worst.longest,
                worst.cpu
            ),
        };
        let spoils = worst.paused > STALLED_SHARE && worst.longest >= STALL && !self.is_throttled;
        let to_do = "find what runs here: other programs, interrupts or the hypervisor";
        Fact::new("pauses", found).spoiling_if(spoils, to_do)
    }

    fn clock(&self) -> Fact {
        let source = self.clock_source.as_deref().unwrap_or("unknown source");
        let reading = self.trials.iter().map(|trial| trial.reading).max();
        let Some(reading) = reading else { return Fact::new("clock", source) };
        let to_do = "let the kernel use tsc or kvm-clock: a reading must not take a system call";
        let found = format!("{source}, a reading takes {}", format_span(reading));
        Fact::new("clock", found).spoiling_if(reading > SLOW_READING, to_do)
    }

    fn frequency(&self) -> Fact {
        let advice = "choose performance: other governors lower the clock of a CPU that waits";
        match self.governor.as_deref() {
            None => Fact::new("frequency", "the kernel does not show it"),
            Some("performance") => Fact::new("frequency", "governor performance"),
            Some(other) => {
                Fact::new("frequency", format!("governor {other}")).advised(Some(advice))
            }
        }
    }

    fn idleness(&self) -> Fact {
        let Some((name, exit)) = &self.idle else {
            return Fact::new("idle states", "the kernel does not show them");
        };
        let found = format!("down to {name}, which takes {exit} to leave");
        let advice = "spin (--wait spin), or forbid deep states: they delay each wake-up";
        let is_deep = *exit > Span::from_us(20);
        Fact::new("idle states", found).advised(is_deep.then_some(advice))
    }

    fn interrupts(&self) -> Fact {
        let most = self.interrupts.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((cpu, per_s, device)) = most else {
            return Fact::new("interrupts", "the kernel does not show them");
        };
        let per_s = format_whole(per_s.round() as u64);
        let found = format!("at most {per_s}/s on one CPU ({cpu}), most of them {device}");
        Fact::new("interrupts", found)
    }

    fn slack(&self) -> Fact {
        let Some(slack) = self.slack else {
            return Fact::new("timer slack", "the kernel does not say");
        };
        Fact::new("timer slack", format!("{slack} for new threads; memtide's workers set 1 ns"))
    }

    fn memory(&self) -> Fact {
        let found = self.memory_bytes.map(|bytes| format!("{} can be used", format_bytes(bytes)));
        Fact::new("memory", found.unwrap_or_else(|| "the kernel does not say".to_owned()))
    }

    fn files(&self) -> Fact {
        let left = self.files_max.saturating_sub(FILES_BESIDE);
        let found = format!(
            "{} may be open: enough for {} connections, or {} to an embedded server",
            format_whole(self.files_max),
            format_whole(left),
            format_whole(left / 2)
        );
        let is_short = files_needed(CONNECTIONS, self.servers.is_empty()) > self.files_max;
        Fact::new("open files", found).warned_if(is_short, Spoiler::FileLimit)
    }

    fn uring(&self) -> Fact {
        match &self.uring {
            Ok(()) => Fact::new("io_uring", "can be used"),
            Err(why) => Fact::new("io_uring", format!("{why}; epoll takes its place")),
        }
    }

    fn server(&self, name: &str, server: &Result<Server, String>) -> Fact {
        let server = match server {
            Ok(server) => server,
            Err(why) => {
                let to_do = "start it, or name another";
                return Fact::new("server", format!("{name} {why}")).spoiling_if(true, to_do);
            }
        };
        let place = if server.is_local { "on this machine" } else { "over the network" };
        let mut found = format!("{name}: {}, {place}", server.version);
        if let Some(threads) = server.threads {
            found = format!("{found}, {threads} threads");
        }
        if let Some(most) = server.connections_max {
            found = format!("{found}, {} connections at most", format_whole(most));
        }
        let times = [0.5, 0.99].map(|p| at(&server.round_trips, p).map(Span::from_ns));
        if let [Some(p50), Some(p99)] = times {
            found = format!("{found}; a question takes {p50}, p99 {p99}");
        }
        let threads = server.threads.unwrap_or(0) as f64;
        let crowded = server.is_local && threads + WORKERS > self.cpus_online as f64;
        let advice = "its threads and memtide's worker have too few CPUs: give memcached fewer \
                      threads (-t), or run memtide on another machine";
        Fact::new("server", found).advised(crowded.then_some(advice))
    }
}

/// The time at fraction `p` of `times`; none if there are none.
fn at(times: &Histogram<u64>, p: f64) -> Option<u64> {
    times.value_at_rank((p * times.count() as f64).ceil() as u64)
}

#[cfg(test)]
mod tests;
