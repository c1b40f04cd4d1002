//! Plain counts of what happened to operations, and the equation that they must satisfy.

use std::ops::AddAssign;

/// Where an intended operation ends: each ends in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The server answered, whatever it said short of an error.
    Answered,
    /// The server answered with an error line.
    Failed,
    /// No answer came before the deadline, or it could not be sent by then.
    TimedOut,
    /// Its connection went away.
    Lost,
    /// Every connection was full and the scenario says to drop; or it was due and not sent when
    /// the window ended, in a scenario that sends nothing after it.
    Dropped,
    /// Sent with `noreply`: no answer was asked for.
    Unacknowledged,
    /// The run ended first.
    Abandoned,
}

/// What a server said when it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyClass {
    /// A retrieval, closed by its END.
    Values,
    /// STORED.
    Stored,
    /// NOT_STORED.
    NotStored,
    /// EXISTS.
    Exists,
    /// NOT_FOUND.
    NotFound,
    /// DELETED.
    Deleted,
    /// TOUCHED.
    Touched,
    /// The new number of incr or decr.
    Number,
}

impl ReplyClass {
    /// Every class, in the order of its counters.
    pub const ALL: [Self; 8] = [
        Self::Values,
        Self::Stored,
        Self::NotStored,
        Self::Exists,
        Self::NotFound,
        Self::Deleted,
        Self::Touched,
        Self::Number,
    ];

    /// The name in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Stored => "stored",
            Self::NotStored => "not_stored",
            Self::Exists => "exists",
            Self::NotFound => "not_found",
            Self::Deleted => "deleted",
            Self::Touched => "touched",
            Self::Number => "number",
        }
    }
}

/// Why something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The bare `ERROR` line.
    Error,
    /// A `CLIENT_ERROR` line.
    ClientError,
    /// A `SERVER_ERROR` line.
    ServerError,
    /// Bytes that are not the protocol; the connection is closed.
    Protocol,
    /// The server closed or reset a connection.
    Closed,
    /// The server turned a connection away: too many are open.
    TooManyConnections,
    /// A connect was refused, unreachable or timed out.
    Connect,
    /// The request does not fit into one datagram, and was not sent.
    RequestTooLong,
}

impl ErrorClass {
    /// Every class, in the order of its counters.
    pub const ALL: [Self; 8] = [
        Self::Error,
        Self::ClientError,
        Self::ServerError,
        Self::Protocol,
        Self::Closed,
        Self::TooManyConnections,
        Self::Connect,
        Self::RequestTooLong,
    ];

    /// The name in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::ClientError => "client_error",
            Self::ServerError => "server_error",
            Self::Protocol => "protocol",
            Self::Closed => "closed",
            Self::TooManyConnections => "too_many_connections",
            Self::Connect => "connect",
            Self::RequestTooLong => "request_too_long",
        }
    }
}

/// What was unusual about a datagram of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramClass {
    /// It came before one that it should follow.
    Disordered,
    /// It came again.
    Duplicate,
    /// It came after its operation had timed out.
    Late,
    /// It was still missing, when others of its answer were there, and the operation timed out.
    Lost,
    /// It belonged to nothing that was asked.
    Foreign,
}

impl DatagramClass {
    /// How many classes there are.
    pub const COUNT: usize = 5;
}

/// In what way a verified value was wrong, or that it was there at all, or was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyClass {
    /// Some bytes are those of no value of the key.
    Corrupt,
    /// It is another key's value, or was sent under a key that was not asked for.
    WrongKey,
    /// It is older than what was certainly written before it was asked for.
    Stale,
    /// It is the beginning of a value of the key.
    Truncated,
    /// Whatever it is, it had certainly expired.
    Expired,
    /// There was none, although it had certainly not expired.
    Unexpired,
}

impl VerifyClass {
    /// Every class, in the order of its counters.
    pub const ALL: [Self; 6] = [
        Self::Corrupt,
        Self::WrongKey,
        Self::Stale,
        Self::Truncated,
        Self::Expired,
        Self::Unexpired,
    ];

    /// Whether it is about the value itself, and so about one that was verified; else about
    /// whether there was one.
    pub const fn is_of_value(self) -> bool {
        !matches!(self, Self::Expired | Self::Unexpired)
    }

    /// The name in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::WrongKey => "wrong_key",
            Self::Stale => "stale",
            Self::Truncated => "truncated",
            Self::Expired => "expired_get",
            Self::Unexpired => "unexpired_unget",
        }
    }
}

/// How many operation kinds a table has room for.
pub const KINDS_MAX: usize = 16;

/// Counts of one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounters {
    /// Operations handed to a connection's socket.
    pub sent: u64,
    /// Operations that ended answered.
    pub answered: u64,
    /// Operations that rank above every answered one: failed, timed out, lost, dropped, abandoned.
    pub unanswered: u64,
}

/// Counts of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Operations that the schedule (or a free slot) called for.
    pub intended: u64,
    /// Of these, the ones that ended as [`Fate::Answered`].
    pub answered: u64,
    /// Ended as [`Fate::Failed`].
    pub failed: u64,
    /// Ended as [`Fate::TimedOut`].
    pub timed_out: u64,
    /// The part of `timed_out` that was never sent.
    pub timed_out_queued: u64,
    /// Ended as [`Fate::Lost`].
    pub lost: u64,
    /// Ended as [`Fate::Dropped`].
    pub dropped: u64,
    /// The part of `dropped` that was due and not sent when the window ended.
    pub dropped_at_end: u64,
    /// Ended as [`Fate::Unacknowledged`].
    pub unacknowledged: u64,
    /// Ended as [`Fate::Abandoned`].
    pub abandoned: u64,
    /// Replies that came after their operation had timed out.
    pub late_replies: u64,
    /// Operations handed to a socket.
    pub sent: u64,
    /// Of the intended ones, copies of writes beyond the first of each.
    pub copies: u64,
    /// Keys asked for by retrievals that were answered.
    pub keys: u64,
    /// Of these, found.
    pub hits: u64,
    /// Of these, not found.
    pub misses: u64,
    /// Values that were read, those of late replies included.
    pub values: u64,
    /// Their lengths together, in bytes.
    pub value_bytes: u64,
    /// Of these, those of another length than the plan says, where lengths are compared.
    pub resized: u64,
    /// Bytes of requests.
    pub bytes_sent: u64,
    /// Bytes of replies.
    pub bytes_received: u64,
    /// Requests on the wire that the server counts as storage commands.
    pub storage_commands: u64,
    /// Keys on the wire in what reads without touching, the first half of a cas included.
    pub keys_asked: u64,
    /// Commands on the wire that set an expiry anew.
    pub touch_commands: u64,
    /// Keys to be read and touched that were answered and not found.
    pub touching_misses: u64,
    /// Answers by what they said, in the order of [`ReplyClass::ALL`].
    pub replies: [u64; ReplyClass::ALL.len()],
    /// Errors by class, in the order of [`ErrorClass::ALL`].
    pub errors: [u64; ErrorClass::ALL.len()],
    /// Unusual datagrams by class, in the order of [`DatagramClass`], by when they were noticed.
    pub datagrams: [u64; DatagramClass::COUNT],
    /// Values that were verified.
    pub verified: u64,
    /// Of these, the wrong ones by class, in the order of [`VerifyClass::ALL`]; of classes that
    /// are not of a value, all that were found.
    pub wrong: [u64; VerifyClass::ALL.len()],
    /// Keys whose values were to be verified, and that were not found; none that may have expired.
    pub verify_misses: u64,
    /// Counts by operation kind.
    pub kinds: [KindCounters; KINDS_MAX],
}

impl Counters {
    /// Ends one operation of `kind` that was counted in `intended`.
    #[inline]
    pub fn settle(&mut self, kind: usize, fate: Fate) {
        let kind = &mut self.kinds[kind];
        match fate {
            Fate::Answered => {
                self.answered += 1;
                kind.answered += 1;
                return;
            }
            Fate::Unacknowledged => {
                self.unacknowledged += 1;
                return;
            }
            Fate::Failed => self.failed += 1,
            Fate::TimedOut => self.timed_out += 1,
            Fate::Lost => self.lost += 1,
            Fate::Dropped => self.dropped += 1,
            Fate::Abandoned => self.abandoned += 1,
        }
        kind.unanswered += 1;
    }

    /// How many operations ended, in whatever way. In a phase that is over it equals `intended`.
    pub fn settled(&self) -> u64 {
        self.answered + self.unanswered() + self.unacknowledged
    }

    /// How many ended in a way that ranks above every answered operation.
    pub fn unanswered(&self) -> u64 {
        self.failed + self.timed_out + self.lost + self.dropped + self.abandoned
    }
}

impl AddAssign<&Self> for Counters {
    fn add_assign(&mut self, other: &Self) {
        let Self {
            intended,
            answered,
            failed,
            timed_out,
            timed_out_queued,
            lost,
            dropped,
            dropped_at_end,
            unacknowledged,
            abandoned,
            late_replies,
            sent,
            copies,
            keys,
            hits,
            misses,
            values,
            value_bytes,
            resized,
            bytes_sent,
            bytes_received,
            storage_commands,
            keys_asked,
            touch_commands,
            touching_misses,
            replies,
            errors,
            datagrams,
            verified,
            wrong,
            verify_misses,
            kinds,
        } = other;
        self.intended += intended;
        self.answered += answered;
        self.failed += failed;
        self.timed_out += timed_out;
        self.timed_out_queued += timed_out_queued;
        self.lost += lost;
        self.dropped += dropped;
        self.dropped_at_end += dropped_at_end;
        self.unacknowledged += unacknowledged;
        self.abandoned += abandoned;
        self.late_replies += late_replies;
        self.sent += sent;
        self.copies += copies;
        self.keys += keys;
        self.hits += hits;
        self.misses += misses;
        self.values += values;
        self.value_bytes += value_bytes;
        self.resized += resized;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.storage_commands += storage_commands;
        self.keys_asked += keys_asked;
        self.touch_commands += touch_commands;
        self.touching_misses += touching_misses;
        self.replies.iter_mut().zip(replies).for_each(|(sum, part)| *sum += part);
        self.errors.iter_mut().zip(errors).for_each(|(sum, part)| *sum += part);
        self.datagrams.iter_mut().zip(datagrams).for_each(|(sum, part)| *sum += part);
        self.verified += verified;
        self.wrong.iter_mut().zip(wrong).for_each(|(sum, part)| *sum += part);
        self.verify_misses += verify_misses;
        self.kinds.iter_mut().zip(kinds).for_each(|(sum, part)| *sum += part);
    }
}

impl AddAssign<&Self> for KindCounters {
    fn add_assign(&mut self, other: &Self) {
        let Self { sent, answered, unanswered } = other;
        self.sent += sent;
        self.answered += answered;
        self.unanswered += unanswered;
    }
}
