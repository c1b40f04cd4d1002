//! The plan as text: every decision, and why it was made when nobody asked for it.
//!
//! It shows what was decided and decides nothing.

use crate::layout::labelled;
use crate::number::{counted, rate, seconds, whole};
use memtide_schema::record::{LoopKind, PlanRecord};

/// Decisions without meaning in a closed loop.
const OF_SCHEDULES: [&str; 3] = ["arrival", "schedule", "on-full"];

/// The plan, a line for each decision, ending with a line break.
pub fn plan_text(plan: &PlanRecord) -> String {
    let mut out = String::new();
    for (field, value) in decisions(plan) {
        if plan.loop_kind == LoopKind::Closed && OF_SCHEDULES.contains(&field) {
            continue;
        }
        let text = match plan.why.get(field) {
            Some(why) => format!("{value} — {why}"),
            None => value,
        };
        labelled(&mut out, &format!("{field:<12} "), &text);
    }
    out
}

/// Every decision by the name of its field.
fn decisions(plan: &PlanRecord) -> Vec<(&'static str, String)> {
    let pinned = match plan.cpus.as_slice() {
        [] => "not pinned".to_owned(),
        cpus => {
            let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
            format!("pinned to CPU {}", cpus.join(", "))
        }
    };
    let mut decisions = vec![
        ("server", servers(plan)),
        ("rate", rate_words(plan)),
        ("arrival", plan.arrival.clone()),
        ("schedule", plan.schedule.clone()),
        ("on-full", plan.on_full.clone()),
        ("duration", stop_words(plan)),
        ("threads", format!("{}, {pinned}", counted(u64::from(plan.workers), "worker"))),
        ("connections", format!("{} in all", whole(u64::from(plan.connections)))),
        ("depth", whole(u64::from(plan.depth))),
        ("wait", plan.wait.clone()),
        ("io", plan.io.clone()),
        ("timeout", seconds(plan.timeout_s)),
        ("cooldown", plan.cooldown.clone()),
        ("load", plan.load.clone()),
        ("keys", format!("{} of {}", whole(plan.keys), plan.key_size)),
        ("value-size", plan.value_size.clone()),
        ("popularity", plan.popularity.clone()),
        ("mix", mix_words(plan)),
        ("seed", plan.seed.to_string()),
    ];
    let crowd = [
        ("clients", plan.clients.map(|clients| whole(u64::from(clients)))),
        ("window", plan.window.map(|window| counted(u64::from(window), "object"))),
    ];
    decisions.extend(crowd.into_iter().filter_map(|(name, said)| Some((name, said?))));
    decisions
}

/// The servers with the addresses that differ from their names.
pub(crate) fn servers(plan: &PlanRecord) -> String {
    let each = plan.servers.iter().map(|server| match server.addresses.as_slice() {
        [] => server.name.clone(),
        [address] if *address == server.name => server.name.clone(),
        addresses => format!("{} ({})", server.name, addresses.join(", ")),
    });
    let each = each.collect::<Vec<_>>().join(", ");
    match plan.embedded {
        true if each.is_empty() => "embedded, on a free loopback port".to_owned(),
        true => format!("embedded at {each}"),
        false => each,
    }
}

/// The rate, the wave, or that there is neither.
pub(crate) fn rate_words(plan: &PlanRecord) -> String {
    match (plan.loop_kind, plan.rate_per_s) {
        (LoopKind::Closed, _) => "closed loop".to_owned(),
        (LoopKind::Open, Some(per_s)) => rate_of(plan, per_s),
        (LoopKind::Open, None) => shortened(&plan.wave),
    }
}

/// A rate in the plan's unit, which is named if it is not operations.
pub(crate) fn rate_of(plan: &PlanRecord, per_s: f64) -> String {
    match &plan.rate_unit {
        None => rate(per_s),
        Some(unit) => rate(per_s).replace("/s", &format!(" {unit}/s")),
    }
}

/// A wave may name thousands of rates: of a long word its beginning and its end.
fn shortened(word: &str) -> String {
    const LETTERS_MAX: usize = 60;
    let letters = word.chars().count();
    if letters <= LETTERS_MAX {
        return word.to_owned();
    }
    let first: String = word.chars().take(LETTERS_MAX * 2 / 3).collect();
    let last: String = word.chars().skip(letters - LETTERS_MAX / 3).collect();
    format!("{first}…{last}")
}

/// When the run stops, and its warm-up.
fn stop_words(plan: &PlanRecord) -> String {
    let noun = if plan.rate_unit.is_some() { "key" } else { "operation" };
    let mut text = match (plan.duration_s, plan.ops_max) {
        (Some(duration_s), None) => seconds(duration_s),
        (None, Some(ops_max)) => counted(ops_max, noun),
        (Some(duration_s), Some(ops_max)) => {
            format!("{} or {}", seconds(duration_s), counted(ops_max, noun))
        }
        (None, None) => "until interrupted".to_owned(),
    };
    if plan.warmup_s > 0.0 {
        text.push_str(&format!(" after {} of warm-up", seconds(plan.warmup_s)));
    }
    text
}

/// The mix, with multigets when there are any.
pub(crate) fn mix_words(plan: &PlanRecord) -> String {
    match plan.multiget {
        0 | 1 => plan.mix.clone(),
        keys => format!("{}, {keys} keys in each get", plan.mix),
    }
}

#[cfg(test)]
mod tests {
    use crate::expect::expect;
    use crate::fixture;

    #[test]
    fn a_plan_says_each_decision_and_why() {
        expect("plan.txt", &super::plan_text(&fixture::open().plan));
    }

    #[test]
    fn a_closed_loop_has_no_schedule_to_tell_of() {
        let text = super::plan_text(&fixture::closed().plan);
        assert!(!text.contains("arrival") && !text.contains("on-full"), "{text}");
    }
}
