//! Rates of a run: what the schedule called for, what was sent and what was answered; and the check
//! that they follow from the counts.

use super::{Record, per_second};
use memtide_base::choice::RateUnit;
use memtide_base::{Rate, Span};
use memtide_scenario::Kind;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Target and achieved rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RateRecord {
    /// Mean target rate of the schedule over the measured window, in the schedule's unit; none in a
    /// closed loop.
    pub target_per_s: Option<f64>,
    /// Operations sent during the measured window, per second; all copies of a write count as one.
    /// Not a number (in JSON: null) if shares of a run were not one load.
    #[serde(deserialize_with = "null_is_nan")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub achieved_per_s: f64,
    /// Operations answered during the measured window, whenever they were due, per second; all
    /// copies of a write count as one. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_per_s: Option<f64>,
    /// Rates by kind of operation.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, f64>"))]
    pub kinds_per_s: BTreeMap<Kind, f64>,
    /// Lower bound of the 95 % confidence interval of the achieved rate, in operations: of the mean
    /// rate of a run without end. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved_ci_low_per_s: Option<f64>,
    /// Upper bound of that interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved_ci_high_per_s: Option<f64>,
    /// Achieved rate in keys; none unless the schedule counts keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_per_s: Option<f64>,
}

impl RateRecord {
    /// The achieved rate in `unit`; not a number if shares of a run were not one load, or if keys
    /// were not counted.
    pub(crate) fn achieved(&self, unit: RateUnit) -> Rate {
        let per_s = match unit {
            RateUnit::Operations => self.achieved_per_s,
            RateUnit::Keys => self.keys_per_s.unwrap_or(f64::NAN),
        };
        Rate::new(per_s, unit)
    }

    /// The target rate of a schedule that counts `unit`; none in a closed loop.
    pub(super) fn target(&self, unit: RateUnit) -> Option<Rate> {
        self.target_per_s.map(|per_s| Rate::new(per_s, unit))
    }

    /// The rates of a load that sent these operations, all copies of a write being one: `per_s`
    /// returns the rate of a number of them.
    pub fn of(sent: &BTreeMap<Kind, u64>, per_s: impl Fn(u64) -> f64) -> Self {
        let all = sent.values().fold(0u64, |sum, &count| sum.saturating_add(count));
        Self {
            achieved_per_s: per_s(all),
            kinds_per_s: sent.iter().map(|(&kind, &count)| (kind, per_s(count))).collect(),
            ..Self::default()
        }
    }

    /// The rate of all operations, and that of each kind.
    fn by_kind(&self) -> BTreeMap<Kind, f64> {
        let kinds = self.kinds_per_s.iter().map(|(kind, per_s)| (*kind, *per_s));
        [(Kind::All, self.achieved_per_s)].into_iter().chain(kinds).collect()
    }
}

impl Record {
    /// Operations sent during the measured window, by kind; all copies of a write count as one.
    /// Copies made in the window that waited may have been sent after it.
    pub fn sent_once(&self) -> BTreeMap<Kind, u64> {
        let sent = self.sent_in_window.iter().map(|(kind, count)| {
            let copies = self.copies_in_window.get(kind).copied().unwrap_or(0);
            (*kind, count.saturating_sub(copies))
        });
        sent.collect()
    }

    /// Rate of the answers that came during a measured window of this length. Copies of writes are
    /// taken off as the part of what was sent that they are.
    pub fn answered_per_s(&self, length: Span) -> Option<f64> {
        let [sent, once] = [&self.sent_in_window, &self.sent_once()]
            .map(|of| of.values().map(|count| *count as f64).sum::<f64>());
        let part = if sent > 0.0 { once / sent } else { 1.0 };
        Some(per_second(self.answered_in_window?, length) * part)
    }

    /// Checks that the rates of a run that is not merged are those of what it sent in its window.
    /// The error names the kind of operation.
    pub fn check_rate(&self) -> Result<(), String> {
        let sent = self.sent_once();
        if !self.shards.is_empty() || sent.is_empty() {
            return Ok(());
        }
        let length = Span::from_ns(self.window_ns);
        let truth = RateRecord::of(&sent, |count| per_second(count, length));
        let truths = truth.by_kind();
        for (kind, per_s) in self.rate.by_kind() {
            let truth = truths.get(&kind).copied().unwrap_or(0.0);
            if (per_s - truth).abs() > 1e-6 * (truth + 1.0) {
                return Err(format!("{kind} was sent {truth} times a second, not {per_s}"));
            }
        }
        let truth = self.answered_per_s(length).unwrap_or(0.0);
        let told = self.rate.answered_per_s.unwrap_or(truth);
        if (told - truth).abs() > 1e-6 * (truth + 1.0) {
            return Err(format!("{truth} operations a second were answered, not {told}"));
        }
        Ok(())
    }
}

/// Reads null as NaN, which JSON cannot express.
fn null_is_nan<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(reader)?.unwrap_or(f64::NAN))
}
