//! Facts of a share for its merging: the counts that the servers should have of its operations.

use super::{Survey, expected};
use memtide_base::Sentence;
use memtide_engine::Plan;
use memtide_metrics::Counters;
use memtide_record::natively;
use memtide_record::{ExpectedCounter, ExpectedCounters};

/// Counts that the servers should have of this share, whose sums are `all` and which opened
/// `opened` connections; none if the run is not divided.
///
/// Cause: A share cannot tell what the servers counted of its own operations.
///
/// To do: Give the servers time to answer, and leave them alone during the run.
pub(crate) fn expected_of_share(
    survey: &Survey,
    plan: &Plan,
    (all, opened): (&Counters, u64),
) -> Option<ExpectedCounters> {
    plan.here.as_ref()?;
    if survey.before.is_empty() && survey.unavailable.is_none() {
        return None;
    }
    let replied = all.answered + all.failed + all.unacknowledged + all.late_replies;
    let restarted = || {
        let mut servers = survey.servers(plan);
        let server = servers.find(|server| survey.is_restarted(&server.name))?;
        Some(format!("server {} was restarted, which reset its counters", server.name))
    };
    let not_compared = match &survey.unavailable {
        Some(why) => Some(why.clone()),
        None if all.sent > replied => Some(format!(
            "{} operations got no reply, and whether they reached the servers is unknown",
            all.sent - replied
        )),
        None if survey.is_touched => {
            let why = Sentence::new("the commands of ").field("before").text(" and ");
            Some(natively(&why.field("after").text(" may have changed them")))
        }
        None => restarted(),
    };
    let counters = expected(all, plan.requests.protocol).into_iter().map(|of| {
        let counter =
            ExpectedCounter { ours: of.ours, fewer: of.fewer, of_commands: of.is_of_commands };
        (of.name.to_owned(), counter)
    });
    // The share's first query to each server also lies between the two of the whole run.
    let connections = opened + survey.asked_between + survey.servers(plan).count() as u64;
    Some(ExpectedCounters { counters: counters.collect(), connections, not_compared })
}
