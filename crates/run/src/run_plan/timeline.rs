//! What servers say of themselves while a load runs, from one second to the next.

use crate::survey::{ServerStatistics, statistics};
use memtide_base::{Instant, Span};
use memtide_engine::Plan;
use memtide_engine::fleet::ServerAnswer;
use memtide_schema::natively;
use memtide_schema::record::{ServerLoad, ServerReport};
use std::collections::BTreeMap;

/// Reports of each server by its name.
pub(crate) type Reports = BTreeMap<String, ServerReport>;

/// What the servers have said so far.
#[derive(Default)]
pub(crate) struct Timeline {
    servers: BTreeMap<String, Watched>,
    /// What came since the last second.
    new: Reports,
}

/// One server.
#[derive(Default)]
struct Watched {
    /// Its last answer, and when it came.
    last: Option<(Instant, ServerStatistics)>,
    load: ServerLoad,
    connections: u64,
}

impl Timeline {
    /// Takes what came of questions to servers of `plan`.
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

    /// Takes what each server said when the load was over, at `at`.
    pub(crate) fn end(&mut self, at: Instant, after: &BTreeMap<String, ServerStatistics>) {
        let names: Vec<String> = self.servers.keys().cloned().collect();
        for name in names {
            if let Some(mut figures) = after.get(&name).cloned() {
                // The load has closed its own.
                figures.remove("curr_connections");
                self.answered(&name, at, figures);
            }
        }
    }

    /// What came since this was asked last.
    pub(crate) fn cut(&mut self) -> Reports {
        std::mem::take(&mut self.new)
    }

    /// Whether a server counted anything since the last second.
    pub(crate) fn has_more(&self) -> bool {
        self.new.values().any(|report| report.operations != Some(0))
    }

    /// The connections that were opened to ask.
    pub(crate) fn connections(&self) -> u64 {
        self.servers.values().map(|server| server.connections).sum()
    }

    /// What each server said of the whole load.
    pub(crate) fn loads(&self) -> BTreeMap<String, ServerLoad> {
        let each = self.servers.iter();
        each.map(|(name, server)| (name.clone(), server.load.clone())).collect()
    }

    /// The first answer says where the server's counters begin.
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
