//! The codes of warnings and checks, each with what it means and what to do about it. From these
//! tables are made `docs/warnings.md` and the answers of `memtide help CODE`.

use crate::record::CheckKind;
use memtide_belief::machine::Spoiler;

/// A code with its meaning and its remedy, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeEntry {
    /// The code, as records and full reports have it.
    pub code: &'static str,
    /// True for a check of the verdict, false for a warning.
    pub is_check: bool,
    /// Meaning: a sentence.
    pub meaning: &'static str,
    /// Remedy, of a run whose settings are not known here: a clause that begins with a verb.
    pub remedy: &'static str,
}

/// Every code: those of warnings by the alphabet, then those of checks.
pub fn code_entries() -> Vec<CodeEntry> {
    let mut warnings: Vec<CodeEntry> = WarningKind::ALL
        .iter()
        .map(|kind| CodeEntry {
            code: kind.code(),
            is_check: false,
            meaning: kind.meaning(),
            remedy: kind.remedy(),
        })
        .collect();
    warnings.sort_by_key(|entry| entry.code);
    warnings.extend(CheckKind::ALL.iter().map(|kind| CodeEntry {
        code: kind.code(),
        is_check: true,
        meaning: kind.meaning(),
        remedy: check_remedy(*kind),
    }));
    warnings
}

/// The warnings without which the rest of a report misleads, in the order in which a reader needs
/// them: who answered, and whether servers answered at all.
const FIRST: [WarningKind; 6] = [
    WarningKind::TlsUnchecked,
    WarningKind::ServerGone,
    WarningKind::ServerRestarted,
    WarningKind::ServerFlushed,
    WarningKind::ServerSilent,
    WarningKind::Overloaded,
];

/// Place of the warning with this code among others; equal for most.
pub fn warning_order(code: &str) -> usize {
    FIRST.iter().position(|kind| kind.code() == code).unwrap_or(FIRST.len())
}

/// Declares the kinds of warnings: variant, code, meaning, remedy.
macro_rules! warning_kinds {
    ($($kind:ident = $code:expr, $meaning:literal, $remedy:expr;)*) => {
        /// What a warning is about: all of it but its figures.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WarningKind {
            $(#[doc = $meaning] $kind,)*
        }

        impl WarningKind {
            /// Every kind.
            pub(super) const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Stable name of the warning, for programs.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$kind => $code,)* }
            }

            /// Meaning: a sentence.
            const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning,)* }
            }

            /// Remedy: a clause that begins with a verb.
            pub(super) const fn remedy(self) -> &'static str {
                match self { $(Self::$kind => $remedy,)* }
            }
        }
    };
}

warning_kinds! {
    GeneratorLate = "generator_late",
        "memtide itself sent late, which is part of the response times.",
        "do what the warning says by its cause, such as --wait spin or CPUs that the server does \
         not use";
    CpuTaken = Spoiler::CpuTaken.code(),
        "A worker was ready to run, but other threads had its CPU.",
        Spoiler::CpuTaken.remedy();
    ServerCpuTaken = "server_cpu_taken",
        "A server on this machine was ready to run, but other threads had its CPU.",
        "stop other programs on the server's CPUs, or give it CPUs of its own (taskset)";
    CpuThrottled = "cpu_throttled",
        "The CPU quota of memtide's control group was used up, and its threads were stopped.",
        "give the control group a larger CPU quota (a container's CPU limit), or use fewer \
         --threads and a lower --rate";
    ClientSaturated = "client_saturated",
        "A worker had little idle time left.",
        "use more --threads or CPUs, or a lower --rate";
    SharedCpu = Spoiler::SharedCpu.code(),
        "The embedded server and the workers cannot run at the same time.",
        Spoiler::SharedCpu.remedy();
    CpuStolen = Spoiler::CpuStolen.code(),
        "The hypervisor took CPU time away while work was ready.",
        Spoiler::CpuStolen.remedy();
    TooFewSamples = "too_few_samples",
        "A percentile is not printed because too few operations were measured.",
        "measure longer (--duration) or at a higher --rate";
    UnsteadyWarmup = "unsteady_warmup",
        "The warm-up was to end when the load is steady, and ended before.",
        "measure longer (--duration), or give the warm-up that the server needs (--warmup)";
    Imprecise = "imprecise",
        "The longest window ended before a figure was known as narrowly as asked.",
        "measure longer (--at-most) or at a higher --rate; if memtide was late, that does not \
         help: see memtide doctor";
    Overloaded = "overloaded",
        "The servers carried less than was due, so that response times grew all the time.",
        "measure at a lower --rate; in a longer run the times only grow further";
    FileLimit = Spoiler::FileLimit.code(),
        "The limit of open files is below what the connections need.",
        Spoiler::FileLimit.remedy();
    Evictions = "evictions",
        "The server evicted items during the run.",
        "give the server more memory (its -m), or use fewer --keys or a smaller --value-size";
    FewConnections = "few_connections",
        "Too few connections for the rate: the server's threads share them unevenly.",
        "use more --connections, or several client machines";
    TooManyConnections = "too_many_connections",
        "The server refused connections because it has too many.",
        "raise the server's connection limit (its -c) or use fewer --connections";
    SampleOverflow = "sample_overflow",
        "Samples came faster than they could be written, and some are missing from the file.",
        "write --samples to a faster disk, or use a lower --rate";
    OtherClients = "other_clients",
        "Other clients used the server during the run.",
        "measure a server that no other client uses";
    StatsUnavailable = "stats_unavailable",
        "The server's counters could not be read, so they were not compared.",
        "let the server answer the stats command, or skip the comparison with --no-stats";
    ConnectionsLost = "connections_lost",
        "Connections were lost during the run.",
        "check the server's log; the response times include the losses";
    ServerGone = "server_gone",
        "No connection to a server was open for a while, or until the end.",
        "check the server's log; operations that were due meanwhile waited or failed";
    ServerSilent = "server_silent",
        "No reply came from a server for a while, although operations were in flight.",
        "check what else ran on the server's machine then, and the network; an open loop also \
         measures what is due meanwhile";
    ServerRestarted = "server_restarted",
        "A server was restarted during the run.",
        "run again on a server that stays up; compare hits before and after the restart";
    ServerFlushed = "server_flushed",
        "Another client emptied a server during the run.",
        "measure a server that no other client uses";
    HitRatio = "hit_ratio",
        "Fewer keys were found than the servers held when the load began.",
        "fill the servers with --load always, or treat the times as those of misses";
    DescriptorsExhausted = "descriptors_exhausted",
        "Connections could not be opened because this process may have no more files open.",
        "raise the hard limit (ulimit -Hn, fs.file-max) or use fewer --connections";
    PortsExhausted = "ports_exhausted",
        "Connections could not be opened because no local port was free.",
        "reset connections with --linger 0, add source addresses with --bind, or widen \
         net.ipv4.ip_local_port_range";
    ConnectsFailed = "connects_failed",
        "Under connection churn, connections could not be opened for other reasons.",
        "check that the server runs and that its listen backlog is long enough; the response \
         times include the failures";
    OutputFailed = "output_failed",
        "An output could not be written; the others were.",
        "choose a place that can be written, and run again";
    HistogramSaturated = "histogram_saturated",
        "Times above the histograms' range were counted in the last bucket.",
        "set a --timeout below one hour";
    TlsUnchecked = "tls_unchecked",
        "The servers' certificates were not checked.",
        "name the file of their CA with --tls-ca, without --tls-insecure";
    LoadPartial = "load_partial",
        "The server does not hold every key, and the scenario accepts that.",
        "give the server more memory (its -m), or expect misses";
    StoresRefused = "stores_refused",
        "A fill stored fewer than all keys, and the scenario accepts that.",
        "find out why the server refuses stores or loses connections, or expect misses";
    ValuesResized = "values_resized",
        "The values on a server have other lengths than the scenario's, and the scenario accepts \
         that.",
        "fill the server with --load auto, or set --value-size to the lengths that it holds";
    LineRefused = "line_refused",
        "A server rejected the command of `--before` or `--after`.",
        "use commands in --before and --after that the server knows";
    ServersDiffer = "servers_differ",
        "The merged runs did not all load the same servers.",
        "compare the times of each server before you attribute them to one of them";
    RowsWithoutRecord = "rows_without_record",
        "Rows over time hold operations of agents whose records did not arrive.",
        "use the record for totals; memtide agent records fetches what a living agent kept";
}

/// What to do if a check fails: a clause that begins with a verb.
const fn check_remedy(check: CheckKind) -> &'static str {
    match check {
        CheckKind::Answered => {
            "check that the servers run and answer other clients, and that the run is long enough"
        }
        CheckKind::Errors => {
            "find the reason in the counts by class and in the servers' logs, or allow more \
             (--errors-max)"
        }
        CheckKind::Rate => {
            "use a lower rate if the servers or memtide cannot keep up (a backlog, full \
             connections and busy workers show it); otherwise use more connections, depth or \
             threads"
        }
        CheckKind::GeneratorP50 | CheckKind::GeneratorP99 => {
            "let workers spin (--wait spin), use more threads, or CPUs that the server does not use"
        }
        CheckKind::WorkerBusy => {
            "use more threads and CPUs or a lower rate if it worked; if it waited, run the server \
             and other programs on other CPUs, or raise the quota"
        }
        CheckKind::OwnCpus => Spoiler::SharedCpu.remedy(),
        CheckKind::ServerCounters => {
            "look for a proxy that changes commands; without one, report it: a counter of memtide \
             or of the server is wrong"
        }
        CheckKind::Shares => "merge the records of all shares, or repeat the run",
        CheckKind::Silence => {
            "find out what stopped the server; an open loop also measures what is due meanwhile"
        }
    }
}
