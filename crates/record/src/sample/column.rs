//! The columns of a table of rows: names and types. Formats that declare their columns take them
//! from here; no row and no format is known here.

use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// A column of a table that an output writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in the heading. The name of a time ends in its unit.
    pub name: Cow<'static, str>,
    /// Type of the cells.
    pub cell: CellForm,
    /// Unit of the numbers; none for counts, positions and words.
    pub unit: Option<&'static str>,
    /// True if a cell can be empty, because the figure does not exist or is unknown.
    pub is_optional: bool,
    /// Meaning of the cells.
    pub meaning: &'static str,
}

/// Type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellForm {
    /// A whole number, 0 to 2⁶⁴ − 1.
    Whole,
    /// A number with a fraction.
    Fraction,
    /// One of a fixed set of words.
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

    /// Describes `columns` as a JSON object, by name.
    pub fn description(columns: &[Self]) -> String {
        let each = columns.iter().map(|column| {
            let about = json!({ "unit": column.unit, "meaning": column.meaning });
            (column.name.to_string(), about)
        });
        Value::Object(each.collect::<Map<_, _>>()).to_string()
    }
}
