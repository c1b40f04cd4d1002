//! A fleet wrapper that queries no statistics of servers that must not be queried, or that did not
//! answer when they were, and that gives queries little time. Everything else is passed to the
//! fleet unchanged.

use memtide_base::Span;
use memtide_world::driver::Closed;
use memtide_world::fleet::Fleet;
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{Plan, ServerPlan};
use std::collections::BTreeSet;

/// Time for the answer to a query that the load does not need.
const PATIENCE: Span = Span::from_s(1);

/// A fleet, with the servers that it does not query.
pub(crate) struct QueryFilter<'a, F> {
    fleet: &'a mut F,
    asks_none: bool,
    /// Names of the servers that did not answer when queried.
    mute: BTreeSet<String>,
}

impl<'a, F: Fleet> QueryFilter<'a, F> {
    /// Wraps `fleet`; it queries no server at all if `asks_none`.
    pub(crate) fn new(fleet: &'a mut F, asks_none: bool) -> Self {
        Self { fleet, asks_none, mute: BTreeSet::new() }
    }

    /// The time for the answer to `question`, beyond which its connection is closed.
    pub(crate) fn patience(&self, plan: &Plan, question: Question<'_>) -> Span {
        match question {
            Question::Statistics | Question::Settings | Question::Version => {
                plan.timeout.min(PATIENCE)
            }
            Question::Get | Question::Line(_) => plan.timeout,
        }
    }

    fn is_asked(&self, server: &ServerPlan, question: Question<'_>) -> bool {
        let is_mute = self.asks_none || self.mute.contains(&server.name);
        !is_mute || !matches!(question, Question::Statistics | Question::Settings)
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
        let mut answers = self.ask_all(plan, &[server], question);
        answers.pop().expect("each server has an answer")
    }

    fn ask_all(
        &mut self,
        plan: &Plan,
        servers: &[&ServerPlan],
        question: Question<'_>,
    ) -> Vec<Result<Answer, AskError>> {
        let plan = &Plan { timeout: self.patience(plan, question), ..plan.clone() };
        let asked: Vec<&ServerPlan> =
            servers.iter().copied().filter(|server| self.is_asked(server, question)).collect();
        let mut answers = self.fleet.ask_all(plan, &asked, question).into_iter();
        let each = servers.iter().map(|server| match self.is_asked(server, question) {
            true => answers.next().unwrap_or(Err(AskError::NotAsked)),
            false => Err(AskError::NotAsked),
        });
        let each: Vec<_> = each.collect();
        for (server, answer) in servers.iter().zip(&each) {
            if question == Question::Statistics && answer.as_ref().is_err_and(is_mute) {
                self.mute.insert(server.name.clone());
            }
        }
        each
    }
}

/// True if the server closed the connection without a reply.
pub(crate) fn is_closed(error: &AskError) -> bool {
    matches!(error, AskError::Closed(Closed::ByPeer | Closed::Reset))
}

/// True if a server that was connected to did not answer as memcached does, or not in time.
const fn is_mute(error: &AskError) -> bool {
    match error {
        AskError::Closed(_)
        | AskError::Silent(..)
        | AskError::Unfinished { .. }
        | AskError::CutShort(_)
        | AskError::TooLong { .. } => true,
        AskError::Connect(_)
        | AskError::Interrupted
        | AskError::NotAsked
        | AskError::Refused(_)
        | AskError::Driver(_) => false,
    }
}
