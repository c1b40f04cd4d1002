//! Plain counts of the fates of operations, and the equation that they must satisfy.
//!
//! The lists in [`crate::table`] define which counts there are.

use std::ops::AddAssign;

/// How an intended operation ended. Each ends in exactly one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The server answered, with any reply but an error.
    Answered,
    /// The server answered with an error line.
    Failed,
    /// No answer came before the deadline, or the operation could not be sent by then.
    TimedOut,
    /// Its connection was lost.
    Lost,
    /// Every connection was full and the scenario says to drop; or the operation was due and not
    /// sent when the window ended, in a scenario that sends nothing after the window.
    Dropped,
    /// Sent with `noreply`: no answer was requested.
    Unacknowledged,
    /// The run ended first.
    Abandoned,
}

/// Declares an enum of classes with their names in a record.
macro_rules! classes {
    (
        $(#[doc = $about:tt])*
        $name:ident {
            $($(#[doc = $doc:tt])* $class:ident = $word:expr;)*
        }
    ) => {
        memtide_base::worded! {
            $(#[doc = $about])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $name {
                $($(#[doc = $doc])* $class = $word,)*
            }
            /// The name in a record.
            pub const fn name;
            /// Every class, in the order of its counters.
            pub const ALL;
        }

        impl $name {
            /// The number of classes.
            pub const COUNT: usize = Self::ALL.len();
        }
    };
}
pub(crate) use classes;

classes! {
    /// The content of a server's answer.
    ReplyClass {
        /// A retrieval, closed by its END.
        Values = "values";
        /// STORED.
        Stored = "stored";
        /// NOT_STORED.
        NotStored = "not_stored";
        /// EXISTS.
        Exists = "exists";
        /// NOT_FOUND.
        NotFound = "not_found";
        /// DELETED.
        Deleted = "deleted";
        /// TOUCHED.
        Touched = "touched";
        /// The new number of incr or decr.
        Number = "number";
        /// Meta: the client had to make the value anew, and has stored it.
        Won = "won";
        /// Meta: a value that is stale, while another client makes it anew.
        Stale = "stale";
        /// Meta: another client makes the value anew; the old one came, or none if there was none.
        Waiting = "waiting";
        /// Meta: the value is the one that is known already, and did not travel.
        Unchanged = "unchanged";
        /// Meta: the item is marked as stale.
        Invalidated = "invalidated";
    }
}

classes! {
    /// The reason of a failure.
    ErrorClass {
        /// The `ERROR` line without a message.
        Error = "error";
        /// A `CLIENT_ERROR` line.
        ClientError = "client_error";
        /// A `SERVER_ERROR` line.
        ServerError = "server_error";
        /// Bytes that violate the protocol; the connection is closed.
        Protocol = "protocol";
        /// A reply that no request in flight awaits, or a second one; the connection is closed.
        Unmatched = "unmatched";
        /// The server closed or reset a connection.
        Closed = "closed";
        /// The server turned a connection away: too many are open.
        TooManyConnections = "too_many_connections";
        /// A connect was refused, unreachable or timed out.
        Connect = "connect";
        /// The request does not fit into one datagram, and was not sent.
        RequestTooLong = "request_too_long";
    }
}

macro_rules! datagram_class {
    ($($(#[doc = $doc:tt])* $class:ident => $member:ident;)*) => {
        classes! {
            /// The class of an unusual datagram of an answer.
            DatagramClass {
                $($(#[doc = $doc])* $class = stringify!($member);)*
            }
        }
    };
}

macro_rules! verify_class {
    (
        of_values { $($(#[doc = $doc:tt])* $class:ident => $member:ident;)* }
        of_presence { $($(#[doc = $presence:tt])* $other:ident => $told:ident;)* }
    ) => {
        classes! {
            /// The fault that verification found: in a value, or in the presence or absence of one.
            VerifyClass {
                $($(#[doc = $doc])* $class = stringify!($member);)*
                $($(#[doc = $presence])* $other = stringify!($told);)*
            }
        }

        impl VerifyClass {
            /// True if the fault is in a value that was verified; false if it is that a value was
            /// present or absent against expectation.
            pub const fn is_of_value(self) -> bool {
                matches!(self, $(Self::$class)|*)
            }
        }
    };
}

crate::datagram_classes!(datagram_class);
crate::verify_classes!(verify_class);

/// The number of operation kinds that a table has room for.
pub const KINDS_MAX: usize = 20;

/// Declares a struct of counters and their sum.
macro_rules! summed {
    (
        $(#[$about:meta])*
        $name:ident {
            $($(#[doc = $doc:tt])* $counter:ident;)*
        }
        $(each {
            $($(#[doc = $each_doc:tt])* $each:ident: [$of:ty; $len:expr];)*
        })?
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[doc = $doc])* pub $counter: u64,)*
            $($($(#[doc = $each_doc])* pub $each: [$of; $len],)*)?
        }

        impl AddAssign<&Self> for $name {
            fn add_assign(&mut self, other: &Self) {
                $(self.$counter += other.$counter;)*
                $($(
                    let parts = self.$each.iter_mut().zip(&other.$each);
                    parts.for_each(|(sum, part)| *sum += part);
                )*)?
            }
        }
    };
}
pub(crate) use summed;

summed! {
    /// Counts of one kind of operation.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    KindCounters {
        /// Operations handed to a connection's socket.
        sent;
        /// Operations that were answered.
        answered;
        /// Operations that rank above every answered one: failed, timed out, lost, dropped,
        /// abandoned.
        unanswered;
        /// Operations that were sent and expect no reply.
        unacknowledged;
    }
}

macro_rules! of_operations {
    (
        told {
            $(
                $(#[doc = $doc:tt])* $(#[missing = $missing:ident])?
                $told:ident => $member:ident: $of_server:ty
                $(, second $second:ident $meaning:literal)?;
            )*
        }
        untold { $($(#[doc = $untold_doc:tt])* $untold:ident;)* }
    ) => {
        summed! {
            /// Counts of one phase.
            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            Counters {
                $($(#[doc = $doc])* $told;)*
                $($(#[doc = $untold_doc])* $untold;)*
            }
            each {
                /// Answers by content, in the order of [`ReplyClass::ALL`].
                replies: [u64; ReplyClass::COUNT];
                /// Errors by class, in the order of [`ErrorClass::ALL`].
                errors: [u64; ErrorClass::COUNT];
                /// Unusual datagrams by class, in the order of [`DatagramClass::ALL`], in the
                /// segment in which they were noticed.
                datagrams: [u64; DatagramClass::COUNT];
                /// Verification faults by class, in the order of [`VerifyClass::ALL`]: wrong values
                /// among those that were verified; for classes that are not of a value, all faults
                /// found.
                wrong: [u64; VerifyClass::COUNT];
                /// Counts by operation kind.
                kinds: [KindCounters; KINDS_MAX];
            }
        }
    };
}

crate::counters!(of_operations);

impl Counters {
    /// Ends one operation of `kind` that was counted in `intended`.
    #[inline]
    pub fn settle(&mut self, kind: usize, fate: Fate) {
        self.settle_many(kind, fate, 1);
    }

    /// Ends `count` operations of `kind` that were counted in `intended`, all with one fate.
    #[inline(always)]
    pub fn settle_many(&mut self, kind: usize, fate: Fate, count: u64) {
        let kind = &mut self.kinds[kind];
        match fate {
            Fate::Answered => {
                self.answered += count;
                kind.answered += count;
                return;
            }
            Fate::Unacknowledged => {
                self.unacknowledged += count;
                kind.unacknowledged += count;
                return;
            }
            Fate::Failed => self.failed += count,
            Fate::TimedOut => self.timed_out += count,
            Fate::Lost => self.lost += count,
            Fate::Dropped => self.dropped += count,
            Fate::Abandoned => self.abandoned += count,
        }
        kind.unanswered += count;
    }

    /// The number of operations that ended in any way. It equals `intended` once a phase is over.
    pub fn settled(&self) -> u64 {
        self.answered + self.unanswered() + self.unacknowledged
    }

    /// The number of operations that ended in a way that ranks above every answered operation.
    pub fn unanswered(&self) -> u64 {
        self.failed + self.timed_out + self.lost + self.dropped + self.abandoned
    }

    /// Asserts that the counts by kind add up to those of all kinds.
    pub(crate) fn assert_whole(&self) {
        let of = |of: fn(&KindCounters) -> u64| self.kinds.iter().map(of).sum::<u64>();
        let of_kinds = [of(|it| it.sent), of(|it| it.answered), of(|it| it.unanswered)];
        let of_all = [self.sent, self.answered, self.unanswered()];
        assert_eq!(of_kinds, of_all, "kinds add up (sent, answered, unanswered)");
        let unacknowledged = of(|it| it.unacknowledged);
        assert_eq!(unacknowledged, self.unacknowledged, "kinds add up (unacknowledged)");
    }
}
