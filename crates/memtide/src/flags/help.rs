//! The help of a command that takes a scenario, at three lengths: one screen (`-h`), the flags that
//! most runs need in detail (`--help`), and every flag (`--help-all`).
//!
//! It renders the command line's own description; it describes no flag.

use clap::{Arg, ArgAction, Command};
use memtide_scenario::{FIELDS, Section, field};
use std::ffi::{OsStr, OsString};

/// Longest line, in columns.
const COLUMNS: usize = 80;
/// Column at which the details of a flag begin.
const INDENT: usize = 10;
/// Indentation of a table within the details.
const TABLE_INDENT: usize = 2;
/// Largest number of lines of details, where only the common flags are described.
const DETAILS: usize = 3;
/// Column at which the names of further flags begin.
const INDEX_INDENT: usize = 20;

/// What stands below the list of commands.
pub(super) const BEGINNING: &str = "\
     Start with: memtide run          memtide run -s HOST --rate 50k\n\
     Codes: memtide help CODE explains a warning or a check, such as cpu_taken";

/// Length of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// The common flags, one line each.
    Summary,
    /// The common flags with their details, and the names of all others.
    Common,
    /// Every flag with its details, below a list of their groups.
    All,
}

impl Length {
    /// The length that `words`, a whole command line, requests.
    pub(crate) fn of(words: impl IntoIterator<Item = OsString>) -> Self {
        let words: Vec<OsString> = words.into_iter().collect();
        if words.iter().any(|word| word == "--help-all") {
            Self::All
        } else if words.iter().any(|word| word == "--help")
            || words.get(1).map(OsString::as_os_str) == Some(OsStr::new("help"))
        {
            Self::Common
        } else {
            Self::Summary
        }
    }
}

/// Text of a command's help besides its flags.
pub(super) struct Page {
    /// Text after `Usage: memtide`.
    pub(super) usage: &'static str,
    /// Example command line for most users.
    pub(super) example: &'static str,
    /// Meaning of each exit code.
    pub(super) exit_codes: &'static [(u8, &'static str)],
}

impl Page {
    /// The words of the usage that name the command.
    fn command(&self) -> String {
        let words = self.usage.split(' ');
        let names = words.take_while(|it| it.starts_with(|first: char| first.is_ascii_lowercase()));
        names.collect::<Vec<_>>().join(" ")
    }
}

/// Gives `command` its help of this length, and the flag `--help-all`.
pub(super) fn with_help(command: Command, page: &Page, length: Length) -> Command {
    let all = Arg::new("help-all")
        .long("help-all")
        .action(ArgAction::HelpLong)
        .help("Describe every flag");
    let command = command.after_help(exit_codes(page.exit_codes)).arg(all);
    let text = text(&command, page, length);
    command.override_help(text)
}

/// Meaning of each exit code, line by line.
fn exit_codes(codes: &[(u8, &str)]) -> String {
    let mut text = "Exit codes:".to_owned();
    for (code, meaning) in codes {
        text.push('\n');
        text.push_str(&hanging(&format!("  {code:>3}  "), meaning, 7));
    }
    text
}

fn text(command: &Command, page: &Page, length: Length) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_else(|| about.clone());
    let mut parts = vec![
        if length == Length::Summary { about } else { wrapped(&long, 0) },
        format!("{} memtide {}", bold("Usage:"), page.usage),
    ];
    let groups = groups(command, length);
    if length == Length::All {
        let titles: Vec<&str> = groups.iter().map(|(title, _)| title.as_str()).collect();
        parts.push(format!(
            "{}\n{}",
            bold("Groups of flags, each below its name with a colon:"),
            wrapped(&titles.join(", "), 2)
        ));
    }
    let column = 2 + groups.iter().flat_map(|(_, flags)| flags).map(Flag::width).max().unwrap_or(0);
    for (title, flags) in &groups {
        let lines: Vec<String> = flags.iter().map(|flag| flag.text(length, column)).collect();
        let gap = if length == Length::All { "\n\n" } else { "\n" };
        parts.push(format!("{}\n{}", bold(&format!("{title}:")), lines.join(gap)));
    }
    if length == Length::Common {
        parts.push(index(command));
    }
    let example = format!("{}\n  {}", bold("Example:"), page.example);
    parts.push(example);
    match length {
        Length::Summary => {
            let name = page.command();
            parts.push(format!(
                "memtide {name} --help says more about these flags and names the others;\n\
                 memtide {name} --help-all describes every flag."
            ));
        }
        Length::Common | Length::All => parts.push(exit_codes(page.exit_codes)),
    }
    parts.join("\n\n") + "\n"
}

/// A flag or an argument as the help prints it.
struct Flag {
    /// Name with dashes, and the placeholder of its value.
    name: String,
    help: String,
    details: String,
    default: String,
}

impl Flag {
    fn of(arg: &Arg) -> Self {
        let [help, details] = [arg.get_help(), arg.get_long_help()]
            .map(|text| text.map(ToString::to_string).unwrap_or_default());
        let field = field::find(arg.get_id().as_str());
        let default = match field {
            Some(field) if field.value.is_some() => field.default.to_owned(),
            Some(_) => String::new(),
            None => {
                let words = arg.get_default_values().iter().map(|word| word.to_string_lossy());
                words.collect::<Vec<_>>().join(",")
            }
        };
        Self {
            name: name(arg),
            help: field.map_or(help, |field| field.help.to_owned()),
            details: field.map_or(details, |field| field.long.to_owned()),
            default,
        }
    }

    fn width(&self) -> usize {
        self.name.chars().count()
    }

    fn text(&self, length: Length, column: usize) -> String {
        // A short default stands beside the help; a conditional one, among the details.
        let first = self.default.split(';').next().unwrap_or_default();
        let beside = match first {
            "" => self.help.clone(),
            default => format!("{} [default: {default}]", self.help),
        };
        let fits = column + beside.chars().count() <= COLUMNS;
        let help = if fits { &beside } else { &self.help };
        let mut lines = Vec::new();
        if length == Length::All {
            lines.push(self.name.clone());
            lines.push(wrapped(&self.help, INDENT));
        } else {
            lines.push(hanging(&format!("{:column$}", self.name), help, column));
        }
        if length == Length::Summary {
            return lines.join("\n");
        }
        let details = match length {
            Length::All => self.details.clone(),
            _ => first_sentences(&self.details),
        };
        for paragraph in details.lines() {
            // Text that is laid out by hand stays unchanged.
            let is_table = paragraph.starts_with("  ");
            let line = if is_table {
                format!("{:TABLE_INDENT$}{paragraph}", "")
            } else {
                wrapped(paragraph, INDENT)
            };
            lines.push(line.trim_end().to_owned());
        }
        let is_shown = length == Length::Common && fits && first == self.default;
        if !self.default.is_empty() && !is_shown {
            lines.push(hanging(
                &format!("{:INDENT$}", ""),
                &format!("Default: {}.", self.default),
                INDENT,
            ));
        }
        lines.join("\n")
    }
}

/// Name with dashes, and the placeholder of its value: `  -s, --server <HOST[:PORT]>`.
fn name(arg: &Arg) -> String {
    let mut value = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
    let Some(long) = arg.get_long() else {
        return format!("  [{}]", value.unwrap_or_default());
    };
    let is_switch = field::find(arg.get_id().as_str()).is_some_and(|field| field.value.is_none());
    value = value.filter(|_| !is_switch && arg.get_action().takes_values());
    let value = value.map(|value| format!(" <{value}>")).unwrap_or_default();
    match arg.get_short() {
        Some(short) => format!("  -{short}, --{long}{value}"),
        None => format!("      --{long}{value}"),
    }
}

/// The flags described at this length, group by group: the command's own flags first.
fn groups(command: &Command, length: Length) -> Vec<(String, Vec<Flag>)> {
    let mut groups: Vec<(String, Vec<Flag>)> = Vec::new();
    let args = command.get_arguments().filter(|arg| arg.get_id() != "help-all");
    for arg in args.filter(|arg| field::find(arg.get_id().as_str()).is_none()) {
        let mut flag = Flag::of(arg);
        if length == Length::Common {
            // The details of arguments can be long; --help-all has them.
            flag.details.clear();
        }
        add(&mut groups, arg.get_help_heading().unwrap_or("Arguments"), flag);
    }
    for field in FIELDS.iter().filter(|field| length == Length::All || field.is_common()) {
        let arg = command.get_arguments().find(|arg| arg.get_id() == field.name);
        if let Some(arg) = arg {
            add(&mut groups, field.section.title(), Flag::of(arg));
        }
    }
    groups
}

/// Adds `flag` to the group with this title.
fn add(groups: &mut Vec<(String, Vec<Flag>)>, title: &str, flag: Flag) {
    match groups.iter_mut().find(|(it, _)| it == title) {
        Some((_, flags)) => flags.push(flag),
        None => groups.push((title.to_owned(), vec![flag])),
    }
}

/// Names of the flags that are not described, section by section.
fn index(command: &Command) -> String {
    let name = command.get_name();
    let mut text = bold(&format!("Other flags, which memtide {name} --help-all describes:"));
    for section in Section::ALL {
        let names: Vec<String> = FIELDS
            .iter()
            .filter(|field| field.section == section && !field.is_common())
            .map(|field| format!("--{}", field.name))
            .collect();
        if !names.is_empty() {
            let title = format!("  {:width$}", section.title(), width = INDEX_INDENT - 2);
            text.push('\n');
            text.push_str(&hanging(&title, &names.join(" "), INDEX_INDENT));
        }
    }
    text
}

/// The first sentences of `text` that fit into a few lines; at least one.
fn first_sentences(text: &str) -> String {
    let mut kept = String::new();
    for sentence in text.split_inclusive(". ") {
        let longer = format!("{kept}{sentence}");
        if !kept.is_empty() && wrapped(longer.trim_end(), INDENT).lines().count() > DETAILS {
            break;
        }
        kept = longer;
    }
    kept.trim_end().to_owned()
}

/// Wraps `text` at 80 columns, with each line indented.
fn wrapped(text: &str, indent: usize) -> String {
    hanging(&format!("{:indent$}", ""), text, indent)
}

/// Wraps `text` after `first` at 80 columns, with further lines indented.
fn hanging(first: &str, text: &str, indent: usize) -> String {
    let mut lines = vec![first.to_owned()];
    let mut is_empty = true;
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        let width = line.chars().count() + usize::from(!is_empty) + word.chars().count();
        if width > COLUMNS && !is_empty {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            let gap = if is_empty { "" } else { " " };
            *line += &format!("{gap}{word}");
        }
        is_empty = false;
    }
    lines.join("\n")
}

/// Formats a heading, bold on a terminal.
fn bold(text: &str) -> String {
    match cfg!(feature = "color") {
        true => format!("\u{1b}[1m{text}\u{1b}[0m"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
