//! The layer that gengetopt generates: checks options for repetition and numbers, and answers help
//! and version. Judges no value.

use super::page;
use super::rows::{Face, Had, ROWS, Row, Takes, row};
use crate::getopt::{Argument, Entry, Reading, Words};
use crate::{Stop, number};
use std::collections::BTreeMap;

/// The exit code of a wrong command line.
const USAGE: u8 = 1;

/// The words of a command line, checked to be numbers where numbers are required.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    words: BTreeMap<&'static str, Vec<String>>,
}

impl Parsed {
    /// Parses `argv`, which is without the program's name; `program` is that name, for errors.
    pub(super) fn read(face: Face, program: &str, argv: &[String]) -> Result<Self, Stop> {
        let table = Table::new(face);
        let complain = |what: String| Stop::complaint(format!("{program}: {what}"), USAGE);
        let mut given = Self::default();
        for found in Words::new(&table.entries, argv) {
            let found = found.map_err(|fault| complain(fault.to_string()))?;
            let row = table.row(found.index, found.argument.is_some());
            match row.long {
                "help" => return Err(Stop::asked(page::help(face))),
                "version" => return Err(Stop::asked(page::version(face))),
                _ => given.add(row, found.argument).map_err(complain)?,
            }
        }
        // gengetopt parses lists after everything else.
        for row in ROWS.iter().filter(|row| row.many && row.takes == Takes::Int) {
            given.all(row.long).iter().try_for_each(|word| check(row, word)).map_err(complain)?;
        }
        Ok(given)
    }

    fn add(&mut self, row: &'static Row, argument: Option<&str>) -> Result<(), String> {
        let before = self.words.entry(row.long).or_default();
        let argument = argument.unwrap_or("");
        if row.many {
            before.extend(tokens(argument));
            return Ok(());
        }
        if !before.is_empty() {
            let letter = row.short.map_or(String::new(), |letter| format!(" (`-{letter}')"));
            return Err(format!("`--{}'{letter} option given more than once", row.long));
        }
        check(row, argument)?;
        before.push(argument.to_owned());
        Ok(())
    }

    /// True if the option is present.
    pub(super) fn has(&self, long: &str) -> bool {
        !self.all(long).is_empty()
    }

    /// The number of the option's values, with each element of a list counted.
    pub(super) fn count(&self, long: &str) -> usize {
        self.all(long).len()
    }

    /// The words of an option that may be repeated.
    pub(super) fn all(&self, long: &str) -> &[String] {
        debug_assert_eq!(row(long).long, long);
        self.words.get(long).map_or(&[], Vec::as_slice)
    }

    /// The option's word, if it is present.
    pub(super) fn word(&self, long: &str) -> Option<&str> {
        self.all(long).first().map(String::as_str)
    }

    /// The option's word, or its default.
    pub(super) fn word_or_default(&self, long: &str) -> &str {
        let word = self.word(long).or_else(|| row(long).default);
        word.expect("only asked of options with a default")
    }

    /// The option's whole number, if it is present.
    pub(super) fn int(&self, long: &str) -> Option<i32> {
        self.word(long).map(int)
    }

    /// The option's whole number, or its default.
    pub(super) fn int_or_default(&self, long: &str) -> i32 {
        int(self.word_or_default(long))
    }

    /// The whole numbers of an option that may be repeated.
    pub(super) fn ints(&self, long: &str) -> Vec<i32> {
        self.all(long).iter().map(|word| int(word)).collect()
    }

    /// The option's number, or its default.
    pub(super) fn float_or_default(&self, long: &str) -> f64 {
        number::decimal(self.word_or_default(long)).expect("numbers were checked when read")
    }
}

/// True if the dynamic fork would find an option in `argv` that only that fork has.
pub(super) fn names_dynamic(argv: &[String]) -> bool {
    let table = Table::new(Face::McperfDynamic);
    let mut found = Words::new(&table.entries, argv).map_while(Result::ok);
    found.any(|found| table.row(found.index, false).had == Had::InDynamic)
}

/// A measure of how well the mcperfs can read a command line.
pub(crate) fn reading(argv: &[String]) -> Reading {
    let table = Table::new(Face::McperfDynamic);
    let (mut has_port, mut has_agent) = (false, false);
    let reading = Words::new(&table.entries, argv).reading(|found| {
        let row = table.row(found.index, found.argument.is_some());
        has_port |= row.long == "agent_port";
        has_agent |= matches!(row.long, "agent" | "agentmode");
        row.many || check(row, found.argument.unwrap_or("")).is_ok()
    });
    Reading { has_idle_port: has_port && !has_agent, ..reading }
}

/// getopt's table for a face, and the row of each entry.
struct Table {
    entries: Vec<Entry>,
    rows: Vec<&'static Row>,
}

impl Table {
    fn new(face: Face) -> Self {
        // Every face knows both meanings of -M.
        let rows = ROWS.iter().filter(|row| row.is_of(face) || row.short == Some('M'));
        let rows: Vec<&Row> = rows.collect();
        let entries = rows.iter().map(|row| Entry {
            long: row.long,
            short: row.short.filter(|letter| *letter != 'M'),
            argument: match row.takes {
                Takes::Nothing => Argument::None,
                _ => Argument::Required,
            },
            value: row.short.map_or(0, u32::from),
            yields: row.added || !row.is_of(face),
        });
        let both = Entry {
            long: "",
            short: Some('M'),
            argument: Argument::Integer,
            value: 0,
            yields: false,
        };
        Self { entries: entries.chain([both]).collect(), rows }
    }

    /// The row of an entry; for the letter M it depends on a number behind it.
    fn row(&self, index: usize, has_argument: bool) -> &'static Row {
        let both = if has_argument { "poll_max" } else { "masterless_agentmode" };
        self.rows.get(index).copied().unwrap_or_else(|| row(both))
    }
}

/// Checks that a word is what its option takes. A whole number that exceeds C's int is refused,
/// where the originals would use another number.
fn check(row: &Row, word: &str) -> Result<(), String> {
    let fits = match row.takes {
        Takes::Nothing | Takes::Word(_) => true,
        Takes::Int => number::integer(word).is_some_and(|number| i32::try_from(number).is_ok()),
        Takes::Float | Takes::Double => number::decimal(word).is_some(),
    };
    if fits { Ok(()) } else { Err(format!("invalid numeric value: {word}")) }
}

fn int(word: &str) -> i32 {
    let number = number::integer(word).and_then(|number| i32::try_from(number).ok());
    number.expect("numbers were checked when read")
}

/// Splits a list at commas; `\,` is a comma within an element, and a comma at the very end adds no
/// element.
fn tokens(list: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = tokens.last_mut().expect("there is always a last token");
        match letter {
            '\\' if letters.peek() == Some(&',') => {
                letters.next();
                last.push(',');
            }
            ',' if letters.peek().is_none() => {}
            ',' => tokens.push(String::new()),
            _ => last.push(letter),
        }
    }
    tokens
}
