//! The options of a command line one by one: memaslap's checks of single values, in the order of
//! the options. Judges nothing that depends on two options.

use super::configuration::Configuration;
use super::options::{Length, Options, Output, Shares, Target, Transport};
use super::rows::ROWS;
use super::{page, quantity};
use crate::getopt::{Argument, Entry, Words};
use crate::{Stop, number};
use memtide_base::Span;

/// The exit code of a wrong command line.
pub(super) const USAGE: u8 = 1;
/// The most that a user can request. memaslap has no bounds, and fails for lack of memory.
const THREADS_MAX: i64 = 1024;
const CONNECTIONS_MAX: i64 = 1 << 20;
const KEYS_MAX: i64 = 65_535;
const WINDOW_MAX: i64 = 1 << 30;
const TIME_S_MAX: i64 = 366 * 86_400;
/// Rates above this count as no limit.
const RATE_OPS_MAX: i64 = 1_000_000_000;
/// The longest value.
const VALUE_BYTES_MAX: i64 = 1 << 20;

/// The values of the options, each within its bounds; defaults for absent ones.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The values that are decided already.
    pub(super) options: Options,
    pub(super) servers: Option<String>,
    pub(super) file: Option<String>,
    pub(super) value_bytes: Option<u64>,
    operations: Option<u64>,
    /// The options without an argument that are present.
    flags: Vec<&'static str>,
}

impl Parsed {
    /// Parses `argv`, which is without the program's name; `program` is that name, for errors.
    pub(super) fn read(program: &str, argv: &[String]) -> Result<Self, Stop> {
        let entries = ROWS.iter().map(|row| Entry {
            long: row.long,
            short: row.short,
            argument: if row.takes { Argument::Required } else { Argument::None },
            value: row.short.map_or(0, u32::from),
            yields: row.added,
        });
        let entries: Vec<Entry> = entries.collect();
        let mut given = Self {
            options: defaults(),
            servers: None,
            file: None,
            value_bytes: None,
            operations: None,
            flags: Vec::new(),
        };
        for found in Words::new(&entries, argv) {
            let found =
                found.map_err(|fault| Stop::complaint(format!("{program}: {fault}"), USAGE))?;
            let row = &ROWS[found.index];
            match (row.long, found.argument) {
                ("help", _) => return Err(Stop::asked(page::help())),
                ("version", _) => return Err(Stop::asked(page::VERSION.to_owned())),
                (flag, None) => given.flags.push(flag),
                (long, Some(word)) => given.take(long, word).map_err(|fault| match fault {
                    ValueError::Theirs(message) => Stop::complaint(message, USAGE),
                    ValueError::Ours(why) => {
                        Stop::complaint(format!("{program}: --{long} '{word}': {why}"), USAGE)
                    }
                })?,
            }
        }
        // A number of operations goes before the time.
        if let Some(operations) = given.operations {
            given.options.length = Length::Operations(operations);
        }
        Ok(given)
    }

    /// True if the option without an argument is present.
    pub(super) fn has(&self, flag: &str) -> bool {
        debug_assert!(ROWS.iter().any(|row| row.long == flag && !row.takes));
        self.flags.contains(&flag)
    }

    /// Takes the argument of one option.
    fn take(&mut self, long: &str, word: &str) -> Result<(), ValueError> {
        let options = &mut self.options;
        match long {
            "servers" => self.servers = Some(word.to_owned()),
            "threads" => options.threads = counted(word, THREADS_MAX, THREADS)?,
            "concurrency" => options.concurrency = counted(word, CONNECTIONS_MAX, CONCURRENCY)?,
            "conn_sock" => options.connections_each = counted(word, CONNECTIONS_MAX, CONNECTIONS)?,
            "execute_number" => self.operations = Some(operations(word)?),
            "time" => options.length = Length::Time(time(word, RUN_TIME)?),
            "cfg_cmd" => self.file = Some(word.to_owned()),
            "win_size" => options.window = window(word)?,
            "fixed_size" => self.value_bytes = Some(value_bytes(word)?),
            "verify" => options.shares.verified = share(word, VERIFY)?,
            "exp_verify" => options.shares.expiring = share(word, EXPIRY)?,
            "overwrite" => options.shares.overwriting = share(word, OVERWRITE)?,
            "division" => options.division = counted(word, KEYS_MAX, DIVISION)?,
            "stat_freq" => options.output.statistics_every = Some(time(word, STATISTICS)?),
            "tps" => options.rate_ops_max = rate(word, &mut options.notes)?,
            "rep_write" => {
                options.target.writers = Some(counted(word, i64::from(u32::MAX), WRITERS)?);
            }
            "seed" => options.seed = seed(word)?,
            "json" => options.output.json = Some(word.to_owned()),
            _ => unreachable!("every row of the table that takes a word is named above"),
        }
        Ok(())
    }
}

/// memaslap's values without options. The servers, the file and switches are decided later.
fn defaults() -> Options {
    Options {
        target: Target {
            servers: Vec::new(),
            written: String::new(),
            is_binary: false,
            transport: Transport::Tcp,
            writers: None,
            is_reconnecting: false,
        },
        threads: 1,
        concurrency: 16,
        connections_each: 1,
        length: Length::Time(Span::from_s(600)),
        data: Configuration::default(),
        window: 10 << 10,
        shares: Shares::default(),
        division: 1,
        rate_ops_max: None,
        seed: 1,
        is_raw_keys: false,
        output: Output::default(),
        notes: Vec::new(),
    }
}

/// The error in a word.
enum ValueError {
    /// An error of memaslap, in its words.
    Theirs(&'static str),
    /// An error of ours: memaslap would crash, or do something else than requested.
    Ours(String),
}

fn counted(word: &str, most: i64, message: &'static str) -> Result<u32, ValueError> {
    let count = number::leading_integer(word);
    if count <= 0 {
        return Err(ValueError::Theirs(message));
    }
    let within = u32::try_from(count).ok().filter(|_| count <= most);
    within.ok_or_else(|| ValueError::Ours(format!("at most {most} are allowed")))
}

/// Reads a rate; 0 is no limit, as with memaslap.
fn rate(word: &str, notes: &mut Vec<String>) -> Result<Option<u32>, ValueError> {
    let rate = quantity::count(word).ok_or(ValueError::Theirs(TPS))?;
    match u32::try_from(rate) {
        Ok(0) => Ok(None),
        Ok(rate_ops) if i64::from(rate_ops) <= RATE_OPS_MAX => Ok(Some(rate_ops)),
        _ if rate < 0 => Err(ValueError::Ours("a throughput is not below 0".to_owned())),
        _ => {
            notes.push(format!(
                "--tps {word}: no machine gets near it, so throughput is not limited."
            ));
            Ok(None)
        }
    }
}

fn operations(word: &str) -> Result<u64, ValueError> {
    let count = u64::try_from(number::leading_integer(word)).ok().filter(|count| *count > 0);
    count.ok_or(ValueError::Theirs(OPERATIONS))
}

/// Reads a time; `messages` are for a missing unit and for a time of 0.
fn time(word: &str, messages: [&'static str; 2]) -> Result<Span, ValueError> {
    match quantity::seconds(word) {
        None => Err(ValueError::Theirs(messages[0])),
        Some(0) => Err(ValueError::Theirs(messages[1])),
        Some(seconds) if (1..=TIME_S_MAX).contains(&seconds) => {
            Ok(Span::from_s(seconds.unsigned_abs()))
        }
        Some(_) => Err(ValueError::Ours("a time is from 1s to 366d".to_owned())),
    }
}

fn window(word: &str) -> Result<u64, ValueError> {
    let objects = quantity::count(word).ok_or(ValueError::Theirs(WINDOW))?;
    match objects {
        1..=WINDOW_MAX => Ok(objects.unsigned_abs()),
        _ => Err(ValueError::Ours("a task window is from 1k to 1g".to_owned())),
    }
}

fn value_bytes(word: &str) -> Result<u64, ValueError> {
    match number::leading_integer(word) {
        bytes @ 1..=VALUE_BYTES_MAX => Ok(bytes.unsigned_abs()),
        _ => Err(ValueError::Theirs(VALUE)),
    }
}

fn share(word: &str, message: &'static str) -> Result<f64, ValueError> {
    let share = number::leading_decimal(word);
    // The comparison refuses NaN, which memaslap accepts.
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err(ValueError::Theirs(message)) }
}

fn seed(word: &str) -> Result<u64, ValueError> {
    word.parse().map_err(|_| ValueError::Ours("a seed is a whole number below 2^64".to_owned()))
}

const THREADS: &str = "Threads number must be greater than 0.:-)";
const CONCURRENCY: &str = "Concurrency must be greater than 0.:-)";
const CONNECTIONS: &str = "Number of socks of each concurrency must be greater than 0.:-)";
const OPERATIONS: &str = "Execute number must be greater than 0.:-)";
const RUN_TIME: [&str; 2] = [
    "Please specify the run time. :-)\n\
     's' for second, 'm' for minute, 'h' for hour, 'd' for day. \
     e.g.: --time=24h (means 24 hours).",
    "Running time can not be 0. :-)",
];
const STATISTICS: [&str; 2] = [
    "Please specify the frequency of dumping statistic information. :-)\n\
     's' for second, 'm' for minute, 'h' for hour, 'd' for day. \
     e.g.: --time=24h (means 24 hours).",
    "The frequency of dumping statistic information can not be 0. :-)",
];
const WINDOW: &str = "Please specify the item window size. :-)\n\
                      e.g.: --win_size=10k (means 10k task window size).";
const VALUE: &str = "Value size must be between 0 and 1M.:-)";
const VERIFY: &str = "Data verification rate must be greater than 0 and less than 1.0. :-)";
const EXPIRY: &str = "Expire time verification rate must be greater than 0 and less than 1.0. :-)";
const OVERWRITE: &str = "Objects overwrite rate must be greater than 0 and less than 1.0. :-)";
const DIVISION: &str = "Multi-get key number must be greater than 0.:-)";
const TPS: &str = "Please specify the item expected throughput. :-)\n\
                   e.g.: --tps=10k (means 10k throughput).";
const WRITERS: &str = "Number of replication writing server must be greater than 0.:-)";
