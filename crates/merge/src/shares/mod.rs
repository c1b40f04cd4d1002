//! What a merged record of shares keeps of them, beside sums over all records: their rows, their
//! servers' counters, and the words on which all agree.
//!
//! A share keeps no rows of its own: all shares have one schedule, and row *i* of each is the same
//! stretch of it.

mod slicing;

use super::clocks::Windows;
use super::{counters, rows, seconds};
use memtide_record::{Record, ServerCounters};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Sums over shares read so far.
#[derive(Clone)]
pub(super) struct Shares {
    rows: rows::Shared,
    seconds: seconds::Shared,
    slicing: slicing::Shared,
    server: ServerCounters,
    /// The words of the scenario on which all shares agree.
    pub(super) scenario: Map<String, Value>,
    /// The decisions on which all shares agree.
    decided: BTreeMap<String, String>,
}

/// True if `record` is a share of a run, or was merged from shares.
pub(super) fn is_of_shares(record: &Record) -> bool {
    record.share.is_some() || record.shards.first().is_some_and(|shard| shard.share.is_some())
}

impl Shares {
    /// No shares yet; `first` is the record that is added first.
    pub(super) fn new(first: &Record) -> Self {
        Self {
            rows: rows::Shared::default(),
            seconds: seconds::Shared::default(),
            slicing: slicing::Shared::default(),
            server: ServerCounters::default(),
            scenario: first.scenario.clone(),
            decided: first.plan.decided.clone(),
        }
    }

    /// Adds a record: a share, or merged from shares. The error names the damaged rows.
    pub(super) fn absorb(&mut self, record: &Record) -> Result<(), String> {
        self.rows.absorb(record)?;
        self.seconds.absorb(record);
        self.slicing.absorb(record);
        counters::absorb(&mut self.server, &record.server);
        self.scenario.retain(|name, word| record.scenario.get(name) == Some(word));
        self.decided.retain(|name, word| record.plan.decided.get(name) == Some(word));
        Ok(())
    }

    /// Writes the sums into `record`, which already has its phases; `windows` are the shares'.
    pub(super) fn seal(self, record: &mut Record, windows: &Windows<'_>) {
        (record.intervals, record.slices) = self.rows.seal(windows.longest());
        record.slicing = self.slicing.seal(windows);
        record.seconds = self.seconds.seal(&record.phases);
        record.server = self.server;
        record.scenario = self.scenario;
        record.plan.decided = self.decided;
    }
}
