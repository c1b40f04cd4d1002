//! Lines and columns: labelled lines, wrapped sentences, aligned tables.
//!
//! Outside a terminal only tables exceed [`WIDTH`] characters, and lines that programs search for,
//! which are never broken. On a terminal no line is wider than the terminal. A narrow layout is
//! made for 80 columns whatever it is printed on.

/// Largest width of a line, in characters.
const WIDTH: usize = 120;
/// Width of a narrow layout, in characters.
const NARROW: usize = 80;
/// Narrowest terminal to which lines are fitted: a narrower one breaks lines by itself.
const COLUMNS_MIN: usize = 40;
/// Width of the labels in front of lines.
const LABEL: usize = 11;

/// A text under construction, with its largest width.
#[derive(Debug)]
pub(crate) struct TextLayout {
    text: String,
    /// Columns of the terminal for which the text is made; none for no terminal.
    columns: Option<usize>,
    /// True if nothing but a line that programs search for is wider than [`NARROW`].
    is_narrow: bool,
}

impl TextLayout {
    /// An empty sheet, for a terminal of `columns` columns or for no terminal.
    pub(crate) fn new(columns: Option<usize>) -> Self {
        let columns = columns.map(|columns| columns.max(COLUMNS_MIN));
        Self { text: String::new(), columns, is_narrow: false }
    }

    /// An empty narrow sheet, for a terminal of `columns` columns or for no terminal.
    pub(crate) fn narrow(columns: Option<usize>) -> Self {
        Self { is_narrow: true, ..Self::new(columns) }
    }

    /// Continues as a wide sheet.
    pub(crate) fn widen(&mut self) {
        self.is_narrow = false;
    }

    pub(crate) fn push(&mut self, letter: char) {
        self.text.push(letter);
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Largest width of a sentence.
    fn width(&self) -> usize {
        let width = if self.is_narrow { NARROW } else { WIDTH };
        self.columns.map_or(width, |columns| columns.min(width))
    }

    /// Largest width of a table; none if it is unlimited.
    fn table_width(&self) -> Option<usize> {
        let narrow = self.is_narrow.then_some(NARROW);
        narrow.into_iter().chain(self.columns).min()
    }
}

/// Adds a line that programs search for: only a terminal's width breaks it. Begins with `first`;
/// further lines begin with `rest`.
pub(crate) fn unbroken(out: &mut TextLayout, first: &str, rest: &str, text: &str) {
    match out.columns {
        Some(_) => wrapped(out, first, rest, text),
        None => out.text.push_str(&format!("{first}{text}\n")),
    }
}

/// Adds a line with its label; further lines are indented by the label's width.
pub(crate) fn labelled(out: &mut TextLayout, label: &str, text: &str) {
    let first = format!("{label:<LABEL$}");
    wrapped(out, &first, &" ".repeat(LABEL), text);
}

/// Adds a sentence that begins with `first`; further lines begin with `rest`. It is broken at
/// spaces, and a word that is longer than a line after its commas.
pub(crate) fn wrapped(out: &mut TextLayout, first: &str, rest: &str, text: &str) {
    let width_max = out.width();
    let out = &mut out.text;
    out.push_str(first);
    let mut width = first.chars().count();
    let room = width_max - rest.chars().count();
    let mut fresh = true;
    for word in text.split(' ') {
        let mut space = usize::from(!fresh);
        for piece in pieces(word, room) {
            let length = piece.chars().count();
            if !fresh && width + space + length > width_max {
                out.push('\n');
                out.push_str(rest);
                width = width_max - room;
                space = 0;
            }
            out.push_str(&" ".repeat(space));
            out.push_str(piece);
            width += space + length;
            (space, fresh) = (0, false);
        }
    }
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

/// Adds a command that begins with `first`, broken as a shell reads it: a line that another one
/// continues ends in a backslash. The `comment` behind it is not broken.
pub(crate) fn continued(out: &mut TextLayout, first: &str, command: &str, comment: &str) {
    let room = out.width().saturating_sub(2);
    let indent = " ".repeat(first.chars().count());
    let mut line = first.to_owned();
    let mut fresh = true;
    for word in command.split(' ').chain([comment]) {
        if !fresh && line.chars().count() + 1 + word.chars().count() > room {
            out.text.push_str(&format!("{line} \\\n"));
            line.clone_from(&indent);
            fresh = true;
        }
        line.push_str(if fresh { "" } else { " " });
        line.push_str(word);
        fresh = false;
    }
    out.text.push_str(&line);
    out.text.push('\n');
}

/// The pieces into which a word may be broken.
fn pieces(word: &str, room: usize) -> Vec<&str> {
    match word.chars().count() > room {
        true => word.split_inclusive(',').collect(),
        false => vec![word],
    }
}

/// Rows of cells. The first column is aligned to the left, the others to the right.
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
    /// Headings of columns that a narrow terminal may omit, least needed first.
    dispensable: Vec<String>,
}

impl TextTable {
    /// A table with its heading row. It omits the `dispensable` columns, one after the other, if it
    /// would be wider than the terminal.
    pub(crate) fn new(heading: &[impl AsRef<str>], dispensable: &[&str]) -> Self {
        let rows = vec![heading.iter().map(|cell| cell.as_ref().to_owned()).collect()];
        Self { rows, dispensable: dispensable.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// Adds a row; it may be shorter than the heading.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert!(cells.len() <= self.rows[0].len(), "a row is no longer than the heading");
        self.rows.push(cells);
    }

    /// The cells of the heading and of each row.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Adds the table to `out`, with two spaces between columns.
    pub(crate) fn render(&self, out: &mut TextLayout) {
        let widths: Vec<usize> = (0..self.rows[0].len()).map(|at| self.width(at)).collect();
        let shown = shown_columns(&self.rows[0], &widths, &self.dispensable, out.table_width());
        for row in &self.rows {
            let mut line = String::new();
            for &column in &shown {
                let (cell, width) = (row.get(column).map_or("", String::as_str), widths[column]);
                match column {
                    0 => line.push_str(&format!("{cell:<width$}")),
                    _ => line.push_str(&format!("  {cell:>width$}")),
                }
            }
            out.text.push_str(line.trim_end());
            out.push('\n');
        }
    }

    /// Width of a column, in characters.
    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

/// Numbers of the columns that are shown: all, or the rest when the first few of `dispensable` are
/// omitted until a row, with two spaces between columns, fits a terminal of `columns`.
pub(crate) fn shown_columns<S: AsRef<str>>(
    heading: &[S],
    widths: &[usize],
    dispensable: &[impl AsRef<str>],
    columns: Option<usize>,
) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..heading.len()).collect();
    for name in dispensable {
        let width: usize = shown.iter().map(|&column| widths[column] + 2).sum();
        if columns.is_none_or(|columns| width <= columns + 2) {
            break;
        }
        shown.retain(|&column| heading[column].as_ref() != name.as_ref());
    }
    shown
}

#[cfg(test)]
mod tests;
