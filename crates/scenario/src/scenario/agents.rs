//! The agents that carry out a run: words that say where the load is made, and do not change what
//! is measured.

use super::check::Problems;
use memtide_base::Span;
use std::fmt;
use std::str::FromStr;

/// Largest number of agents of a run.
const AGENTS_MAX: usize = 4096;
/// Longest time that a master may wait for its agents.
const EXPECT_MAX: Span = Span::from_s(24 * 3600);
/// Default port on which agents wait for masters.
const AGENT_PORT: u16 = 11_299;

/// Settings for the agents of a run. Each is a field with its own name.
#[derive(Clone, Debug, PartialEq)]
pub struct Agents {
    /// Agents that carry out the run; none if this process does.
    pub which: Option<AgentsWord>,
    /// Folder with the master's key; none for the key of the user's own agents on this machine.
    pub key: Option<String>,
    /// Time that the master waits for its agents.
    pub expect: Span,
    /// Longest time for which an agent may prepare its share without progress.
    pub prepare_timeout: Span,
    /// True if the master carries out a share of the load, too.
    pub master_share: bool,
    /// Target rate, in operations per second, of a separate load of the master's own; none without
    /// one.
    pub master_rate: Option<f64>,
    /// Number of agents that may be lost while the others continue.
    pub allow_lost: u32,
}

impl Default for Agents {
    fn default() -> Self {
        let expect = Span::from_s(30);
        Self {
            which: None,
            key: None,
            expect,
            prepare_timeout: Span::from_s(60),
            master_share: false,
            master_rate: None,
            allow_lost: 0,
        }
    }
}

impl Agents {
    /// Reports contradictions.
    pub(super) fn check(&self, problems: &mut Problems) {
        let none = Self::default();
        for (field, differs) in [
            ("key", self.key.is_some()),
            ("expect", self.expect != none.expect),
            ("prepare-timeout", self.prepare_timeout != none.prepare_timeout),
            ("master-share", self.master_share),
            ("master-rate", self.master_rate.is_some()),
            ("allow-lost", self.allow_lost != none.allow_lost),
        ] {
            if problems.is_set(field, differs) && self.which.is_none() {
                problems.say(format!(
                    "{field} needs agents: add agents, such as agents 2, or remove {field}"
                ));
            }
        }
        if self.master_share && self.master_rate.is_some() {
            problems
                .say("master-rate and master-share cannot be used together: remove one of them");
        }
        if self.master_rate == Some(0.0) {
            problems.say("master-rate 0 sends nothing: use a rate above 0, or remove it");
        }
        for (field, time) in [("expect", self.expect), ("prepare-timeout", self.prepare_timeout)] {
            if time == Span::ZERO || time > EXPECT_MAX {
                problems.say(format!("{field} is out of range: use a time above 0 and up to 24h"));
            }
        }
    }
}

/// The agents of a run, as the user writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentsWord {
    /// This many agents, which dial the master.
    Count(u32),
    /// The agents that listen at these addresses, as `HOST:PORT`.
    Listed(Vec<String>),
}

impl FromStr for AgentsWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
            return match word.parse::<u32>() {
                Ok(count) if (1..=AGENTS_MAX).contains(&(count as usize)) => Ok(Self::Count(count)),
                _ => Err(format!("{word} agents are not allowed; a run has 1 to {AGENTS_MAX}")),
            };
        }
        let addresses: Vec<String> = word.split(',').map(address).collect::<Result<_, _>>()?;
        if addresses.len() > AGENTS_MAX {
            let count = addresses.len();
            return Err(format!("{count} agents are not allowed; a run has 1 to {AGENTS_MAX}"));
        }
        match (1..addresses.len()).find(|&at| addresses[..at].contains(&addresses[at])) {
            Some(at) => Err(format!("'{}' is listed twice; name each agent once", addresses[at])),
            None => Ok(Self::Listed(addresses)),
        }
    }
}

impl fmt::Display for AgentsWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Listed(addresses) => f.write_str(&addresses.join(",")),
        }
    }
}

/// Parses an address with its port.
fn address(word: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "'{word}' is neither a number of agents nor HOST, HOST:PORT or [IPV6]:PORT, such as \
             lab1,lab2:11299"
        )
    };
    if let Some(rest) = word.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(wrong)?;
        host.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?;
        let port = match after.strip_prefix(':') {
            None if after.is_empty() => AGENT_PORT,
            port => port.and_then(|port| port.parse().ok()).ok_or_else(wrong)?,
        };
        return Ok(format!("[{host}]:{port}"));
    }
    match word.split_once(':') {
        None if is_host(word) => Ok(format!("{word}:{AGENT_PORT}")),
        Some((host, port)) if is_host(host) => {
            let port: u16 = port.parse().map_err(|_| wrong())?;
            Ok(format!("{host}:{port}"))
        }
        _ => Err(wrong()),
    }
}

fn is_host(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
}

#[cfg(test)]
mod tests;
