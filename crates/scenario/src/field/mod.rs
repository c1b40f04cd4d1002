//! The table of fields: every field of a scenario, declared once. Flags, TOML keys, environment
//! variables, help, man page, completions and docs/scenario.md are all read from it.
//!
//! It knows words and their origin; it opens no file and reads no environment itself.

mod churn;
mod data;
mod layer;
mod load;
mod machine;
mod measurement;
mod output;
mod parse;
mod placement;
mod target;
mod tls;

pub(crate) use layer::unknown;
pub use layer::{FieldError, Layer, Origin, given_fields, scenario_file};

use self::parse::member;
use crate::scenario::{Outputs, Placement, Scenario, Settings};
use memtide_base::worded;

/// One field of a scenario.
#[derive(Clone, Copy)]
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
    /// The rule for a scenario that a master sends to its agents.
    pub agents: AgentRule,
    /// The member of the settings that holds the value.
    member: Member,
}

/// The member of the settings that holds a field's value: `set` reads it from a word, for a list
/// from a whole comma list that replaces it, or says what is wrong with the word and what is
/// allowed; `show` returns the words from which `set` would restore it, none if it is not set.
#[derive(Clone, Copy)]
enum Member {
    Scenario { set: Set<Scenario>, show: Show<Scenario> },
    Outputs { set: Set<Outputs>, show: Show<Outputs> },
    Placement { set: Set<Placement>, show: Show<Placement> },
}

type Set<T> = fn(&mut T, &str) -> Result<(), String>;
type Show<T> = fn(&T) -> Vec<String>;

/// The rule for a field in a scenario that a master sends to its agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentRule {
    /// The master decides: the field describes the load and its judgement, and names no file of the
    /// agent's machine.
    Allowed,
    /// Refused: it names a file or a stream that the agent would write.
    Output,
    /// Refused: it is a credential for a server.
    Credential,
    /// Refused: it lets the parts of a run find each other, which master and agents do by
    /// themselves.
    Meeting,
}

worded! {
    /// A group of fields.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Section {
        /// Which servers to measure, and how to reach them.
        Target = "Target",
        /// Connections, clients and their pipelines.
        Connections = "Connections",
        /// How much load to send, and when.
        Load = "Load",
        /// Keys, values and operations.
        Data = "Data",
        /// Goals, and what is recorded.
        Measurement = "Measurement",
        /// Checks of the values that servers return.
        Verification = "Verification",
        /// Where results go.
        Output = "Output",
        /// Connections that are opened and closed as part of the load.
        Churn = "Connection churn",
        /// How this machine runs the workers.
        Machine = "Client machine",
        /// Share of the run that this process carries out, and how shares begin together.
        Placement = "Several machines",
    }
    /// The heading.
    pub const fn title;
    /// Every section, in the order of help and docs.
    pub const ALL;
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
pub static FIELDS: &[Field] = &joined::<125>(&[
    target::TARGET_FIELDS,
    tls::TLS_FIELDS,
    target::CONNECTIONS_FIELDS,
    load::FIELDS,
    data::FIELDS,
    measurement::MEASUREMENT_FIELDS,
    measurement::VERIFICATION_FIELDS,
    output::FIELDS,
    churn::FIELDS,
    machine::FIELDS,
    placement::FIELDS,
]);

/// The fields of all sections in a row; does not compile unless they are `N`.
const fn joined<const N: usize>(sections: &[&[Field]]) -> [Field; N] {
    let mut all = [sections[0][0]; N];
    let (mut count, mut section) = (0, 0);
    while section < sections.len() {
        let mut row = 0;
        while row < sections[section].len() {
            all[count] = sections[section][row];
            count += 1;
            row += 1;
        }
        section += 1;
    }
    assert!(count == N, "the number of fields");
    all
}

/// The field with this name; `_` may stand for `-`.
pub fn find(name: &str) -> Option<&'static Field> {
    let name = name.replace('_', "-");
    FIELDS.iter().find(|field| field.name == name)
}

/// The name of the field that was probably meant: at most two typing errors away, or one name is
/// the beginning of the other.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-").to_ascii_lowercase();
    let near = FIELDS.iter().min_by_key(|field| slips(field.name, &name));
    let near = near.filter(|field| is_misspelt(field.name, &name));
    near.or_else(|| FIELDS.iter().find(|it| begins(it.name, &name))).map(|field| field.name)
}

/// True if `name` was probably meant for the name `known`: at most two typing errors away, or one
/// is the beginning of the other.
pub fn is_near(known: &str, name: &str) -> bool {
    is_misspelt(known, name) || begins(known, name)
}

fn slips(known: &str, name: &str) -> usize {
    strsim::damerau_levenshtein(known, name)
}

fn is_misspelt(known: &str, name: &str) -> bool {
    // Two typing errors turn any word of three letters into any other.
    slips(known, name) <= 2 && slips(known, name) * 2 < name.chars().count().max(3)
}

fn begins(known: &str, name: &str) -> bool {
    (name.len() >= 2 && known.starts_with(name)) || name.starts_with(known)
}

impl Field {
    /// A switch of `section`, off by default: what a row says changes it.
    const fn of(section: Section, agents: AgentRule) -> Self {
        Self {
            name: "",
            short: None,
            value: None,
            default: "",
            help: "",
            long: "",
            section,
            many: false,
            agents,
            member: Member::Scenario { set: |_, _| Ok(()), show: |_| Vec::new() },
        }
    }

    /// Sets the field from a word; a list, from a whole comma list that replaces its value. The
    /// error says what is wrong with the word and what is allowed.
    pub fn set(&self, settings: &mut Settings, word: &str) -> Result<(), String> {
        match self.member {
            Member::Scenario { set, .. } => set(&mut settings.scenario, word),
            Member::Outputs { set, .. } => set(&mut settings.outputs, word),
            Member::Placement { set, .. } => set(&mut settings.placement, word),
        }
    }

    /// The words from which [`Field::set`] would restore the present value; none if it is not set.
    pub fn show(&self, settings: &Settings) -> Vec<String> {
        match self.member {
            Member::Scenario { show, .. } => show(&settings.scenario),
            Member::Outputs { show, .. } => show(&settings.outputs),
            Member::Placement { show, .. } => show(&settings.placement),
        }
    }

    /// Converts the field's words to a value of a record: a list for a list, a boolean for a
    /// switch, else a string; none if it is not set.
    fn value_of(&self, mut words: Vec<String>) -> Option<serde_json::Value> {
        if self.many {
            Some(words.into())
        } else if self.value.is_none() && words.iter().all(|word| word == "true" || word == "false")
        {
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
