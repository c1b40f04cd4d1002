//! Joins seconds of a load: those of several processes at one time, and those that follow each
//! other in one process. Counts and times are exact sums.

use super::Interval;
use crate::record::{ServerReport, UnderWay, add_counts, plus};
use memtide_metrics::Histogram;
use memtide_scenario::Kind;
use std::collections::BTreeMap;

impl Interval {
    /// One second of the load of all `parts`, in order; none if there are no parts.
    ///
    /// Counts and times add up. The second begins with the earliest part and is as long as the
    /// longest. Servers are added by number if all parts have as many, and workers are
    /// concatenated. A server's report comes from one part, and
    /// no machine is that of several parts. The load is over when all parts are.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut sum = parts.next()?.clone();
        parts.for_each(|part| sum.beside(part));
        Some(sum)
    }

    /// Adds the same second of another process.
    fn beside(&mut self, part: &Self) {
        self.absorb(part, plus);
        self.start = self.start.min(part.start);
        self.length = self.length.max(part.length);
        self.under_way = both(&self.under_way, &part.under_way);
        self.workers.extend(&part.workers);
        ServerReport::unite(&mut self.reports, &part.reports);
        // What several machines did is what none of them did.
        self.host = None;
        self.is_over &= part.is_over;
    }

    /// Adds the second that follows in the same process, whose end is now the end of both.
    pub fn then(&mut self, next: &Self) {
        self.absorb(next, |_, at_end| at_end);
        let (before, after) = (self.length.as_s_f64(), next.length.as_s_f64());
        let workers = next.workers.iter().enumerate().map(|(at, is)| {
            let was = self.workers.get(at).copied().unwrap_or_default();
            was.then(before, is, after)
        });
        self.workers = workers.collect();
        let hosts = self.host.as_ref().zip(next.host.as_ref());
        self.host = hosts.map(|(host, next)| host.then(before, next, after));
        self.length = next.end().saturating_sub(self.start);
        self.under_way = next.under_way;
        ServerReport::append(&mut self.reports, &next.reports);
        self.is_over = next.is_over;
    }

    /// Adds the counts and times of `part`; `open` joins the open connections to a server.
    fn absorb(&mut self, part: &Self, open: fn(Option<u64>, Option<u64>) -> Option<u64>) {
        self.counts = self.counts.plus(&part.counts);
        self.keys_sent = plus(self.keys_sent, part.keys_sent);
        absorb_kinds(&mut self.response, &part.response);
        absorb_kinds(&mut self.service, &part.service);
        absorb_kinds(&mut self.lag, &part.lag);
        add_counts(&mut self.unanswered, &part.unanswered);
        self.no_server = self.no_server.plus(&part.no_server);
        if self.servers.len() == part.servers.len() {
            for (sum, part) in self.servers.iter_mut().zip(&part.servers) {
                sum.counts = sum.counts.plus(&part.counts);
                sum.connections_open = open(sum.connections_open, part.connections_open);
            }
        } else {
            self.servers.clear();
        }
    }
}

fn absorb_kinds(sums: &mut BTreeMap<Kind, Histogram<u64>>, parts: &BTreeMap<Kind, Histogram<u64>>) {
    for (kind, part) in parts {
        sums.entry(*kind).or_default().absorb(part);
    }
}

/// Sum of what two processes have in flight and in their backlogs.
fn both(a: &UnderWay, b: &UnderWay) -> UnderWay {
    UnderWay {
        in_flight: plus(a.in_flight, b.in_flight),
        backlog: plus(a.backlog, b.backlog),
        oldest_due_s: a.oldest_due_s.zip(b.oldest_due_s).map(|(a, b)| a.max(b)),
        connections_open: plus(a.connections_open, b.connections_open),
    }
}
