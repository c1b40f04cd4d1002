//! Merges one second of several agents. Counts and times are exact sums.

use super::Interval;
use crate::record::{ServerReport, ServerSecond, UnderWay, add_counts};
use memtide_metrics::Histogram;
use memtide_scenario::Kind;
use std::collections::BTreeMap;

impl Interval {
    /// One second of the load of all `parts`, in order; none if there are no parts.
    ///
    /// Counts and times add up. The second begins with the earliest part and is as long as the
    /// longest. Servers are added by number, and workers are concatenated. A server's report comes
    /// from one part. The load is over when all parts are.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut sum = parts.next()?.clone();
        parts.for_each(|part| sum.absorb(part));
        Some(sum)
    }

    fn absorb(&mut self, part: &Self) {
        self.start = self.start.min(part.start);
        self.length = self.length.max(part.length);
        self.counts = self.counts.plus(&part.counts);
        absorb_kinds(&mut self.response, &part.response);
        absorb_kinds(&mut self.service, &part.service);
        absorb_kinds(&mut self.lag, &part.lag);
        add_counts(&mut self.unanswered, &part.unanswered);
        self.under_way = both(&self.under_way, &part.under_way);
        let known = self.servers.len();
        for (sum, part) in self.servers.iter_mut().zip(&part.servers) {
            *sum = ServerSecond {
                counts: sum.counts.plus(&part.counts),
                connections_open: plus(sum.connections_open, part.connections_open),
            };
        }
        self.servers.extend(part.servers.iter().skip(known));
        self.no_server = self.no_server.plus(&part.no_server);
        self.workers.extend(&part.workers);
        ServerReport::unite(&mut self.reports, &part.reports);
        self.is_over &= part.is_over;
    }
}

fn absorb_kinds(sums: &mut BTreeMap<Kind, Histogram<u64>>, parts: &BTreeMap<Kind, Histogram<u64>>) {
    for (kind, part) in parts {
        sums.entry(*kind).or_default().absorb(part);
    }
}

/// The sum of the values that are known; none if neither is.
fn plus(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

/// Sum of what two agents have in flight and in their backlogs.
fn both(a: &UnderWay, b: &UnderWay) -> UnderWay {
    UnderWay {
        in_flight: plus(a.in_flight, b.in_flight),
        backlog: plus(a.backlog, b.backlog),
        oldest_due_s: a.oldest_due_s.zip(b.oldest_due_s).map(|(a, b)| a.max(b)),
        connections_open: plus(a.connections_open, b.connections_open),
    }
}
