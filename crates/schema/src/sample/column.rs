//! The columns of a table of rows: what each is called, and what its cells hold. Formats that
//! declare their columns take them from here; no row and no format is known.

use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// A column of a table that an output writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name in the heading. That of a time ends with its unit.
    pub name: Cow<'static, str>,
    /// What a cell holds.
    pub cell: CellForm,
    /// The unit of its numbers; none for counts, positions and words.
    pub unit: Option<&'static str>,
    /// True if a cell can be empty, because there is nothing to tell.
    pub is_optional: bool,
    /// What a cell tells.
    pub meaning: &'static str,
}

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellForm {
    /// A whole number, 0 to 2⁶⁴ − 1.
    Whole,
    /// A number with a fraction.
    Fraction,
    /// One of a few words of our own.
    Word,
    /// Any bytes.
    Bytes,
}

impl Column {
    /// A column whose cells are never empty.
    pub(crate) const fn always(name: &'static str, cell: CellForm, meaning: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), cell, unit: None, is_optional: false, meaning }
    }

    /// A column whose cells can be empty.
    pub(crate) const fn maybe(name: &'static str, cell: CellForm, meaning: &'static str) -> Self {
        let mut column = Self::always(name, cell, meaning);
        column.is_optional = true;
        column
    }

    /// This column with a unit.
    #[must_use]
    pub(crate) const fn in_unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// What is to be known of `columns`, as a JSON object by their names.
    pub fn description(columns: &[Self]) -> String {
        let about = |column: &Self| {
            let about = json!({ "unit": column.unit, "meaning": column.meaning });
            (column.name.to_string(), about)
        };
        Value::Object(columns.iter().map(about).collect::<Map<_, _>>()).to_string()
    }
}
