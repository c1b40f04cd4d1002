//! The fields that a user set, by their origins. Values are not looked at: a field that was set to
//! its default is set.

use std::collections::BTreeMap;

/// The fields that a user set, whatever their values.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The fields by name; true for one that only a flag or a variable set.
    fields: BTreeMap<&'static str, bool>,
}

impl Given {
    /// Notes that one more layer set `field`, to a value that is to have an effect if `is_asked`.
    pub(crate) fn note(&mut self, field: &'static str, is_asked: bool) {
        let is_first = !self.has(field);
        self.fields.insert(field, is_first && is_asked);
    }

    /// True if the user set `field`, in whatever place.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// True if a flag or a variable set `field`, and nothing else did: who overrides a value may
    /// take it back by the default. Files do not count, because those that memtide writes have
    /// every field.
    pub(super) fn is_asked(&self, field: &str) -> bool {
        self.fields.get(field) == Some(&true)
    }
}
