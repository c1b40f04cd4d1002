//! The share of a run that a process carries out, and how the shares begin together: words that say
//! where the load is made, and do not change what is measured.
//!
//! It reads no clock and no environment: `auto` and times of day are resolved where the load is
//! made. A record's scenario does not contain these words.

use super::agents::Agents;
use super::check::Problems;
use memtide_base::Span;
use memtide_base::calendar::days_since_1970;
use std::fmt;
use std::str::FromStr;
use toml::value::{Datetime, Offset};

/// Largest number of shares of a run.
const SHARES_MAX: u32 = 65_535;
/// Longest time that shares may wait for each other.
const TIMEOUT_MAX: Span = Span::from_s(24 * 3600);
const NS_PER_S: u64 = 1_000_000_000;
const S_PER_DAY: i64 = 86_400;

/// The place of this process in a run of several processes. Each member is a field with its own
/// name.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The share that the user requests; none if not given.
    pub shard: Option<ShardWord>,
    /// Time of day at which the load begins; none if not given.
    pub start_at: Option<StartAt>,
    /// Barrier at which the shares wait for each other before their load; none if they do not wait.
    pub barrier: Option<BarrierWord>,
    /// Time that a share waits for the others at the barrier.
    pub barrier_timeout: Span,
    /// Agents that carry out the run, if any.
    pub agents: Agents,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            shard: None,
            start_at: None,
            barrier: None,
            barrier_timeout: Span::from_s(60),
            agents: Agents::default(),
        }
    }
}

impl Placement {
    /// True if the run is divided into parts that nothing directs while they run.
    pub(super) fn is_divided(&self) -> bool {
        self.shard.is_some_and(|shard| shard != ShardWord::Whole)
    }

    /// Reports contradictions.
    pub(super) fn check(&self, problems: &mut Problems) {
        self.agents.check(problems);
        let is_divided = self.is_divided();
        if is_divided && self.agents.which.is_some() {
            problems.say(
                "shard and agents cannot be used together: remove shard, because the master \
                 numbers its agents' shares",
            );
        }
        for (field, is_given, none) in [
            ("start-at", self.start_at.is_some(), "let each run begin when it is ready"),
            ("barrier", self.barrier.is_some(), "run alone"),
        ] {
            if is_given && !is_divided {
                problems.say(format!(
                    "{field} needs shard: add it, such as shard auto or shard 0/4, or remove \
                         {field} to {none}"
                ));
            }
        }
        if self.start_at.is_some() && self.barrier.is_some() {
            problems.say("start-at and barrier cannot be used together: remove one of them");
        }
        if self.barrier_timeout == Span::ZERO || self.barrier_timeout > TIMEOUT_MAX {
            problems.say("barrier-timeout is out of range: use a time above 0 and up to 24h");
        }
    }
}

/// The share of a run that a process carries out, as the user writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardWord {
    /// The whole run, even if a launcher started several processes.
    Whole,
    /// The share that the launcher assigned to this process.
    Auto {
        /// Number of shares; none if the launcher sets it.
        of: Option<u32>,
    },
    /// This share.
    One {
        /// Number of the share, from 0.
        number: u32,
        /// Number of shares.
        of: u32,
    },
}

impl FromStr for ShardWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{word}' is not I/N, such as 0/4 for the first of four shares, nor auto, auto/N \
                 or none"
            )
        };
        let number = |digits: &str| number(digits).ok_or_else(wrong);
        let count = |digits: &str| match number(digits)? {
            of @ 1..=SHARES_MAX => Ok(of),
            of => Err(format!("{of} shares are not allowed; a run has 1 to {SHARES_MAX}")),
        };
        match word.split_once('/') {
            None if word == "none" => Ok(Self::Whole),
            None if word == "auto" => Ok(Self::Auto { of: None }),
            None => Err(wrong()),
            Some(("auto", of)) => Ok(Self::Auto { of: Some(count(of)?) }),
            Some((number_word, of)) => {
                let (number, of) = (number(number_word)?, count(of)?);
                if number >= of {
                    return Err(format!(
                        "'{word}' is not a share: {of} shares are numbered 0 to {}",
                        of - 1
                    ));
                }
                Ok(Self::One { number, of })
            }
        }
    }
}

/// Parses digits without a sign.
fn number(digits: &str) -> Option<u32> {
    are_digits(digits).then(|| digits.parse().ok()).flatten()
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for ShardWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("none"),
            Self::Auto { of: None } => f.write_str("auto"),
            Self::Auto { of: Some(of) } => write!(f, "auto/{of}"),
            Self::One { number, of } => write!(f, "{number}/{of}"),
        }
    }
}

/// The barrier of a run's shares, as the user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BarrierWord {
    /// The launcher, through PMI-1.
    Pmi,
    /// A folder that all shares can access.
    Folder(String),
}

impl FromStr for BarrierWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.strip_prefix("dir:") {
            Some(path) if !path.is_empty() && !path.contains('\0') => {
                Ok(Self::Folder(path.to_owned()))
            }
            None if word == "pmi" => Ok(Self::Pmi),
            _ => Err(format!("{word:?} is neither pmi nor dir:PATH, such as dir:/shared/start")),
        }
    }
}

impl fmt::Display for BarrierWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pmi => f.write_str("pmi"),
            Self::Folder(path) => write!(f, "dir:{path}"),
        }
    }
}

/// A time of day at which load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartAt {
    /// Time since 1970 in UTC.
    pub since_unix: Span,
}

impl FromStr for StartAt {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let since_unix = match word.strip_prefix('@') {
            Some(seconds) => decimal(seconds),
            None => word.parse::<Datetime>().ok().and_then(of_datetime),
        };
        let since_unix = since_unix.ok_or_else(|| {
            format!(
                "'{word}' is not a time with its zone, such as 2026-01-31T12:00:00Z or \
                 2026-01-31T13:00:00+01:00 (RFC 3339), nor seconds since 1970, such as @1769860800"
            )
        })?;
        Ok(Self { since_unix })
    }
}

impl fmt::Display for StartAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ns) = (self.since_unix.ns() / NS_PER_S, self.since_unix.ns() % NS_PER_S);
        match ns {
            0 => write!(f, "@{seconds}"),
            ns => write!(f, "@{seconds}.{}", format!("{ns:09}").trim_end_matches('0')),
        }
    }
}

/// Parses seconds with up to nine decimals, exactly.
fn decimal(word: &str) -> Option<Span> {
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    if !are_digits(whole) || !are_digits(part) || part.len() > 9 {
        return None;
    }
    let ns: u64 = format!("{part:0<9}").parse().ok()?;
    let seconds: u64 = whole.parse().ok()?;
    Some(Span::from_ns(seconds.checked_mul(NS_PER_S)?.checked_add(ns)?))
}

/// Time since 1970 of a date and time with its zone; none if a part is missing.
fn of_datetime(said: Datetime) -> Option<Span> {
    let (date, time, offset) = (said.date?, said.time?, said.offset?);
    let minutes = match offset {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days_since_1970(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let of_day = i64::from(time.hour) * 3600 + i64::from(time.minute) * 60;
    let seconds = days * S_PER_DAY + of_day + i64::from(time.second.unwrap_or(0)) - minutes * 60;
    let seconds = u64::try_from(seconds).ok()?;
    let ns = u64::from(time.nanosecond.unwrap_or(0));
    Some(Span::from_ns(seconds.checked_mul(NS_PER_S)?.checked_add(ns)?))
}

#[cfg(test)]
mod tests;
