//! Plain counts of what happened to operations, and the equation that they must satisfy.
//!
//! Which numbers there are is said by the lists of [`crate::table`].

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

/// An enum of classes with the names that records have for them.
macro_rules! classes {
    (
        $(#[doc = $about:tt])*
        $name:ident {
            $($(#[doc = $doc:tt])* $class:ident = $word:expr;)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $doc])* $class,)*
        }

        impl $name {
            /// How many classes there are.
            pub const COUNT: usize = [$(Self::$class),*].len();

            /// Every class, in the order of its counters.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$class),*];

            /// The name in a record.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $word,)*
                }
            }
        }
    };
}
pub(crate) use classes;

classes! {
    /// What a server said when it answered.
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
    }
}

classes! {
    /// Why something failed.
    ErrorClass {
        /// The bare `ERROR` line.
        Error = "error";
        /// A `CLIENT_ERROR` line.
        ClientError = "client_error";
        /// A `SERVER_ERROR` line.
        ServerError = "server_error";
        /// Bytes that are not the protocol; the connection is closed.
        Protocol = "protocol";
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
            /// What was unusual about a datagram of an answer.
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
            /// In what way a verified value was wrong, or that it was there at all, or was not.
            VerifyClass {
                $($(#[doc = $doc])* $class = stringify!($member);)*
                $($(#[doc = $presence])* $other = stringify!($told);)*
            }
        }

        impl VerifyClass {
            /// Whether it is about the value itself, and so about one that was verified; else about
            /// whether there was one.
            pub const fn is_of_value(self) -> bool {
                matches!(self, $(Self::$class)|*)
            }
        }
    };
}

crate::datagram_classes!(datagram_class);
crate::verify_classes!(verify_class);

/// How many operation kinds a table has room for.
pub const KINDS_MAX: usize = 16;

/// A struct of counters and its sum.
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
        /// Operations that ended answered.
        answered;
        /// Operations that rank above every answered one: failed, timed out, lost, dropped,
        /// abandoned.
        unanswered;
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
                /// Answers by what they said, in the order of [`ReplyClass::ALL`].
                replies: [u64; ReplyClass::COUNT];
                /// Errors by class, in the order of [`ErrorClass::ALL`].
                errors: [u64; ErrorClass::COUNT];
                /// Unusual datagrams by class, in the order of [`DatagramClass::ALL`], by when they
                /// were noticed.
                datagrams: [u64; DatagramClass::COUNT];
                /// Of the verified values the wrong ones by class, in the order of
                /// [`VerifyClass::ALL`]; of classes that are not of a value, all that were found.
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

    /// Asserts that the counts by kind add up to those of all kinds.
    pub(crate) fn assert_whole(&self) {
        let of_kinds = self.kinds.iter().fold((0, 0, 0), |(sent, answered, unanswered), kind| {
            (sent + kind.sent, answered + kind.answered, unanswered + kind.unanswered)
        });
        let of_all = (self.sent, self.answered, self.unanswered());
        assert_eq!(of_kinds, of_all, "kinds add up (sent, answered, unanswered)");
    }
}
