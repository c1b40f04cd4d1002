//! An agent's limits: the targets and amounts that its operator allows, as words and as a check of
//! each share.
//!
//! The limits are the agent's own, so no message of a master changes them. They judge resolved and
//! planned facts; nothing here resolves or opens anything.

mod fields;
mod limits;
mod target;

pub use target::Endpoint;

use limits::Limit;
use memtide_base::{Span, units};
use memtide_scenario::Settings;
use std::net::SocketAddr;
use target::AllowedTarget;

/// An agent's limits in the operator's words: from flags of the agent, or from the join file. An
/// absent limit does not limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LawWords {
    /// Targets: `CIDR:PORT`, `[v6]/len:PORT` or `unix:PATH`, also several in a comma list; a port
    /// may be `*`.
    pub allow_target: Vec<String>,
    /// The most operations per second of the agent, such as `20k`.
    pub rate_max: Option<String>,
    /// The most connections of the agent, such as `256`.
    pub connections_max: Option<String>,
    /// The longest load of a share, such as `10m`.
    pub duration_max: Option<String>,
    /// The most workers, such as `4`.
    pub threads_max: Option<String>,
    /// The most memory of a share, such as `512MiB`.
    pub memory_max: Option<String>,
}

/// An agent's limits, parsed: the shares that it carries out, and those that it refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// The allowed targets; `None` if the operator named none, which allows no target.
    targets: Option<Vec<AllowedTarget>>,
    /// The most operations per second of this agent alone, above 0.
    rate_max: Option<f64>,
    connections_max: Option<u64>,
    duration_max: Option<Span>,
    threads_max: Option<u64>,
    memory_max_bytes: Option<u64>,
}

/// A share that a master requests, as this agent would carry it out.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The master's settings. The rate is that of the whole run; in a search or a scan, that of the
    /// step.
    pub settings: &'a Settings,
    /// The scenario's servers, resolved.
    pub servers: &'a [AskedServer<'a>],
    /// The share of the run's operations that this agent makes, from 0 to 1.
    pub own_part: f64,
    /// The number of connections that this agent has open at once, to all servers.
    pub connections: u64,
    /// The number of this agent's workers.
    pub threads: u64,
    /// The estimated memory of the share, in bytes.
    pub memory_bytes: u64,
    /// True if the share fills the servers and does nothing else.
    pub load_only: bool,
}

/// A server of a share.
#[derive(Clone, Debug)]
pub struct AskedServer<'a> {
    /// The server's name in the scenario.
    pub name: &'a str,
    /// All addresses of the name.
    pub addresses: Vec<Endpoint<'a>>,
}

impl Law {
    /// Parses an operator's limits.
    ///
    /// # Errors
    /// A sentence that names the limit, the fault of its word, and the allowed values.
    pub fn parse(words: &LawWords) -> Result<Self, String> {
        let named = |name: &str, error: units::UnitError| format!("{name}: {error}");
        let count = |name: &str, word: &Option<String>| {
            let parse = |word: &String| match units::parse_count(word) {
                Ok(0) => Err(format!("{name}: 0 would allow no run; give at least 1")),
                Ok(count) => Ok(count),
                Err(error) => Err(named(name, error)),
            };
            word.as_ref().map(parse).transpose()
        };
        let rate = |word: &String| match units::parse_rate(word) {
            Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
            Ok(_) => Err(format!("rate-max: '{word}' would allow no run; give a rate above 0")),
            Err(error) => Err(named("rate-max", error)),
        };
        let duration = |word: &String| match units::parse_span(word) {
            Ok(Span::ZERO) => {
                Err("duration-max: 0 would allow no run; give a time above 0".to_owned())
            }
            Ok(time) => Ok(time),
            Err(error) => Err(named("duration-max", error)),
        };
        let memory = |word: &String| match units::parse_size(word) {
            Ok(0) => Err("memory-max: 0 would allow no run; give a size above 0".to_owned()),
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(named("memory-max", error)),
        };
        let items = words.allow_target.iter().flat_map(|word| word.split(','));
        let targets = items.map(|item| item.trim().parse()).collect::<Result<Vec<_>, _>>();
        let targets = targets.map_err(|why| format!("allow-target: {why}"))?;
        Ok(Self {
            targets: (!targets.is_empty()).then_some(targets),
            rate_max: words.rate_max.as_ref().map(rate).transpose()?,
            connections_max: count("connections-max", &words.connections_max)?,
            duration_max: words.duration_max.as_ref().map(duration).transpose()?,
            threads_max: count("threads-max", &words.threads_max)?,
            memory_max_bytes: words.memory_max.as_ref().map(memory).transpose()?,
        })
    }

    /// The limits of an agent without a join file: any port of this machine's loopback addresses,
    /// 127.0.0.0/8 and ::1.
    pub fn loopback() -> Self {
        Self {
            targets: Some(AllowedTarget::loopback()),
            rate_max: None,
            connections_max: None,
            duration_max: None,
            threads_max: None,
            memory_max_bytes: None,
        }
    }

    /// The limits that allow a share only if both do. If one names no targets, those of the other
    /// count.
    pub fn narrowed(self, other: &Self) -> Self {
        let targets = match (self.targets, &other.targets) {
            (Some(own), Some(others)) => Some(target::common(&own, others)),
            (Some(targets), None) => Some(targets),
            (None, targets) => targets.clone(),
        };
        Self {
            targets,
            rate_max: least(self.rate_max, other.rate_max),
            connections_max: least(self.connections_max, other.connections_max),
            duration_max: least(self.duration_max, other.duration_max),
            threads_max: least(self.threads_max, other.threads_max),
            memory_max_bytes: least(self.memory_max_bytes, other.memory_max_bytes),
        }
    }

    /// Returns these limits if they allow any target, without which an agent could never work.
    ///
    /// # Errors
    /// A sentence that says what to add.
    pub fn complete(self) -> Result<Self, String> {
        match self.targets.as_deref() {
            None => Err("no target is allowed, so the agent could load no server; allow one with \
                         --allow-target, such as --allow-target 10.1.0.0/16:11211, or with \
                         allow-target in the limits of the join file"
                .to_owned()),
            Some([]) => {
                Err("no target is allowed by both --allow-target and the allow-target of the join \
                     file; allow one in both"
                    .to_owned())
            }
            Some(_) => Ok(self),
        }
    }

    /// True if a connection to `address` is allowed. An IPv4-mapped IPv6 address counts as its IPv4
    /// address.
    pub fn is_allowed(&self, address: SocketAddr) -> bool {
        self.allows(&Endpoint::Ip(address))
    }

    /// True if a connection to the unix socket at `path` is allowed: by exactly this path.
    pub fn is_allowed_unix(&self, path: &str) -> bool {
        self.allows(&Endpoint::Unix(path))
    }

    fn allows(&self, endpoint: &Endpoint<'_>) -> bool {
        self.targets.iter().flatten().any(|target| target.allows(endpoint))
    }

    /// Checks a master's settings before anything is resolved or planned: refuses fields that are
    /// not the master's to decide. These are files, programs, outputs, and credentials for the
    /// servers.
    ///
    /// # Errors
    /// A sentence that names the field and what the operator can do. It quotes no value.
    pub fn check_fields(settings: &Settings) -> Result<(), String> {
        fields::check(settings)
    }

    /// Checks a share against all limits.
    ///
    /// # Errors
    /// A sentence that names the limit, the requested and the allowed amount, and what to do.
    pub fn check(&self, asked: &Asked<'_>) -> Result<(), String> {
        Self::check_fields(asked.settings)?;
        self.check_targets(asked.servers)?;
        if let Some(most) = self.rate_max {
            limits::check_rate(most, asked)?;
        }
        if let Some(most) = self.duration_max {
            limits::check_duration(most, asked)?;
        }
        let remedy = "ask for less, use more agents, or start the agent with a higher limit";
        let connections = Limit { name: "connections-max", unit: "connections", remedy };
        connections.check(asked.connections, self.connections_max, u64::to_string)?;
        let threads = Limit { name: "threads-max", unit: "threads", remedy };
        threads.check(asked.threads, self.threads_max, u64::to_string)?;
        let memory = Limit { name: "memory-max", unit: "of memory", remedy };
        memory.check(asked.memory_bytes, self.memory_max_bytes, |&bytes| units::format_bytes(bytes))
    }

    fn check_targets(&self, servers: &[AskedServer<'_>]) -> Result<(), String> {
        for server in servers {
            let refused = server.addresses.iter().find(|address| !self.allows(address));
            if let Some(address) = refused {
                return Err(self.refusal(server.name, address));
            }
        }
        Ok(())
    }

    /// The reason why the server called `name` is not an allowed target.
    fn refusal(&self, name: &str, address: &Endpoint<'_>) -> String {
        let place = address.to_string();
        let server = match name == place {
            true => format!("server {name}"),
            false => format!("server {name} at {place}"),
        };
        let allowed = self.targets.iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
        let allowed = match &allowed[..] {
            [] => "none".to_owned(),
            targets => targets.join(", "),
        };
        format!(
            "{server} is not among the targets that this agent allows ({allowed}); measure \
             another server, or start the agent with --allow-target for this one"
        )
    }
}

/// The lower of two limits, each of which may be absent.
fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) if other < one => Some(other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
