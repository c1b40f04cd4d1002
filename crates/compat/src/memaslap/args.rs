//! From a command line and its surroundings to [`Options`]: memaslap's checks, in its order and
//! words, then checks that memaslap lacks.
//!
//! Decides everything that depends on more than one option. Makes no scenario of it.

use super::configuration::{self, Configuration, Range};
use super::options::{Options, Output, Target, Transport};
use super::page;
use super::parsed::{Parsed, USAGE};
use super::servers::servers;
use crate::Stop;
use crate::server::Server;

/// Bytes of a request over UDP, without the header of its datagram.
const DATAGRAM_BYTES: u64 = 1_400 - 8;
/// The length of a get without its keys, each of which follows a blank.
const LINE_BYTES: u64 = "get\r\n".len() as u64;
/// The length of a get of one key in a frame without that key. A no-op of this length ends a
/// sequence of gets.
const FRAME_BYTES: u64 = 24;
/// The shortest key, in bytes.
const KEY_BYTES_LEAST: u64 = 16;

/// The surroundings of a command line.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// The variable `MEMCACHED_SERVERS`.
    pub servers: Option<&'a str>,
    /// The user's home directory by the password database, which memaslap uses instead of `$HOME`.
    pub home: Option<&'a str>,
    /// Reads a file; `None` if it cannot be read.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// Parses a command line; `argv` is without the program's name, and `program` is that name as it
/// was called, for errors.
///
/// # Errors
/// Every end of the program before it makes load: help and version (0), and all errors (1).
pub fn parse(
    program: &str,
    argv: &[String],
    environment: &Environment<'_>,
) -> Result<Options, Stop> {
    let given = Parsed::read(program, argv)?;
    let reader = Reader { program, given, environment };
    let (written, servers) = reader.servers()?;
    let options = &reader.given.options;
    if !options.concurrency.is_multiple_of(options.threads) {
        return Err(with_help("Concurrency must be the multiples of threads count."));
    }
    reader.check_further()?;
    let (data, note) = reader.configuration()?;
    reader.check_together(servers.len())?;
    data.check().map_err(complaint)?;
    Ok(reader.options(written, servers, data, note))
}

/// An error after which memaslap shows its page, on the other stream.
fn with_help(message: &str) -> Stop {
    Stop { stdout: page::help(), ..Stop::complaint(message, USAGE) }
}

fn complaint(fault: configuration::ConfigurationError) -> Stop {
    Stop::complaint(fault.to_string(), USAGE)
}

/// A command line whose values are being decided.
struct Reader<'a> {
    program: &'a str,
    given: Parsed,
    environment: &'a Environment<'a>,
}

impl Reader<'_> {
    /// The servers as written, and one by one.
    fn servers(&self) -> Result<(String, Vec<Server>), Stop> {
        let written = self.given.servers.as_deref().or(self.environment.servers).unwrap_or("");
        let servers = servers(written).map_err(|why| self.further(&format!("--servers {why}")))?;
        match servers.is_empty() {
            true => Err(with_help("No servers provided\n")),
            false => Ok((written.to_owned(), servers)),
        }
    }

    /// Checks that memaslap lacks, and without which it fails later.
    fn check_further(&self) -> Result<(), Stop> {
        let Options { concurrency: clients, connections_each: each, .. } = self.given.options;
        let connections = u64::from(clients) * u64::from(each);
        if connections > 1 << 20 {
            return Err(self.further(&format!(
                "--concurrency {clients} of --conn_sock {each} each: that makes {connections} \
                 connections; at most 1048576 are allowed"
            )));
        }
        Ok(())
    }

    /// The end of the program for a reason that memaslap does not know.
    fn further(&self, what: &str) -> Stop {
        Stop::complaint(format!("{}: {what}", self.program), USAGE)
    }

    /// The configuration, and notes about the file that it comes from.
    fn configuration(&self) -> Result<(Configuration, Vec<String>), Stop> {
        let (file, text) = match &self.given.file {
            Some(file) => {
                let text = (self.environment.read)(file).ok_or_else(|| {
                    Stop::complaint(format!("Can not open file: '{file}'."), USAGE)
                })?;
                (file.clone(), text)
            }
            None => match self.default_file() {
                Some(found) => found,
                None => return Ok((self.with_fixed_size(Configuration::default()), Vec::new())),
            },
        };
        let configuration::File { data, mut differences, misread } =
            Configuration::read(&text).map_err(complaint)?;
        if self.given.value_bytes.is_some() {
            differences.retain(|difference| !difference.contains("lengths of values"));
        }
        let mut notes = Vec::new();
        if self.given.file.is_none() {
            notes.push(format!("{file} is there and is read; --cfg_cmd names another file."));
        }
        if !differences.is_empty() {
            let differences = differences.join(", ");
            notes.push(format!(
                "{file}: memaslap itself would run this otherwise; it {differences}."
            ));
        }
        notes.extend(misread.iter().map(|line| format!("{file}: {line}, as in memaslap itself.")));
        Ok((self.with_fixed_size(data), notes))
    }

    /// The file that is read without being named, if there is one, and its content.
    fn default_file(&self) -> Option<(String, Vec<u8>)> {
        let files = configuration::default_files(self.environment.home?);
        files.into_iter().find_map(|file| (self.environment.read)(&file).map(|text| (file, text)))
    }

    fn with_fixed_size(&self, data: Configuration) -> Configuration {
        match self.given.value_bytes {
            Some(bytes) => Configuration { values: vec![Range::fixed(bytes)], ..data },
            None => data,
        }
    }

    /// memaslap's checks of options together, in its order.
    fn check_together(&self, servers: usize) -> Result<(), Stop> {
        let given = &self.given;
        let (is_split, is_udp) = (given.has("facebook"), given.has("udp"));
        let options = &given.options;
        let writers = options.target.writers;
        let writers = writers.map(|writers| usize::try_from(writers).unwrap_or(usize::MAX));
        let checks = [
            (
                is_split && options.division < 2,
                "facebook test must work with multi-get, please specify multi-get key number \
                 with '--division' option.",
            ),
            (is_split && is_udp, "facebook test couldn't work with UDP."),
            (
                is_udp && options.connections_each > 1,
                "UDP doesn't support multi-socks in one connection structure.",
            ),
            (writers.is_some() && servers < 2, "Please specify 2 servers at least for replication"),
            (
                writers.is_some_and(|writers| writers > servers),
                "Servers to do replication writing is larger than the total servers",
            ),
            (is_udp && writers.is_some(), "UDP doesn't support replication."),
            (is_split && writers.is_some(), "facebook test couldn't work with replication."),
        ];
        let refused = checks.into_iter().find(|(refused, _)| *refused);
        refused.map_or(Ok(()), |(_, message)| Err(Stop::complaint(message, USAGE)))
    }

    fn options(
        self,
        written: String,
        servers: Vec<Server>,
        mut data: Configuration,
        mut about_file: Vec<String>,
    ) -> Options {
        let given = self.given;
        let transport = match (given.has("udp"), given.has("facebook")) {
            (true, _) => Transport::Udp,
            (false, true) => Transport::Split,
            (false, false) => Transport::Tcp,
        };
        let mut options = given.options.clone();
        let (threads, writers) = (options.threads as usize, options.target.writers);
        if writers.is_none() && servers.len() > threads {
            let all = servers.len();
            let (loaded, left) = (all.min(options.concurrency as usize), all - threads);
            options.notes.push(format!(
                "{} are loaded; memaslap itself, with one for each thread, would leave out {left} \
                 of them.",
                match loaded == all {
                    true => format!("All {all} servers"),
                    false => format!("{loaded} of {all} servers, one for each of --concurrency,"),
                }
            ));
        }
        options.notes.append(&mut about_file);
        if transport != Transport::Tcp && given.file.is_none() {
            options.notes.extend(shorten_keys(&mut data, &given));
        }
        Options {
            target: Target {
                servers,
                written,
                is_binary: given.has("binary"),
                transport,
                writers,
                is_reconnecting: given.has("reconnect") || writers.is_some(),
            },
            data,
            is_raw_keys: given.has("raw-keys"),
            output: Output {
                is_verbose: given.has("verbose"),
                is_plain: given.has("plain"),
                is_failing: given.has("fail-on-error"),
                has_notes: given.has("notes"),
                ..options.output
            },
            ..options
        }
    }
}

/// Over UDP a get of many keys is one datagram, into which most keys do not fit if no file sets
/// their lengths: they become as long as fits, with a note. If no length fits, it is refused later.
fn shorten_keys(data: &mut Configuration, given: &Parsed) -> Option<String> {
    let keys = u64::from(given.options.division);
    let bytes = match given.has("binary") {
        true => (DATAGRAM_BYTES - FRAME_BYTES) / keys,
        false => (DATAGRAM_BYTES - LINE_BYTES) / keys,
    };
    let fitting = bytes.saturating_sub(if given.has("binary") { FRAME_BYTES } else { 1 });
    let is_long = data.keys.iter().any(|range| range.most > fitting);
    if keys == 1 || fitting < KEY_BYTES_LEAST || !is_long {
        return None;
    }
    data.keys = vec![Range { least: fitting, most: fitting, share: 1.0 }];
    Some(format!(
        "Keys have {fitting} bytes, so that {keys} of them fit into a datagram; --cfg_cmd with a \
         file of lengths says otherwise."
    ))
}

#[cfg(test)]
mod tests;
