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
    /// and what to use instead.
    pub(crate) fn sentence(self, server: &str, answer: &str) -> Sentence {
        let begin = |what| Sentence::new(format!("server {server} answered '{answer}' to {what}"));
        match self {
            Self::Meta => begin("mn: it lacks the meta protocol, which memcached has since 1.6.0")
                .text("; use ")
                .field("protocol")
                .text(" text"),
            Self::Key => begin("an mg with flag k, which memcached has since 1.6.0 and which ")
                .field("multiget")
                .text(" and ")
                .field("verify")
                .text(" need; leave them out, or use ")
                .field("protocol")
                .text(" text"),
            Self::Opaque => {
                begin("an mg with flag O, which memcached repeats at least since 1.6.18, as ")
                    .field("match")
                    .text(" opaque and ")
                    .field("noreply")
                    .text(" need; leave them out, or use ")
                    .field("protocol")
                    .text(" text")
            }
        }
    }
}
