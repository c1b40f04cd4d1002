//! What servers are told around the load: a line before it, a line after it. It is no part of the
//! load, and whether a server obeys decides nothing.

use super::Survey;
use crate::failure::{Failure, Fault};
use memtide_engine::fleet::Fleet;
use memtide_engine::probe::{AskError, Question};
use memtide_engine::{Plan, ServerPlan};
use memtide_schema::{Scenario, Warning, natively};
use std::collections::BTreeMap;

/// What was told, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct ServerCommands {
    /// Connections that were made for it.
    pub(crate) asked: u64,
    /// Whether a server took a line, which may have changed its counters.
    pub(crate) is_taken: bool,
    /// How often each server, by its name, was flushed by a line.
    pub(crate) flushes: BTreeMap<String, u64>,
    /// What servers would not take.
    pub(crate) warnings: Vec<Warning>,
}

impl ServerCommands {
    /// Tells every server what it is told before the load. Who cannot be told anything
    /// cannot be loaded either, and that is a failure.
    pub(crate) fn before<F: Fleet>(
        &mut self,
        fleet: &mut F,
        (plan, survey): (&Plan, &Survey),
        scenario: &Scenario,
    ) -> Result<(), Failure> {
        for server in survey.servers(plan) {
            if let Err(error) = self.tell(fleet, plan, server, scenario.before.as_deref()) {
                return Err(Fault::Unasked { server: server.name.clone(), error }.into());
            }
        }
        Ok(())
    }

    /// Tells every server what it is told after the load. What was measured stands, even if
    /// one is gone.
    pub(crate) fn after<F: Fleet>(
        &mut self,
        fleet: &mut F,
        (plan, survey): (&Plan, &Survey),
        scenario: &Scenario,
    ) {
        for server in survey.servers(plan) {
            let line = scenario.after.as_deref();
            if let (Err(error), Some(line)) = (self.tell(fleet, plan, server, line), line) {
                self.warn(server, line, &error);
            }
        }
    }

    fn tell<F: Fleet>(
        &mut self,
        fleet: &mut F,
        plan: &Plan,
        server: &ServerPlan,
        line: Option<&str>,
    ) -> Result<(), AskError> {
        let Some(line) = line else { return Ok(()) };
        self.asked += 1;
        match fleet.ask(plan, server, Question::Line(line)) {
            Ok(_) => {
                self.is_taken = true;
                if line.starts_with("flush_all") {
                    *self.flushes.entry(server.name.clone()).or_default() += 1;
                }
            }
            Err(refused @ AskError::Refused(_)) => self.warn(server, line, &refused),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn warn(&mut self, server: &ServerPlan, line: &str, error: &AskError) {
        self.warnings.push(Warning::LineRefused {
            server: server.name.clone(),
            line: line.to_owned(),
            why: natively(&error.sentence()),
        });
    }
}
