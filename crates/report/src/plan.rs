//! The plan as text: every decision, and the reason for each that the user did not make.
//!
//! It shows decisions and makes none.

use crate::layout::{TextLayout, labelled};
use crate::number::{counted, percent, rate, seconds, whole};
use memtide_record::{ChurnPlanRecord, LoopKind, PlanRecord, Record, WarmupEnd};
use memtide_scenario::{FIELDS, Scenario};

/// Fields that have no effect in a closed loop.
const OF_SCHEDULES: [&str; 3] = ["arrival", "schedule", "on-full"];

/// Fields that appear in the line of another field.
const TOLD_BESIDE: [&str; 13] = [
    "rate-unit",
    "wave",
    "connection-rate",
    "connection-arrival",
    "call-rate",
    "connections-total",
    "warmup",
    "ops-max",
    "pin",
    "key-size",
    "window-pick",
    "multiget",
    "multiget-share",
];

/// Smallest width of the fields' names.
const FIELD_WIDTH: usize = 12;

/// The plan, one line per decision, ending in a line break; for a terminal of `columns` columns, or
/// for none.
pub fn plan_text(plan: &PlanRecord, columns: Option<usize>) -> String {
    let mut out = TextLayout::new(columns);
    let mut decisions = decisions(plan);
    let mut unusual = unusual(plan);
    unusual.retain(|(field, _)| decisions.iter().all(|(told, _)| told != field));
    decisions.extend(unusual);
    let width = decisions.iter().map(|(field, _)| field.len()).fold(FIELD_WIDTH, usize::max);
    for (field, value) in decisions {
        let meant = match &plan.churn {
            Some(churn) => match field {
                "rate" | "schedule" => false,
                "arrival" => churn.call_rate_per_s.is_some(),
                _ => plan.loop_kind == LoopKind::Open || field != "on-full",
            },
            None => plan.loop_kind == LoopKind::Open || !OF_SCHEDULES.contains(&field),
        };
        if !meant {
            continue;
        }
        let text = match plan.why.get(field) {
            Some(why) => format!("{value} — {why}"),
            None => value,
        };
        labelled(&mut out, &format!("{field:<width$} "), &text);
    }
    out.into_text()
}

/// All decisions, by the name of the field.
fn decisions(plan: &PlanRecord) -> Vec<(&'static str, String)> {
    let cpus: Vec<String> = plan.cpus.iter().map(u32::to_string).collect();
    let pinned = match cpus.len() {
        0 => "not pinned".to_owned(),
        more if more > plan.workers as usize => format!("on CPUs {}", cpus.join(", ")),
        _ => format!("pinned to CPU {}", cpus.join(", ")),
    };
    let why = plan.why.get("pin").map_or_else(String::new, |why| format!(" ({why})"));
    let mut decisions = vec![("server", servers(plan)), ("rate", rate_words(plan))];
    decisions.extend(plan.churn.iter().flat_map(|churn| churn_decisions(plan, churn)));
    decisions.extend([
        ("arrival", plan.arrival.clone()),
        ("schedule", plan.schedule.clone()),
        ("on-full", plan.on_full.clone()),
        ("duration", stop_words(plan)),
        ("threads", format!("{}, {pinned}{why}", counted(u64::from(plan.workers), "worker"))),
        ("connections", format!("{} in total", whole(u64::from(plan.connections)))),
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
    ]);
    decisions
}

/// The decisions about connection churn.
fn churn_decisions(plan: &PlanRecord, churn: &ChurnPlanRecord) -> Vec<(&'static str, String)> {
    let mut decisions = vec![
        ("connects", opening_words(plan, churn)),
        ("calls", format!("{} each, {}", whole(churn.calls), call_words(churn))),
        ("linger", linger_words(churn)),
    ];
    if let Some(total) = churn.connections_total {
        decisions.insert(1, ("total", counted(total, "connection")));
    }
    decisions
}

fn opening_words(plan: &PlanRecord, churn: &ChurnPlanRecord) -> String {
    match (&churn.connection_arrival, churn.connection_rate_per_s) {
        (Some(arrival), Some(per_s)) => format!("at {}, {arrival} arrivals", rate(per_s)),
        (Some(arrival), None) => format!("{}, {arrival} arrivals", shortened(&plan.wave)),
        (None, _) => "each when another closes".to_owned(),
    }
}

fn call_words(churn: &ChurnPlanRecord) -> String {
    match churn.call_rate_per_s {
        Some(per_s) => format!("at {}", rate(per_s)),
        None => "each after a reply".to_owned(),
    }
}

fn linger_words(churn: &ChurnPlanRecord) -> String {
    match churn.linger_s {
        None => "none: close normally".to_owned(),
        Some(0.0) => "0: reset".to_owned(),
        Some(linger_s) => seconds(linger_s),
    }
}

/// Connection churn in a few words.
pub(crate) fn churn_words(plan: &PlanRecord) -> String {
    let Some(churn) = &plan.churn else { return String::new() };
    let calls = counted(churn.calls, "call");
    let calls = match churn.call_rate_per_s {
        Some(per_s) => format!("{calls} on each at {}, {} arrivals", rate(per_s), plan.arrival),
        None => format!("{calls} on each, one after the other"),
    };
    format!("connections {}, {calls}", opening_words(plan, churn))
}

/// Decisions that most plans leave at their default, by the name of the field, in the field's
/// words.
fn unusual(plan: &PlanRecord) -> Vec<(&'static str, String)> {
    let usual = Scenario::default().spelled();
    let untold = FIELDS.iter().filter(|field| !TOLD_BESIDE.contains(&field.name));
    let unusual = untold.filter_map(|field| {
        let word = plan.decided.get(field.name)?;
        (usual.get(field.name) != Some(word)).then(|| (field.name, word.clone()))
    });
    unusual.collect()
}

/// The word, if it differs from the usual one and is present (it is absent in older records).
fn other_than(usual: &str, word: &str) -> Option<String> {
    (!word.is_empty() && word != usual).then(|| word.to_owned())
}

fn key_form(plan: &PlanRecord) -> Option<String> {
    other_than(&Scenario::default().key_shape.form.to_string(), &plan.key_form)
}

/// Distribution of key lengths, and the form of keys if it is unusual.
fn key_words(plan: &PlanRecord) -> String {
    match key_form(plan) {
        Some(form) => format!("{}, {form}", plan.key_size),
        None => plan.key_size.clone(),
    }
}

/// The keys and values, and the operations on them.
pub(crate) fn data_words(plan: &PlanRecord) -> String {
    format!(
        "{} ({}), values {}, {}, mix {}",
        counted(plan.keys, "key"),
        key_words(plan),
        plan.value_size,
        plan.popularity,
        mix_words(plan)
    )
}

/// Unusual properties of connections, each with a comma before it.
pub(crate) fn connection_words(plan: &PlanRecord) -> String {
    let mut words = String::new();
    if let Some(protocol) = other_than(&Scenario::default().protocol.to_string(), &plan.protocol) {
        words.push_str(&format!(", protocol {protocol}"));
    }
    if plan.pause_after_reply_s > 0.0 {
        words.push_str(&format!(", {} pause after each reply", seconds(plan.pause_after_reply_s)));
    }
    if let Some(routes) = &plan.routes {
        words.push_str(&format!(", {routes}"));
    }
    if plan.nagle {
        words.push_str(", Nagle on");
    }
    words
}

/// The servers, with addresses that differ from their names.
pub(crate) fn servers(plan: &PlanRecord) -> String {
    let each = plan.servers.iter().map(|server| match server.addresses.as_slice() {
        [] => server.name.clone(),
        [address] if *address == server.name => server.name.clone(),
        addresses => format!("{} ({})", server.name, addresses.join(", ")),
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let cpu = plan.server_cpu.map_or(String::new(), |cpu| format!(", pinned to CPU {cpu}"));
    match plan.embedded {
        true if each.is_empty() => format!("embedded, on a free loopback port{cpu}"),
        true => format!("embedded at {each}{cpu}"),
        false => each,
    }
}

/// The rate, the wave, or that there is neither.
pub(crate) fn rate_words(plan: &PlanRecord) -> String {
    match (plan.loop_kind, plan.rate()) {
        (LoopKind::Closed, _) => "closed loop".to_owned(),
        (LoopKind::Open, Some(rate)) => rate.exactly(),
        (LoopKind::Open, None) => shortened(&plan.wave),
    }
}

/// Shortens a long word, such as a wave with thousands of rates, to its beginning and end.
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

/// The stop rule and the warm-up.
fn stop_words(plan: &PlanRecord) -> String {
    let noun = plan.unit().noun();
    let mut text = match (plan.duration_s, plan.ops_max) {
        (Some(_), None) if plan.precision.is_some() => {
            let precision = plan.precision.as_ref();
            precision.map_or_else(String::new, |it| {
                format!("until {}, at most {}", it.asked.join(", "), seconds(it.at_most_s))
            })
        }
        (None, None) if plan.churn.is_some() => "until all connections have ended".to_owned(),
        (Some(duration_s), None) => seconds(duration_s),
        (None, Some(ops_max)) => counted(ops_max, noun),
        (Some(duration_s), Some(ops_max)) => {
            format!("{} or {}", seconds(duration_s), counted(ops_max, noun))
        }
        (None, None) => "until interrupted".to_owned(),
    };
    text.push_str(&warmup_words(plan));
    text
}

/// The warm-up, if there is one, as the end of a sentence.
pub(crate) fn warmup_words(plan: &PlanRecord) -> String {
    let length = seconds(plan.warmup_s);
    match plan.warmup_end {
        WarmupEnd::Fixed if plan.warmup_s > 0.0 => format!(" after {length} of warm-up"),
        WarmupEnd::Fixed => String::new(),
        WarmupEnd::Open => format!(" after a warm-up of at most {length} (auto)"),
        WarmupEnd::Steady => format!(" after {length} of warm-up (found)"),
        WarmupEnd::Unsteady => format!(" after {length} of warm-up (not steady by then)"),
    }
}

/// The mix, with multigets if there are any.
fn mix_words(plan: &PlanRecord) -> String {
    match (plan.multiget, plan.multiget_share) {
        (0 | 1, _) => plan.mix.clone(),
        (keys, None) => format!("{}, {keys} keys in each get", plan.mix),
        (keys, Some(share)) => format!("{}, {keys} keys in {} of gets", plan.mix, percent(share)),
    }
}

/// True if clients, network and servers were simulated.
pub(crate) fn is_simulated(record: &Record) -> bool {
    record.plan.io == "simulated"
}

#[cfg(test)]
mod tests;
