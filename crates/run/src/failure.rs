//! Failures: why a run cannot continue; and what a server lacks of the meta protocol.

mod fault;

pub(crate) use fault::{Fault, FillFault, Lengths, NoRoom, TooLong};

use memtide_base::Sentence;
use memtide_record::{Exit, natively};

/// Failure of a run: the exit code, and a sentence that says whose fault it is and what to do. Each
/// front end words the remedy in its own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: u8,
    /// The sentence.
    pub sentence: Sentence,
}

impl Failure {
    /// Exit code of a run that the user interrupted.
    pub(crate) const INTERRUPTED: u8 = Exit::Interrupted.code();

    /// The sentence in memtide's own words.
    pub fn message(&self) -> String {
        natively(&self.sentence)
    }
}

impl<F: Into<Fault>> From<F> for Failure {
    fn from(fault: F) -> Self {
        let fault = fault.into();
        Self { exit: fault.exit(), sentence: fault.sentence() }
    }
}

/// A command or flag of the meta protocol that a load needs and a server lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// The commands themselves: `mn` is not answered with `MN`.
    Meta,
    /// Flag k, which names the key of a value.
    Key,
    /// Flag O, which the reply to a miss repeats.
    Opaque,
    /// Flag R, by which a client learns that it shall store an item anew.
    Recache,
    /// Flag I, which marks an item as stale.
    Invalidate,
    /// Flag C of `mg`, which names a value that is known.
    Compare,
    /// A flag that returns a property of an item.
    Flags,
}

impl Lacking {
    /// The sentence: what `server`, which gave this `answer`, lacks, since when memcached has it,
    /// what needs it, and what to use instead.
    pub(crate) fn sentence(self, server: &str, answer: &str) -> Sentence {
        let (what, since, needed_by) = match self {
            Self::Meta => ("mn", "since 1.6.0", NeededBy::All),
            Self::Key => ("mg k", "since 1.6.0", NeededBy::Fields("multiget", Some("verify"))),
            Self::Opaque => ("mg O", "by 1.6.18", NeededBy::Fields("match", Some("noreply"))),
            Self::Recache => ("mg R", "since 1.6.0", NeededBy::Kind("recache")),
            Self::Invalidate => ("md I", "since 1.6.0", NeededBy::Kind("invalidate")),
            Self::Compare => ("mg C", "since 1.6.40", NeededBy::Kind("peek")),
            Self::Flags => {
                ("mg with meta-flags", "since 1.6.0", NeededBy::Fields("meta-flags", None))
            }
        };
        let sentence = Sentence::new(format!(
            "server {server} answered '{answer}' to {what}, which memcached has {since}; "
        ));
        match needed_by {
            NeededBy::All => with_text(sentence),
            NeededBy::Fields(one, None) => sentence.text("leave out ").field(one),
            NeededBy::Fields(one, Some(other)) => {
                let sentence = with_text(sentence).text(", or leave out ").field(one);
                sentence.text(" and ").field(other)
            }
            NeededBy::Kind(kind) => sentence.text(format!("leave {kind} out of ")).field("mix"),
        }
    }
}

fn with_text(sentence: Sentence) -> Sentence {
    sentence.text("use ").field("protocol").text(" text")
}

/// What needs something that a server lacks.
enum NeededBy {
    /// The protocol itself.
    All,
    /// One field, or two.
    Fields(&'static str, Option<&'static str>),
    /// A kind of operation.
    Kind(&'static str),
}
