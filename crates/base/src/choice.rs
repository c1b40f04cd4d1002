//! Choices that a user makes with a word and a plan holds. Each is declared once, with its words,
//! below the crates that parse it and the crates that act on it.
//!
//! Flags, files, records, help and reports use these words. Nothing is decided here.

mod item_flags;

pub use item_flags::ItemFlags;

use crate::Span;
use crate::units::{self, span_word};
use std::fmt;
use std::str::FromStr;

/// Declares an enum from rows of a variant and its word; a `const fn` that returns the word; and,
/// if it is asked for, `ALL`: every variant, in the order of the rows. For words that the program
/// writes; one that a user makes a choice with is also read.
#[macro_export]
macro_rules! worded {
    (
        $(#[$about:meta])*
        $seen:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $word:expr,)*
        }
        $(#[$word_doc:meta])*
        $word_seen:vis const fn $of:ident;
    ) => {
        $(#[$about])*
        $seen enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            $(#[$word_doc])*
            $word_seen const fn $of(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
    (
        $(#[$about:meta])*
        $seen:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $word:expr,)*
        }
        $(#[$word_doc:meta])*
        $word_seen:vis const fn $of:ident;
        $(#[$all_doc:meta])*
        $all_seen:vis const ALL;
    ) => {
        $crate::worded! {
            $(#[$about])*
            $seen enum $name {
                $($(#[$doc])* $variant = $word,)*
            }
            $(#[$word_doc])*
            $word_seen const fn $of;
        }

        impl $name {
            $(#[$all_doc])*
            $all_seen const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];
        }
    };
}

/// Declares an enum whose variants are words.
macro_rules! choice {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $word,)* })
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(not_one_of(word, &[$($word),*])),
                }
            }
        }
    };
}

choice! {
    /// Division of the schedule of intended instants between connections.
    Sharing {
        /// One sequence for all. The least loaded connection is picked when an operation is sent.
        Shared = "shared",
        /// A schedule of its own for each connection.
        Connection = "connection",
    }
}

choice! {
    /// The point at which a connection at its pipeline depth takes operations again.
    #[derive(Default)]
    Refill {
        /// After every reply (sliding window).
        #[default]
        Each = "each",
        /// Only after all its replies (batches).
        Whole = "whole",
    }
}

choice! {
    /// Whether sessions of TLS are resumed.
    #[derive(Default)]
    Resume {
        /// On later connections to the same server.
        #[default]
        On = "on",
        /// Never: every handshake is full.
        Off = "off",
    }
}

choice! {
    /// A version of TLS.
    #[derive(Default)]
    TlsVersion {
        /// Of 2008.
        #[default]
        V1_2 = "1.2",
        /// Of 2018.
        V1_3 = "1.3",
    }
}

choice! {
    /// The unit in which rates and numbers of operations are counted.
    #[derive(Default)]
    RateUnit {
        /// Operations, however many keys each requests.
        #[default]
        Operations = "ops",
        /// Keys: an operation that requests n of them counts n.
        Keys = "keys",
    }
}

choice! {
    /// Choice of the connection for a client's next operation.
    ConnectionTurn {
        /// The connection that was used longest ago.
        RoundRobin = "round-robin",
        /// Any open connection.
        Random = "random",
    }
}

choice! {
    /// The keys that incr and decr work on.
    NumericKeys {
        /// Keys of their own, apart from the others.
        Own = "own",
        /// Every key that other operations use, whatever its value is.
        Shared = "shared",
    }
}

/// The fate of an operation that is due while every connection is at its pipeline depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// It waits, and the wait is part of its response time.
    Queue,
    /// It is dropped: never sent, and counted as dropped.
    Drop,
    /// It waits. Once an operation is more than `behind` late, every operation that is more than
    /// `until` late is dropped.
    Skip {
        /// The lateness of an operation that starts dropping.
        behind: Span,
        /// Operations that are at most this late are kept; at most `behind`.
        until: Span,
    },
}

impl fmt::Display for OnFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue => f.pad("queue"),
            Self::Drop => f.pad("drop"),
            Self::Skip { behind, until } => {
                write!(f, "skip:{},{}", span_word(*behind), span_word(*until))
            }
        }
    }
}

impl FromStr for OnFull {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "queue" => return Ok(Self::Queue),
            "drop" => return Ok(Self::Drop),
            _ => {}
        }
        let Some(spans) = word.strip_prefix("skip:") else {
            return Err(not_one_of(word, &["queue", "drop", "skip:BEHIND,UNTIL"]));
        };
        let spans = spans.split_once(',');
        let spans = spans.map(|(a, b)| Ok::<_, String>((span(a.trim())?, span(b.trim())?)));
        match spans.transpose()? {
            Some((behind, until)) if until <= behind => Ok(Self::Skip { behind, until }),
            _ => Err(format!(
                "'{word}' is not skip:BEHIND,UNTIL with UNTIL at most BEHIND, such as skip:5ms,4ms"
            )),
        }
    }
}

choice! {
    /// The condition on which servers are filled before a run.
    Load {
        /// Only when the mix reads and some sampled keys are missing.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

choice! {
    /// The way in which a worker waits for its next instant or event.
    Wait {
        /// It sleeps in the kernel.
        Sleep = "sleep",
        /// It sleeps until shortly before, then spins.
        Hybrid = "hybrid",
        /// It spins.
        Spin = "spin",
    }
}

/// The kernel interface that workers use for input and output. A user names `Uring` or `Epoll`, or
/// leaves the choice to memtide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// io_uring: completions; one system call for many sends and receives.
    Uring,
    /// epoll: readiness; a system call for each send and receive.
    Epoll,
    /// None: the run is simulated.
    Simulated,
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
            Self::Simulated => "simulated",
        })
    }
}

impl FromStr for Io {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "uring" => Ok(Self::Uring),
            "epoll" => Ok(Self::Epoll),
            _ => Err(not_one_of(word, &["auto", "uring", "epoll"])),
        }
    }
}

choice! {
    /// The protocol of requests and replies.
    #[derive(Default)]
    Protocol {
        /// The classic text protocol.
        #[default]
        Text = "text",
        /// The binary protocol. Every request except touch has a form without a reply.
        Binary = "binary",
        /// The meta protocol: commands of two letters with flags.
        Meta = "meta",
    }
}

choice! {
    /// How replies find the operations that they answer.
    #[derive(Default)]
    Matching {
        /// By their order, which is that of the requests.
        #[default]
        Order = "order",
        /// By the opaque that each reply repeats, in any order.
        Opaque = "opaque",
    }
}

choice! {
    /// The transport of requests and replies.
    Transport {
        /// As a stream: TCP, or a Unix socket.
        Tcp = "tcp",
        /// As datagrams: UDP.
        Udp = "udp",
        /// Gets over UDP, everything else over TCP.
        Split = "split",
    }
}

choice! {
    /// The number of writers that each write goes to.
    Replicate {
        /// All of them.
        All = "all",
        /// One, in turn.
        One = "one",
    }
}

choice! {
    /// The load after the measured window, until the last measured operations have ended.
    Cooldown {
        /// The load continues, unmeasured.
        Load = "load",
        /// No new operations become due; the backlog is sent.
        Drain = "drain",
        /// Nothing more is sent. The backlog is dropped, and replies in flight are awaited for at
        /// most a second.
        Stop = "stop",
    }
}

/// Reconnection after a lost connection. Written `10ms..1s`, as one fixed span, or as `never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    /// The connection is opened again after a wait.
    After(Backoff),
    /// The connection stays lost, and the run ends.
    Never,
}

/// Exponential back-off before connecting again: from `first`, doubling to `longest`, with jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure; at least 1 ms.
    pub first: Span,
    /// The longest wait; not shorter than `first`.
    pub longest: Span,
}

impl fmt::Display for Reconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(Backoff { first, longest }) => {
                write!(f, "{}..{}", span_word(*first), span_word(*longest))
            }
            Self::Never => f.pad("never"),
        }
    }
}

impl FromStr for Reconnect {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word == "never" {
            return Ok(Self::Never);
        }
        let (first, longest) = word.split_once("..").unwrap_or((word, word));
        let (first, longest) = (span(first)?, span(longest)?);
        if first < Span::from_ms(1) || longest < first {
            return Err(format!(
                "'{word}' is not FIRST..LONGEST with FIRST at least 1ms and LONGEST not shorter, \
                 such as 10ms..1s, nor never"
            ));
        }
        Ok(Self::After(Backoff { first, longest }))
    }
}

fn span(word: &str) -> Result<Span, String> {
    units::parse_span(word).map_err(|error| error.to_string())
}

fn not_one_of(word: &str, words: &[&str]) -> String {
    format!("'{word}' is not one of {}", words.join(", "))
}
