//! Lines about connections that were the load: how fast they came, and what became of them.

use crate::layout::{Sheet, labelled};
use crate::number::{counted, rate, whole};
use memtide_schema::record::{ChurnCounts, ChurnRecord, Record};

/// How many connections came per second, where they were the load.
pub(crate) fn lives_rate(out: &mut Sheet, record: &Record) {
    let Some(lives) = &record.churn else { return };
    let begun = rate(lives.started_per_s);
    let text = match lives.target_per_s {
        Some(target) => format!("{begun} started of {} requested", rate(target)),
        None => format!("{begun} started, each when another closed"),
    };
    labelled(out, "connects", &text);
}

/// What became of them.
pub(crate) fn lives(out: &mut Sheet, record: &Record) {
    let Some(lives) = &record.churn else { return };
    let mut text = outcomes(&lives.measure);
    text.push_str(&format!("; at most {} open at once", whole(lives.concurrent_max)));
    if is_full(lives, record) {
        text.push_str(", the limit of --connections");
    }
    labelled(out, "churn", &text);
    let causes: Vec<String> = lives
        .measure
        .causes
        .iter()
        .map(|(name, count)| format!("{name} {}", whole(*count)))
        .collect();
    if !causes.is_empty() {
        labelled(out, "causes", &causes.join(", "));
    }
    if lives.measure.calls_not_made > 0 {
        let unmade = counted(lives.measure.calls_not_made, "call");
        labelled(out, "not sent", &format!("{unmade} of connections that failed or were lost"));
    }
}

/// Whether connections that were due at a rate may have waited for a place.
fn is_full(lives: &ChurnRecord, record: &Record) -> bool {
    lives.target_per_s.is_some() && lives.concurrent_max >= u64::from(record.plan.connections)
}

fn outcomes(counts: &ChurnCounts) -> String {
    let parts = [
        (counts.completed, "completed"),
        (counts.failed, "failed"),
        (counts.lost, "lost"),
        (counts.dropped, "dropped"),
        (counts.abandoned, "abandoned"),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(count, _)| *count > 0).collect();
    let intended = counted(counts.intended, "connection");
    match parts.as_slice() {
        [] => "no connection was due".to_owned(),
        [(_, name)] => format!("{intended}, all {name}"),
        parts => {
            let each = parts.iter().map(|(count, name)| format!("{} {name}", whole(*count)));
            format!("{intended} due: {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::expect::expect;
    use crate::fixture;

    #[test]
    fn connections_as_the_load_are_reported_with_their_failures() {
        expect("lives.txt", &crate::text(&fixture::lives()));
        expect("lives_plan.txt", &crate::plan_text(&fixture::lives().plan, None));
    }
}
