//! A fleet wrapper that queries no statistics of servers that must not be queried, or that closed
//! the connection when queried. Everything else is passed to the fleet unchanged.

use memtide_world::driver::Closed;
use memtide_world::fleet::Fleet;
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{Plan, ServerPlan};
use std::collections::BTreeSet;

/// A fleet, with the servers that it does not query.
pub(crate) struct QueryFilter<'a, F> {
    fleet: &'a mut F,
    asks_none: bool,
    /// Names of the servers that closed the connection when queried.
    closing: BTreeSet<String>,
}

impl<'a, F: Fleet> QueryFilter<'a, F> {
    /// Wraps `fleet`; it queries no server at all if `asks_none`.
    pub(crate) fn new(fleet: &'a mut F, asks_none: bool) -> Self {
        Self { fleet, asks_none, closing: BTreeSet::new() }
    }
}

impl<F: Fleet> Fleet for QueryFilter<'_, F> {
    memtide_world::pass_to_fleet!(fleet: now, since_unix, start, command, collect, watch_servers);

    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        let statistics = question == Question::Statistics;
        if statistics && (self.asks_none || self.closing.contains(&server.name)) {
            return Err(AskError::NotAsked);
        }
        let answer = self.fleet.ask(plan, server, question);
        if statistics && answer.as_ref().is_err_and(is_closed) {
            self.closing.insert(server.name.clone());
        }
        answer
    }
}

/// True if the server closed the connection without a reply.
pub(crate) fn is_closed(error: &AskError) -> bool {
    matches!(error, AskError::Closed(Closed::ByPeer | Closed::Reset))
}
