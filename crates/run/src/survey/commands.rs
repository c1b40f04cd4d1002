//! Commands sent to servers around the load: one before it, one after it. They are not part of the
//! load, and the result does not depend on a server's reply.

use super::Survey;
use crate::failure::{Failure, Fault};
use memtide_record::{Warning, natively};
use memtide_scenario::Scenario;
use memtide_world::fleet::Fleet;
use memtide_world::question::{AskError, Question};
use memtide_world::{Plan, ServerPlan};
use std::collections::BTreeMap;

/// Commands sent, and their results.
#[derive(Debug, Default)]
pub(crate) struct ServerCommands {
    /// Number of connections opened for commands.
    pub(crate) asked: u64,
    /// True if a server accepted a command, which may have changed its counters.
    pub(crate) is_taken: bool,
    /// Number of flushes by these commands, by the server's name.
    pub(crate) flushes: BTreeMap<String, u64>,
    /// Commands that servers rejected.
    pub(crate) warnings: Vec<Warning>,
}

impl ServerCommands {
    /// Sends every server the command before the load. A server that cannot be reached cannot be
    /// loaded either, so that is a failure.
    pub(crate) fn before<F: Fleet>(
        &mut self,
        fleet: &mut F,
        plan: &Plan,
        survey: &Survey,
        scenario: &Scenario,
    ) -> Result<(), Failure> {
        for server in survey.servers(plan) {
            if let Err(error) = self.tell(fleet, plan, server, scenario.before.as_deref()) {
                return Err(Fault::Unasked { server: server.name.clone(), error }.into());
            }
        }
        Ok(())
    }

    /// Sends every server the command after the load. The measurement stands, even if a server is
    /// gone.
    pub(crate) fn after<F: Fleet>(
        &mut self,
        fleet: &mut F,
        plan: &Plan,
        survey: &Survey,
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
