//! THE table: every field of a scenario, declared once. Flags, TOML keys, environment variables,
//! help, man page, completions and docs/scenario.md are all read from it.
//!
//! It knows words and where they came from; it opens no file and reads no environment itself.

mod clients;
mod data;
mod layer;
mod limits;
mod churn;
mod load;
mod measurement;
mod output;
mod parse;
mod target;

pub(crate) use layer::unknown;
pub use layer::{FieldError, Layer, Origin};

use crate::scenario::{Outputs, Scenario, Settings};

/// One field of a scenario.
pub struct Field {
    /// The name: of the flag after its two dashes, and of the TOML key.
    pub name: &'static str,
    /// The flag's one-letter form.
    pub short: Option<char>,
    /// What stands for the value in help; none for a switch, which takes none.
    pub value: Option<&'static str>,
    /// The default as shown to people; empty when there is none.
    pub default: &'static str,
    /// The meaning in one line.
    pub help: &'static str,
    /// The meaning in full: grammar, units, bounds, an example.
    pub long: &'static str,
    /// Where it stands in help and docs.
    pub section: Section,
    /// Whether it is a list: may be repeated, and takes comma lists.
    pub many: bool,
    /// How a word becomes its value.
    set: Set,
    /// How its value becomes words.
    show: Show,
}

/// Sets a field from a word; for a list, from the whole comma list, replacing what was there. The
/// error says what is wrong with the word and what is allowed.
#[derive(Clone, Copy)]
enum Set {
    Scenario(fn(&mut Scenario, &str) -> Result<(), String>),
    Outputs(fn(&mut Outputs, &str) -> Result<(), String>),
}

/// The words that `Set` would need to make a field what it is; none when it is not given.
#[derive(Clone, Copy)]
enum Show {
    Scenario(fn(&Scenario) -> Vec<String>),
    Outputs(fn(&Outputs) -> Vec<String>),
}

/// A group of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Which servers, and how they are reached.
    Target,
    /// How much load, and when.
    Load,
    /// What is asked for.
    Data,
    /// When to stop, and when to give up.
    Limits,
    /// How it is measured and judged.
    Measurement,
    /// Where results go.
    Output,
}

impl Section {
    /// Every section, in the order of help and docs.
    pub const ALL: [Self; 6] =
        [Self::Target, Self::Load, Self::Data, Self::Limits, Self::Measurement, Self::Output];

    /// The heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Target => "Target",
            Self::Load => "Load",
            Self::Data => "Data",
            Self::Limits => "Limits",
            Self::Measurement => "Measurement",
            Self::Output => "Output",
        }
    }
}

/// Every field, section by section.
pub static FIELDS: &[Field] = &[
    target::SERVER,
    target::CONNECTIONS,
    target::DEPTH,
    target::REFILL,
    clients::CLIENTS,
    clients::CONNECTIONS_PER_CLIENT,
    clients::CONNECTION_TURN,
    target::RECONNECT,
    target::BIND,
    target::NAGLE,
    target::PROTOCOL,
    target::TRANSPORT,
    clients::WRITERS,
    clients::REPLICATE,
    target::TRAILING_BLANK,
    target::SEND_BUFFER,
    target::RECEIVE_BUFFER,
    target::BUSY_POLL,
    target::USER,
    target::PASSWORD,
    load::RATE,
    load::RATE_UNIT,
    load::ARRIVAL,
    load::SCHEDULE,
    load::ON_FULL,
    load::PAUSE_AFTER_REPLY,
    load::WAVE,
    load::BEFORE,
    load::AFTER,
    churn::CALLS,
    churn::CONNECTION_RATE,
    churn::CONNECTION_ARRIVAL,
    churn::CALL_RATE,
    churn::GAP_DRAWS,
    churn::LINGER,
    load::THREADS,
    load::PIN,
    load::WAIT,
    load::IO,
    data::KEYS,
    data::KEY_SIZE,
    data::KEY_FORM,
    data::KEY_PREFIX,
    data::KEY_FIRST,
    data::VALUE_SIZE,
    data::VALUE_DRAWS,
    data::VALUE_FILL,
    data::VALUE_MAX,
    data::POPULARITY,
    clients::WINDOW,
    clients::OVERWRITE,
    clients::PICK,
    data::MIX,
    clients::MIX_ORDER,
    data::DELTA,
    data::NUMERIC_KEYS,
    data::CAS_UNIQUE,
    data::MULTIGET,
    data::MULTIGET_SHARE,
    data::EXPIRY,
    data::EXPIRY_SHARE,
    data::FLAGS,
    data::NOREPLY,
    data::LOAD,
    data::LOAD_PARTIAL,
    limits::DURATION,
    limits::WARMUP,
    limits::OPS_MAX,
    churn::CONNECTIONS_TOTAL,
    limits::TIMEOUT,
    measurement::GOAL,
    measurement::ABORT_ON,
    measurement::ERRORS_MAX,
    measurement::STRICT,
    measurement::NO_STATS,
    measurement::VERIFY,
    measurement::VERIFY_KEYS,
    measurement::VERIFY_EXPIRY,
    measurement::MESSAGE_SIZES,
    measurement::INTERVAL,
    measurement::INTERVAL_TIMES,
    measurement::COOLDOWN,
    measurement::SEED,
    output::JSON,
    output::PLOT,
    output::SAMPLES,
    output::VERIFY_DETAILS,
    output::TAG,
    output::PLAN,
    output::QUIET,
];

/// The field of this name; `_` may stand for `-`.
pub fn find(name: &str) -> Option<&'static Field> {
    let name = name.replace('_', "-");
    FIELDS.iter().find(|field| field.name == name)
}

/// The name of the field that was probably meant: at most two slips away, or one of the two is
/// the beginning of the other.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-").to_ascii_lowercase();
    let slips = |field: &&Field| strsim::damerau_levenshtein(field.name, &name);
    let near = FIELDS.iter().min_by_key(slips).filter(|field| {
        // Two slips in a word of three letters make any word of any other.
        slips(field) <= 2 && slips(field) * 2 < name.chars().count().max(3)
    });
    let begins = |field: &&Field| {
        (name.len() >= 2 && field.name.starts_with(&name)) || name.starts_with(field.name)
    };
    near.or_else(|| FIELDS.iter().find(begins)).map(|field| field.name)
}

impl Field {
    /// Sets it from a word; for a list, from the whole comma list, replacing what was there. The
    /// error says what is wrong with the word and what is allowed.
    pub fn set(&self, settings: &mut Settings, word: &str) -> Result<(), String> {
        match self.set {
            Set::Scenario(set) => set(&mut settings.scenario, word),
            Set::Outputs(set) => set(&mut settings.outputs, word),
        }
    }

    /// The words that [`Field::set`] would need to make it what it is; none when it is not given.
    pub fn show(&self, settings: &Settings) -> Vec<String> {
        match self.show {
            Show::Scenario(show) => show(&settings.scenario),
            Show::Outputs(show) => show(&settings.outputs),
        }
    }

    /// Its words as a value of a record: a list for a list, a boolean for a switch, else a string;
    /// none when it is not given.
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

    /// Whether an empty word is a value: some servers ask for a user's name alone.
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
