//! An agent's limits: the targets and amounts that its operator allows, as words and as a check of
//! each share.
//!
//! The limits are the agent's own, so no message of a master changes them. They judge resolved and
//! planned facts; nothing here resolves or opens anything.

mod limits;
mod target;

pub use limits::{LIMITS, Limit};
pub use target::Endpoint;

use crate::message::{Share, Step};
use limits::CONNECTIONS;
use memtide_base::Span;
use memtide_scenario::{AgentRule, FIELDS, Settings, from_toml};
use std::array;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use target::AllowedTarget;

/// The highest rate of a step, in operations per second.
const RATE_MAX: f64 = 1e9;
/// The longest rest of the servers before a step.
const REST_MAX: Span = Span::from_s(60);

/// An agent's limits in the operator's words: from flags of the agent, or from the join file. An
/// absent limit does not limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LawWords {
    /// Targets: `CIDR:PORT`, `[v6]/len:PORT` or `unix:PATH`, also several in a comma list; a port
    /// may be `*`.
    pub allow_target: Vec<String>,
    /// The words of numeric limits, by the names of [`LIMITS`].
    pub most: BTreeMap<&'static str, String>,
}

/// An agent's limits, parsed: the shares that it carries out, and those that it refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// The allowed targets; `None` if the operator named none, which allows no target.
    targets: Option<Vec<AllowedTarget>>,
    /// The most of each of [`LIMITS`], above 0.
    most: [Option<f64>; LIMITS.len()],
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
        let items = words.allow_target.iter().flat_map(|word| word.split(','));
        let targets = items.map(|item| item.trim().parse()).collect::<Result<Vec<_>, _>>();
        let targets = targets.map_err(|why| format!("allow-target: {why}"))?;
        let mut most = [None; LIMITS.len()];
        for (most, limit) in most.iter_mut().zip(&LIMITS) {
            *most = words.most.get(limit.name).map(|word| limit.parsed(word)).transpose()?;
        }
        Ok(Self { targets: (!targets.is_empty()).then_some(targets), most })
    }

    /// The limits of an agent without a join file: any port of this machine's loopback addresses,
    /// 127.0.0.0/8 and ::1.
    pub fn loopback() -> Self {
        Self { targets: Some(AllowedTarget::loopback()), most: [None; LIMITS.len()] }
    }

    /// The limits that allow a share only if both do. If one names no targets, those of the other
    /// count.
    pub fn narrowed(self, other: &Self) -> Self {
        let targets = match (self.targets, &other.targets) {
            (Some(own), Some(others)) => Some(target::common(&own, others)),
            (targets, others) => targets.or_else(|| others.clone()),
        };
        let most = array::from_fn(|at| {
            [self.most[at], other.most[at]].into_iter().flatten().reduce(f64::min)
        });
        Self { targets, most }
    }

    /// Returns these limits if they allow any target, without which an agent could never work.
    ///
    /// # Errors
    /// A sentence that says what to add.
    pub fn complete(self) -> Result<Self, String> {
        let why = match self.targets.as_deref() {
            None => {
                "no target is allowed, so the agent could load no server; name some where the \
                 agent or its join file is made (allow-target), such as 10.1.0.0/16:11211"
            }
            Some([]) => {
                "no target is allowed both where the agent is started and by the join file \
                 (allow-target); allow one in both"
            }
            Some(_) => return Ok(self),
        };
        Err(why.to_owned())
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

    /// True if `count` connections at once are allowed.
    pub fn allows_connections(&self, count: u64) -> bool {
        let at = LIMITS.iter().position(|limit| limit.name == CONNECTIONS);
        at.and_then(|at| self.most[at]).is_none_or(|most| count as f64 <= most)
    }

    fn allows(&self, endpoint: &Endpoint<'_>) -> bool {
        self.targets.iter().flatten().any(|target| target.allows(endpoint))
    }

    /// Checks a master's settings before anything is resolved or planned: refuses fields that are
    /// not the master's to decide, by the rule in each field's row. These are files, programs,
    /// outputs, and credentials for the servers. A server must be named, because without one the
    /// agent would start a server itself.
    ///
    /// # Errors
    /// A sentence that names the field and what the operator can do. It quotes no value.
    fn check_fields(settings: &Settings) -> Result<(), String> {
        let usual = Settings::default();
        for field in FIELDS {
            let is_given = field.show(settings) != field.show(&usual);
            if let (true, Some(why)) = (is_given, refusal(field.agents)) {
                return Err(format!("{} {why}", field.name));
            }
        }
        if settings.scenario.servers.is_empty() {
            return Err("the scenario names no server, and agents start no embedded server; add \
                        server, such as server 10.1.0.5:11211"
                .to_owned());
        }
        Ok(())
    }

    /// Checks a share against all limits.
    ///
    /// # Errors
    /// A sentence that names the limit, the requested and the allowed amount, and what to do.
    pub fn check(&self, asked: &Asked<'_>) -> Result<(), String> {
        Self::check_fields(asked.settings)?;
        for server in asked.servers {
            if let Some(address) = server.addresses.iter().find(|address| !self.allows(address)) {
                return Err(self.refused_target(server.name, address));
            }
        }
        for (limit, most) in LIMITS.iter().zip(self.most) {
            most.map_or(Ok(()), |most| limit.check(most, asked))?;
        }
        Ok(())
    }

    /// The reason why the server called `name` is not an allowed target.
    fn refused_target(&self, name: &str, address: &Endpoint<'_>) -> String {
        let place = address.to_string();
        let server = match name == place {
            true => format!("server {name}"),
            false => format!("server {name} at {place}"),
        };
        let allowed = self.targets.iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
        let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        format!(
            "{server} is not among the targets that this agent allows ({allowed}); measure \
             another server, or add this one to the agent's limits (allow-target)"
        )
    }
}

/// The end of a sentence that begins with a refused field's name; `None` if the master may decide.
const fn refusal(rule: AgentRule) -> Option<&'static str> {
    match rule {
        AgentRule::Allowed => None,
        AgentRule::Output => Some(
            "is an output, and only the master writes outputs; remove it from the agents' scenario",
        ),
        AgentRule::Credential => Some(
            "is not accepted from a master, because each agent has its own credentials; remove it \
             from the scenario, and set it where the agent is started",
        ),
        AgentRule::Meeting => Some(
            "is not accepted in a scenario for agents, because the master assigns shares and start \
             times; remove it from the scenario",
        ),
    }
}

/// The settings that a master sends with a share.
#[derive(Clone, Debug)]
pub struct AskedShare {
    /// The settings, which all shares of the run have.
    pub settings: Settings,
    /// The settings with the rate of the step, if the share is of a search or scan.
    pub sent: Settings,
}

impl AskedShare {
    /// Reads a share.
    ///
    /// # Errors
    /// A sentence that says what cannot be carried out.
    pub fn read(share: &Share) -> Result<Self, String> {
        let layer = from_toml(&share.scenario, "the master's scenario");
        let mut settings = Settings::default();
        let applied = layer.and_then(|layer| settings.apply(&layer));
        applied.map_err(|error| error.to_string())?;
        if share.units == 0 || share.number >= share.of || share.units > share.of - share.number {
            return Err(format!(
                "there is no share {} of {}; use the same version of memtide on both machines",
                share.number, share.of
            ));
        }
        Law::check_fields(&settings)?;
        let mut sent = settings.clone();
        if let Some(step) = &share.step {
            check_step(step)?;
            sent.scenario.rate = step.rate_per_s;
        }
        match sent.check().into_iter().next() {
            Some(problem) => Err(problem.to_string()),
            None => Ok(Self { settings, sent }),
        }
    }
}

/// Refuses a step that no master of this version asks for.
fn check_step(step: &Step) -> Result<(), String> {
    match step {
        Step { rate_per_s: Some(rate), .. }
            if rate.is_nan() || *rate <= 0.0 || *rate > RATE_MAX =>
        {
            Err(format!("the master asked for a rate of {rate}/s, which is not possible"))
        }
        Step { rest_ns, .. } if *rest_ns > REST_MAX.ns() => {
            Err(format!("the master asked for a pause of {} ns, which is too long", rest_ns))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
