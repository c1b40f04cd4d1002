//! Reports of the servers during a load, from one second to the next.

use crate::survey::{ServerStatistics, statistics};
use memtide_base::{Instant, Span};
use memtide_record::{ServerLoad, ServerReport, natively};
use memtide_world::Plan;
use memtide_world::fleet::ServerAnswer;
use std::collections::BTreeMap;

/// Reports of the servers, by name.
pub(crate) type Reports = BTreeMap<String, ServerReport>;

/// The servers' replies so far.
#[derive(Default)]
pub(crate) struct Timeline {
    servers: BTreeMap<String, Watched>,
    /// Reports since the last second.
    new: Reports,
}

/// State of one server.
#[derive(Default)]
struct Watched {
    /// The last reply, and when it came.
    last: Option<(Instant, ServerStatistics)>,
    load: ServerLoad,
    connections: u64,
}

impl Timeline {
    /// Adds the replies to queries of `plan`'s servers.
    pub(crate) fn take(&mut self, plan: &Plan, polled: &[ServerAnswer]) {
        for polled in polled {
            let name = &plan.servers[polled.server.index()].name;
            let server = self.servers.entry(name.clone()).or_default();
            server.connections = polled.connections;
            match &polled.answer {
                Ok(rows) => {
                    let figures = statistics(rows.iter().cloned());
                    self.answered(name, polled.at, figures);
                }
                Err(error) => {
                    server.load.why_unanswered = Some(natively(&error.sentence()));
                    self.add(name, &ServerReport::none());
                }
            }
        }
    }

    /// Adds each server's reply after the load was over, at `at`.
    pub(crate) fn end(&mut self, at: Instant, after: &BTreeMap<String, ServerStatistics>) {
        let names: Vec<String> = self.servers.keys().cloned().collect();
        for name in names {
            if let Some(mut figures) = after.get(&name).cloned() {
                // The load has closed its own connections.
                figures.remove("curr_connections");
                self.answered(&name, at, figures);
            }
        }
    }

    /// Takes the reports since the last call: one of each server, which is empty if none came.
    pub(crate) fn cut(&mut self) -> Reports {
        let mut reports = std::mem::take(&mut self.new);
        for name in self.servers.keys() {
            reports.entry(name.clone()).or_default();
        }
        reports
    }

    /// True if a server counted anything since the last second.
    pub(crate) fn has_more(&self) -> bool {
        self.new.values().any(|report| report.operations != Some(0))
    }

    /// Number of connections opened for queries.
    pub(crate) fn connections(&self) -> u64 {
        self.servers.values().map(|server| server.connections).sum()
    }

    /// Each server's report on the whole load.
    pub(crate) fn loads(&self) -> BTreeMap<String, ServerLoad> {
        let each = self.servers.iter();
        each.map(|(name, server)| (name.clone(), server.load.clone())).collect()
    }

    /// Adds a reply. The first one only sets where the server's counters begin.
    fn answered(&mut self, name: &str, at: Instant, figures: ServerStatistics) {
        let server = self.servers.entry(name.to_owned()).or_default();
        let new = server.last.as_ref().map(|(then, first)| {
            let length: Span = at.since(*then);
            ServerReport::between(first, &figures, length)
        });
        server.last = Some((at, figures));
        if let Some(new) = new {
            self.add(name, &new);
        }
    }

    fn add(&mut self, name: &str, report: &ServerReport) {
        if let Some(server) = self.servers.get_mut(name) {
            server.load.report = server.load.report.then(report);
        }
        let new = self.new.entry(name.to_owned()).or_default();
        *new = new.then(report);
    }
}
