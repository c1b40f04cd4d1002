//! Checks whether records belong together, and words the errors if not.
//!
//! It looks at every shard, so earlier merging makes no difference.

use super::{SHARDS_MAX, Scenarios, order};
use crate::field::FIELDS;
use crate::record::{Record, ShardRecord};
use crate::scenario::Goal;
use serde_json::{Map, Value};

/// Fields that may differ: they say where a shard ran, or choose its part of the randomness.
const FREE: [&str; 3] = ["seed", "bind", "threads"];

/// The field that names servers. Clients that each load their own server are still one load.
const SERVER: &str = "server";

/// Reasons why records cannot be merged. Records are numbered from 0, in the order of the
/// arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// The figures of a record contradict each other: it was edited or truncated.
    Damaged {
        /// Number of the record.
        record: usize,
        /// The contradiction.
        why: String,
    },
    /// The scenarios differ in a field other than seed, bind and threads.
    Scenarios {
        /// The two records.
        records: [usize; 2],
        /// The first field in which they differ.
        field: String,
        /// The field's words in each scenario; none where it is not given.
        words: [Option<String>; 2],
    },
    /// One run is an open loop and one a closed loop, so their times have different meanings.
    Loops {
        /// The two records.
        records: [usize; 2],
    },
    /// A run appears in two of the records, or twice in one, and would count twice.
    Twice {
        /// The two records.
        records: [usize; 2],
    },
    /// Shares of one run and whole runs cannot become one record.
    Mixed {
        /// The two records.
        records: [usize; 2],
    },
    /// The record already combines two loads: the agents', and their master's own.
    TwoLoads {
        /// Number of the record.
        record: usize,
    },
    /// Two shares belong to different runs.
    Unlike {
        /// The two records.
        records: [usize; 2],
        /// Name of the field in which they differ.
        field: String,
        /// The field's words in each share; none where it is not given.
        words: [Option<String>; 2],
    },
    /// Two shares carried out the same lanes.
    Overlap {
        /// The two records.
        records: [usize; 2],
        /// The first and the last of the lanes that both carried out.
        lanes: [u32; 2],
    },
    /// There are more runs than a record can hold.
    TooMany {
        /// Number of runs that the merged record would hold.
        shards: usize,
    },
}

impl MergeError {
    /// The error as a sentence without its full stop; `name` turns a record's number into its name.
    pub fn message(&self, name: impl Fn(usize) -> String) -> String {
        let both = |records: &[usize; 2]| match records {
            [a, b] if a == b => name(*a),
            [a, b] => format!("{} and {}", name(*a), name(*b)),
        };
        let word = |word: &Option<String>| match word {
            Some(word) => format!("'{word}'"),
            None => "not given".to_owned(),
        };
        match self {
            Self::Mixed { records } => format!(
                "{} cannot be merged: one is a share of a run and one is a whole run; merge the \
                 shares of one run alone",
                both(records)
            ),
            Self::TwoLoads { record } => format!(
                "{} cannot be merged: it contains the master's own load beside the agents' load; \
                 use memtide report to see both",
                name(*record)
            ),
            Self::Unlike { records, field, words: [a, b] } => format!(
                "{} are not shares of one run: {field} is {} in one and {} in the other; merge \
                 shares that were started with the same flags",
                both(records),
                word(a),
                word(b)
            ),
            Self::Overlap { records, lanes: [first, last] } => format!(
                "{} both contain lanes {first} to {last} of the run, which would count twice; \
                 leave one of them out",
                both(records)
            ),
            Self::Damaged { record, why } => format!(
                "{} contradicts itself: {why}; merge records as they were written",
                name(*record)
            ),
            Self::Scenarios { records, field, words: [a, b] } => format!(
                "{} have different scenarios: {field} is {} in one and {} in the other; merge runs \
                 of one scenario, or add --force",
                both(records),
                word(a),
                word(b)
            ),
            Self::Loops { records } => format!(
                "{} cannot be merged: one is an open loop and one a closed loop, whose times are \
                 not comparable; merge records of one kind of loop",
                both(records)
            ),
            Self::Twice { records } => match records {
                [a, b] if a == b => {
                    format!(
                        "{} contains the same run twice; merge its runs again, each once",
                        name(*a)
                    )
                }
                _ => format!(
                    "the same run is in {} and would count twice; leave one of them out",
                    both(records)
                ),
            },
            Self::TooMany { shards } => format!(
                "{shards} runs are more than the {SHARDS_MAX} that one record can hold; merge \
                 fewer of them"
            ),
        }
    }
}

/// The shards of all records in order, if they belong together.
pub(super) fn shards(
    records: &[Record],
    scenarios: Scenarios,
) -> Result<Vec<ShardRecord>, MergeError> {
    let mut shards: Vec<(usize, ShardRecord)> = Vec::new();
    for (at, record) in records.iter().enumerate() {
        match record.shards.as_slice() {
            [] => shards.push((at, ShardRecord::of(record))),
            parts => shards.extend(parts.iter().map(|part| (at, part.clone()))),
        }
    }
    if shards.len() > SHARDS_MAX {
        return Err(MergeError::TooMany { shards: shards.len() });
    }
    for (at, shard) in &shards {
        plausible(shard).map_err(|why| MergeError::Damaged { record: *at, why })?;
    }
    let (one, first) = &shards[0];
    for (other, shard) in &shards[1..] {
        let records = [*one, *other];
        if shard.plan.loop_kind != first.plan.loop_kind {
            return Err(MergeError::Loops { records });
        }
        let field = difference(&first.scenario, &shard.scenario);
        if let (Some(field), Scenarios::Same) = (field, scenarios) {
            let words = [&first.scenario, &shard.scenario].map(|words| word(words.get(field)));
            return Err(MergeError::Scenarios { records, field: field.to_owned(), words });
        }
    }
    shards.sort_by(|(_, a), (_, b)| order(a, b));
    for pair in shards.windows(2) {
        if pair[0].1 == pair[1].1 {
            let (a, b) = (pair[0].0, pair[1].0);
            return Err(MergeError::Twice { records: [a.min(b), a.max(b)] });
        }
    }
    Ok(shards.into_iter().map(|(_, shard)| shard).collect())
}

/// Checks that the figures of a shard that merging computes with are possible.
///
/// Cause: The figures of a record contradict each other: it was edited or cut off.
///
/// To do: Merge records as they were written.
fn plausible(shard: &ShardRecord) -> Result<(), String> {
    if let Some(start) = shard.window_start_unix_ns {
        let start = u64::try_from(start.0).ok();
        if start.and_then(|start| start.checked_add(shard.window_ns)).is_none() {
            return Err("the start of its window is not a valid time".to_owned());
        }
    }
    for (number, slice) in shard.slices.iter().enumerate() {
        if slice.row().is_none() {
            return Err(format!("slice {number} does not contain one time per answered operation"));
        }
    }
    for (number, interval) in shard.intervals.iter().enumerate() {
        if interval.row().is_none() {
            return Err(format!("a histogram of interval {number} is damaged"));
        }
    }
    for word in goal_words(shard) {
        word.parse::<Goal>()
            .map_err(|why| format!("a goal of its scenario is not valid: {why}"))?;
    }
    Ok(())
}

/// The first field in which two scenarios differ although they must not.
pub(super) fn difference<'a>(
    a: &'a Map<String, Value>,
    b: &'a Map<String, Value>,
) -> Option<&'a str> {
    // A record of a newer program may have fields that this program does not know.
    let known = FIELDS.iter().map(|field| field.name);
    let named = known.chain(a.keys().map(String::as_str)).chain(b.keys().map(String::as_str));
    // Each run may have its own servers, but a run with an embedded server measured something else.
    let own_servers = [a, b].iter().all(|words| servers(words).next().is_some());
    let free = |name: &str| FREE.contains(&name) || (name == SERVER && own_servers);
    named.filter(|name| !free(name)).find(|name| a.get(*name) != b.get(*name))
}

/// The servers that a scenario names.
fn servers(scenario: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let words = scenario.get(SERVER).and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str)
}

/// The first shard's scenario, with the servers of all shards.
pub(super) fn scenario(shards: &[ShardRecord]) -> Map<String, Value> {
    let mut scenario = shards[0].scenario.clone();
    if of_different_servers(shards) {
        let mut names: Vec<&str> = Vec::new();
        for name in shards.iter().flat_map(|shard| servers(&shard.scenario)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let names: Vec<Value> = names.into_iter().map(Value::from).collect();
        scenario.insert(SERVER.to_owned(), names.into());
    }
    scenario
}

/// True if a shard names other servers than the first shard does.
pub(super) fn of_different_servers(shards: &[ShardRecord]) -> bool {
    shards.iter().any(|shard| shard.scenario.get(SERVER) != shards[0].scenario.get(SERVER))
}

pub(super) fn word(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(word) => Some(word.clone()),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(|each| word(Some(each))).collect();
            (!words.is_empty()).then(|| words.join(","))
        }
        other => Some(other.to_string()),
    }
}

/// The goals of all shards, each once, in the shards' order.
pub(super) fn goals(shards: &[ShardRecord]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for goal in shards.iter().flat_map(goal_words).filter_map(|word| word.parse().ok()) {
        if !goals.contains(&goal) {
            goals.push(goal);
        }
    }
    goals
}

/// The goals of a scenario.
pub(super) fn goals_of(scenario: &Map<String, Value>) -> Vec<Goal> {
    words_of_goals(scenario).filter_map(|word| word.parse().ok()).collect()
}

fn goal_words(shard: &ShardRecord) -> impl Iterator<Item = &str> {
    words_of_goals(&shard.scenario)
}

fn words_of_goals(scenario: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let words = scenario.get("goal").and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str)
}
