//! The state beside the store that all connections share if a server is slow or faulty on purpose:
//! the number of the next request, the queue, the older values, the counts.

use crate::behaviour::{Behaviour, ReplyTiming};
use crate::clock::Clock;
use crate::fault::{FaultCounts, FaultKind, Faults, Late, Scene, Versions, WrittenAnswer};
use crate::session::{self, Retrieval};
use crate::store::{Store, StoreAt};
use memtide_base::rng::Stream;
use memtide_base::{Instant, Random};
use memtide_codec::meta::{self, Command, Flag, Mode};
use memtide_codec::text::encode;
use memtide_codec::{ErrorKind, ErrorReply, Reply, Request, Verb};

/// The approximate length of the longest answer of a server with faults, which must hold the answer
/// in memory as a whole. A longer one is refused with memcached's out-of-memory error.
const ANSWER_BYTES_MAX: usize = 64 << 20;
const TOO_LONG: Reply<'static> = Reply::Error(ErrorReply {
    kind: ErrorKind::Server,
    message: b"out of memory writing get response",
});

/// The behaviour and faults of a server. The default answers everything at once and correctly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerProfile {
    /// The times at which answers leave.
    pub behaviour: Behaviour,
    /// The faults of answers.
    pub faults: Faults,
    /// The seed of all draws.
    pub seed: u64,
}

impl ServerProfile {
    /// True if the server answers everything at once and correctly.
    pub fn is_plain(&self) -> bool {
        self.behaviour.is_instant() && self.faults.is_none()
    }
}

/// The state of a server's profile; one for all its connections.
///
/// Requests that name a key are numbered from 0 in the order in which they are handled, and all
/// draws are functions of the seed and this number; connections and the datagrams of answers are
/// numbered separately. Other requests (`stats`, `version`, `flush_all`, `verbosity`, `quit`, and
/// invalid ones) take no time and are never struck, but they wait for their turn on the connection
/// and for the end of a pause.
#[derive(Debug)]
pub struct ProfileState {
    faults: Faults,
    seed: u64,
    timing: ReplyTiming,
    requests: u64,
    connections: u64,
    datagrams: u64,
    versions: Versions,
    keeps_versions: bool,
    counts: FaultCounts,
}

/// A request that was carried out: when its answer leaves, and its effect on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub leaves: Instant,
    pub then: Then,
}

/// The effect of a request on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The answer leaves.
    Answer,
    /// The answer does not leave, and the connection is reset in its place.
    Reset,
    /// No further answer leaves.
    Stall,
}

/// One request among all requests of a server.
#[derive(Clone, Copy)]
struct Turn {
    /// Its position, from 0.
    number: u64,
    verb: Verb,
    /// The instant at which its answer leaves.
    leaves: Instant,
}

impl ProfileState {
    /// The state of a server before its first request.
    pub fn new(profile: ServerProfile) -> Self {
        let ServerProfile { behaviour, faults, seed } = profile;
        Self {
            keeps_versions: faults.names(FaultKind::Stale),
            faults,
            seed,
            timing: ReplyTiming::new(behaviour, seed),
            requests: 0,
            connections: 0,
            datagrams: 0,
            versions: Versions::default(),
            counts: FaultCounts::default(),
        }
    }

    /// The count of this kind of fault since the server began or since `stats reset`.
    pub fn fault_count(&self, kind: FaultKind) -> u64 {
        self.counts.of(kind)
    }

    /// True if the next connection is accepted.
    pub(crate) fn admits(&mut self) -> bool {
        let number = self.connections;
        self.connections += 1;
        let refused = self.faults.refuses(self.seed, number);
        if refused {
            self.counts.count(FaultKind::Refuse);
        }
        !refused
    }

    /// The fault of the next datagram of an answer: the first that would strike it and that `can`
    /// allows.
    pub(crate) fn strike_datagram(&mut self, can: impl Fn(FaultKind) -> bool) -> Option<FaultKind> {
        let number = self.datagrams;
        self.datagrams += 1;
        let struck = self.faults.drawn_datagram(self.seed, number).find(|&kind| can(kind));
        if let Some(kind) = struck {
            self.counts.count(kind);
        }
        struck
    }

    /// The instant at which an answer that takes no time leaves.
    pub(crate) fn hold(&self, now: Instant) -> Instant {
        self.timing.hold(now)
    }

    /// Carries out any request but quit and appends the answer. Returns the answer's fate and the
    /// instant at which it leaves; it must not leave before an earlier answer of its connection.
    pub(crate) fn carry_out(
        &mut self,
        clock: Clock,
        request: &Request<'_>,
        store: &Store,
        out: &mut Vec<u8>,
    ) -> Carried {
        let Some(verb) = verb_with_key(request) else {
            self.administer(clock, request, store, out);
            return Carried { leaves: self.hold(clock.now), then: Then::Answer };
        };
        let number = self.requests;
        self.requests += 1;
        let leaves = self.timing.finish(number, clock.now);
        let turn = Turn { number, verb, leaves };
        Carried { leaves, then: self.answer(clock, request, store, out, turn) }
    }

    fn administer(
        &mut self,
        clock: Clock,
        request: &Request<'_>,
        store: &Store,
        out: &mut Vec<u8>,
    ) {
        match request {
            Request::Stats { argument: Some(b"faults") } => return self.counts.write(out),
            Request::Stats { argument: Some(b"reset") } => self.counts = FaultCounts::default(),
            _ => {}
        }
        session::answer(clock, request, store, out);
    }

    fn answer(
        &mut self,
        clock: Clock,
        request: &Request<'_>,
        store: &Store,
        out: &mut Vec<u8>,
        turn: Turn,
    ) -> Then {
        let Turn { number, verb, leaves } = turn;
        let drawn = self.faults.drawn(self.seed, number, verb);
        if drawn.is_empty() && !self.keeps_versions {
            answer_whole(clock, request, store, out);
            return Then::Answer;
        }
        let keys = match *request {
            Request::Retrieve { keys, .. } => Some(keys),
            _ => None,
        };
        let late = keys.filter(|_| drawn.kinds().any(|kind| kind == FaultKind::ExpireLate));
        let with_cas = matches!(verb, Verb::Gets | Verb::Gats);
        let late = late.and_then(|keys| Late::find(clock, keys, with_cas, store));
        let from = out.len();
        let changed = key_to_change(request).filter(|_| self.keeps_versions);
        let before = changed.and_then(|key| store.value(clock, key));
        answer_whole(clock, request, store, out);
        if let Some(key) = changed {
            match (before, store.value(clock, key)) {
                (Some(before), Some(after)) if before == after => {}
                (Some(before), Some(_)) => self.versions.replaced(key, before, leaves),
                _ => self.versions.forget(key),
            }
        }
        let mut random = Random::at(self.seed, Stream::FAULT_DETAIL, number);
        let scene = Scene { clock, store, versions: &self.versions, late: late.as_ref() };
        for kind in drawn.kinds() {
            let then = match kind {
                FaultKind::Reset => Then::Reset,
                FaultKind::Stall => Then::Stall,
                _ => {
                    let answer = WrittenAnswer { out, from };
                    let struck = match request {
                        Request::Meta(asked) => scene.strike_meta(kind, asked, &mut random, answer),
                        _ => scene.strike(kind, keys, &mut random, answer),
                    };
                    if !struck {
                        continue;
                    }
                    Then::Answer
                }
            };
            if then != Then::Answer {
                out.truncate(from);
            }
            self.counts.count(kind);
            return then;
        }
        Then::Answer
    }
}

/// Carries out a request with a key and appends the answer, unless that is too long.
fn answer_whole(clock: Clock, request: &Request<'_>, store: &Store, out: &mut Vec<u8>) {
    let Request::Retrieve { verb, expiry, keys } = *request else {
        return session::answer(clock, request, store, out);
    };
    let from = out.len();
    let most = from + ANSWER_BYTES_MAX;
    let mut retrieval = Retrieval { verb, expiry, keys };
    while !retrieval.go_on(StoreAt { clock, store }, out, most) {
        if out.len() >= most {
            out.truncate(from);
            return encode::reply(out, &TOO_LONG);
        }
    }
}

/// The command of a request that names a key.
fn verb_with_key(request: &Request<'_>) -> Option<Verb> {
    match *request {
        Request::Retrieve { verb, .. }
        | Request::Store { verb, .. }
        | Request::Arithmetic { verb, .. } => Some(verb),
        Request::Delete { .. } => Some(Verb::Delete),
        Request::Touch { .. } => Some(Verb::Touch),
        Request::Meta(ref request) => meta_verb(request),
        _ => None,
    }
}

/// The command whose faults strike a request of the meta protocol.
fn meta_verb(request: &meta::Request<'_>) -> Option<Verb> {
    let meta::Request { command, options, .. } = request;
    match (command, options.mode) {
        (Command::Get, _) => {
            let with_cas = options.has(Flag::ReturnCas);
            Some(match (options.expiry.is_some(), options.has(Flag::Value)) {
                (true, false) => Verb::Touch,
                (true, true) if with_cas => Verb::Gats,
                (true, true) => Verb::Gat,
                (false, _) if with_cas => Verb::Gets,
                (false, _) => Verb::Get,
            })
        }
        (Command::Set, _) if options.compare_cas.is_some() => Some(Verb::Cas),
        (Command::Set, Mode::Add) => Some(Verb::Add),
        (Command::Set, Mode::Append) => Some(Verb::Append),
        (Command::Set, Mode::Prepend) => Some(Verb::Prepend),
        (Command::Set, Mode::Replace) => Some(Verb::Replace),
        (Command::Set, _) => Some(Verb::Set),
        (Command::Delete, _) => Some(Verb::Delete),
        (Command::Arithmetic, Mode::Decrement) => Some(Verb::Decr),
        (Command::Arithmetic, _) => Some(Verb::Incr),
        (Command::Noop | Command::Debug, _) => None,
    }
}

/// The key whose value a request may change.
fn key_to_change<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    match *request {
        Request::Store { key, .. }
        | Request::Arithmetic { key, .. }
        | Request::Delete { key, .. } => Some(key),
        Request::Meta(meta::Request { command, key, options, .. })
            if command != Command::Get && !options.has(Flag::Base64) =>
        {
            Some(key)
        }
        _ => None,
    }
}
