//! Serialisation of a second of the load, to send it from an agent to its master.
//!
//! JSON, with histograms as in a record. Input is not trusted: its size is bounded, and figures
//! that contradict each other are refused.

use super::Interval;
use crate::record::SettledCounts;

/// Largest size of an interval that [`Interval::from_bytes`] reads, in bytes.
const BYTES_MAX: usize = 4 << 20;

impl Interval {
    /// Serialises the interval for [`Self::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("it has only names as keys")
    }

    /// Reads the bytes that [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// If `bytes` exceed 4 MiB or are no interval, or if its figures contradict each other. The
    /// error is a clause that says how.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > BYTES_MAX {
            let given = bytes.len();
            return Err(format!(
                "a second of the load is {given} bytes long, more than {BYTES_MAX}"
            ));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|problem| format!("it is not a second of the load: {problem}"))?;
        let interval: Self = crate::record::read_json("a second of the load", text)?;
        interval.check()?;
        Ok(interval)
    }

    /// Checks that the figures agree with each other.
    fn check(&self) -> Result<(), String> {
        if self.start.ns().checked_add(self.length.ns()).is_none() {
            return Err("a second of the load ends at an impossible time".to_owned());
        }
        let SettledCounts { settled, .. } = self.counts;
        let ended = self.counts.ended();
        if ended != Some(settled) {
            let ended = ended.map_or_else(|| "more".to_owned(), |ended| ended.to_string());
            return Err(format!(
                "in a second of the load {settled} operations ended, but their outcomes add up to \
                 {ended}"
            ));
        }
        let servers = self.servers.iter().map(|server| &server.counts);
        let sum = servers.fold(self.no_server, |sum, of| sum.plus(of));
        if sum != self.counts {
            let (sum, all) = (sum.settled, self.counts.settled);
            return Err(format!(
                "in a second of the load the servers' counts do not add up to those of all: {sum} \
                 of {all} operations ended"
            ));
        }
        let waits = self.workers.iter().map(|worker| worker.oldest_due_s);
        let waits = waits.chain([self.under_way.oldest_due_s]).flatten();
        let busy = self.workers.iter().filter_map(|worker| worker.busy);
        if waits.into_iter().any(|wait| wait < 0.0) || busy.into_iter().any(|busy| busy < 0.0) {
            return Err("in a second of the load a time is below zero".to_owned());
        }
        Ok(())
    }
}

/// Times as whole numbers of nanoseconds.
pub(super) mod nanoseconds {
    use memtide_base::Span;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(span.ns())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        u64::deserialize(from).map(Span::from_ns)
    }
}

/// Histograms by kind, each with its exact moments.
pub(super) mod times {
    use crate::record::{Wide, read_histogram};
    use memtide_metrics::Histogram;
    use memtide_metrics::histogram::Moments;
    use memtide_scenario::Kind;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
    use std::collections::BTreeMap;

    type Kinds = BTreeMap<Kind, Histogram<u64>>;

    pub(crate) fn serialize<S: Serializer>(of: &Kinds, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(of.iter().map(|(kind, times)| (kind, Values::of(times))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Kinds, D::Error> {
        let each = BTreeMap::<Kind, Values>::deserialize(from)?.into_iter();
        let kinds = each.map(|(kind, values)| {
            let times = values.read().map(|times| (kind, times));
            times.ok_or_else(|| format!("{kind} does not hold what its figures say"))
        });
        kinds.collect::<Result<_, _>>().map_err(de::Error::custom)
    }

    #[derive(Serialize, Deserialize)]
    struct Values {
        count: u64,
        saturated: u64,
        min: u64,
        max: u64,
        sum: Wide,
        sum_squares: Wide,
        /// HdrHistogram: V2, deflated, base64.
        histogram: String,
    }

    impl Values {
        fn of(values: &Histogram<u64>) -> Self {
            let &Moments { count, saturated, min, max, sum, sum_squares } = values.moments();
            let (sum, sum_squares) = (Wide(sum), Wide(sum_squares));
            Self { count, saturated, min, max, sum, sum_squares, histogram: values.to_text() }
        }

        /// Decodes the histogram; none if its figures are impossible.
        fn read(&self) -> Option<Histogram<u64>> {
            let Self { count, saturated, min, max, sum, sum_squares, ref histogram } = *self;
            let (sum, sum_squares) = (sum.0, sum_squares.0);
            read_histogram(
                Some(histogram),
                Moments { count, saturated, min, max, sum, sum_squares },
            )
        }
    }
}
