//! The line about requests that servers refused. The originals count every reply and say nothing;
//! their tables, and these, do not show that values were not stored.

use memtide_record::Record;
use memtide_scenario::Kind;

/// Requests that servers refused, over all steps of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefusedCounts {
    /// Requests of the measured load, and those of them that were refused.
    load: Count,
    /// Sets of the fill, and those of them that were refused.
    fill: Count,
    /// The first error with which a server replied.
    why: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    of: u64,
    refused: u64,
}

impl Count {
    fn add(&mut self, of: u64, refused: u64) {
        self.of = self.of.saturating_add(of);
        self.refused = self.refused.saturating_add(refused);
    }

    fn words(&self, what: &str) -> Option<String> {
        (self.refused > 0).then(|| format!("{} of {} {what}", self.refused, self.of))
    }
}

impl RefusedCounts {
    /// Adds the requests of `record`, with those of the master's own load.
    pub(super) fn add(&mut self, record: &Record) {
        for record in [Some(record), record.own.as_deref()].into_iter().flatten() {
            let fill = &record.phases.load;
            let sets = fill.ops.get(&Kind::Set).copied().unwrap_or(0);
            self.load.add(record.totals.answered, record.totals.refused);
            self.fill.add(sets, fill.totals.failed);
            if self.why.is_none() {
                self.why.clone_from(&record.refusal);
            }
        }
    }

    /// The line; empty if nothing was refused.
    pub(super) fn line(&self) -> String {
        let load = self.load.words("requests (the table counts them, as the original does)");
        let parts: Vec<String> =
            load.into_iter().chain(self.fill.words("sets of the fill")).collect();
        if parts.is_empty() {
            return String::new();
        }
        let why = self.why.as_deref().unwrap_or("an error without a message");
        let remedy = if why.contains("too large") {
            "use smaller values (--valuesize, -V), or let the server take larger ones (memcached \
             -I)"
        } else if why.contains("out of memory") {
            "use fewer or smaller values (-r, -V), or give the server more memory (memcached -m)"
        } else {
            "see the server's log"
        };
        let parts = parts.join(" and ");
        format!("memtide: the server refused {parts} with '{why}'; {remedy}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_record::{PhaseCounts, Totals};

    fn record(answered: u64, refused: u64) -> Record {
        Record { totals: Totals { answered, refused, ..Totals::default() }, ..Record::default() }
    }

    #[test]
    fn what_was_refused_in_the_fill_and_in_every_load_is_one_line() {
        let mut counts = RefusedCounts::default();
        counts.add(&record(7, 0));
        assert_eq!(counts.line(), "");
        let refusal = Some("SERVER_ERROR object too large for cache".to_owned());
        let mut filled = Record { refusal, ..record(10, 4) };
        let totals = Totals { failed: 5, ..Totals::default() };
        filled.phases.load = PhaseCounts { totals, ops: [(Kind::Set, 5)].into() };
        filled.own = Some(Box::new(record(3, 1)));
        counts.add(&filled);
        assert_eq!(
            counts.line(),
            "memtide: the server refused 5 of 20 requests (the table counts them, as the original \
             does) and 5 of 5 sets of the fill with 'SERVER_ERROR object too large for cache'; use \
             smaller values (--valuesize, -V), or let the server take larger ones (memcached -I)\n"
        );
    }
}
