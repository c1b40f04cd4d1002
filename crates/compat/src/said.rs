//! A builder of scenarios: fields of memtide's own command line, set one by one. Decides nothing;
//! the scenario checks the values.

use memtide_base::Span;
use memtide_scenario::field::find;
use memtide_scenario::{Given, Layer, Origin, Settings};

/// The largest value of the originals, in bytes, which a memcached without options refuses.
const VALUE_BYTES_MAX: u64 = 1024 * 1024;

/// The fields set so far.
pub(crate) struct Said(Layer);

impl Said {
    /// No fields but the largest value, which is that of every original.
    pub(crate) fn new() -> Self {
        let mut said = Self(Layer::new());
        said.say("value-max", VALUE_BYTES_MAX);
        said
    }

    pub(crate) fn say(&mut self, field: &str, word: impl ToString) {
        self.say_all(field, vec![word.to_string()]);
    }

    pub(crate) fn say_all(&mut self, field: &str, words: Vec<String>) {
        let field = find(field).expect("only fields of the table are said");
        self.0.push(field, words, Origin::Flag);
    }

    pub(crate) fn switch(&mut self, field: &str, on: bool) {
        if on {
            self.say(field, true);
        }
    }

    /// The settings of all fields. The error names a field that no machine could carry out. A face
    /// sets fields to their defaults where they have no effect, so none of them counts as the
    /// user's.
    pub(crate) fn settings(&self) -> Result<Settings, Wrong> {
        let mut settings = Settings::default();
        settings.apply(&self.0).map_err(|error| Wrong {
            message: error.to_string(),
            field: error.field.unwrap_or_default(),
        })?;
        settings.given = Given::default();
        match settings.check().into_iter().next() {
            Some(problem) => Err(Wrong { field: problem.field, message: problem.message }),
            None => Ok(settings),
        }
    }
}

/// A span as a field of the scenario takes it.
pub(crate) fn nanoseconds(span: Span) -> String {
    format!("{}ns", span.ns())
}

/// A sentence of the scenario with the names of its fields in place of memtide's flags.
pub(crate) fn without_flags(message: &str) -> String {
    message.replace("--", "")
}

/// A value that no machine could carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The scenario's field.
    pub(crate) field: String,
    /// The sentence in the words of memtide's own command line.
    pub(crate) message: String,
}

impl Wrong {
    /// The sentence in the words of a face, whose `options` map to fields. For a field that is none
    /// of its options, it has the field's name.
    pub(crate) fn in_words(&self, options: &[(&str, &str)]) -> String {
        let of_field = options.iter().find(|(field, _)| *field == self.field);
        let Some((field, option)) = of_field else { return without_flags(&self.message) };
        let bare = self.message.strip_prefix("--").unwrap_or(&self.message);
        let rest = bare.strip_prefix(field).unwrap_or(bare).trim_start_matches([':', ' ']);
        // The remedy behind the colon refers to memtide's own forms.
        let what = rest.split(": ").next().unwrap_or(rest);
        format!("{option}: {what}")
    }
}
