//! Layers of settings: words from the flags, the environment and the file, each with its origin.
//!
//! A higher layer is applied later and wins; its lists replace lower ones. An error names the field
//! as its origin spells it.

use super::{FIELDS, Field, Member, find, nearest};
use crate::scenario::{Scenario, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

/// Prefix of memtide's environment variables.
const PREFIX: &str = "MEMTIDE_";

/// Fields as words, by name.
type Words = serde_json::Map<String, Value>;

/// Origin of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// The environment.
    Environment,
    /// A file.
    File {
        /// Path of the file, as the user wrote it.
        path: String,
        /// Line number, from 1.
        line: u32,
    },
}

/// The settings of one origin, field by field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    field: &'static Field,
    words: Vec<String>,
    origin: Origin,
}

impl Layer {
    /// An empty layer.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds the words for `field`; an empty `words` stands for an empty list.
    pub fn push(&mut self, field: &'static Field, words: Vec<String>, origin: Origin) {
        self.entries.push(Entry { field, words, origin });
    }

    /// True if this layer sets `field`.
    pub fn mentions(&self, field: &Field) -> bool {
        self.entries.iter().any(|entry| entry.field == field)
    }

    /// The layer of an environment: its variables that begin with `MEMTIDE_`. Other variables may
    /// hold any bytes. An error names a variable that matches no field, or whose value is not
    /// UTF-8.
    pub fn from_environment<T: Into<OsString>>(
        variables: impl IntoIterator<Item = (T, T)>,
    ) -> Result<Self, FieldError> {
        let mut layer = Self::new();
        let origin = Origin::Environment;
        for (variable, word) in variables {
            let variable = variable.into();
            let variable = variable.to_string_lossy();
            let Some(name) = variable.strip_prefix(PREFIX) else { continue };
            let name = name.to_ascii_lowercase().replace('_', "-");
            let field = find(&name).ok_or_else(|| unknown(&name, origin.clone()))?;
            let word = word.into().into_string().map_err(|word| FieldError {
                field: Some(name),
                origin: origin.clone(),
                message: format!("the value {word:?} is not UTF-8 text; give it as UTF-8"),
            })?;
            layer.push(field, vec![word], origin.clone());
        }
        Ok(layer)
    }
}

impl Settings {
    /// Sets every field that `layer` mentions. The error names the first word that is not allowed,
    /// such as an empty one; the settings are then partly changed and must be discarded. A list
    /// without words is an empty list.
    pub fn apply(&mut self, layer: &Layer) -> Result<(), FieldError> {
        for Entry { field, words, origin } in &layer.entries {
            let fail = |message| FieldError {
                field: Some(field.name.to_owned()),
                origin: origin.clone(),
                message,
            };
            if words.iter().any(|word| word.trim().is_empty()) && !field.takes_empty() {
                return Err(fail(empty(field)));
            }
            let word = match words.as_slice() {
                [word] => word.clone(),
                words if field.many => words.join(","),
                words => {
                    return Err(fail(format!("it takes one value, {} were given", words.len())));
                }
            };
            field.set(self, &word).map_err(fail)?;
            // A switch that is off asks for nothing.
            let is_asked = field.value.is_some() && !matches!(origin, Origin::File { .. });
            self.given.note(field.name, is_asked);
        }
        Ok(())
    }

    /// True if the user set `field`, also to its default, or the program gave it another value.
    pub fn sets(&self, field: &Field) -> bool {
        self.given.has(field.name) || field.show(self) != field.show(&Self::default())
    }

    /// Every field that has a value or a default, as words: a list for a list, a boolean for a
    /// switch, else a string. Written as TOML, they are a scenario file that gives the same
    /// settings.
    pub fn words(&self) -> Words {
        let fields = FIELDS.iter();
        fields.filter_map(|it| Some((it.name.to_owned(), it.value_of(it.show(self))?))).collect()
    }
}

/// Turns the words of a record's scenario into a scenario file that runs the same load again.
pub fn scenario_file(words: &Words) -> String {
    words.iter().map(|(name, word)| format!("{name} = {word}\n")).collect()
}

impl Scenario {
    /// The scenario's part of [`Settings::words`]: all but outputs and placement.
    pub fn words(&self) -> Words {
        let words = FIELDS.iter().filter_map(|field| match field.member {
            Member::Scenario { show, .. } => {
                Some((field.name.to_owned(), field.value_of(show(self))?))
            }
            Member::Outputs { .. } | Member::Placement { .. } => None,
        });
        words.collect()
    }

    /// The fields as text, by name: lists joined by commas, switches as `true` or `false`; empty
    /// lists are omitted.
    pub fn spelled(&self) -> BTreeMap<String, String> {
        let spelled = self.words().into_iter().map(|(field, value)| (field, spelled(&value)));
        spelled.filter(|(_, word)| !word.is_empty()).collect()
    }
}

/// A value of [`Scenario::words`] as text: a list joined by commas.
fn spelled(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The fields of a record's scenario that differ from the defaults, by name, with their text: the
/// flags with which the run was made, or could have been.
pub fn given_fields(words: &Words) -> Vec<(&str, String)> {
    let mut usual = Scenario::default().words();
    // These defaults follow from other fields.
    let (mut layer, mut settings) = (Layer::new(), Settings::default());
    for (name, value) in words {
        let word = Some(spelled(value)).filter(|word| !word.is_empty());
        let given = find(name).zip(word);
        given.into_iter().for_each(|(it, word)| layer.push(it, vec![word], Origin::Flag));
    }
    if settings.apply(&layer).is_ok() {
        let warmup = settings.warmup_by_default().to_string();
        usual.insert("warmup".to_owned(), Value::String(warmup));
        settings.scenario.precision.clear();
        settings.scenario.at_most = None;
        settings.decide_first_length();
        let first = settings.scenario.words().into_iter();
        usual.extend(first.filter(|(name, _)| ["precision", "at-most"].contains(&name.as_str())));
    }
    let given = words.iter().filter(|(name, value)| usual.get(*name) != Some(*value));
    let given = given.map(|(name, value)| (name.as_str(), spelled(value)));
    given.filter(|(_, word)| !word.is_empty()).collect()
}

/// A word that is not allowed, with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Name of the field, as the user wrote it; none if the file could not be parsed up to a name.
    pub field: Option<String>,
    /// Origin of the word.
    pub origin: Origin,
    /// The fault, and what is allowed.
    pub message: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, origin, message } = self;
        match (field, origin) {
            (Some(field), Origin::Flag) => write!(f, "--{field}: {message}"),
            (Some(field), Origin::Environment) => write!(f, "{}: {message}", variable(field)),
            (Some(field), Origin::File { path, line }) => {
                write!(f, "{field} in {path} line {line}: {message}")
            }
            (None, Origin::File { path, line }) => write!(f, "{path} line {line}: {message}"),
            (None, _) => f.write_str(message),
        }
    }
}

impl std::error::Error for FieldError {}

/// The environment variable of a field's name.
pub(super) fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// The error of an empty word. If it meant "not given", a script's unset variable would silently
/// change what is measured.
fn empty(field: &Field) -> String {
    let wanted = field.value.unwrap_or("true or false");
    format!("the value is empty; give {wanted}, or leave it out")
}

/// The error of a name that matches no field.
pub(crate) fn unknown(name: &str, origin: Origin) -> FieldError {
    let message = match nearest(name) {
        Some(near) if origin == Origin::Environment => {
            format!("there is no such field; did you mean {}?", variable(near))
        }
        Some(near) => format!("there is no such field; did you mean {near}?"),
        None => "there is no such field; memtide run --help-all lists them".to_owned(),
    };
    FieldError { field: Some(name.to_owned()), origin, message }
}
