//! The faults that a server makes on purpose: their kinds, rates and commands, and the count of
//! each. A function of (seed, kind, request number) decides whether a request is struck.

mod effect;

pub(crate) use effect::{Late, Scene, Versions, WrittenAnswer};

use crate::word::{Word, WordError};
use memtide_base::rng::{self, Stream};
use memtide_base::units::parse_fraction;
use memtide_base::worded;
use memtide_codec::text::encode;
use memtide_codec::{Reply, Verb};
use std::fmt;
use std::str::FromStr;

worded! {
    /// One kind of fault. The command is carried out and counted all the same: a fault changes what
    /// the client receives, never the server's items.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FaultKind {
        /// The connection is reset when the answer should leave.
        Reset = "reset",
        /// Neither this request nor anything after it on the connection is answered.
        Stall = "stall",
        /// A new connection is reset at once. The rate is a share of connections, not of requests.
        Refuse = "refuse",
        /// A value lacks its end, and its header states the shorter length.
        Truncate = "truncate",
        /// One bit of one byte of a value is wrong.
        Flip = "flip",
        /// A key is answered with another key's value.
        OtherKey = "other-key",
        /// A key is answered with its previous value, if the present value was stored (and the
        /// store acknowledged) at least 100 ms ago.
        Stale = "stale",
        /// A value that exists is answered as a miss.
        ExpireEarly = "expire-early",
        /// A value that has expired is returned. Only the first request after the expiry can be
        /// struck, because it makes the server forget the value.
        ExpireLate = "expire-late",
        /// A `SERVER_ERROR` in place of the answer.
        ServerError = "server-error",
        /// A line that is no valid answer, in place of the answer.
        Garbage = "garbage",
        /// A datagram does not leave. The rates of this kind and the next three are shares of the
        /// datagrams of answers, not of requests.
        UdpLoss = "udp-loss",
        /// A datagram leaves twice, one right after the other.
        UdpDuplicate = "udp-duplicate",
        /// A datagram leaves after one that should follow it; it must not be the last of its
        /// answer.
        UdpDisorder = "udp-disorder",
        /// A datagram leaves after the next answer to the same client.
        UdpLate = "udp-late",
    }
    /// The kind's name in a list of faults.
    pub const fn word;
    /// Every kind, in the order of `stats faults`.
    pub const ALL;
}

impl FaultKind {
    /// True if this kind can strike an answer to `verb`; no kind strikes commands without a key.
    fn can_strike(self, verb: Verb) -> bool {
        use Verb::{FlushAll, Gat, Gats, Get, Gets, Quit, Stats, Verbosity, Version};
        match self {
            Self::Refuse => false,
            _ if self.strikes_datagrams() => false,
            Self::Reset | Self::Stall | Self::ServerError | Self::Garbage => {
                !matches!(verb, Stats | Version | FlushAll | Verbosity | Quit)
            }
            _ => matches!(verb, Get | Gets | Gat | Gats),
        }
    }

    /// True if this kind strikes datagrams.
    const fn strikes_datagrams(self) -> bool {
        matches!(self, Self::UdpLoss | Self::UdpDuplicate | Self::UdpDisorder | Self::UdpLate)
    }

    /// The stream of this kind's draws.
    const fn stream(self) -> Stream {
        Stream::FAULT.of_lane(self as u64)
    }
}

/// The faults of a server: `KIND:RATE[@COMMAND]`, joined by commas; `none` for no faults.
///
/// The rate is the share of requests struck among those that the fault can strike (a flip needs a
/// value). Only commands with keys can be struck; without `@COMMAND` all of them. At most one fault
/// strikes a request, and one a datagram: the first of the list that would. No kind may be listed
/// twice for one command, and a list has at most 64 faults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    list: Vec<Fault>,
}

#[derive(Clone, Debug, PartialEq)]
struct Fault {
    kind: FaultKind,
    rate: f64,
    verb: Option<Verb>,
}

const WORD: Word = Word {
    what: "a list of faults",
    forms: "none, or KIND:RATE[@COMMAND],… with a rate from 0 to 1 or in percent, a command that \
            has a key, and one of the kinds reset, stall, refuse, truncate, flip, other-key, \
            stale, expire-early, expire-late, server-error, garbage, udp-loss, udp-duplicate, \
            udp-disorder, udp-late (such as flip:0.001@get,reset:0.1%)",
};
/// The most faults in a list: the bits of a mask of those that strike.
const FAULTS_MAX: usize = 64;

impl Faults {
    /// True if the server makes no faults.
    pub fn is_none(&self) -> bool {
        self.list.is_empty()
    }

    /// The first kind of the list that strikes datagrams, if any; a server without UDP could never
    /// make it.
    pub fn of_datagrams(&self) -> Option<FaultKind> {
        self.list.iter().map(|fault| fault.kind).find(|kind| kind.strikes_datagrams())
    }

    /// True if the list contains this kind.
    pub(crate) fn names(&self, kind: FaultKind) -> bool {
        self.list.iter().any(|fault| fault.kind == kind)
    }

    /// True if connection `number` is refused.
    pub(crate) fn refuses(&self, seed: u64, number: u64) -> bool {
        self.list.iter().any(|fault| {
            fault.kind == FaultKind::Refuse && fault.rate > draw(seed, fault.kind, number)
        })
    }

    /// The faults that would strike request `number`, in the order of the list.
    pub(crate) fn drawn(&self, seed: u64, number: u64, verb: Verb) -> Drawn<'_> {
        let struck = self.list.iter().enumerate().filter(|(_, fault)| {
            fault.kind.can_strike(verb)
                && fault.verb.is_none_or(|only| only == verb)
                && fault.rate > draw(seed, fault.kind, number)
        });
        Drawn { faults: self, struck: struck.fold(0, |struck, (at, _)| struck | 1 << at) }
    }

    /// The kinds that would strike datagram `number`, counted over all answers, in the order of the
    /// list.
    pub(crate) fn drawn_datagram(&self, seed: u64, number: u64) -> impl Iterator<Item = FaultKind> {
        let kinds = self.list.iter().filter(move |fault| {
            fault.kind.strikes_datagrams() && fault.rate > draw(seed, fault.kind, number)
        });
        kinds.map(|fault| fault.kind)
    }
}

fn draw(seed: u64, kind: FaultKind, number: u64) -> f64 {
    rng::unit(rng::hash(seed, kind.stream(), number))
}

/// The faults that would strike one request.
#[derive(Clone, Copy)]
pub(crate) struct Drawn<'a> {
    faults: &'a Faults,
    /// A bit for each fault of the list.
    struck: u64,
}

impl Drawn<'_> {
    /// True if no fault would strike the request.
    pub fn is_empty(self) -> bool {
        self.struck == 0
    }

    /// The kinds of the faults.
    pub fn kinds(self) -> impl Iterator<Item = FaultKind> {
        let places = (0..FAULTS_MAX).filter(move |at| self.struck >> at & 1 == 1);
        places.map(move |at| self.faults.list[at].kind)
    }
}

impl FromStr for Faults {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        if word.trim() == "none" {
            return Ok(Self::default());
        }
        let mut list: Vec<Fault> = Vec::new();
        for text in word.split(',').map(str::trim) {
            let fault = read_fault(word, text)?;
            if list.iter().any(|other| (other.kind, other.verb) == (fault.kind, fault.verb)) {
                let reason = format!("'{text}' repeats an earlier fault");
                return Err(WORD.wrong(word, reason));
            }
            list.push(fault);
        }
        if list.len() > FAULTS_MAX {
            return Err(WORD.wrong(word, format!("it has more than {FAULTS_MAX} faults")));
        }
        Ok(Self { list })
    }
}

fn read_fault(word: &str, text: &str) -> Result<Fault, WordError> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let Some(kind) = FaultKind::ALL.into_iter().find(|kind| kind.word() == name.trim()) else {
        return Err(WORD.wrong(word, format!("there is no '{}'", name.trim())));
    };
    let (rate, command) = match rest.split_once('@') {
        Some((rate, command)) => (rate, Some(command.trim())),
        None => (rest, None),
    };
    let rate = parse_fraction(rate.trim()).map_err(|error| WORD.wrong(word, error.to_string()))?;
    let verb = match command {
        None => None,
        Some(command) => {
            let mut verbs = Verb::ALL.iter().copied();
            let verb = verbs.find(|verb| verb.word() == command && kind.can_strike(*verb));
            Some(verb.ok_or_else(|| {
                WORD.wrong(word, format!("'{}' does not affect '{command}'", kind.word()))
            })?)
        }
    };
    Ok(Fault { kind, rate, verb })
}

impl fmt::Display for Faults {
    /// Writes the list that parses to these faults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.list.is_empty() {
            return f.write_str("none");
        }
        for (at, Fault { kind, rate, verb }) in self.list.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}:{rate}", kind.word())?;
            if let Some(verb) = verb {
                write!(f, "@{}", verb.word())?;
            }
        }
        Ok(())
    }
}

/// The count of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultCounts([u64; FaultKind::ALL.len()]);

impl FaultCounts {
    /// Counts one fault of this kind.
    pub fn count(&mut self, kind: FaultKind) {
        self.0[kind as usize] += 1;
    }

    /// The count of this kind.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.0[kind as usize]
    }

    /// Writes the answer to `stats faults`.
    pub fn write(&self, out: &mut Vec<u8>) {
        for kind in FaultKind::ALL {
            let name = format!("fault_{}", kind.word().replace('-', "_"));
            let value = self.of(kind).to_string();
            let (name, value) = (name.as_bytes(), value.as_bytes());
            encode::reply(out, &Reply::Stat { name, value });
        }
        encode::reply(out, &Reply::End);
    }
}

#[cfg(test)]
mod tests;
