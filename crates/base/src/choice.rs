//! Decisions that a user can say in a word and a plan can hold: each enum stands once, below those
//! who read it and those who obey it, and spells its words once.
//!
//! Flags, files, records, help and reports are made from these words. Nothing is decided here.

use crate::Span;
use crate::units::{self, span_word};
use std::fmt;
use std::str::FromStr;

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
    /// Who owns a schedule of intended instants.
    Sharing {
        /// One sequence; the least loaded connection is picked when an operation is sent.
        Shared = "shared",
        /// Each connection has a schedule of its own.
        Connection = "connection",
    }
}

choice! {
    /// When a connection that has been full takes operations again.
    #[derive(Default)]
    Refill {
        /// As soon as one is answered.
        #[default]
        Each = "each",
        /// When all that it has outstanding are.
        Whole = "whole",
    }
}

choice! {
    /// What rates and numbers of operations count.
    #[derive(Default)]
    RateUnit {
        /// Operations, whatever they ask for.
        #[default]
        Operations = "ops",
        /// Keys: an operation that asks for n of them counts n.
        Keys = "keys",
    }
}

choice! {
    /// Which of its connections a client uses next.
    ConnectionTurn {
        /// The one that has waited longest.
        RoundRobin = "round-robin",
        /// Any that is open.
        Random = "random",
    }
}

choice! {
    /// Which keys incr and decr work on.
    NumericKeys {
        /// On keys of their own beside the others.
        Own = "own",
        /// On the same keys as everything else, whatever their values are.
        Shared = "shared",
    }
}

/// What happens to an operation that is due while every connection is at its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// It waits, and the wait is part of its response time.
    Queue,
    /// It is never sent, and counted.
    Drop,
    /// It waits; once one is further behind than this, all that are are never sent, and counted.
    Skip {
        /// So far behind nothing is sent any more.
        behind: Span,
        /// What is not further behind than this waits on; at most `behind`.
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
        let span = |part: &str| units::parse_span(part.trim()).map_err(|e| e.to_string());
        let spans = spans.split_once(',').map(|(a, b)| Ok::<_, String>((span(a)?, span(b)?)));
        match spans.transpose()? {
            Some((behind, until)) if until <= behind => Ok(Self::Skip { behind, until }),
            _ => Err(format!(
                "'{word}' is not skip with two times of which the second is not longer, such as \
                 skip:5ms,4ms"
            )),
        }
    }
}

choice! {
    /// Whether the server is filled before the run.
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
    /// How a worker waits for the next instant or event.
    Wait {
        /// It sleeps in the kernel.
        Sleep = "sleep",
        /// It sleeps until shortly before, then spins.
        Hybrid = "hybrid",
        /// It spins.
        Spin = "spin",
    }
}

/// With what workers do input and output. A user says one of the first two, or leaves the choice to
/// memtide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// io_uring: completions, and one call for many sends and receives.
    Uring,
    /// epoll: readiness, and a call for each send and receive.
    Epoll,
    /// No kernel: the world is simulated.
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
    /// What requests and replies look like on the wire.
    #[derive(Default)]
    Protocol {
        /// Lines.
        #[default]
        Text = "text",
        /// Frames. Every request may go without a reply but touch, which has no quiet form.
        Binary = "binary",
    }
}

choice! {
    /// How requests and replies travel.
    Transport {
        /// In a stream: TCP, or a unix socket.
        Tcp = "tcp",
        /// In datagrams.
        Udp = "udp",
        /// Gets in datagrams, and all else in streams.
        Split = "split",
    }
}

choice! {
    /// To how many of the servers that are written each write goes.
    Replicate {
        /// To each of them.
        All = "all",
        /// To one, each in turn.
        One = "one",
    }
}

choice! {
    /// What is offered to the server while the last measured operations end.
    Cooldown {
        /// The same load, unmeasured.
        Load = "load",
        /// Nothing more is due; what is behind its schedule is sent.
        Drain = "drain",
        /// Nothing more is sent. What is behind its schedule by then is dropped, and what is in
        /// flight is awaited for a second at most.
        Stop = "stop",
    }
}

/// What is done about a lost connection. Written `10ms..1s`, where a single span means that every
/// wait is that long, or `never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    /// It is opened again after a wait.
    After(Backoff),
    /// It stays lost, and ends the run.
    Never,
}

/// How long to wait before connecting again: doubling from `first` to `longest`, with jitter.
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
        let span = |part: &str| units::parse_span(part).map_err(|e| e.to_string());
        let (first, longest) = (span(first)?, span(longest)?);
        if first < Span::from_ms(1) || longest < first {
            return Err(format!(
                "'{word}' is not a pair of waits: the first is at least 1ms and the longest not \
                 shorter, such as 10ms..1s; nor is it never"
            ));
        }
        Ok(Self::After(Backoff { first, longest }))
    }
}

fn not_one_of(word: &str, words: &[&str]) -> String {
    format!("'{word}' is not one of {}", words.join(", "))
}
