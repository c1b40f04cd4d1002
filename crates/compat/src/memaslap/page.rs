//! The page of `--help` and the line of `--version`: memaslap's layout, our words. Knows the
//! columns, not the options' effects.

use super::rows::{ROWS, Row};

/// The column of a description.
const TEXT_COLUMN: usize = 8;
/// The length of a line.
const COLUMNS: usize = 80;

/// The line of `--version`.
pub(super) const VERSION: &str = "memaslap v1.0\n";

/// The whole page.
pub(super) fn help() -> String {
    let mut page = VERSION.to_owned();
    page += "    Loads memcached servers as many clients would, and checks their answers.\n\n";
    page += "Usage:\n    memaslap -s servers [-F config_file] [-t time | -x exe_num] [...]\n\n";
    page += "Options:\n";
    ROWS.iter().filter(|row| !row.added).for_each(|row| page += &option(row));
    page += "\nAdditional options of memtide:\n";
    ROWS.iter().filter(|row| row.added).for_each(|row| page += &option(row));
    page += EXAMPLES;
    page
}

fn option(row: &Row) -> String {
    let short = row.short.map_or(String::new(), |letter| format!("-{letter}, "));
    let mark = if row.takes { '=' } else { ' ' };
    let mut text = format!("    {short}--{}{mark}\n", row.long);
    let mut line = String::new();
    for word in row.text.split_whitespace() {
        if !line.is_empty() && TEXT_COLUMN + line.len() + 1 + word.len() > COLUMNS {
            text += &format!("{:TEXT_COLUMN$}{line}\n", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    text + &format!("{:TEXT_COLUMN$}{line}\n", "")
}

const EXAMPLES: &str = "
Examples:
    memaslap -s 127.0.0.1:11211 -S 5s
    memaslap -s 127.0.0.1:11211 -t 2m -v 0.2 -e 0.05 -b
    memaslap -s 127.0.0.1:11211 -F config -t 2m -T 4 -c 128 -d 20 -P 40k
    memaslap -s 127.0.0.1:11211,127.0.0.1:11212 -F config -t 2m -p 2

";
