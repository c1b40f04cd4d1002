//! From a command line to [`Options`]: the originals' checks, in their order and words, then checks
//! that they lack.
//!
//! Decides everything that depends on more than one option. Makes no scenario of it.

mod fatal;
mod fleet;
mod load;
mod pace;

use super::numbers::{PROFILES, Profile, RATE_MAX, Server, servers, servers_at};
use super::options::{Command, Login, Mode, Options, Output, Target, Verbosity};
use super::parsed::Parsed;
use super::rows::Face;
use super::text::Format;
use crate::Stop;
use fatal::{Check, Source};

/// The default port of InfluxDB, and the name of the database for points.
const INFLUX_PORT: u16 = 8086;
const INFLUX_DATABASE: &str = "mutilate";

/// Parses a command line; `argv` is without the program's name, and `program` is that name as it
/// was called, for errors.
///
/// # Errors
/// Every end of the program before it makes load: help and version (0), unknown options and invalid
/// numbers (1), and values that are not allowed (255).
pub fn parse(face: Face, program: &str, argv: &[String]) -> Result<Command, Stop> {
    let given = Parsed::read(face, program, argv)?;
    let format = format(face, program, &given)?;
    let mut reader = Reader { face, source: Source::of(face), given: &given, notes: Vec::new() };
    reader.check_as_the_originals()?;
    reader.check_further()?;
    if given.has("agentmode") {
        return Ok(Command::Agent(reader.agent_options()?));
    }
    let servers = reader.servers()?;
    let settings = reader.settings();
    let connections = reader.connections(&settings, servers.len());
    let load = reader.load(&settings)?;
    let mode = reader.mode(&settings)?;
    let paced = reader.paced(&settings, &mode)?;
    let agents = reader.fleet(&settings, &mode)?;
    reader.note_what_is_passed_over(&mode);
    let influx = reader.influx()?;
    let (target, output) = (reader.target(servers, &mode), reader.output(format, influx));
    let notes = reader.notes;
    let options = Options { face, mode, agents, target, connections, load, paced, output, notes };
    Ok(Command::Load(Box::new(options)))
}

fn format(face: Face, program: &str, given: &Parsed) -> Result<Format, Stop> {
    match given.word("format") {
        None => Ok(Format::of(face)),
        Some(word) => word
            .parse()
            .map_err(|why: String| Stop::complaint(format!("{program}: --format: {why}"), 1)),
    }
}

/// A command line whose values are being decided.
struct Reader<'a> {
    face: Face,
    source: &'static Source,
    given: &'a Parsed,
    notes: Vec<String>,
}

/// The options that a profile replaces.
struct Settings<'a> {
    qps: u32,
    connections_each: u32,
    records: u32,
    keysize: &'a str,
    keyorder: &'a str,
    valuesize: &'a str,
    iadist: &'a str,
    search: Option<&'a str>,
    profile: Option<&'static Profile>,
}

impl<'a> Reader<'a> {
    fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }

    /// The checks of mutilate and its descendants, in their order.
    fn check_as_the_originals(&self) -> Result<(), Stop> {
        let given = self.given;
        let checks = [
            (given.int_or_default("depth") >= 1, Check::Depth, "--depth must be >= 1"),
            (given.int_or_default("qps") >= 0, Check::Qps, "--qps must be >= 0"),
            (
                (0.0..=1.0).contains(&given.float_or_default("update")),
                Check::Update,
                "--update must be >= 0.0 and <= 1.0",
            ),
            (given.int_or_default("time") >= 1, Check::Time, "--time must be >= 1"),
            (
                (1..=512).contains(&given.int_or_default("connections")),
                Check::Connections,
                "--connections must be between [1,512]",
            ),
            (
                given.has("server") || given.has("agentmode"),
                Check::Server,
                "--server or --agentmode must be specified.",
            ),
        ];
        let failed = checks.into_iter().find(|(holds, ..)| !holds);
        failed.map_or(Ok(()), |(_, check, message)| Err(self.source.fatal(check, message)))
    }

    /// Checks that the originals lack, and without which they crash or measure wrongly.
    fn check_further(&self) -> Result<(), Stop> {
        // A master without threads of its own leaves all load to its agents.
        let threads_least = i32::from(!self.has_agents());
        if self.given.int("threads") == Some(0) && threads_least > 0 && !self.given.has("agentmode")
        {
            return Err(self.further("--threads 0 (-T) makes no load without --agent (-a)"));
        }
        let least = [
            ("threads", threads_least),
            ("lambda_mul", 1),
            ("records", 0),
            ("warmup", 0),
            ("wait", 0),
            ("measure_connections", 1),
            ("measure_qps", 0),
            ("measure_depth", if self.has_agents() { 1 } else { i32::MIN }),
            ("getq_size", 1),
            ("keycache_capacity", 1),
            ("keycache_reuse", 0),
            ("keycache_regen", 0),
            ("qps_min", 0),
            ("sin", 1),
            ("seed", 0),
        ];
        for (long, least) in least {
            if self.given.int(long).is_some_and(|value| value < least) {
                return Err(self.further(&format!("--{long} must be >= {least}")));
            }
        }
        for long in ["qps", "measure_qps"] {
            if self.given.int(long).is_some_and(|rate| not_negative(rate) > RATE_MAX) {
                return Err(self.further(&format!("--{long} must be <= {RATE_MAX}")));
            }
        }
        Ok(())
    }

    /// The number given for an option that was checked not to be negative.
    fn natural(&self, long: &str) -> Option<u32> {
        self.given.int(long).map(not_negative)
    }

    /// The number of an option that was checked not to be negative, or its default.
    fn natural_or_default(&self, long: &str) -> u32 {
        not_negative(self.given.int_or_default(long))
    }

    /// The end of the program for a reason that the originals do not know.
    fn further(&self, message: &str) -> Stop {
        self.source.fatal(Check::Further, message)
    }

    fn servers(&self) -> Result<Vec<Server>, Stop> {
        let mut all = Vec::new();
        for word in self.given.all("server") {
            let found = servers(word).map_err(|why| {
                let allowed = "write host, host:port, host:first-last or [IPv6]:port";
                self.further(&format!("--server '{word}': {why}; {allowed}"))
            })?;
            all.extend(found);
        }
        Ok(all)
    }

    /// The options as written, or as the profile replaces them.
    fn settings(&mut self) -> Settings<'a> {
        let given = self.given;
        let profile = self.profile();
        let pairs = self.natural_or_default("threads").saturating_mul(count(given));
        let each = self.natural_or_default("connections");
        let is_mcperf = !self.face.is_mutilate();
        let keyorder = if is_mcperf { given.word_or_default("keyorder") } else { "none" };
        let own = Settings {
            qps: self.natural_or_default("qps"),
            connections_each: each,
            records: self.natural_or_default("records"),
            keysize: given.word_or_default("keysize"),
            keyorder,
            valuesize: given.word_or_default("valuesize"),
            iadist: given.word_or_default("iadist"),
            search: given.word("search"),
            profile,
        };
        let Some(profile) = profile else { return own };
        Settings {
            qps: profile.qps.unwrap_or(own.qps),
            connections_each: profile.connections_each(each, pairs),
            records: profile.records,
            keysize: profile.keysize,
            keyorder: profile.keyorder,
            valuesize: profile.valuesize,
            iadist: profile.iadist.unwrap_or(own.iadist),
            search: profile.search.or(own.search),
            profile: own.profile,
        }
    }

    fn profile(&mut self) -> Option<&'static Profile> {
        let asked = self.given.int("profile")?;
        let place = usize::try_from(asked).ok().and_then(|number| number.checked_sub(1));
        let found = place.and_then(|place| PROFILES.get(place));
        if found.is_none() {
            self.note(format!("--profile {asked}: there is no such profile, so 1 is taken."));
        }
        let profile = found.unwrap_or(&PROFILES[0]);
        if profile.page_differs && !self.given.has("iadist") {
            self.note(format!(
                "--profile {asked}: mcperf's page says uniform gaps, but mcperf makes exponential \
                 ones; they are exponential here, and --iadist uniform makes them uniform."
            ));
        }
        Some(profile)
    }

    fn target(&self, servers: Vec<Server>, mode: &Mode) -> Target {
        let given = self.given;
        let password = given.word("password").unwrap_or("").to_owned();
        Target {
            servers,
            is_binary: given.has("binary"),
            login: given.word("username").map(|user| Login { user: user.to_owned(), password }),
            is_nagle_on: given.has("no_nodelay"),
            is_traced: given.has("trace")
                && !self.takes_frames_only()
                && matches!(mode, Mode::Once | Mode::Masterless | Mode::Dynamic(_)),
        }
    }

    /// True if the servers require authentication by SASL, and refuse the text protocol.
    fn takes_frames_only(&self) -> bool {
        self.given.has("binary") && self.given.has("username")
    }

    fn verbosity(&self) -> Verbosity {
        match self.given.count("verbose") {
            _ if self.given.has("quiet") => Verbosity::Quiet,
            0 => Verbosity::Info,
            1 => Verbosity::Verbose,
            _ => Verbosity::Debug,
        }
    }

    /// The URL of `--push_lat_influx`.
    fn influx(&self) -> Result<Option<String>, Stop> {
        let Some(word) = self.given.word("push_lat_influx") else { return Ok(None) };
        let found = servers_at(word, INFLUX_PORT).and_then(|found| match found.as_slice() {
            [database] => Ok(format!("influx=http://{database}/write?db={INFLUX_DATABASE}")),
            _ => Err("a database has one port".to_owned()),
        });
        found.map(Some).map_err(|why| {
            self.further(&format!("--push_lat_influx '{word}': {why}; write host:port"))
        })
    }

    fn output(&self, format: Format, influx: Option<String>) -> Output {
        let [json, save, save_all] =
            ["json", "save", "save_all"].map(|long| self.given.word(long).map(str::to_owned));
        Output {
            format,
            is_response: self.given.has("response"),
            json,
            save,
            save_all,
            influx,
            is_plot_all: self.given.has("plot_all"),
            verbosity: self.verbosity(),
            has_notes: self.given.has("notes"),
        }
    }
}

/// The number of server words, with each range counted once.
fn count(given: &Parsed) -> u32 {
    u32::try_from(given.count("server")).unwrap_or(u32::MAX)
}

/// A number that was checked not to be negative.
fn not_negative(number: i32) -> u32 {
    u32::try_from(number).expect("negative numbers were refused")
}

#[cfg(test)]
pub(super) mod tests;
