//! From a command line to [`Options`]: twemperf's options in their order and its words, then checks
//! that it lacks.

mod further;

use super::distribution::{Distribution, real};
use super::options::{Method, Options};
use super::page;
use crate::getopt::{Argument, Entry, Found, OptionError, Reading, Words};
use crate::{Stop, number};
use memtide_base::Span;

/// The exit code of a wrong command line.
const USAGE: u8 = 1;
/// The longest prefix of a key.
const PREFIX_BYTES_MAX: usize = 16;
/// The longest time that can be requested: about thirty years.
const TIME_S_MAX: f64 = 1e9;

/// Parses a command line; `argv` is without the program's name, which the original does not use in
/// its errors either.
///
/// # Errors
/// Every end of the program before it makes load, all of it on stderr: help and version (0), and
/// errors, followed by the page of options (1). An error wins over help and version wherever it is.
pub fn parse(argv: &[String]) -> Result<Options, Stop> {
    let draft = Draft::read(argv).map_err(complaint)?;
    if draft.has("version") || draft.has("help") {
        let page = if draft.has("help") { page::usage() } else { String::new() };
        let stderr = format!("{}{page}", page::VERSION);
        return Err(Stop { stdout: String::new(), stderr, code: 0 });
    }
    draft.decide().map_err(complaint)
}

/// An error, followed by the page of options.
fn complaint(line: String) -> Stop {
    let stderr = format!("mcperf: {line}\n{}", page::usage());
    Stop { stdout: String::new(), stderr, code: USAGE }
}

/// A measure of how well twemperf can read a command line.
pub(crate) fn reading(argv: &[String]) -> Reading {
    let mut draft = Draft::default();
    Words::new(OPTIONS, argv).reading(|Found { index, argument }| {
        argument.is_none_or(|word| draft.take(&OPTIONS[index], word).is_ok())
    })
}

/// An option of the original, whose value for [`Draft::take`] is its letter.
const fn theirs(long: &'static str, short: char, argument: Argument) -> Entry {
    Entry { long, short: Some(short), argument, value: short as u32, yields: false }
}

/// An option that the original does not have. It makes no abbreviation ambiguous, and its value is
/// no letter.
const fn ours(long: &'static str, value: u32, argument: Argument) -> Entry {
    Entry { long, short: None, argument, value, yields: true }
}

const NO: Argument = Argument::None;
const ONE: Argument = Argument::Required;
const OPTIONS: &[Entry] = &[
    theirs("help", 'h', NO),
    theirs("version", 'V', NO),
    theirs("verbosity", 'v', ONE),
    theirs("output", 'o', ONE),
    theirs("server", 's', ONE),
    theirs("port", 'p', ONE),
    theirs("print-histogram", 'H', NO),
    theirs("timeout", 't', ONE),
    theirs("linger", 'l', ONE),
    theirs("send-buffer", 'b', ONE),
    theirs("recv-buffer", 'B', ONE),
    theirs("disable-nodelay", 'D', NO),
    theirs("method", 'm', ONE),
    theirs("expiry", 'e', ONE),
    theirs("use-noreply", 'q', NO),
    theirs("prefix", 'P', ONE),
    theirs("client", 'c', ONE),
    theirs("num-conns", 'n', ONE),
    theirs("num-calls", 'N', ONE),
    theirs("conn-rate", 'r', ONE),
    theirs("call-rate", 'R', ONE),
    theirs("sizes", 'z', ONE),
    ours("threads", 1, ONE),
    ours("time", 2, ONE),
    ours("report-stdout", 3, NO),
    ours("fail-on-error", 4, NO),
    ours("json", 5, ONE),
    ours("own-keys", 6, NO),
    ours("notes", 7, NO),
];

/// The values of a command line, each a number that its option takes.
#[derive(Clone, Debug)]
struct Draft {
    /// The options without an argument that are present.
    flags: Vec<&'static str>,
    verbosity: u32,
    log: String,
    server: String,
    port: u16,
    timeout_s: f64,
    linger_s: Option<u32>,
    send_buffer_bytes: u32,
    receive_buffer_bytes: u32,
    method: Method,
    expiry_s: u32,
    prefix: String,
    /// The client's number, and the number of clients.
    client: (u32, u32),
    connections: Option<u32>,
    calls_each: Option<u32>,
    connection_gaps: Option<Distribution>,
    call_gaps: Option<Distribution>,
    sizes: Distribution,
    /// The word of the sizes if it is a plain number, which makes it a rate.
    size_rate: Option<String>,
    threads: u32,
    time_s: Option<f64>,
    json: Option<String>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            flags: Vec::new(),
            verbosity: 5,
            log: String::new(),
            server: "localhost".to_owned(),
            port: 11_211,
            timeout_s: 0.0,
            linger_s: None,
            send_buffer_bytes: 4096,
            receive_buffer_bytes: 16_384,
            method: Method::Set,
            expiry_s: 0,
            prefix: "mcp:".to_owned(),
            client: (0, 1),
            connections: None,
            calls_each: None,
            connection_gaps: None,
            call_gaps: None,
            sizes: Distribution::Fixed(1.0),
            size_rate: None,
            threads: 1,
            time_s: None,
            json: None,
        }
    }
}

impl Draft {
    /// Reads all options. The error is a line without the program's name.
    fn read(argv: &[String]) -> Result<Self, String> {
        let mut draft = Self::default();
        for found in Words::new(OPTIONS, argv) {
            let found = found.map_err(|fault| misread(&fault))?;
            let entry = &OPTIONS[found.index];
            match found.argument {
                Some(word) => draft.take(entry, word)?,
                None => draft.flags.push(entry.long),
            }
        }
        Ok(draft)
    }

    /// True if the option without an argument is present.
    fn has(&self, flag: &str) -> bool {
        debug_assert!(OPTIONS.iter().any(|entry| entry.long == flag && entry.argument == NO));
        self.flags.contains(&flag)
    }

    /// Handles an option with its argument.
    fn take(&mut self, entry: &Entry, word: &str) -> Result<(), String> {
        match entry.long {
            "verbosity" => self.verbosity = whole(entry, word)?,
            "output" => self.log = word.to_owned(),
            "server" => self.server = word.to_owned(),
            "port" => self.port = port(whole(entry, word)?)?,
            "timeout" => {
                self.timeout_s = real(word).ok_or("option -T requires a real number")?;
            }
            "linger" => self.linger_s = Some(whole(entry, word)?),
            "send-buffer" => self.send_buffer_bytes = whole(entry, word)?,
            "recv-buffer" => self.receive_buffer_bytes = whole(entry, word)?,
            "method" => self.method = method(word)?,
            "expiry" => self.expiry_s = whole(entry, word)?,
            "prefix" if word.len() > PREFIX_BYTES_MAX => {
                return Err(format!("key prefix cannot exceed {PREFIX_BYTES_MAX} in length"));
            }
            "prefix" => self.prefix = word.to_owned(),
            "client" => self.client = client(word)?,
            "num-conns" => self.connections = Some(whole(entry, word)?),
            "num-calls" => self.calls_each = Some(whole(entry, word)?),
            "conn-rate" => self.connection_gaps = Distribution::read(word)?,
            "call-rate" => self.call_gaps = Distribution::read(word)?,
            "sizes" => {
                let law = Distribution::read(word)?;
                self.sizes = law.ok_or("invalid distribution type 0 for item sizes")?;
                let is_rate = !word.starts_with(['d', 'u', 'e', 's']);
                self.size_rate = is_rate.then(|| word.trim_ascii().to_owned());
            }
            "threads" => self.threads = whole(entry, word)?,
            "time" => self.time_s = Some(real(word).ok_or_else(|| wanting(entry))?),
            _ => self.json = Some(word.to_owned()),
        }
        Ok(())
    }
}

/// The error for a word that getopt cannot read.
fn misread(fault: &OptionError) -> String {
    match fault {
        // For a long option getopt remembers no letter.
        OptionError::Unrecognized(_) | OptionError::Ambiguous(..) => invalid(' '),
        OptionError::Invalid(letter) => invalid(*letter),
        OptionError::DoesNotAllow(name) => match named(name).short {
            Some(letter) => invalid(letter),
            None => format!("option --{name} takes no argument"),
        },
        OptionError::Requires(name) => wanting(named(name)),
        OptionError::ShortRequires(letter) => {
            let entry = OPTIONS.iter().find(|entry| entry.short == Some(*letter));
            wanting(entry.expect("getopt names only what the table has"))
        }
    }
}

fn invalid(letter: char) -> String {
    format!("invalid option -- '{letter}'")
}

fn named(name: &str) -> &'static Entry {
    let entry = OPTIONS.iter().find(|entry| entry.long == name);
    entry.expect("getopt names only what the table has")
}

/// Reads the whole number of an option.
fn whole(entry: &Entry, word: &str) -> Result<u32, String> {
    integer(word).ok_or_else(|| wanting(entry))
}

/// The error of an option whose argument is missing or invalid.
fn wanting(entry: &Entry) -> String {
    let name = entry.short.map_or_else(|| format!("-{}", entry.long), String::from);
    let what = match entry.long {
        "output" | "json" => "a file name",
        "server" | "method" | "prefix" | "client" => "a string",
        "timeout" | "time" => "a real number",
        "conn-rate" | "call-rate" | "sizes" => "a distribution",
        _ => "a number",
    };
    format!("option -{name} requires {what}")
}

/// Reads a decimal number that fits into a C int and is not negative.
fn integer(word: &str) -> Option<u32> {
    let number = number::whole_decimal(word).and_then(|number| i32::try_from(number).ok())?;
    u32::try_from(number).ok()
}

fn port(number: u32) -> Result<u16, String> {
    let port = u16::try_from(number).ok().filter(|&port| port > 0);
    port.ok_or_else(|| format!("option -p value {number} is not a valid port"))
}

fn method(word: &str) -> Result<Method, String> {
    Method::ALL.into_iter().find(|method| method.name() == word).ok_or_else(|| {
        format!(
            "'{word}' is an invalid method; valid methods are get, gets, delete, cas, set, add, \
             replace, prepend, incr and decr"
        )
    })
}

fn client(word: &str) -> Result<(u32, u32), String> {
    let parts = word.split_once('/');
    let (index, count) = parts.ok_or_else(|| format!("invalid client id format '{word}'"))?;
    let read_index =
        integer(index).ok_or_else(|| format!("client id is not a number '{index}'"))?;
    let read_count =
        integer(count).ok_or_else(|| format!("number of clients is not a number '{count}'"))?;
    Ok((read_index, read_count))
}

/// Converts a number of seconds that was checked to be at most [`TIME_S_MAX`].
fn span(seconds: f64) -> Span {
    Span::from_ns((seconds * 1e9).round() as u64)
}

#[cfg(test)]
mod tests;
