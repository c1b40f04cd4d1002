//! All warnings about a run: faults that do not end it, in one closed list.
//!
//! Each warning has a code for programs, a sentence for people, and a remedy; its figures are
//! fields, so no warning can be raised without them.

mod silence;
mod means;
mod shortfall;
mod upset;
mod words;
mod kind;

pub use kind::{CodeEntry, WarningKind, code_entries, warning_order};
pub use means::Means;
pub use shortfall::Shortfall;
pub use upset::{TimeRange, Upset, exact_percent};
pub use words::natively;

use crate::record::{Distribution, Missing, Percentile, ProgramCpu, WarningRecord};
use memtide_base::Span;
use memtide_base::units::{format_count, format_percent, format_rate, format_span, format_time};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// A warning. Figures are of the measured window.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// memtide itself sent late, which is part of the response times.
    GeneratorLate {
        /// Percentile of response time that is affected.
        percentile: Percentile,
        /// That percentile, in ns.
        seen_ns: u64,
        /// That percentile of the response times less memtide's own delay, in ns.
        ideal_ns: u64,
        /// Why, as far as memtide can tell.
        cause: LateCause,
    },
    /// A worker was ready to run, but other threads had its CPU.
    CpuTaken {
        /// Number of the worker, from 0.
        worker: u32,
        /// Fraction of the time in which it waited for its CPU, 0 to 1.
        share: f64,
        /// The busiest process beside memtide, if it was busy.
        by: Option<ProgramCpu>,
        /// True if that is one of the servers that are measured.
        by_server: bool,
    },
    /// A server on this machine was ready to run, but other threads had its CPU.
    ServerCpuTaken {
        /// Name of the server; none for the embedded one.
        server: Option<String>,
        /// Fraction of the time in which it waited for its CPU, 0 to 1.
        share: f64,
        /// The busiest process beside memtide and its servers.
        by: ProgramCpu,
    },
    /// The CPU quota of memtide's control group was used up, and its threads were stopped.
    CpuThrottled {
        /// Fraction of the time in which they were stopped, 0 to 1.
        share: f64,
    },
    /// A worker had little idle time left.
    ClientSaturated {
        /// Number of the worker, from 0.
        worker: u32,
        /// Fraction of the time in which it was busy, 0 to 1.
        busy: f64,
    },
    /// The embedded server and the workers cannot run at the same time.
    SharedCpu {
        /// Number of CPUs that they share: less than two.
        cpus: f64,
    },
    /// The hypervisor took CPU time away while work was ready.
    CpuStolen {
        /// Fraction of all CPUs' time that was taken away, 0 to 1.
        share: f64,
    },
    /// A percentile is not printed because too few operations were measured.
    TooFewSamples {
        /// The kind of the operations.
        kind: Kind,
        /// Lowest percentile that is missing.
        percentile: Percentile,
        /// Number of operations needed for it.
        needed: u64,
        /// Number of operations measured.
        has: u64,
    },
    /// The warm-up was to end when the load is steady, and ended before.
    UnsteadyWarmup {
        /// Its length in seconds.
        length_s: f64,
    },
    /// The longest window ended before a figure was known as narrowly as asked.
    Imprecise {
        /// The figure and half the width that was asked for, such as `p99 5%`.
        asked: String,
        /// Half the width of its range, as a fraction; none without a range.
        half_width: Option<f64>,
        /// The length of the window in seconds.
        length_s: f64,
    },
    /// The servers carried less than was due, so that response times grew all the time.
    Overloaded {
        /// Mean response time in the first eighth of the window.
        from: Span,
        /// Mean response time in its last eighth.
        to: Span,
    },
    /// The limit of open files is below what the connections need.
    FileLimit {
        /// Number of files needed.
        needed: u64,
        /// Number of files allowed, after the soft limit was raised to the hard one.
        allowed: u64,
    },
    /// The server evicted items during the run.
    Evictions {
        /// Name of the server.
        server: String,
        /// Number of items evicted.
        count: u64,
        /// True if keys of this run were among them; none if unknown.
        own: Option<bool>,
    },
    /// Too few connections for the rate: the server's threads share them unevenly.
    FewConnections {
        /// Connections to each server.
        connections: u32,
        /// Number of threads of the server.
        server_threads: u32,
        /// Rate in operations per second.
        rate_per_s: f64,
    },
    /// The server refused connections because it has too many.
    TooManyConnections {
        /// Name of the server.
        server: String,
        /// Number of connections refused.
        refused: u64,
    },
    /// Samples came faster than they could be written, and some are missing from the file.
    SampleOverflow {
        /// Number of samples lost.
        lost: u64,
    },
    /// Other clients used the server during the run.
    OtherClients {
        /// Name of the server.
        server: String,
        /// Number of commands of other clients.
        commands: u64,
    },
    /// The server's counters could not be read, so they were not compared.
    StatsUnavailable {
        /// Name of the server.
        server: String,
        /// Reason.
        why: String,
    },
    /// Rows over time hold operations of agents whose records did not arrive.
    RowsWithoutRecord {
        /// The agents, as a list.
        agents: String,
        /// Number of these operations.
        operations: u64,
    },
    /// Connections were lost during the run.
    ConnectionsLost {
        /// Name of the server.
        server: String,
        /// Number of connections lost.
        count: u64,
    },
    /// A server was gone, restarted or emptied.
    Upset(Upset),
    /// Connections could not be opened because this process may have no more files open.
    DescriptorsExhausted {
        /// Number of connections not opened.
        count: u64,
    },
    /// Connections could not be opened because no local port was free.
    PortsExhausted {
        /// Number of connections not opened.
        count: u64,
    },
    /// Under connection churn, connections could not be opened for other reasons.
    ConnectsFailed {
        /// Number of connections not opened.
        count: u64,
        /// Reasons, with the count of each.
        why: String,
    },
    /// An output could not be written; the others were.
    OutputFailed {
        /// Destination of the output.
        output: String,
        /// Reason.
        why: String,
    },
    /// Times above the histograms' range were counted in the last bucket.
    HistogramSaturated {
        /// Number of such times.
        count: u64,
    },
    /// The servers' certificates were not checked.
    TlsUnchecked,
    /// A server holds less than the scenario says, or something else, and that is accepted.
    Shortfall(Shortfall),
    /// A server rejected the command of `--before` or `--after`.
    LineRefused {
        /// Name of the server.
        server: String,
        /// The command.
        line: String,
        /// Reply or failure: a sentence without its subject, the server.
        why: String,
    },
    /// The merged runs did not all load the same servers.
    ServersDiffer {
        /// Number of runs.
        runs: usize,
        /// Number of servers of all runs together.
        servers: usize,
    },
}

/// Why memtide sent late. Each cause has its own remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateCause {
    /// The hypervisor withheld CPU time.
    Steal,
    /// Other threads had a worker's CPU.
    OtherThreads,
    /// The CPU quota of the control group was used up.
    Throttled,
    /// A worker had more to do than it could.
    Overload,
    /// A worker stood still, without waiting for a CPU: its process was stopped.
    Stopped,
    /// The kernel woke a sleeping worker late.
    Wake,
    /// None of these was seen, and the workers spin already.
    Unknown,
}

/// Clause that says whether keys of this run were among those that a server evicted.
const fn whose(own: Option<bool>) -> &'static str {
    match own {
        Some(true) => ", and keys of this run were missing",
        Some(false) => "; every key that was read was present, so these were other items",
        None => "; memtide cannot tell whether keys of this run were among them",
    }
}

impl Warning {
    /// What the warning is about.
    pub const fn kind(&self) -> WarningKind {
        match self {
            Self::GeneratorLate { .. } => WarningKind::GeneratorLate,
            Self::CpuTaken { .. } => WarningKind::CpuTaken,
            Self::ServerCpuTaken { .. } => WarningKind::ServerCpuTaken,
            Self::CpuThrottled { .. } => WarningKind::CpuThrottled,
            Self::ClientSaturated { .. } => WarningKind::ClientSaturated,
            Self::SharedCpu { .. } => WarningKind::SharedCpu,
            Self::CpuStolen { .. } => WarningKind::CpuStolen,
            Self::TooFewSamples { .. } => WarningKind::TooFewSamples,
            Self::UnsteadyWarmup { .. } => WarningKind::UnsteadyWarmup,
            Self::Imprecise { .. } => WarningKind::Imprecise,
            Self::Overloaded { .. } => WarningKind::Overloaded,
            Self::FileLimit { .. } => WarningKind::FileLimit,
            Self::Evictions { .. } => WarningKind::Evictions,
            Self::FewConnections { .. } => WarningKind::FewConnections,
            Self::TooManyConnections { .. } => WarningKind::TooManyConnections,
            Self::SampleOverflow { .. } => WarningKind::SampleOverflow,
            Self::OtherClients { .. } => WarningKind::OtherClients,
            Self::StatsUnavailable { .. } => WarningKind::StatsUnavailable,
            Self::ConnectionsLost { .. } => WarningKind::ConnectionsLost,
            Self::Upset(upset) => upset.kind(),
            Self::DescriptorsExhausted { .. } => WarningKind::DescriptorsExhausted,
            Self::PortsExhausted { .. } => WarningKind::PortsExhausted,
            Self::ConnectsFailed { .. } => WarningKind::ConnectsFailed,
            Self::OutputFailed { .. } => WarningKind::OutputFailed,
            Self::HistogramSaturated { .. } => WarningKind::HistogramSaturated,
            Self::TlsUnchecked => WarningKind::TlsUnchecked,
            Self::Shortfall(shortfall) => shortfall.kind(),
            Self::LineRefused { .. } => WarningKind::LineRefused,
            Self::ServersDiffer { .. } => WarningKind::ServersDiffer,
            Self::RowsWithoutRecord { .. } => WarningKind::RowsWithoutRecord,
        }
    }

    /// Stable name of the warning, for programs.
    pub const fn code(&self) -> &'static str {
        self.kind().code()
    }

    /// The problem, with its figures: a sentence without its full stop.
    pub fn message(&self) -> String {
        match self {
            Self::GeneratorLate { percentile, seen_ns, ideal_ns, .. } => {
                generator_late(*percentile, *seen_ns as f64, *ideal_ns as f64)
            }
            Self::CpuTaken { worker, share, by, .. } => {
                cpu_taken(&worker_words(*worker), *share, by.as_ref())
            }
            Self::ServerCpuTaken { server, share, by } => {
                cpu_taken(server_words(server.as_deref()), *share, Some(by))
            }
            Self::CpuThrottled { share } => cpu_throttled(*share),
            Self::ClientSaturated { worker, busy } => format!(
                "worker {worker} was busy {} of the time, so memtide may limit the result",
                format_percent(*busy)
            ),
            Self::SharedCpu { cpus } => shared_cpu(*cpus),
            Self::CpuStolen { share } => cpu_stolen(*share),
            Self::TooFewSamples { kind, percentile, needed, has } => format!(
                "too few operations for {percentile} of {kind}: {needed} needed, {has} measured"
            ),
            Self::UnsteadyWarmup { length_s } => unsteady(*length_s),
            Self::Imprecise { asked, half_width, length_s } => {
                imprecise(asked, *half_width, *length_s)
            }
            Self::Overloaded { from, to } => overloaded(*from, *to),
            Self::FileLimit { needed, allowed } => {
                format!("the run needs {needed} open files, but the limit is {allowed}")
            }
            Self::Evictions { server, count, own } => {
                format!("{server} evicted {count} items during the run{}", whose(*own))
            }
            Self::FewConnections { connections, server_threads, rate_per_s } => {
                few_connections(*connections, *server_threads, *rate_per_s)
            }
            Self::TooManyConnections { server, refused } => {
                format!("{server} refused {refused} connections because it has too many open")
            }
            Self::SampleOverflow { lost } => format!(
                "{lost} samples are missing from the file: they came too fast to be written"
            ),
            Self::OtherClients { server, commands } => format!(
                "other clients sent at least {commands} commands to {server} during the run"
            ),
            Self::StatsUnavailable { server, why } => {
                format!("the counters of {server} could not be compared: {why}")
            }
            Self::ConnectionsLost { server, count } => {
                format!("{count} connections to {server} were lost during the run")
            }
            Self::Upset(upset) => upset.message(),
            Self::DescriptorsExhausted { count } => format!(
                "{count} connections could not be opened: the limit of open files is reached"
            ),
            Self::PortsExhausted { count } => format!(
                "{count} connections could not be opened: no local port was free (a port stays in \
                 use for a minute after a normal close)"
            ),
            Self::ConnectsFailed { count, why } => connects_failed(*count, why),
            Self::OutputFailed { output, why } => format!("{output} could not be written: {why}"),
            Self::HistogramSaturated { count } => {
                format!("{count} times exceed the range of the histograms (one hour)")
            }
            Self::TlsUnchecked => UNCHECKED.to_owned(),
            Self::Shortfall(shortfall) => shortfall.message(),
            Self::LineRefused { server, line, why } => {
                format!("{server} received '{line}' and {why}")
            }
            Self::RowsWithoutRecord { agents, operations } => surplus_rows(agents, *operations),
            Self::ServersDiffer { runs, servers } => servers_differ(*runs, *servers),
        }
    }

    /// The remedy for a run whose settings are not known here: a clause that begins with a verb.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::GeneratorLate { cause, .. } => generator_late_remedy(*cause),
            Self::CpuTaken { by_server: true, .. } => {
                "give the server CPUs of its own, and memtide keeps to the others: 'taskset -acp 1 \
                 PROCESS' moves a running server to CPU 1"
            }
            Self::Evictions { own: Some(false), .. } => {
                "this run needs no action; if the other items matter, use another server or give \
                 this one more memory (its -m)"
            }
            _ => self.kind().remedy(),
        }
    }
}

const UNCHECKED: &str =
    "the servers' certificates were not checked, so any other machine may have answered";

/// The remedy for the cause of a late send.
const fn generator_late_remedy(cause: LateCause) -> &'static str {
    match cause {
        LateCause::Steal => "see the warning about steal time: the CPUs are not memtide's alone",
        LateCause::OtherThreads => "see the warning about the CPU that other threads used",
        LateCause::Throttled => "see the warning about the CPU quota",
        LateCause::Overload => "see the warning about the busy worker",
        LateCause::Stopped => {
            "let memtide run: its process was stopped or its virtual machine stood still, and it \
             did not wait for a CPU (SIGSTOP, a debugger, a frozen container or a paused machine)"
        }
        LateCause::Wake => "try --wait spin, or CPUs that the server does not use",
        LateCause::Unknown => "look for interrupts and power saving on memtide's CPUs",
    }
}

fn generator_late(percentile: Percentile, seen_ns: f64, ideal_ns: f64) -> String {
    let seen = format_time(seen_ns);
    if ideal_ns == 0.0 {
        return format!(
            "memtide itself sent late: {percentile} is {seen}, and how much of it is memtide's own \
             delay is unknown"
        );
    }
    let least = format_time(ideal_ns);
    format!(
        "memtide itself sent late: {percentile} is {seen}; without memtide's own delay it may have \
         been as little as {least}"
    )
}

fn overloaded(from: Span, to: Span) -> String {
    format!(
        "OVERLOADED: response times grew from {} to {} during the run, because the servers carried \
         less than was due",
        format_span(from),
        format_span(to)
    )
}

fn unsteady(length_s: f64) -> String {
    let length = format_span(Span::from_s_f64(length_s));
    format!(
        "the load was not steady after {length} of warm-up: the transient may be longer than the \
         run"
    )
}

fn imprecise(asked: &str, half_width: Option<f64>, length_s: f64) -> String {
    let known = half_width
        .map_or("without a range".to_owned(), |x| format!("known within ± {}", format_percent(x)));
    let length = format_span(Span::from_s_f64(length_s));
    format!("the precision {asked} was not reached in {length}: it is {known}")
}

fn cpu_taken(from: &str, share: f64, by: Option<&ProgramCpu>) -> String {
    let (share, who) = (format_percent(share), by.map_or_else(String::new, busiest_words));
    format!("{from} waited {share} of the time for a CPU that other threads used{who}")
}

fn busiest_words(ProgramCpu { name, id, cpus, .. }: &ProgramCpu) -> String {
    format!("; the busiest other program was '{name}' (process {id}, {cpus:.2} CPUs)")
}

fn worker_words(worker: u32) -> String {
    format!("worker {worker}")
}

fn cpu_throttled(share: f64) -> String {
    format!(
        "the CPU quota of memtide's control group was used up, and its threads were stopped for up \
         to {} of the time; response times include these waits",
        format_percent(share)
    )
}

fn shared_cpu(cpus: f64) -> String {
    let plural = if cpus == 1.0 { "" } else { "s" };
    format!(
        "the embedded server and memtide's workers share {} CPU{plural}: response times contain \
         their waits for each other and say nothing about the server; rate, counts and errors hold",
        format_count(cpus)
    )
}

fn cpu_stolen(share: f64) -> String {
    format!(
        "the hypervisor withheld {} of this machine's CPU time (steal); response times include \
         these waits",
        format_percent(share)
    )
}

impl Warning {
    /// Warnings that follow from the response times alone; `response` is a record's whole map. A
    /// merge asks again, because merged shares have more operations.
    pub fn of_response(response: &BTreeMap<Kind, Distribution>) -> Vec<Self> {
        let mut warnings = Vec::new();
        let count = response.get(&Kind::All).map_or(0, |all| all.saturated);
        if count > 0 {
            warnings.push(Self::HistogramSaturated { count });
        }
        // A short run often lacks rarer percentiles; the report says so in their place.
        let too_few = response.get(&Kind::All).and_then(|all| {
            all.missing.iter().find_map(|(&percentile, why)| match *why {
                Missing::TooFew { needed, has } if percentile <= Percentile::P99 => {
                    Some(Self::TooFewSamples { kind: Kind::All, percentile, needed, has })
                }
                _ => None,
            })
        });
        warnings.extend(too_few);
        warnings
    }
}

fn servers_differ(runs: usize, servers: usize) -> String {
    format!(
        "the {runs} merged runs loaded {servers} servers, not all the same: the times are those of \
         all servers together"
    )
}

/// A server's name for people.
fn server_words(name: Option<&str>) -> &str {
    name.unwrap_or("the embedded server")
}

fn connects_failed(count: u64, why: &str) -> String {
    format!("{count} connections could not be opened: {why}")
}

/// Of fewer connections than a server's threads need.
fn few_connections(connections: u32, server_threads: u32, rate_per_s: f64) -> String {
    format!(
        "{connections} connections for {server_threads} server threads at {}: below 50 per thread, \
         single connections can skew the result",
        format_rate(rate_per_s)
    )
}

fn surplus_rows(agents: &str, operations: u64) -> String {
    format!(
        "intervals, hlog and points hold {operations} operations more than the record: those that \
         {agents} reported before the loss of its record"
    )
}

impl Warning {
    /// The warning as a run's record keeps it, with the remedy for a run that has these `means`.
    pub fn to_record(&self, means: &Means) -> WarningRecord {
        let (code, message) = (self.code().to_owned(), self.message());
        WarningRecord { code, message, remedy: means.fit(self.remedy()) }
    }
}

impl WarningRecord {
    /// True if other machines than the servers may have answered, on which all figures depend.
    pub fn is_about_trust(&self) -> bool {
        self.code == Warning::TlsUnchecked.code()
    }

    /// The warnings in the order of reports, in which those about trust come first.
    pub fn in_order(warnings: &[Self]) -> Vec<&Self> {
        let mut ordered: Vec<&Self> = warnings.iter().collect();
        ordered.sort_by_key(|warning| warning_order(&warning.code));
        ordered
    }
}

/// A warning about a run whose settings are not known here.
impl From<&Warning> for WarningRecord {
    fn from(warning: &Warning) -> Self {
        warning.to_record(&Means::default())
    }
}

#[cfg(test)]
mod tests;
