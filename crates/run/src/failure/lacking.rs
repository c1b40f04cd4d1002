//! What a server lacks of the meta protocol, and what works without it.

use memtide_base::Sentence;

/// A command or flag of the meta protocol that a load needs and a server lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// The commands themselves: `mn` is not answered with `MN`.
    Meta,
    /// Flag k, which names the key of a value.
    Key,
    /// Flag O, which the reply to a miss repeats.
    Opaque,
}

impl Lacking {
    /// The sentence: what `server`, which gave this `answer`, lacks, since when memcached has it,
    /// what needs it, and what to use instead.
    ///
    /// Cause: The server does not know the meta protocol, or not this flag of it.
    ///
    /// To do: Use `--protocol text`, leave out what needs the flag, or use a memcached that has it.
    pub(crate) fn sentence(self, server: &str, answer: &str) -> Sentence {
        let (what, since, needed_by) = match self {
            Self::Meta => ("mn", "since 1.6.0", None),
            Self::Key => ("mg k", "since 1.6.0", Some(("multiget", "verify"))),
            Self::Opaque => ("mg O", "at the latest since 1.6.18", Some(("match", "noreply"))),
        };
        let sentence = Sentence::new(format!(
            "server {server} answered '{answer}' to {what}, which memcached has {since}; use "
        ));
        let sentence = sentence.field("protocol").text(" text");
        match needed_by {
            None => sentence,
            Some((one, other)) => {
                sentence.text(", or leave out ").field(one).text(" and ").field(other)
            }
        }
    }
}
