//! Lines about connection churn: the rate of connections, and their outcomes.

use crate::counts::{counted_parts, line_of};
use crate::layout::{TextLayout, labelled};
use crate::number::{counted, rate, whole};
use memtide_record::{ChurnCounts, ChurnRecord, Record};

/// Adds the line with the connections per second, under connection churn.
pub(crate) fn churn_rate(out: &mut TextLayout, record: &Record) {
    let Some(churn) = &record.churn else { return };
    let begun = rate(churn.started_per_s);
    let text = match churn.target_per_s {
        Some(target) => format!("{begun} started of {} requested", rate(target)),
        None => format!("{begun} started, each when another closed"),
    };
    labelled(out, "connects", &text);
}

/// Adds the lines with the outcomes of connections.
pub(crate) fn churn(out: &mut TextLayout, record: &Record) {
    let Some(churn) = &record.churn else { return };
    let mut text = outcomes(&churn.measure);
    text.push_str(&format!("; at most {} open at once", whole(churn.concurrent_max)));
    if is_full(churn, record) {
        text.push_str(", the limit of --connections");
    }
    labelled(out, "churn", &text);
    line_of(out, "causes", &churn.measure.causes, |_| true);
    if churn.measure.calls_not_made > 0 {
        let unmade = counted(churn.measure.calls_not_made, "call");
        labelled(out, "not sent", &format!("{unmade} of connections that failed or were lost"));
    }
}

/// True if connections that were due at a rate may have waited for a slot.
fn is_full(churn: &ChurnRecord, record: &Record) -> bool {
    churn.target_per_s.is_some() && churn.concurrent_max >= u64::from(record.plan.connections)
}

fn outcomes(counts: &ChurnCounts) -> String {
    let parts = [
        (counts.completed, "completed"),
        (counts.failed, "failed"),
        (counts.lost, "lost"),
        (counts.dropped, "dropped"),
        (counts.abandoned, "abandoned"),
    ];
    let intended = counted(counts.intended, "connection");
    let some: Vec<_> = parts.iter().filter(|(count, _)| *count > 0).collect();
    match some.as_slice() {
        [] => "no connection was due".to_owned(),
        [(_, name)] => format!("{intended}, all {name}"),
        _ => format!("{intended} due: {}", counted_parts(&parts).join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::fixture::expect;

    #[test]
    fn connections_as_the_load_are_reported_with_their_failures() {
        expect("churn.txt", &crate::text(&fixture::churn()));
        expect("churn_plan.txt", &crate::plan_text(&fixture::churn().plan, None));
    }
}
