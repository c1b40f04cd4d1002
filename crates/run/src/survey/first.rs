//! The first queries of the servers, before anything is sent: their statistics, on connections of
//! their own. Whether a run happens does not depend on them. A server that does not answer them
//! must serve a get.

use super::{QueryFilter, ServerStatistics, Survey, check_abilities, figures_of_all, is_closed};
use crate::failure::Failure;
use crate::observer::Observer;
use memtide_base::Sentence;
use memtide_record::{Event, natively};
use memtide_world::driver::{Closed, ConnectError, PeerError};
use memtide_world::fleet::Fleet;
use memtide_world::question::{AskError, Question};
use memtide_world::{Plan, ServerPlan};

/// A server that has not reported its statistics.
struct Unheard {
    /// Its number in the plan.
    number: usize,
    /// The error of the query.
    error: AskError,
}

/// Queries `stats` of every server. Those that do not report them are asked whether they serve at
/// all.
pub(crate) fn first_survey<F: Fleet>(
    fleet: &mut QueryFilter<'_, F>,
    plan: &Plan,
    observer: &mut impl Observer,
) -> Result<Survey, Failure> {
    let mut survey = Survey::default();
    for server in &plan.servers {
        observer.on(&Event::Note(format!("waiting for server {} to answer", server.name)));
    }
    let servers: Vec<&ServerPlan> = plan.servers.iter().collect();
    let mut unheard = Vec::new();
    for (number, figures) in figures_of_all(fleet, plan, &servers).into_iter().enumerate() {
        match figures {
            Ok(figures) => note(&mut survey, plan, number, figures),
            Err(error) if may_serve(&error) => unheard.push(Unheard { number, error }),
            Err(error) => survey.give_up(plan, &plan.servers[number], &error)?,
        }
    }
    check_served(fleet, plan, &unheard, &mut survey, observer)?;
    survey.asked = check_abilities(fleet, plan)?;
    Ok(survey)
}

/// Notes the statistics of server `number`, unless it was queried before under another name or the
/// same one.
fn note(survey: &mut Survey, plan: &Plan, number: usize, figures: ServerStatistics) {
    if survey.meet(plan, number, &figures) {
        survey.before.insert(plan.servers[number].name.clone(), figures);
    }
}

/// Asks the servers that have not reported their statistics whether they serve at all, all at once:
/// those that refused for their version, and those that do not tell that, and all others, for a
/// key.
fn check_served<F: Fleet>(
    fleet: &mut QueryFilter<'_, F>,
    plan: &Plan,
    unheard: &[Unheard],
    survey: &mut Survey,
    observer: &mut impl Observer,
) -> Result<(), Failure> {
    let (refusing, mut silent): (Vec<_>, Vec<_>) =
        unheard.iter().partition(|it| matches!(it.error, AskError::Refused(_)));
    let versions = fleet.ask_all(plan, &servers(plan, &refusing), Question::Version);
    for (it, version) in refusing.into_iter().zip(versions) {
        match version {
            // The load will show whether a server that knows neither command knows the rest.
            Ok(_) | Err(AskError::Refused(_)) => {
                survey.unavailable.get_or_insert(it.words(plan, fleet));
            }
            Err(error) if may_serve(&error) => silent.push(it),
            Err(error) => survey.give_up(plan, &plan.servers[it.number], &error)?,
        }
    }
    silent.sort_by_key(|it| it.number);
    let gets = fleet.ask_all(plan, &servers(plan, &silent), Question::Get);
    for (it, get) in silent.into_iter().zip(gets) {
        match get {
            Ok(_) | Err(AskError::Refused(_)) => {
                let words = it.words(plan, fleet);
                if survey.unavailable.is_none() {
                    observer.on(&Event::Note(format!("{words}; its counters are not compared")));
                }
                survey.unavailable.get_or_insert(words);
            }
            Err(error) => {
                let error = if it.is_nonsense() { &it.error } else { &error };
                survey.give_up(plan, &plan.servers[it.number], error)?;
            }
        }
    }
    Ok(())
}

fn servers<'a>(plan: &'a Plan, unheard: &[&Unheard]) -> Vec<&'a ServerPlan> {
    unheard.iter().map(|it| &plan.servers[it.number]).collect()
}

impl Unheard {
    /// Reason why the counters of this server of `plan` are not compared.
    fn words<F: Fleet>(&self, plan: &Plan, fleet: &QueryFilter<'_, F>) -> String {
        let name = &plan.servers[self.number].name;
        match &self.error {
            AskError::Refused(line) => format!("server {name} answered '{line}' to stats"),
            AskError::NotAsked => {
                let unasked = Sentence::new("the servers were not asked for stats (");
                natively(&unasked.field("no-stats").text(")"))
            }
            AskError::Closed(Closed::Reset) => {
                format!("server {name} reset the connection when it was asked for stats")
            }
            AskError::Closed(Closed::ByPeer) => {
                format!("server {name} closed the connection when it was asked for stats")
            }
            error if self.is_nonsense() => {
                format!("server {name} {}", natively(&error.sentence()))
            }
            _ => format!(
                "server {name} did not answer stats within {}",
                fleet.patience(plan, Question::Statistics)
            ),
        }
    }

    /// True if the server answered something else.
    const fn is_nonsense(&self) -> bool {
        let error = &self.error;
        matches!(
            error,
            AskError::Closed(Closed::Broken(_)) | AskError::CutShort(_) | AskError::TooLong { .. }
        )
    }
}

/// True if a server that did not answer a query may serve all the same.
fn may_serve(error: &AskError) -> bool {
    match error {
        AskError::Closed(Closed::Broken(PeerError::TooManyConnections)) => false,
        AskError::Connect(ConnectError::TimedOut | ConnectError::HandshakeTimedOut)
        | AskError::Closed(Closed::Broken(_))
        | AskError::Silent(..)
        | AskError::Unfinished { .. }
        | AskError::CutShort(_)
        | AskError::TooLong { .. }
        | AskError::NotAsked
        | AskError::Refused(_) => true,
        error => is_closed(error),
    }
}
