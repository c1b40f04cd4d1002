//! Lines and columns: labelled lines, wrapped sentences, aligned tables.
//!
//! Nothing is wider than [`WIDTH`] characters but a table that cannot be narrower, and lines that
//! programs look for, which are never broken.

/// The widest line, in characters.
const WIDTH: usize = 120;
/// The width of the labels in front of lines.
const LABEL: usize = 11;

/// A line with its label, wrapped under its own beginning.
pub(crate) fn labelled(out: &mut String, label: &str, text: &str) {
    let first = format!("{label:<LABEL$}");
    wrapped(out, &first, &" ".repeat(LABEL), text);
}

/// A sentence that begins with `first`; its further lines begin with `rest`. It is broken at
/// spaces, and a word that is longer than a line after its commas.
pub(crate) fn wrapped(out: &mut String, first: &str, rest: &str, text: &str) {
    out.push_str(first);
    let mut width = first.chars().count();
    let room = WIDTH - rest.chars().count();
    let mut fresh = true;
    for word in text.split(' ') {
        let mut space = usize::from(!fresh);
        for piece in pieces(word, room) {
            let length = piece.chars().count();
            if !fresh && width + space + length > WIDTH {
                out.push('\n');
                out.push_str(rest);
                width = WIDTH - room;
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

/// The parts between which a word may be broken.
fn pieces(word: &str, room: usize) -> Vec<&str> {
    match word.chars().count() > room {
        true => word.split_inclusive(',').collect(),
        false => vec![word],
    }
}

/// Rows of cells. The first column is aligned to the left, the others to the right.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with its heading row.
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(|&cell| cell.to_owned()).collect()] }
    }

    /// Adds a row; it may be shorter than the heading.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert!(cells.len() <= self.rows[0].len(), "a row is no longer than the heading");
        self.rows.push(cells);
    }

    /// The table, two spaces between columns.
    pub(crate) fn render(&self, out: &mut String) {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => line.push_str(&format!("{cell:<width$}")),
                    _ => line.push_str(&format!("  {cell:>width$}")),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_wrapped_under_themselves() {
        let mut out = String::new();
        let text = "word ".repeat(40);
        labelled(&mut out, "label", text.trim_end());
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("label      word") && lines[1].starts_with("           word"));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn a_list_longer_than_a_line_is_broken_after_commas() {
        let list = "uniform:1,2;".repeat(5) + &"123:0.5,".repeat(30);
        let mut out = String::new();
        labelled(&mut out, "data", &format!("values {list} and more"));
        assert!(out.lines().count() > 2 && out.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(out.split_whitespace().nth(1), Some("values"));
        assert_eq!(
            out.replace("\n           ", ""),
            format!("data       values {list} and more\n")
        );
    }

    #[test]
    fn columns_are_aligned_by_characters() {
        let mut table = Table::new(&["op", "p50"]);
        table.row(vec!["all".to_owned(), "90.3 µs".to_owned()]);
        table.row(vec!["set".to_owned(), "—".to_owned()]);
        let mut out = String::new();
        table.render(&mut out);
        assert_eq!(out, "op       p50\nall  90.3 µs\nset        —\n");
    }
}
