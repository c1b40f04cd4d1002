//! The content of a report: the figures of one run under the family's names.
//!
//! It is filled from a record as far as the record has the figures; nothing is estimated.

use super::table::ScaledHistogram;
use memtide_base::Span;
use memtide_metrics::histogram::Histogram;
use memtide_record::{Distribution, IntervalRecord, Record};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// The figures of one run.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// The times of answered reads.
    pub reads: ScaledHistogram,
    /// The times of answered stores.
    pub updates: ScaledHistogram,
    /// The number of operations on a connection at each send, the sent one included.
    pub outstanding: ScaledHistogram,
    /// Keys read.
    pub gets: u64,
    /// Stores answered.
    pub sets: u64,
    /// Keys of `gets` that were not found.
    pub misses: u64,
    /// Operations that were due and never sent, to catch up with the schedule.
    pub skipped: u64,
    /// All bytes received.
    pub bytes_received: u64,
    /// All bytes sent.
    pub bytes_sent: u64,
    /// Time from the beginning of the measurement to its last counted reply, in seconds.
    pub measured_s: f64,
    /// The number of connections.
    pub connections: u64,
    /// The beginning of the load, warm-up included, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The last counted reply, or the end of the window if that is later, in milliseconds since
    /// 1970.
    pub ended_unix_ms: u64,
    /// The busy share of the machine on average and in its least and most busy second; `None` if it
    /// cannot be read.
    pub cpu: Option<Cpu>,
    /// The intervals of a run whose rate follows a waveform; empty without one.
    pub segments: Vec<Segment>,
}

/// An interval of a run whose rate follows a waveform: the operations *intended* in it.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// The times of its answered reads.
    pub reads: ScaledHistogram,
    /// Reads and stores answered.
    pub ops: u64,
    /// The length of the interval, in seconds.
    pub length_s: f64,
    /// The requested rate, per second.
    pub target_per_s: u64,
}

/// The busy share of the machine's CPUs, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// The mean.
    pub mean: f64,
    /// The share in its least busy second.
    pub min: f64,
    /// The share in its busiest second.
    pub max: f64,
}

/// The process whose figures the rows of a report show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    /// One process makes all load.
    #[default]
    Process,
    /// Agents make load, and all rows show their master's own.
    Master,
    /// Agents make load; the row of reads shows all reads, and the others their master's own.
    MasterAndReads,
}

/// The instant from which an operation's time is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeBasis {
    /// The sent instant, as in the originals.
    #[default]
    Service,
    /// The intended instant, so that waiting counts.
    Response,
}

const NS_PER_MS: u64 = 1_000_000;
const READS: [Kind; 3] = [Kind::Get, Kind::Gets, Kind::Gat];
const STORES: [Kind; 6] =
    [Kind::Set, Kind::Add, Kind::Replace, Kind::Append, Kind::Prepend, Kind::Cas];

impl Material {
    /// The figures of `record`, with rows of `times`. If agents made load, counts include all
    /// processes with the master's own load, and `whose` selects the content of the rows. The error
    /// names a histogram that cannot be read back.
    ///
    /// There are no segments, because a record does not contain the requested rates.
    pub fn of(record: &Record, times: TimeBasis, whose: Whose) -> Result<Self, String> {
        let all = Self::of_process(record, times)?;
        if whose == Whose::Process {
            return Ok(all);
        }
        let own = record.own.as_deref();
        let own = own.map(|own| Self::of_process(own, times)).transpose()?;
        Ok(own.unwrap_or_default().with_agents(all, whose))
    }

    /// The figures of a master's own load combined with those of its agents.
    fn with_agents(self, agents: Self, whose: Whose) -> Self {
        let own = self;
        // All loads begin at one instant, and the clock of this machine is the master's.
        let has_own = own.started_unix_ms > 0;
        let start = if has_own { own.started_unix_ms } else { agents.started_unix_ms };
        let length_ms = own.length_ms().max(agents.length_ms());
        let reads = match whose {
            Whose::Process | Whose::Master => own.reads,
            Whose::MasterAndReads => own.reads.with(&agents.reads),
        };
        Self {
            reads,
            updates: own.updates,
            outstanding: own.outstanding,
            gets: own.gets.saturating_add(agents.gets),
            sets: own.sets.saturating_add(agents.sets),
            misses: own.misses.saturating_add(agents.misses),
            skipped: own.skipped.saturating_add(agents.skipped),
            bytes_received: own.bytes_received.saturating_add(agents.bytes_received),
            bytes_sent: own.bytes_sent.saturating_add(agents.bytes_sent),
            measured_s: own.measured_s.max(agents.measured_s),
            connections: own.connections.saturating_add(agents.connections),
            started_unix_ms: start,
            ended_unix_ms: start.saturating_add(length_ms),
            // The master's machine, as in the originals.
            cpu: own.cpu.or(agents.cpu),
            segments: Vec::new(),
        }
    }

    /// The figures of one process, or of several as if they were one.
    fn of_process(record: &Record, times: TimeBasis) -> Result<Self, String> {
        let kinds = match times {
            TimeBasis::Service => &record.service,
            TimeBasis::Response => &record.response,
        };
        let outstanding = record.outstanding_at_send.counts();
        let outstanding = outstanding.ok_or_else(|| damaged("outstanding_at_send"))?;
        let mut reads = together(kinds, &READS, Distribution::times)?;
        let mut updates = together(kinds, &STORES, Distribution::times)?;
        let sets = updates.count();
        if times == TimeBasis::Response {
            // Lower bounds of the times of operations that were due and never sent.
            reads.absorb(&together(kinds, &READS, Distribution::bounds)?);
            updates.absorb(&together(kinds, &STORES, Distribution::bounds)?);
        }
        // An idle end counts, too: the originals run until their time is over.
        let measured_s = record.answered_until_s.unwrap_or(0.0).max(record.measured_s);
        let (started_unix_ms, ended_unix_ms) = instants(record, measured_s);
        Ok(Self {
            reads: ScaledHistogram::times(reads),
            outstanding: ScaledHistogram::counts(outstanding),
            gets: record.totals.keys,
            sets,
            updates: ScaledHistogram::times(updates),
            misses: record.totals.misses,
            skipped: record.totals.dropped_when_full(),
            bytes_received: record.totals.bytes_received,
            bytes_sent: record.totals.bytes_sent,
            measured_s,
            connections: u64::from(record.plan.connections),
            started_unix_ms,
            ended_unix_ms,
            cpu: record.machine_cpu.as_ref().map(|cpu| Cpu {
                mean: cpu.avg * 100.0,
                // The incomplete last second counts in the average only.
                min: cpu.least_of_1s.map_or(cpu.avg, |least| least.min(cpu.avg)) * 100.0,
                max: cpu.most_of_1s.map_or(cpu.avg, |most| most.max(cpu.avg)) * 100.0,
            }),
            segments: Vec::new(),
        })
    }

    /// Adds a segment for each interval of `record`, with these requested rates; a load of the
    /// master's own is included.
    ///
    /// # Errors
    /// If the histogram of an interval cannot be read back.
    pub fn with_segments(
        mut self,
        record: &Record,
        times: TimeBasis,
        targets_per_s: &[u32],
    ) -> Result<Self, String> {
        let own = record.own.iter().flat_map(|own| &own.intervals).map(Some);
        let own = own.chain(std::iter::repeat(None));
        let intervals = record.intervals.iter().zip(own);
        let segments = intervals.zip(targets_per_s).map(|((interval, own), &target)| {
            let mut reads = reads_of(interval, times)?;
            if let Some(own) = own {
                reads.absorb(&reads_of(own, times)?);
            }
            Ok(Segment {
                reads: ScaledHistogram::times(reads),
                ops: interval.ops + own.map_or(0, |own| own.ops),
                length_s: interval.length_s,
                target_per_s: u64::from(target),
            })
        });
        self.segments = segments.collect::<Result<_, String>>()?;
        Ok(self)
    }

    const fn length_ms(&self) -> u64 {
        self.ended_unix_ms.saturating_sub(self.started_unix_ms)
    }

    /// The number of reads and stores.
    pub const fn ops(&self) -> u64 {
        self.gets.saturating_add(self.sets)
    }

    /// Operations per second; 0 if no time passed.
    pub fn rate_per_s(&self) -> f64 {
        share(self.ops() as f64, self.measured_s)
    }
}

/// The times of the answered reads of an interval.
fn reads_of(interval: &IntervalRecord, times: TimeBasis) -> Result<Histogram<u64>, String> {
    let gets = interval.gets.as_ref().map(|gets| match times {
        TimeBasis::Service => &gets.service,
        TimeBasis::Response => &gets.response,
    });
    let reads = gets.map_or(Some(Histogram::new()), Distribution::times);
    reads.ok_or_else(|| damaged("an interval"))
}

/// `part` divided by `whole`; 0 if `whole` is 0.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Beginning and end of the load of `record`, whose window lasted `measured_s` until its last
/// counted reply, in milliseconds since 1970. A run without a load has those of the record.
fn instants(record: &Record, measured_s: f64) -> (u64, u64) {
    let start = record.window_start_unix_ns.and_then(|start| u64::try_from(start.0).ok());
    let Some(start_ns) = start else {
        return (record.started_unix_ms, record.ended_unix_ms);
    };
    let [warmup, measured] = [record.plan.warmup_s, measured_s].map(Span::from_s_f64);
    let (began, ended) =
        (start_ns.saturating_sub(warmup.ns()), start_ns.saturating_add(measured.ns()));
    (began / NS_PER_MS, ended / NS_PER_MS)
}

/// The histograms of the wanted kinds, merged into one.
fn together(
    kinds: &BTreeMap<Kind, Distribution>,
    wanted: &[Kind],
    times: impl Fn(&Distribution) -> Option<Histogram<u64>>,
) -> Result<Histogram<u64>, String> {
    let mut sum = Histogram::new();
    for kind in wanted {
        if let Some(distribution) = kinds.get(kind) {
            sum.absorb(&times(distribution).ok_or_else(|| damaged(kind.name()))?);
        }
    }
    Ok(sum)
}

fn damaged(name: &str) -> String {
    format!("the record is damaged: the histogram of {name} does not hold what its counts say")
}
