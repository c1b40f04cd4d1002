//! Checks whether records belong together, and words the errors if not.
//!
//! It looks at every shard, so earlier merging makes no difference. Shares of one run must be alike
//! in every field that their digest covers.

use super::{SHARDS_MAX, Scenarios, rows};
use memtide_record::{Lanes, Record, ShardRecord};
use memtide_scenario::field::FIELDS;
use memtide_scenario::{Goal, NOT_HASHED};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Fields that may differ: they say where a shard ran, or choose its part of the randomness.
const FREE: [&str; 4] = ["seed", "gap-seed", "bind", "threads"];

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
    /// The scenarios differ in a field other than seed, gap-seed, bind and threads.
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
        match self {
            Self::Mixed { records } => format!(
                "{} cannot be merged: one is a share of a run and one is a whole run; merge the \
                 shares of one run alone",
                both(records, &name)
            ),
            Self::TwoLoads { record } => format!(
                "{} cannot be merged: it contains the master's own load beside the agents' load; \
                 use memtide report to see both",
                name(*record)
            ),
            Self::Unlike { records, field, words: [a, b] } => format!(
                "{} are not shares of one run: {field} is {} in one and {} in the other; merge \
                 shares that were started with the same flags",
                both(records, &name),
                quoted(a),
                quoted(b)
            ),
            Self::Overlap { records, lanes: [first, last] } => format!(
                "{} both contain lanes {first} to {last} of the run, which would count twice; \
                 leave one of them out",
                both(records, &name)
            ),
            Self::Damaged { record, why } => format!(
                "{} contradicts itself: {why}; merge records as they were written",
                name(*record)
            ),
            Self::Scenarios { records, field, words: [a, b] } => format!(
                "{} have different scenarios: {field} is {} in one and {} in the other; merge runs \
                 of one scenario, or add --force",
                both(records, &name),
                quoted(a),
                quoted(b)
            ),
            Self::Loops { records } => format!(
                "{} cannot be merged: one is an open loop and one a closed loop, whose times are \
                 not comparable; merge records of one kind of loop",
                both(records, &name)
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
                    both(records, &name)
                ),
            },
            Self::TooMany { shards } => format!(
                "{shards} runs are more than the {SHARDS_MAX} that one record can hold; merge \
                 fewer of them"
            ),
        }
    }
}

/// The names of two records.
fn both(records: &[usize; 2], name: impl Fn(usize) -> String) -> String {
    match records {
        [a, b] if a == b => name(*a),
        [a, b] => format!("{} and {}", name(*a), name(*b)),
    }
}

fn quoted(word: &Option<String>) -> String {
    word.as_ref().map_or_else(|| "not given".to_owned(), |word| format!("'{word}'"))
}

/// A shard, and the number of the record that contained it.
#[derive(Clone)]
pub(super) struct NumberedShard {
    pub(super) record: usize,
    pub(super) shard: ShardRecord,
}

/// Checks that the figures of a record add up.
pub(super) fn conserves(record: &Record) -> Result<(), String> {
    record.check_conservation()?;
    match record.share.as_ref().is_some_and(|share| share.agent.is_some()) {
        true => record.check_servers().and_then(|()| record.check_rows()),
        false => Ok(()),
    }
}

/// Largest number of lanes of a run.
const LANES_MAX: u32 = u16::MAX as u32;
/// Largest length of an agent's name in bytes: that of a host name.
const NAME_MAX: usize = 253;

/// Checks that the figures of a shard that merging computes with are possible.
pub(super) fn plausible(shard: &ShardRecord, is_share: bool) -> Result<(), String> {
    if is_share {
        plausible_lanes(shard)?;
    } else if shard.share.is_some() {
        return Err("shares and whole runs are merged in it".to_owned());
    }
    let start = shard.window_start_unix_ns.map_or(Some(0), |start| u64::try_from(start.0).ok());
    if start.and_then(|start| start.checked_add(shard.window_ns)).is_none() {
        return Err("the start of its window is not a valid time".to_owned());
    }
    rows::check(shard)?;
    for word in goal_words(&shard.scenario) {
        word.parse::<Goal>()
            .map_err(|why| format!("a goal of its scenario is not valid: {why}"))?;
    }
    Ok(())
}

/// Checks that the facts of a share about its lanes and its agent are possible.
fn plausible_lanes(shard: &ShardRecord) -> Result<(), String> {
    let (Some(share), Some(lanes)) = (&shard.share, &shard.lanes) else {
        return Err("the lanes of its share are missing".to_owned());
    };
    // Every share has the same number of lanes, and shares follow each other.
    let each = u64::from(lanes.count) / u64::from(share.units.max(1));
    let all = each * u64::from(share.of);
    let (first, count) = (each * u64::from(share.number), each * u64::from(share.units));
    let fits = [all, first, count] == [lanes.total, lanes.first, lanes.count].map(u64::from);
    let is_of_run = share.number < share.of && share.units <= share.of - share.number;
    if each == 0 || !fits || !is_of_run || lanes.total > LANES_MAX {
        return Err(format!(
            "share {} of {} cannot have {} lanes from {} on of {}",
            share.number, share.of, lanes.count, lanes.first, lanes.total
        ));
    }
    let name = share.agent.as_ref().map_or("unnamed", |agent| &agent.name);
    if !(1..=NAME_MAX).contains(&name.len()) || name.chars().any(char::is_control) {
        return Err(format!(
            "the name of its agent is not 1 to {NAME_MAX} bytes without control characters"
        ));
    }
    Ok(())
}

/// The lanes of a share that passed [`plausible`].
pub(super) fn lanes(shard: &ShardRecord) -> Lanes {
    shard.lanes.unwrap_or_default()
}

/// Checks that two shards belong together; `scenarios` are theirs, in words.
pub(super) fn alike(
    shards: [&NumberedShard; 2],
    scenarios: [&Map<String, Value>; 2],
    allowed: Scenarios,
) -> Result<(), MergeError> {
    let [a, b] = shards.map(|of| &of.shard);
    if let (Some(_), Some(_)) = (&a.share, &b.share) {
        return alike_shares(shards, scenarios);
    }
    let records = shards.map(|of| of.record);
    if a.plan.loop_kind != b.plan.loop_kind {
        return Err(MergeError::Loops { records });
    }
    // Each run may have its own servers, but a run with an embedded server measured something else.
    let own_servers = scenarios.iter().all(|words| servers(words).next().is_some());
    let different =
        difference(scenarios, |name| FREE.contains(&name) || (name == SERVER && own_servers));
    match different.filter(|_| allowed == Scenarios::Same) {
        Some((field, words)) => Err(MergeError::Scenarios { records, field, words }),
        None => Ok(()),
    }
}

/// Checks that two shares belong to one run.
fn alike_shares(
    shards: [&NumberedShard; 2],
    scenarios: [&Map<String, Value>; 2],
) -> Result<(), MergeError> {
    let shares = shards.map(|of| of.shard.share.clone().unwrap_or_default());
    let digests = shares.each_ref().map(|share| Some(share.scenario_digest.clone()));
    let counts = [0, 1].map(|at: usize| (shares[at].of, lanes(&shards[at].shard).total));
    let (field, words) = if digests[0] != digests[1] {
        let different = difference(scenarios, |name| NOT_HASHED.contains(&name));
        different.unwrap_or_else(|| ("the digest".to_owned(), digests))
    } else if counts[0] != counts[1] {
        let words = counts.map(|(of, lanes)| Some(format!("{of} with {lanes} lanes")));
        ("the number of shares".to_owned(), words)
    } else {
        return Ok(());
    };
    Err(MergeError::Unlike { records: shards.map(|of| of.record), field, words })
}

/// The shards in order, without the numbers of their records, if no run is there twice and no lane
/// in two shares.
pub(super) fn in_order(mut shards: Vec<NumberedShard>) -> Result<Vec<ShardRecord>, MergeError> {
    shards.sort_by(|a, b| order(&a.shard, &b.shard));
    for pair in shards.windows(2) {
        if pair[0].shard == pair[1].shard {
            let (a, b) = (pair[0].record, pair[1].record);
            return Err(MergeError::Twice { records: [a.min(b), a.max(b)] });
        }
    }
    let ran = shards.iter().filter(|of| of.shard.share.is_some() && of.shard.has_run());
    let ran: Vec<&NumberedShard> = ran.collect();
    for pair in ran.windows(2) {
        let (a, b) = (lanes(&pair[0].shard), lanes(&pair[1].shard));
        if a.first + a.count > b.first {
            let records = [pair[0].record, pair[1].record];
            let last = (a.first + a.count).min(b.first + b.count) - 1;
            return Err(MergeError::Overlap { records, lanes: [b.first, last] });
        }
    }
    let there: u32 = ran.iter().map(|of| lanes(&of.shard).count).sum();
    assert!(there <= LANES_MAX, "shares that overlap or have too many lanes are errors");
    Ok(shards.into_iter().map(|of| of.shard).collect())
}

/// The order of shards: shares by their lanes, whole runs by the beginning of their windows.
/// Further keys only make the order total.
fn order(a: &ShardRecord, b: &ShardRecord) -> Ordering {
    place(a).cmp(&place(b)).then_with(|| {
        let [a, b] = [a, b].map(|shard| serde_json::to_string(shard).ok());
        a.cmp(&b)
    })
}

fn place(shard: &ShardRecord) -> impl Ord {
    let lanes = shard.share.as_ref().map(|_| lanes(shard));
    let lanes = lanes.map(|lanes| (lanes.first, !shard.has_run(), lanes.count));
    (lanes, shard.window_start_unix_ns, shard.started_unix_ms)
}

/// The first field in which two scenarios differ, unless it is free to, and its words in each.
fn difference(
    [a, b]: [&Map<String, Value>; 2],
    is_free: impl Fn(&str) -> bool,
) -> Option<(String, [Option<String>; 2])> {
    // A record of a newer program may have fields that this program does not know.
    let known = FIELDS.iter().map(|field| field.name);
    let mut named = known.chain(a.keys().map(String::as_str)).chain(b.keys().map(String::as_str));
    let field = named.find(|name| !is_free(name) && a.get(*name) != b.get(*name))?;
    Some((field.to_owned(), [a, b].map(|words| word(words.get(field)))))
}

/// The servers that a scenario names.
fn servers(scenario: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let words = scenario.get(SERVER).and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str)
}

/// The first shard's scenario, with the servers of all shards.
pub(super) fn scenario(shards: &[&ShardRecord]) -> Map<String, Value> {
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
pub(super) fn of_different_servers(shards: &[&ShardRecord]) -> bool {
    shards.iter().any(|shard| shard.scenario.get(SERVER) != shards[0].scenario.get(SERVER))
}

fn word(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(word) => Some(word.clone()),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(|each| word(Some(each))).collect();
            (!words.is_empty()).then(|| words.join(","))
        }
        other => Some(other.to_string()),
    }
}

/// The goals of these scenarios, each once, in their order.
pub(super) fn goals<'a>(scenarios: impl Iterator<Item = &'a Map<String, Value>>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for goal in scenarios.flat_map(goal_words).filter_map(|word| word.parse().ok()) {
        if !goals.contains(&goal) {
            goals.push(goal);
        }
    }
    goals
}

fn goal_words(scenario: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let words = scenario.get("goal").and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str)
}
