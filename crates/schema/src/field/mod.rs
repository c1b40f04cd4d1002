//! The table of fields: every field of a scenario, declared once. Flags, TOML keys, environment
//! variables, help, man page, completions and docs/scenario.md are all read from it.
//!
//! It knows words and their origin; it opens no file and reads no environment itself.

mod clients;
mod data;
mod layer;
mod limits;
mod churn;
mod load;
mod measurement;
mod output;
mod parse;
mod placement;
mod target;

#[cfg(test)]
pub(crate) use layer::FORMER_NAMES;
pub(crate) use layer::unknown;
pub use layer::{FieldError, Layer, Origin, renamed, scenario_file};

use crate::scenario::{Outputs, Placement, Scenario, Settings};

/// One field of a scenario.
pub struct Field {
    /// Name of the TOML key, and of the flag after its two dashes.
    pub name: &'static str,
    /// One-letter form of the flag.
    pub short: Option<char>,
    /// Placeholder of the value in help; none for a switch, which takes no value.
    pub value: Option<&'static str>,
    /// The default as shown to people; empty if there is none.
    pub default: &'static str,
    /// Purpose, in one line of at most 70 columns.
    pub help: &'static str,
    /// The details: values, units, bounds, when to use it, an example.
    pub long: &'static str,
    /// Section of help and docs that lists the field.
    pub section: Section,
    /// True if the field is a list: it may be repeated, and takes comma lists.
    pub many: bool,
    /// Parses a word into the value.
    set: Set,
    /// Formats the value as words.
    show: Show,
}

/// Sets a field from a word; a list field, from a whole comma list that replaces its value. The
/// error says what is wrong with the word and what is allowed.
#[derive(Clone, Copy)]
enum Set {
    Scenario(fn(&mut Scenario, &str) -> Result<(), String>),
    Outputs(fn(&mut Outputs, &str) -> Result<(), String>),
    Placement(fn(&mut Placement, &str) -> Result<(), String>),
}

/// Formats a field as the words from which `Set` would restore it; none if it is not set.
#[derive(Clone, Copy)]
enum Show {
    Scenario(fn(&Scenario) -> Vec<String>),
    Outputs(fn(&Outputs) -> Vec<String>),
    Placement(fn(&Placement) -> Vec<String>),
}

/// A group of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Which servers to measure, and how to reach them.
    Target,
    /// Connections, clients and their pipelines.
    Connections,
    /// How much load to send, and when.
    Load,
    /// Keys, values and operations.
    Data,
    /// Goals, and what is recorded.
    Measurement,
    /// Checks of the values that servers return.
    Verification,
    /// Where results go.
    Output,
    /// Connections that are opened and closed as part of the load.
    Churn,
    /// How this machine runs the workers.
    Machine,
    /// Share of the run that this process carries out, and how shares begin together.
    Placement,
}

impl Section {
    /// Every section, in the order of help and docs.
    pub const ALL: [Self; 10] = [
        Self::Target,
        Self::Connections,
        Self::Load,
        Self::Data,
        Self::Measurement,
        Self::Verification,
        Self::Output,
        Self::Churn,
        Self::Machine,
        Self::Placement,
    ];

    /// The heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Target => "Target",
            Self::Connections => "Connections",
            Self::Load => "Load",
            Self::Data => "Data",
            Self::Measurement => "Measurement",
            Self::Verification => "Verification",
            Self::Output => "Output",
            Self::Churn => "Connection churn",
            Self::Machine => "Client machine",
            Self::Placement => "Several machines",
        }
    }
}

/// The fields that most runs need, which `--help` describes first.
const COMMON: [&str; 10] = [
    "server",
    "connections",
    "rate",
    "duration",
    "warmup",
    "keys",
    "value-size",
    "mix",
    "goal",
    "json",
];

/// Every field, section by section.
pub static FIELDS: &[Field] = &[
    target::SERVER,
    target::PROTOCOL,
    target::TRANSPORT,
    target::BIND,
    target::USER,
    target::PASSWORD,
    load::BEFORE,
    load::AFTER,
    target::NAGLE,
    target::SEND_BUFFER,
    target::RECEIVE_BUFFER,
    target::BUSY_POLL,
    target::TRAILING_BLANK,
    target::CONNECTIONS,
    target::DEPTH,
    target::REFILL,
    clients::CLIENTS,
    clients::CONNECTIONS_PER_CLIENT,
    clients::CONNECTION_TURN,
    target::RECONNECT,
    clients::WRITERS,
    clients::REPLICATE,
    load::RATE,
    limits::DURATION,
    limits::WARMUP,
    limits::OPS_MAX,
    limits::TIMEOUT,
    measurement::COOLDOWN,
    load::WAVE,
    load::ARRIVAL,
    load::SCHEDULE,
    load::ON_FULL,
    load::PAUSE_AFTER_REPLY,
    load::RATE_UNIT,
    data::KEYS,
    data::KEY_SIZE,
    data::KEY_FORM,
    data::KEY_PREFIX,
    data::KEY_FIRST,
    data::VALUE_SIZE,
    data::VALUE_DRAWS,
    data::VALUE_FILL,
    data::VALUE_MAX,
    data::MIX,
    clients::MIX_ORDER,
    data::POPULARITY,
    clients::WINDOW,
    clients::OVERWRITE,
    clients::PICK,
    data::MULTIGET,
    data::MULTIGET_SHARE,
    data::DELTA,
    data::NUMERIC_KEYS,
    data::CAS_UNIQUE,
    data::EXPIRY,
    data::EXPIRY_SHARE,
    data::FLAGS,
    data::NOREPLY,
    data::LOAD,
    data::LOAD_PARTIAL,
    measurement::GOAL,
    measurement::ABORT_ON,
    measurement::ERRORS_MAX,
    measurement::STRICT,
    measurement::NO_STATS,
    measurement::INTERVAL,
    measurement::INTERVAL_TIMES,
    measurement::MESSAGE_SIZES,
    measurement::SEED,
    measurement::VERIFY,
    measurement::VERIFY_KEYS,
    measurement::VERIFY_EXPIRY,
    output::VERIFY_DETAILS,
    output::JSON,
    output::PLOT,
    output::SAMPLES,
    output::OUT,
    output::SPOOL,
    output::TAG,
    output::PLAN,
    output::QUIET,
    churn::CALLS,
    churn::CONNECTION_RATE,
    churn::CONNECTION_ARRIVAL,
    churn::CALL_RATE,
    churn::GAP_DRAWS,
    churn::LINGER,
    churn::CONNECTIONS_TOTAL,
    load::THREADS,
    load::PIN,
    load::WAIT,
    load::IO,
    placement::SHARD,
    placement::START_AT,
    placement::BARRIER,
    placement::BARRIER_TIMEOUT,
    placement::AGENTS,
    placement::KEY,
    placement::EXPECT,
    placement::MASTER_SHARE,
    placement::MASTER_RATE,
    placement::ALLOW_LOST,
];

/// The field with this name; `_` may stand for `-`.
pub fn find(name: &str) -> Option<&'static Field> {
    let name = name.replace('_', "-");
    FIELDS.iter().find(|field| field.name == name)
}

/// The name of the field that was probably meant: at most two typing errors away, or one name is
/// the beginning of the other.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-").to_ascii_lowercase();
    let slips = |field: &&Field| strsim::damerau_levenshtein(field.name, &name);
    let near = FIELDS.iter().min_by_key(slips).filter(|field| {
        // Two typing errors turn any word of three letters into any other.
        slips(field) <= 2 && slips(field) * 2 < name.chars().count().max(3)
    });
    let begins = |field: &&Field| {
        (name.len() >= 2 && field.name.starts_with(&name)) || name.starts_with(field.name)
    };
    near.or_else(|| FIELDS.iter().find(begins)).map(|field| field.name)
}

impl Field {
    /// Sets the field from a word; a list, from a whole comma list that replaces its value. The
    /// error says what is wrong with the word and what is allowed.
    pub fn set(&self, settings: &mut Settings, word: &str) -> Result<(), String> {
        match self.set {
            Set::Scenario(set) => set(&mut settings.scenario, word),
            Set::Outputs(set) => set(&mut settings.outputs, word),
            Set::Placement(set) => set(&mut settings.placement, word),
        }
    }

    /// The words from which [`Field::set`] would restore the present value; none if it is not set.
    pub fn show(&self, settings: &Settings) -> Vec<String> {
        match self.show {
            Show::Scenario(show) => show(&settings.scenario),
            Show::Outputs(show) => show(&settings.outputs),
            Show::Placement(show) => show(&settings.placement),
        }
    }

    /// Converts the field's words to a value of a record: a list for a list, a boolean for a
    /// switch, else a string; none if it is not set.
    fn value_of(&self, mut words: Vec<String>) -> Option<serde_json::Value> {
        if self.many {
            Some(words.into())
        } else if self.value.is_none() {
            Some((words == ["true"]).into())
        } else {
            words.pop().map(Into::into)
        }
    }

    /// The environment variable of this field: `MEMTIDE_KEY_SIZE`.
    pub fn variable(&self) -> String {
        layer::variable(self.name)
    }

    /// True for one of the ten fields that most runs need.
    pub fn is_common(&self) -> bool {
        COMMON.contains(&self.name)
    }

    /// True if an empty word is allowed: some servers require a user name and no password.
    fn takes_empty(&self) -> bool {
        self.name == "password"
    }
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Field({})", self.name)
    }
}

impl PartialEq for Field {
    /// Fields are equal by name, which is unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

#[cfg(test)]
mod tests;
