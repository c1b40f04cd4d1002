//! The page of `--help`: gengetopt's layout, our words. Knows the columns, not the options'
//! effects.

use super::rows::{Face, ROWS, Row, Section, Takes};

/// The column of a description and of its further lines.
const TEXT_COLUMN: usize = 32;
const FURTHER_COLUMN: usize = 34;
/// The length of a line.
const COLUMNS: usize = 80;
/// What follows the options; the profiles for the mcperfs alone.
const MEASURE: &str = include_str!("page/measure.txt");
const PROFILES: &str = include_str!("page/profiles.txt");
const DISTRIBUTIONS: &str = include_str!("page/distributions.txt");

/// `NAME VERSION`, as `--version` prints it.
pub(super) fn version(face: Face) -> String {
    let (name, version) = identity(face);
    format!("{name} {version}\n")
}

fn identity(face: Face) -> (&'static str, &'static str) {
    if face.is_mutilate() { ("mutilate", "0.1") } else { ("mcperf", "0.3") }
}

/// The whole page of a face.
pub(super) fn help(face: Face) -> String {
    let (name, _) = identity(face);
    let mut page = version(face);
    page += &format!("\nUsage: {name} -s server[:port] [options]\n\n");
    page += "\"High-performance\" memcached benchmarking tool\n\n";
    let mut section = Section::General;
    for row in ROWS.iter().filter(|row| row.is_of(face)) {
        if row.section != section {
            section = row.section;
            page += &format!("\n{}:\n", heading(section));
        }
        page += &option(row);
    }
    page += MEASURE;
    if !face.is_mutilate() {
        page += PROFILES;
    }
    page += DISTRIBUTIONS;
    page
}

fn heading(section: Section) -> &'static str {
    match section {
        Section::General => "General options",
        Section::Basic => "Basic options",
        Section::Advanced => "Advanced options",
        Section::Agent => "Agent-mode options",
        Section::Ours => "Additional options of memtide",
    }
}

fn option(row: &Row) -> String {
    let short = row.short.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
    let takes = match row.takes {
        Takes::Nothing => String::new(),
        Takes::Int => "=INT".to_owned(),
        Takes::Float => "=FLOAT".to_owned(),
        Takes::Double => "=DOUBLE".to_owned(),
        Takes::Word(word) => format!("={word}"),
    };
    let mut text = format!("  {short}--{}{takes}", row.long);
    let mut words: Vec<String> = row.text.split_whitespace().map(str::to_owned).collect();
    if let Some(default) = row.default {
        words.push(format!(" (default=`{default}')"));
    }
    let mut column = text.len();
    let mut gap = TEXT_COLUMN.saturating_sub(column).max(1);
    for word in words {
        if column > TEXT_COLUMN && column + gap + word.len() > COLUMNS {
            text += "\n";
            (column, gap) = (0, FURTHER_COLUMN);
        }
        let word = if column == 0 { word.trim_start() } else { &word };
        text += &" ".repeat(gap);
        text += word;
        column += gap + word.len();
        gap = 1;
    }
    text + "\n"
}
