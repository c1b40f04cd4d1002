//! Requests and replies as one line each for people to read in a trace. Not a wire format: long
//! values are only counted, and nothing can be parsed back.

use crate::reply::{ErrorReply, Reply};
use crate::request::{Request, meta};
use std::fmt;

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Retrieve { verb, expiry, keys } => {
                f.write_str(verb.word())?;
                keys.into_iter().try_for_each(|key| write!(f, " {}", key.escape_ascii()))?;
                expiry.map_or(Ok(()), |expiry| write!(f, " expiry={expiry}"))
            }
            Self::Store { verb, key, flags, expiry, value, cas, noreply } => {
                write!(f, "{} {} flags={flags} expiry={expiry}", verb.word(), key.escape_ascii())?;
                cas.map_or(Ok(()), |cas| write!(f, " cas={cas}"))?;
                write!(f, " value={} bytes", value.len())?;
                unanswered(f, noreply)
            }
            Self::Delete { key, noreply } => {
                write!(f, "delete {}", key.escape_ascii())?;
                unanswered(f, noreply)
            }
            Self::Arithmetic { verb, key, delta, noreply } => {
                write!(f, "{} {} by={delta}", verb.word(), key.escape_ascii())?;
                unanswered(f, noreply)
            }
            Self::Touch { key, expiry, noreply } => {
                write!(f, "touch {} expiry={expiry}", key.escape_ascii())?;
                unanswered(f, noreply)
            }
            Self::Stats { argument: None } => f.write_str("stats"),
            Self::Stats { argument: Some(what) } => write!(f, "stats {}", what.escape_ascii()),
            Self::Version => f.write_str("version"),
            Self::FlushAll { delay, noreply } => {
                f.write_str("flush_all")?;
                delay.map_or(Ok(()), |delay| write!(f, " delay={delay}"))?;
                unanswered(f, noreply)
            }
            Self::Verbosity { level, noreply } => {
                write!(f, "verbosity level={level}")?;
                unanswered(f, noreply)
            }
            Self::Quit => f.write_str("quit"),
            Self::Meta(ref request) => request.fmt(f),
        }
    }
}

impl fmt::Display for meta::Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, key, flags, value, .. } = *self;
        write!(f, "{}", command.word().escape_ascii())?;
        if command != meta::Command::Noop {
            write!(f, " {}{flags}", key.escape_ascii())?;
        }
        if command == meta::Command::Set {
            write!(f, " value={} bytes", value.len())?;
        }
        Ok(())
    }
}

impl fmt::Display for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Value { key, flags, bytes, cas } => {
                write!(f, "VALUE {} flags={flags} bytes={bytes}", key.escape_ascii())?;
                cas.map_or(Ok(()), |cas| write!(f, " cas={cas}"))
            }
            Self::Data { bytes, ends } => {
                write!(f, "data {} bytes{}", bytes.len(), if ends { ", the last" } else { "" })
            }
            Self::End => f.write_str("END"),
            Self::Stored => f.write_str("STORED"),
            Self::NotStored => f.write_str("NOT_STORED"),
            Self::Exists => f.write_str("EXISTS"),
            Self::NotFound => f.write_str("NOT_FOUND"),
            Self::Deleted => f.write_str("DELETED"),
            Self::Touched => f.write_str("TOUCHED"),
            Self::Ok => f.write_str("OK"),
            Self::Reset => f.write_str("RESET"),
            Self::Number(value) => write!(f, "number {value}"),
            Self::Version(version) => write!(f, "VERSION {}", version.escape_ascii()),
            Self::Stat { name, value } => {
                write!(f, "STAT {}={}", name.escape_ascii(), value.escape_ascii())
            }
            Self::Done => f.write_str("DONE"),
            Self::Noop => f.write_str("NOOP"),
            Self::Item { key, figures } => {
                write!(f, "ITEM {} {}", key.escape_ascii(), figures.escape_ascii())
            }
            Self::Error(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for ErrorReply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        match self.message {
            [] => Ok(()),
            message => write!(f, " {}", message.escape_ascii()),
        }
    }
}

fn unanswered(f: &mut fmt::Formatter<'_>, noreply: bool) -> fmt::Result {
    f.write_str(if noreply { " noreply" } else { "" })
}

#[cfg(test)]
mod tests;
