//! What a report is made of: the figures of one run under the names that the family has for them.
//!
//! It is filled from a record as far as a record goes; nothing is estimated.

use super::table::ScaledHistogram;
use memtide_metrics::histogram::Histogram;
use memtide_schema::Kind;
use memtide_schema::record::{Distribution, IntervalRecord, Record};
use std::collections::BTreeMap;

/// The figures of one run.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// How long answered reads took.
    pub reads: ScaledHistogram,
    /// How long answered stores took.
    pub updates: ScaledHistogram,
    /// How many operations a connection carried when one more was sent on it, that one included.
    pub outstanding: ScaledHistogram,
    /// Keys that were read.
    pub gets: u64,
    /// Stores that were answered.
    pub sets: u64,
    /// Those of `gets` that were not found.
    pub misses: u64,
    /// Operations that were due and never sent, to catch up with the schedule.
    pub skipped: u64,
    /// Bytes received, every one of them.
    pub bytes_received: u64,
    /// Bytes sent, every one of them.
    pub bytes_sent: u64,
    /// From the beginning of the measurement to its last counted reply, in seconds.
    pub measured_s: f64,
    /// Connections in all.
    pub connections: u64,
    /// When the run began, connecting and loading included, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_unix_ms: u64,
    /// How busy the machine was, its least and most busy second included; none where that cannot
    /// be read.
    pub cpu: Option<Cpu>,
    /// The intervals of a run whose rate follows a waveform; empty without one.
    pub segments: Vec<Segment>,
}

/// An interval of a run whose rate follows a waveform: the operations *intended* in it.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// How long its answered reads took.
    pub reads: ScaledHistogram,
    /// Reads and stores that were answered.
    pub ops: u64,
    /// How long it is, in seconds.
    pub length_s: f64,
    /// The rate that was asked for, per second.
    pub target_per_s: u64,
}

/// How busy the machine's CPUs were, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// On average.
    pub mean: f64,
    /// In its least busy second.
    pub min: f64,
    /// In its busiest second.
    pub max: f64,
}

/// Whose figures the rows of a report are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    /// One process makes all load.
    #[default]
    Process,
    /// Agents make load, and all rows are of their master's own.
    Master,
    /// Agents make load, and all reads are in the row of reads; the others are of their master's
    /// own.
    MasterAndReads,
}

/// From when an operation's time is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeBasis {
    /// From when it was sent, as the originals do.
    #[default]
    Service,
    /// From when it was intended, so that waiting counts.
    Response,
}

const READS: [Kind; 3] = [Kind::Get, Kind::Gets, Kind::Gat];
const STORES: [Kind; 6] =
    [Kind::Set, Kind::Add, Kind::Replace, Kind::Append, Kind::Prepend, Kind::Cas];

impl Material {
    /// The figures of `record`, its rows made of `times`. If agents made load, counts are of all,
    /// the master's own load included, and `whose` says what the rows are of. The error names a
    /// histogram that cannot be read back.
    ///
    /// There are no segments: which rates were asked for, a record does not say.
    pub fn of(record: &Record, times: TimeBasis, whose: Whose) -> Result<Self, String> {
        let all = Self::of_process(record, times)?;
        if whose == Whose::Process {
            return Ok(all);
        }
        let own = record.own.as_deref();
        let own = own.map(|own| Self::of_process(own, times)).transpose()?;
        Ok(own.unwrap_or_default().with_agents(all, whose))
    }

    /// The figures of a master's own load with those of its agents.
    fn with_agents(self, agents: Self, whose: Whose) -> Self {
        let own = self;
        let reads = match whose {
            Whose::Process | Whose::Master => own.reads,
            Whose::MasterAndReads => own.reads.with(&agents.reads),
        };
        let has_own = own.started_unix_ms > 0;
        let start = if has_own { own.started_unix_ms } else { agents.started_unix_ms };
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
            started_unix_ms: start.min(agents.started_unix_ms),
            ended_unix_ms: own.ended_unix_ms.max(agents.ended_unix_ms),
            // Of the master's machine, as the originals look at it.
            cpu: own.cpu.or(agents.cpu),
            segments: Vec::new(),
        }
    }

    /// The figures of one process, or of several as though they were one.
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
            // How long operations that were due and never sent took at least.
            reads.absorb(&together(kinds, &READS, Distribution::bounds)?);
            updates.absorb(&together(kinds, &STORES, Distribution::bounds)?);
        }
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
            // A quiet end is measured too: the originals run until their time is over.
            measured_s: record.answered_until_s.unwrap_or(0.0).max(record.measured_s),
            connections: u64::from(record.plan.connections),
            started_unix_ms: record.started_unix_ms,
            ended_unix_ms: record.ended_unix_ms,
            cpu: record.machine_cpu.as_ref().map(|cpu| Cpu {
                mean: cpu.avg * 100.0,
                // The rest of the last second is in the average alone.
                min: cpu.least_of_1s.map_or(cpu.avg, |least| least.min(cpu.avg)) * 100.0,
                max: cpu.most_of_1s.map_or(cpu.avg, |most| most.max(cpu.avg)) * 100.0,
            }),
            segments: Vec::new(),
        })
    }

    /// The material with a segment for each interval of `record`, which was asked for these rates;
    /// a load of the master's own is in it.
    ///
    /// # Errors
    /// When the histogram of an interval cannot be read back.
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

    /// Reads and stores together.
    pub const fn ops(&self) -> u64 {
        self.gets.saturating_add(self.sets)
    }

    /// Operations per second; 0 when no time passed.
    pub fn rate_per_s(&self) -> f64 {
        share(self.ops() as f64, self.measured_s)
    }
}

/// How long the answered reads of an interval took.
fn reads_of(interval: &IntervalRecord, times: TimeBasis) -> Result<Histogram<u64>, String> {
    let gets = interval.gets.as_ref().map(|gets| match times {
        TimeBasis::Service => &gets.service,
        TimeBasis::Response => &gets.response,
    });
    let reads = gets.map_or(Some(Histogram::new()), Distribution::times);
    reads.ok_or_else(|| damaged("an interval"))
}

/// `part` of `whole`; 0 of nothing.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What `times` says of each wanted kind, as one histogram.
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
