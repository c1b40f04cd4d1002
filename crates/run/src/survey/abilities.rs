//! What the servers must be able to do for the meta protocol, found out before the load: a server
//! that lacks a command or flag would answer each request with an error, or not at all.

use crate::failure::{Failure, Fault, Lacking};
use memtide_engine::fleet::Fleet;
use memtide_engine::probe::{Answer, AskError, Question};
use memtide_engine::{Matching, Plan, Protocol, ServerPlan};
use memtide_workload::Action;

/// A get of a key that is hardly stored, with the flags that may be lacking.
const QUESTION: &str = "mg memtide-asks k O7";

/// Asks every server for what the plan needs of the meta protocol. A server that does not answer is
/// left to the questions that follow.
///
/// Cause: The server does not know the meta protocol, or not all of it.
///
/// To do: Use another protocol, or a server that has the flag.
pub(crate) fn check_abilities<F: Fleet>(fleet: &mut F, plan: &Plan) -> Result<(), Failure> {
    if plan.requests.protocol != Protocol::Meta {
        return Ok(());
    }
    for server in &plan.servers {
        if let Some((lacking, answer)) = lacking(fleet, plan, server) {
            let server = server.name.clone();
            return Err(Fault::Lacks { server, lacking, answer }.into());
        }
    }
    Ok(())
}

fn lacking<F: Fleet>(fleet: &mut F, plan: &Plan, server: &ServerPlan) -> Option<(Lacking, String)> {
    let noop = answer(fleet, plan, server, "mn")?;
    // What is neither is no memcached, which the questions that follow say better.
    match &*noop {
        "MN" => {}
        "ERROR" => return Some((Lacking::Meta, noop)),
        _ => return None,
    }
    let needs_opaque = plan.requests.matching == Matching::Opaque || plan.requests.noreply;
    let needs_key = plan.source.multiget > 1 || plan.verify.is_some();
    if needs_opaque || needs_key {
        let miss = answer(fleet, plan, server, QUESTION)?;
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
            let answered = answer(fleet, plan, server, &question)?;
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
    let ask = |flags: &str| format!("mg memtide-asks {flags}");
    [
        (mixes(Action::Recache), Lacking::Recache, ask("R30")),
        (mixes(Action::Invalidate), Lacking::Invalidate, "md memtide-asks I T30".to_owned()),
        (mixes(Action::Peek), Lacking::Compare, ask("v C1")),
        (!flags.is_empty(), Lacking::Flags, ask(letters.trim_start())),
    ]
}

/// The first line of the answer to `line`; none if the server could not be asked.
fn answer<F: Fleet>(fleet: &mut F, plan: &Plan, server: &ServerPlan, line: &str) -> Option<String> {
    match fleet.ask(plan, server, Question::Line(line)) {
        Ok(Answer::Line(line)) | Err(AskError::Refused(line)) => Some(line),
        _ => None,
    }
}
