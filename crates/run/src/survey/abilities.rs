//! What the servers must be able to do for the meta protocol, found out before the load: a server
//! that lacks a command or flag would answer each request with an error, or not at all.

use crate::failure::{Failure, Fault, Lacking};
use memtide_workload::Action;
use memtide_world::fleet::Fleet;
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{Matching, Plan, Protocol, ServerPlan};

/// A get of a key that is hardly stored, with the flags that may be lacking.
const QUESTION: &str = "mg memtide-asks k O7";

/// What was asked, as far as servers count it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// Questions, each on a connection of its own.
    pub(crate) questions: u64,
    /// Those of them that are gets, of a key that is hardly stored.
    pub(crate) gets: u64,
}

/// Asks every server for what the plan needs of the meta protocol. A server that does not answer is
/// left to the questions that follow. Servers' counters were read before: of several shares, others
/// may have read them already.
pub(crate) fn check_abilities<F: Fleet>(fleet: &mut F, plan: &Plan) -> Result<Asked, Failure> {
    let mut asked = Asked::default();
    if plan.requests.protocol != Protocol::Meta {
        return Ok(asked);
    }
    for server in &plan.servers {
        let lacking = lacking(plan, |line| {
            asked.questions += 1;
            asked.gets += u64::from(line.starts_with("mg "));
            answer(fleet, plan, server, line)
        });
        if let Some((lacking, answer)) = lacking {
            let server = server.name.clone();
            return Err(Fault::Lacks { server, lacking, answer }.into());
        }
    }
    Ok(asked)
}

/// What a server lacks, with its answer, by what it answers if it is asked. An error of its own, as
/// a proxy has without its server, tells nothing, and is left to the load.
fn lacking(plan: &Plan, mut ask: impl FnMut(&str) -> Option<String>) -> Option<(Lacking, String)> {
    let mut ask = |line: &str| ask(line).filter(|answer| !answer.starts_with("SERVER_ERROR"));
    let noop = ask("mn")?;
    // What is neither is no memcached, which the questions that follow say better.
    match &*noop {
        "MN" => {}
        "ERROR" => return Some((Lacking::Meta, noop)),
        _ => return None,
    }
    let needs_opaque = plan.requests.matching == Matching::Opaque || plan.requests.noreply;
    let needs_key = plan.source.multiget > 1 || plan.verify.is_some();
    if needs_opaque || needs_key {
        let miss = ask(QUESTION)?;
        let mut words = miss.split(' ');
        match words.next() {
            // A miss need not name its key.
            Some("EN" | "HD") if !needs_opaque || words.any(|word| word == "O7") => {}
            _ if needs_opaque => return Some((Lacking::Opaque, miss)),
            _ => return Some((Lacking::Key, miss)),
        }
    }
    for (needed, lacking, question) in special(plan) {
        if needed {
            let answered = ask(&question)?;
            if !matches!(answered.split(' ').next(), Some("EN" | "HD" | "VA" | "NF")) {
                return Some((lacking, answered));
            }
        }
    }
    None
}

/// Questions for the flags that only some kinds of operation need, and whether they are. None
/// creates or changes an item.
fn special(plan: &Plan) -> [(bool, Lacking, String); 4] {
    let mixes = |action| plan.source.mix.kinds().any(|kind| kind.does(action));
    let flags = plan.requests.item_flags;
    let letters: String = flags.letters().flat_map(|letter| [' ', char::from(letter)]).collect();
    [
        (mixes(Action::Recache), Lacking::Recache, "mg memtide-asks R30".to_owned()),
        (mixes(Action::Invalidate), Lacking::Invalidate, "md memtide-asks I T30".to_owned()),
        (mixes(Action::Peek), Lacking::Compare, "mg memtide-asks v C1".to_owned()),
        (!flags.is_empty(), Lacking::Flags, format!("mg memtide-asks{letters}")),
    ]
}

/// The first line of the answer to `line`; none if the server could not be asked.
fn answer<F: Fleet>(fleet: &mut F, plan: &Plan, server: &ServerPlan, line: &str) -> Option<String> {
    match fleet.ask(plan, server, Question::Line(line)) {
        Ok(Answer::Line(line)) | Err(AskError::Refused(line)) => Some(line),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    //! What servers lack, by what they answer.

    use super::*;
    use crate::survey::tests::plan_of;
    use memtide_scenario::Scenario;

    /// What a server lacks that knows `mn` and answers every other question with `answer`.
    fn lacks(answer: &str) -> Option<Lacking> {
        let scenario = Scenario { multiget: 10, protocol: Protocol::Meta, ..Scenario::default() };
        let ask = |line: &str| Some(if line == "mn" { "MN" } else { answer }.to_owned());
        lacking(&plan_of(&scenario), ask).map(|(lacking, _)| lacking)
    }

    /// A proxy whose server was away got the advice to leave flags out.
    #[test]
    fn an_error_of_the_server_itself_says_nothing_about_flags() {
        assert_eq!(lacks("SERVER_ERROR backend unavailable"), None);
        assert_eq!(lacks("CLIENT_ERROR bad command line format"), Some(Lacking::Key));
        assert_eq!(lacks("EN"), None);
    }
}
